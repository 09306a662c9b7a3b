#include "replay/failure.hpp"

#include "replay/text.hpp"

#include <string>
#include <utility>
#include <variant>

namespace durable::replay {

namespace {

using details::Application;
using details::ApplicationKind;

std::string_view kind_of(const Application& error) noexcept {
    if (!error.failure_kind.empty()) {
        return error.failure_kind;
    }
    switch (error.kind) {
    case ApplicationKind::activity_failed:
        return failure_kind::activity_failed;
    case ApplicationKind::orchestration_failed:
        return failure_kind::orchestration_failed;
    case ApplicationKind::panicked:
        return failure_kind::panicked;
    case ApplicationKind::cancelled:
        break;
    }
    return failure_kind::cancelled;
}

std::string_view kind_of(const details::Infrastructure&) noexcept {
    return failure_kind::infrastructure;
}
std::string_view kind_of(const details::Configuration&) noexcept {
    return failure_kind::configuration;
}
std::string_view kind_of(const details::Poison&) noexcept {
    return failure_kind::poison;
}

ErrorDetails panicked(std::string message) {
    return Application{.kind = ApplicationKind::panicked, .message = std::move(message)};
}

} // namespace

Failure to_failure(const ErrorDetails& details) {
    const auto kind = std::visit([](const auto& error) { return kind_of(error); }, details);
    return {.kind = std::string{kind},
            .message = display_text(details),
            .retryable = retryable(details)};
}

ErrorDetails to_details(const std::exception_ptr& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const OperationFailed& failed) {
        return to_details(failed.failure());
    } catch (const std::exception& error) {
        return panicked(printable(error.what()));
    } catch (...) {
        return panicked("an exception that is no std::exception");
    }
}

ErrorDetails to_details(const Failure& failure) {
    Application error{.kind = ApplicationKind::orchestration_failed,
                      .message = printable(failure.message),
                      .retryable = failure.retryable};
    // The default kinds say nothing that `kind` does not say already.
    if (failure.kind != failure_kind::activity_failed &&
        failure.kind != failure_kind::orchestration_failed) {
        error.failure_kind = printable(failure.kind);
    }
    return error;
}

ErrorDetails orchestration_failed(std::string message) {
    return Application{.kind = ApplicationKind::orchestration_failed,
                       .message = std::move(message)};
}

ErrorDetails cancelled(std::string reason) {
    return Application{.kind = ApplicationKind::cancelled, .reason = std::move(reason)};
}

} // namespace durable::replay
