// Measures how long something took, for metrics, reports and the limits of a spin. Only this and
// durable::Clock read the machine's clock; no durable decision depends on a Stopwatch.

#pragma once

#include <chrono>

namespace durable {

class Stopwatch {
 public:
    [[nodiscard]] std::chrono::nanoseconds elapsed() const noexcept {
        return std::chrono::steady_clock::now() - begun_;
    }
    [[nodiscard]] double seconds() const noexcept {
        return std::chrono::duration<double>(elapsed()).count();
    }

 private:
    std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

} // namespace durable
