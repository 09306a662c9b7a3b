// The two ways something can go wrong.
//
//   Error    This library or its storage failed. A value in every Result; never recorded in a
//            history, never seen by orchestrations.
//   Failure  The *user's* activity or child orchestration failed. Recorded in history, replayed.

#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace durable {

// Two errors have different codes where a caller would react differently; the message says the
// rest.
enum class ErrorCode : std::uint8_t {
    unavailable,          // transient: repeating the very same call may succeed
    lock_lost,            // the lease is unknown, expired or taken over: drop the work
    not_found,            // no such instance, execution or message
    already_exists,       // an instance with this id is already there
    invalid_argument,     // the caller's mistake: repeating the call is useless
    corrupt,              // stored bytes do not decode: stop, do not guess
    still_running,        // refused because the instance runs: cancel it first, or use force
    not_a_root,           // refused because the instance is a child: act on its root
    has_children,         // refused because children outside the request would be orphaned
    unsupported,          // this provider does not offer the feature
    timed_out,            // the caller's own time limit passed
    orchestration_failed, // the awaited orchestration ended in failure
    storage_failed,       // the store is no longer usable: close it and find out why
};

inline constexpr std::size_t error_code_count = 13;

// "lock_lost": for logs, metrics and error pages.
[[nodiscard]] std::string_view name_of(ErrorCode code) noexcept;

struct Error {
    ErrorCode code = ErrorCode::unavailable;
    std::string message{};
    std::string operation{};    // the call that failed: "ack_orchestration_item"
    std::string failure_kind{}; // of orchestration_failed: Failure::kind, "PaymentDeclined"
    std::string activity{};     // of orchestration_failed: Failure::activity, "ChargeCard"

    // True when repeating the very same call may succeed.
    [[nodiscard]] bool retryable() const noexcept { return code == ErrorCode::unavailable; }

    // "ack_orchestration_item: Invalid lock token"
    [[nodiscard]] std::string text() const;
};

template <class T = void>
using Result = std::expected<T, Error>;

//     return fail(ErrorCode::not_found, "no instance " + id, "get_instance_info");
[[nodiscard]] inline std::unexpected<Error>
fail(ErrorCode code, std::string message, std::string operation = {}) {
    return std::unexpected{
        Error{.code = code, .message = std::move(message), .operation = std::move(operation)}};
}

// Kinds of failures that the library itself makes. Users' own kinds are any other words.
namespace failure_kind {
inline constexpr std::string_view activity_failed = "ActivityFailed"; // threw without a kind
// An orchestration that threw without a kind, or that the library ended.
inline constexpr std::string_view orchestration_failed = "OrchestrationFailed";
inline constexpr std::string_view panicked = "Panicked"; // an unexpected exception
inline constexpr std::string_view cancelled = "Cancelled";
inline constexpr std::string_view timed_out = "TimedOut";
inline constexpr std::string_view bad_payload = "BadPayload"; // the text does not fit the type
inline constexpr std::string_view infrastructure = "Infrastructure";
inline constexpr std::string_view configuration = "Configuration";
inline constexpr std::string_view poison = "Poison"; // given up after too many attempts
} // namespace failure_kind

// What a failure says about another attempt: `true`, `false`, or nothing, which is the default.
// Read as a bool it is true only where the failure says so.
class Retryable {
 public:
    constexpr Retryable() noexcept = default;
    constexpr Retryable(bool again) noexcept // NOLINT(google-explicit-constructor)
        : says_{again ? Says::yes : Says::no} {}

    constexpr operator bool() const noexcept { // NOLINT(google-explicit-constructor)
        return says_ == Says::yes;
    }
    // `.retryable = false`: no retry policy tries again, unless it asks for `retry_permanent`.
    [[nodiscard]] constexpr bool permanent() const noexcept { return says_ == Says::no; }

    friend constexpr bool operator==(Retryable, Retryable) noexcept = default;
    friend constexpr bool operator==(Retryable failure, bool again) noexcept {
        return static_cast<bool>(failure) == again;
    }

 private:
    enum class Says : std::uint8_t { nothing, yes, no };
    Says says_ = Says::nothing;
};

struct Failure {
    std::string kind{};    // stable, for code: "PaymentDeclined"
    std::string message{}; // for people
    Retryable retryable{};
    // The activity that failed, here or in a child that did not catch it. Empty: none did.
    std::string activity{};

    bool operator==(const Failure&) const = default;
};

template <class T>
using Outcome = std::expected<T, Failure>;

// What `co_await ctx.call(...)` throws when the activity failed. Ask for `.as_result()` instead
// when the failure is part of the plan: C++ forbids co_await inside a catch block.
class OperationFailed final : public std::exception {
 public:
    explicit OperationFailed(Failure failure) : failure_{std::move(failure)} {}

    [[nodiscard]] const Failure& failure() const noexcept { return failure_; }
    [[nodiscard]] const char* what() const noexcept override { return failure_.message.c_str(); }

 private:
    Failure failure_;
};

namespace detail {

inline constexpr const char* foreign_exception = "an exception that is no std::exception";

// For an exception of any library: its what() may be null.
[[nodiscard]] inline const char* text_of(const std::exception& error) noexcept {
    const char* text = error.what();
    return text != nullptr ? text : "an exception without a text";
}

} // namespace detail

} // namespace durable
