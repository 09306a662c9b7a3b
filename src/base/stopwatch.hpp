// Measures how long something took, for metrics and reports. The only thing in the library that
// reads the machine's clock past durable::Clock: what it says never decides anything.

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
