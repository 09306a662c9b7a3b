// Options of the steps an orchestration makes. Plain structs for designated initialisers:
//     ctx.call(charge, order, {.retry = {.max_attempts = 5}, .timeout = 30s})
//
// They may be kept in variables and made by helpers: their texts live as long as the orchestration
// (see option_text.hpp). All of them are trivially copyable: g++ 12 corrupts other aggregates in
// co_await expressions.

#pragma once

#include <durable/option_text.hpp>
#include <durable/step.hpp>
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
    bool only_retryable = false; // give up at the first failure that is not marked retryable

    // The wait after the n-th failure, counted from 1.
    [[nodiscard]] Duration delay_after(int failures) const noexcept;
};

inline constexpr Duration no_timeout = Duration::max();

// Every member has an initialiser, so that {.tag = "gpu"} is no reason for a warning.
struct CallOptions {
    RetryPolicy retry{};
    Timespan timeout = no_timeout;       // of one attempt; an attempt that times out is retried
    Timespan total_timeout = no_timeout; // of all attempts and the waits between them
    OptionText tag{};                    // which workers: see RuntimeOptions; at most 256 bytes
    OptionText session{}; // all calls of a session go to one worker; at most 256 bytes
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
    // nothing happens but a warning in the log: nobody waits who could be told.
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
