// ErrorDetails: a failure as history stores it. Four categories, by the role that can repair it:
//   infrastructure  the operator of the store
//   configuration   the team that deployed the code
//   application     the author of the code
//   poison          the person who examines a message that keeps killing its worker

#pragma once

#include <durable/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace durable {

namespace details {

// `extra` in these structs holds members that a later version wrote and this one does not know, as
// raw JSON text (`"key":value,...`): they survive a round trip. `kind_extra` holds those of the
// object nested in the error, which says what was cancelled or poisoned.

struct Infrastructure {
    std::string operation;
    std::string message;
    bool retryable = false;
    std::string extra;
    bool operator==(const Infrastructure&) const = default;
};

struct Configuration {
    std::string resource;
    bool has_message = false; // a null message and an empty one differ on the wire
    std::string message;
    std::string extra;
    bool operator==(const Configuration&) const = default;
};

enum class ApplicationKind : std::uint8_t {
    activity_failed,
    orchestration_failed,
    panicked,
    cancelled
};

struct Application {
    ApplicationKind kind = ApplicationKind::activity_failed;
    std::string reason; // of a cancellation
    std::string message;
    bool retryable = false;
    bool permanent = false; // another attempt cannot help; absent on the wire when false
    std::string
        failure_kind; // Failure::kind, when `kind` does not say it; absent on the wire when empty
    std::string activity; // the activity that failed; absent on the wire when empty
    std::string extra;
    std::string kind_extra; // of a cancellation
    bool operator==(const Application&) const = default;
};

enum class PoisonKind : std::uint8_t { orchestration, activity, failed_deserialization };

struct Poison {
    std::uint32_t attempt_count = 0;
    std::uint32_t max_attempts = 0;
    PoisonKind kind = PoisonKind::orchestration;
    std::string instance;
    std::uint64_t execution_id = 0;
    std::string activity_name;     // activity only
    std::uint64_t activity_id = 0; // activity only
    std::string error;             // failed_deserialization only
    std::string message;           // the poisonous message, for debugging
    std::string cause;      // the last error, when it is known; absent on the wire when empty
    bool permanent = false; // as in Application
    std::string extra;
    std::string kind_extra;
    bool operator==(const Poison&) const = default;
};

} // namespace details

using ErrorDetails = std::
    variant<details::Infrastructure, details::Configuration, details::Application, details::Poison>;

// For people, and for the output of a failed execution: "activity 'Charge' failed: no funds",
// "canceled: user".
[[nodiscard]] std::string display_text(const ErrorDetails& details);

// "infrastructure", "configuration", "application" or "poison".
[[nodiscard]] std::string_view category(const ErrorDetails& details) noexcept;

// Failure::kind: the user's own, or one of the library's (namespace failure_kind).
[[nodiscard]] std::string_view kind_of(const ErrorDetails& details) noexcept;

// Failure::activity: the activity that failed; empty when none did, or none is known.
[[nodiscard]] std::string_view activity_of(const ErrorDetails& details) noexcept;

// Failure::retryable. Histories of older versions say yes or nothing.
[[nodiscard]] Retryable retryable(const ErrorDetails& details) noexcept;

} // namespace durable
