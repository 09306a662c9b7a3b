// Between the two shapes of a failure: ErrorDetails, as history stores it, and Failure, as user
// code sees it.

#pragma once

#include <durable/error_details.hpp>
#include <durable/result.hpp>

#include <exception>
#include <string>

namespace durable::replay {

// What co_await throws. Failures of the system (a worker that gave up, a poisoned child) are
// failures of a kind of their own, which code may catch like any other.
[[nodiscard]] Failure to_failure(const ErrorDetails& details);

// The record of an exception that left an orchestration: a thrown OperationFailed is the
// orchestration's own failure, any other exception is a panic with its text.
[[nodiscard]] ErrorDetails to_details(const std::exception_ptr& thrown);
[[nodiscard]] ErrorDetails to_details(const Failure& failure);

// The same failure, with a note for people behind its text. An empty note changes nothing.
[[nodiscard]] ErrorDetails with_note(ErrorDetails details, const std::string& note);

[[nodiscard]] ErrorDetails orchestration_failed(std::string message);
[[nodiscard]] ErrorDetails cancelled(std::string reason);

} // namespace durable::replay
