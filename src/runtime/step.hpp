// What one step() of a dispatcher did, and how fetches back off from a store that fails. The
// ThreadRunner and the TestRuntime read the results.

#pragma once

#include <durable/result.hpp>
#include <durable/time.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace durable::runtime {

enum class Step : std::uint8_t {
    idle,   // there was nothing to do
    worked, // something was done: call again at once
    failed, // the store did not answer: wait StepResult::pause first
};

// How the run of an activity ended.
enum class Ran : std::uint8_t {
    finished,    // its result is stored or not wanted any more, or it was given back
    interrupted, // given back because the runtime ends
    zombie,      // given up earlier; only its thread has come back
    late,        // likewise, but given up by this shutdown
};

struct StepResult {
    Step step = Step::idle;
    Duration pause{};
    // Of a turn: how the short activity ended that ran after it on the same thread.
    std::optional<Ran> short_activity{};
};

// One per dispatcher, used on its thread only.
class FetchBackoff {
 public:
    // Backs off longer and longer from a store that is disturbed or has failed for good. Any other
    // error may concern one instance only, and the others must not wait for it.
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
