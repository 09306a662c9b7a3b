#include "replay/failure.hpp"

#include "replay/text.hpp"

#include <string>
#include <utility>
#include <variant>

namespace durable::replay {

namespace {

using details::Application;
using details::ApplicationKind;

ErrorDetails panicked(std::string message) {
    return Application{.kind = ApplicationKind::panicked, .message = std::move(message)};
}

} // namespace

Failure to_failure(const ErrorDetails& details) {
    Failure failure{.kind = std::string{kind_of(details)},
                    .message = display_text(details),
                    .retryable = retryable(details),
                    .activity = std::string{activity_of(details)}};
    const auto* const application = std::get_if<Application>(&details);
    if (application != nullptr && !application->activity.empty()) {
        failure.message = application->message; // the activity has a field of its own
    }
    return failure;
}

ErrorDetails to_details(const std::exception_ptr& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const OperationFailed& failed) {
        return to_details(failed.failure());
    } catch (const std::exception& error) {
        return panicked(printable(detail::text_of(error)));
    } catch (...) {
        return panicked(detail::foreign_exception);
    }
}

ErrorDetails to_details(const Failure& failure) {
    Application error{.kind = ApplicationKind::orchestration_failed,
                      .message = printable(failure.message),
                      .retryable = failure.retryable,
                      .permanent = failure.retryable.permanent(),
                      .activity = printable(failure.activity)};
    if (failure.kind != failure_kind::orchestration_failed) { // which `kind` says already
        error.failure_kind = printable(failure.kind);
    }
    return error;
}

ErrorDetails with_note(ErrorDetails details, const std::string& note) {
    if (note.empty()) {
        return details;
    }
    const auto add = [&](std::string& text) { text += (text.empty() ? "" : "; ") + note; };
    if (auto* const infrastructure = std::get_if<details::Infrastructure>(&details)) {
        add(infrastructure->message);
    } else if (auto* const configuration = std::get_if<details::Configuration>(&details)) {
        if (!std::exchange(configuration->has_message, true)) {
            configuration->message = "in " + configuration->resource;
        }
        add(configuration->message);
    } else if (auto* const application = std::get_if<Application>(&details)) {
        add(application->message);
    } else if (auto* const poison = std::get_if<details::Poison>(&details)) {
        add(poison->kind == details::PoisonKind::failed_deserialization ? poison->error
                                                                        : poison->cause);
    }
    return details;
}

ErrorDetails orchestration_failed(std::string message) {
    return Application{.kind = ApplicationKind::orchestration_failed,
                       .message = std::move(message)};
}

ErrorDetails cancelled(std::string reason) {
    return Application{.kind = ApplicationKind::cancelled, .reason = std::move(reason)};
}

} // namespace durable::replay
