// The names of kinds of events, messages and errors: on the wire, and in texts for people.

#include "model/wire_names.hpp"

#include <durable/error_details.hpp>
#include <durable/history_event.hpp>
#include <durable/result.hpp>
#include <durable/work_item.hpp>

#include <algorithm>
#include <array>
#include <type_traits>

namespace durable {

namespace {

std::string display(const details::Infrastructure& error) {
    return "infrastructure:" + error.operation + ": " + error.message;
}

std::string display(const details::Configuration& error) {
    return error.has_message ? "nondeterministic: " + error.message
                             : "nondeterministic in " + error.resource;
}

std::string display(const details::Application& error) {
    switch (error.kind) {
    case details::ApplicationKind::cancelled: // the message says what failed besides
        return "canceled: " + error.reason + (error.message.empty() ? "" : "; " + error.message);
    case details::ApplicationKind::panicked:
        return "orchestration panicked: " + error.message;
    case details::ApplicationKind::activity_failed:
    case details::ApplicationKind::orchestration_failed:
        break;
    }
    return error.activity.empty() ? error.message
                                  : "activity '" + error.activity + "' failed: " + error.message;
}

// Empty for an unknown cause: the sentence then ends with the attempts.
std::string because(const std::string& cause) {
    return cause.empty() ? std::string{} : ": " + cause;
}

std::string display(const details::Poison& error) {
    // The fetch that finds the limit exceeded counts one more, but is no attempt.
    const auto made = std::min(error.attempt_count, error.max_attempts);
    const auto attempts = std::to_string(made) + (made == 1 ? " attempt" : " attempts");
    switch (error.kind) {
    case details::PoisonKind::orchestration:
        return "poison: orchestration " + error.instance + " exceeded " + attempts +
               because(error.cause);
    case details::PoisonKind::activity:
        return "poison: activity " + error.activity_name + "#" + std::to_string(error.activity_id) +
               " exceeded " + attempts + because(error.cause);
    case details::PoisonKind::failed_deserialization:
        break;
    }
    return "poison: orchestration " + error.instance + " history deserialization failed after " +
           attempts + ": " + error.error;
}

std::string_view kind(const details::Application& error) noexcept {
    if (!error.failure_kind.empty()) {
        return error.failure_kind;
    }
    switch (error.kind) {
    case details::ApplicationKind::activity_failed:
        return failure_kind::activity_failed;
    case details::ApplicationKind::orchestration_failed:
        return failure_kind::orchestration_failed;
    case details::ApplicationKind::panicked:
        return failure_kind::panicked;
    case details::ApplicationKind::cancelled:
        break;
    }
    return failure_kind::cancelled;
}

} // namespace

std::string_view type_name(const history::Kind& kind) noexcept {
    return wire::event_names[kind.index()];
}

bool is_terminal(const history::Kind& kind) noexcept {
    return std::holds_alternative<history::OrchestrationCompleted>(kind) ||
           std::holds_alternative<history::OrchestrationFailed>(kind) ||
           std::holds_alternative<history::OrchestrationContinuedAsNew>(kind);
}

// NOLINTNEXTLINE(bugprone-exception-escape): visit throws for a valueless variant; none ever is
const std::string& target_instance(const WorkItem& item) noexcept {
    return std::visit(
        [](const auto& each) -> const std::string& {
            if constexpr (requires { each.instance; }) {
                return each.instance;
            } else {
                return each.parent_instance;
            }
        },
        item);
}

std::string_view type_name(const WorkItem& item) noexcept {
    return wire::item_names[item.index()];
}

std::string display_text(const ErrorDetails& details) {
    return std::visit([](const auto& error) { return display(error); }, details);
}

std::string_view category(const ErrorDetails& details) noexcept {
    constexpr std::array names = {std::string_view{"infrastructure"},
                                  std::string_view{"configuration"},
                                  std::string_view{"application"},
                                  std::string_view{"poison"}};
    return names[details.index()];
}

std::string_view kind_of(const ErrorDetails& details) noexcept {
    if (const auto* application = std::get_if<details::Application>(&details)) {
        return kind(*application);
    }
    constexpr std::array kinds = {failure_kind::infrastructure,
                                  failure_kind::configuration,
                                  std::string_view{},
                                  failure_kind::poison};
    return kinds[details.index()];
}

std::string_view activity_of(const ErrorDetails& details) noexcept {
    if (const auto* application = std::get_if<details::Application>(&details)) {
        return application->activity;
    }
    if (const auto* poison = std::get_if<details::Poison>(&details)) {
        return poison->activity_name;
    }
    return {};
}

Retryable retryable(const ErrorDetails& details) noexcept {
    // Older versions recorded "not retryable" without a meaning, and retried such failures.
    const auto read = [](bool retryable, bool permanent) {
        return retryable || permanent ? Retryable{retryable} : Retryable{};
    };
    if (const auto* infrastructure = std::get_if<details::Infrastructure>(&details)) {
        return read(infrastructure->retryable, false);
    }
    if (const auto* application = std::get_if<details::Application>(&details)) {
        return read(application->retryable, application->permanent);
    }
    if (const auto* poison = std::get_if<details::Poison>(&details)) {
        return read(false, poison->permanent);
    }
    return {};
}

} // namespace durable
