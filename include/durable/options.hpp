// Options of the steps an orchestration makes. Plain structs for designated initialisers:
//     ctx.call(charge, order, {.retry = {.max_attempts = 5}, .timeout = 30s})
//
// They may be kept in variables and made by helpers: their texts live as long as the orchestration
// (see option_text.hpp). All of them are trivially copyable: g++ 12 corrupts other aggregates in
// co_await expressions.

#pragma once

#include <durable/detail/option_text.hpp>
#include <durable/detail/step.hpp>
#include <durable/result.hpp>
#include <durable/time.hpp>

#include <cstdint>
#include <type_traits>

namespace durable {

enum class Backoff : std::uint8_t {
    exponential, // first_delay, then times `multiplier` each
    linear,      // first_delay, twice, three times, ...
    fixed,       // first_delay each time
    none,        // at once
};

// Attempts are recorded one by one, as ordinary steps of the history.
struct RetryPolicy {
    int max_attempts = 1; // 1: no retry
    Backoff backoff = Backoff::exponential;
    Timespan first_delay = std::chrono::milliseconds{100};
    double multiplier = 2.0;
    Timespan max_delay = std::chrono::seconds{30};
    // By default a failure that says `.retryable = false` ends the call; every other one, a timeout
    // included, is retried.
    bool only_retryable = false;  // only a failure that says `.retryable = true` is retried
    bool retry_permanent = false; // also one that says `.retryable = false`

    // Whether a failure with this mark is worth another attempt.
    [[nodiscard]] constexpr bool retries(Retryable failure) const noexcept {
        return only_retryable ? static_cast<bool>(failure)
                              : retry_permanent || !failure.permanent();
    }

    // The wait after the n-th failure, counted from 1.
    [[nodiscard]] Duration delay_after(int failures) const noexcept;
};

// What a cancellation does to a call that is under way. It may be one of the orchestration, or of
// the operation, by its destruction or by a race that it loses.
enum class CancelPolicy : std::uint8_t {
    automatic, // wait, for a call that has an undo; stop, for any other
    stop,      // the activity is asked to stop, and its outcome stays unknown
    // The activity is left alone. A cancellation of the orchestration takes effect when the call
    // has ended and the code has seen its result; of an operation that was dropped, when it ends.
    wait,
};

inline constexpr Duration no_timeout = Duration::max();

// Every member has an initialiser, so that {.tag = "gpu"} is no reason for a warning.
struct CallOptions {
    RetryPolicy retry{};
    Timespan timeout = no_timeout;       // of one attempt; an attempt that times out is retried
    Timespan total_timeout = no_timeout; // of all attempts and the waits between them
    OptionText tag{};                    // which workers: see RuntimeOptions; at most 256 bytes
    OptionText session{}; // all calls of a session go to one worker; at most 256 bytes
    CancelPolicy on_cancel = CancelPolicy::automatic;
};

struct ChildOptions {
    // Empty: derived from the parent, so replay finds the same child. If an instance, running or
    // ended, has the id already, the call fails: "instance 'x' already exists".
    OptionText id{};
    OptionText version{}; // empty: the newest registered when the child starts
    ChildPolicy when_dropped = ChildPolicy::cancel;
};

struct DetachedOptions {
    // Empty: derived from this instance. If an instance, running or ended, has the id already,
    // nothing happens but a warning in the log: there is no waiter that could get an error.
    OptionText id{};
    OptionText version{}; // empty: the newest registered when it starts
};

struct ContinueOptions {
    OptionText version{}; // empty: the newest registered when the next execution starts
};

static_assert(std::is_trivially_copyable_v<CallOptions>);
static_assert(std::is_trivially_copyable_v<ChildOptions>);
static_assert(std::is_trivially_copyable_v<DetachedOptions>);
static_assert(std::is_trivially_copyable_v<ContinueOptions>);

} // namespace durable
