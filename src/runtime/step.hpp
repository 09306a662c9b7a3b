// What one step() of a dispatcher did, and how fetches back off from a store that is in trouble.

#pragma once

#include <durable/result.hpp>
#include <durable/time.hpp>

#include <algorithm>
#include <cstdint>

namespace durable::runtime {

enum class Step : std::uint8_t {
    idle,   // there was nothing to do
    worked, // something was done: ask again at once
    failed, // the store did not answer: wait StepResult::pause first
};

struct StepResult {
    Step step = Step::idle;
    Duration pause{};
};

// One per dispatcher.
class FetchBackoff {
 public:
    [[nodiscard]] StepResult failed(const Error& error) noexcept {
        if (!error.retryable()) {
            return {.step = Step::failed, .pause = first};
        }
        const auto pause = std::min(first * (1 << std::min(errors_ + 1, 10)), most);
        ++errors_;
        return {.step = Step::failed, .pause = pause};
    }
    void succeeded() noexcept { errors_ = 0; }

 private:
    static constexpr Duration first{100};
    static constexpr Duration most{3000};

    int errors_ = 0; // in a row
};

} // namespace durable::runtime
