// What one step() of a dispatcher did, and how fetches back off from a store that is in trouble.

#pragma once

#include <durable/result.hpp>
#include <durable/time.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace durable::runtime {

enum class Step : std::uint8_t {
    idle,   // there was nothing to do
    worked, // something was done: ask again at once
    failed, // the store did not answer: wait StepResult::pause first
};

// How an activity left its thread.
enum class Ran : std::uint8_t {
    settled,     // done with: stored, refused, not wanted any more
    interrupted, // given back because the runtime ends
    zombie,      // given up long ago; only the thread has come back
    late,        // likewise, but given up by the shutdown just now
};

struct StepResult {
    Step step = Step::idle;
    Duration pause{};
    // Of a turn: how the short activity left that ran behind it, on the same thread.
    std::optional<Ran> short_activity{};
};

// One per dispatcher.
class FetchBackoff {
 public:
    // From a store that is disturbed, or that will not answer any more, it waits longer and longer;
    // any other error may concern one instance, and the others must not wait for it.
    [[nodiscard]] StepResult failed(const Error& error) noexcept {
        const auto errors = errors_++;
        if (!error.retryable() && error.code != ErrorCode::storage_failed) {
            return {.step = Step::failed, .pause = first};
        }
        const auto pause = std::min(first * (1 << std::min(errors + 1, 10)), most);
        return {.step = Step::failed, .pause = pause};
    }
    void succeeded() noexcept { errors_ = 0; }

 private:
    static constexpr Duration first{100};
    static constexpr Duration most{3000};

    int errors_ = 0; // in a row
};

} // namespace durable::runtime
