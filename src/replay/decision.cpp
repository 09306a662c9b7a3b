#include "replay/decision.hpp"

#include "base/utf8.hpp"
#include "replay/text.hpp"

#include <durable/result.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace durable::replay {

namespace {

using namespace history; // NOLINT(google-build-using-namespace): all of its kinds appear below

template <class Kind, class... Kinds>
inline constexpr bool one_of = (std::is_same_v<Kind, Kinds> || ...);

template <class Kind>
inline constexpr bool is_message = one_of<Kind,
                                          OrchestrationStarted,
                                          OrchestrationCancelRequested,
                                          ActivityCompleted,
                                          ActivityFailed,
                                          TimerFired,
                                          ExternalEvent,
                                          QueueEventDelivered,
                                          SubOrchestrationCompleted,
                                          SubOrchestrationFailed>;

// Long payloads are cut around the place where they begin to differ.
std::string excerpt(std::string_view text, std::size_t around, std::size_t most = 60) {
    if (text.size() <= most) {
        return '"' + std::string{text} + '"';
    }
    const auto begin = around > most / 2 ? around - most / 2 : 0;
    const auto shown = printable(text.substr(std::min(begin, text.size()), most));
    return (begin > 0 ? "...\"" : "\"") + shown + (begin + most < text.size() ? "\"..." : "\"");
}

std::string compare(std::string_view field, std::string_view recorded, std::string_view made) {
    if (recorded == made) {
        return {};
    }
    const auto at =
        static_cast<std::size_t>(std::ranges::mismatch(recorded, made).in1 - recorded.begin());
    return std::string{field} + ": " + excerpt(recorded, at) + " / " + excerpt(made, at);
}

std::string compare_optional(std::string_view field,
                             const std::optional<std::string>& recorded,
                             const std::optional<std::string>& made) {
    if (recorded && made) {
        return compare(field, std::string_view{*recorded}, std::string_view{*made});
    }
    const auto shown = [](const std::optional<std::string>& text) {
        return text ? excerpt(*text, 0) : std::string{"none"};
    };
    return recorded == made ? std::string{}
                            : std::string{field} + ": " + shown(recorded) + " / " + shown(made);
}

std::string compare_payload(std::string_view field,
                            std::string_view recorded,
                            std::string_view made,
                            detail::Recode recode) {
    if (recorded == made || recode == nullptr) {
        return compare(field, recorded, made);
    }
    const auto today = recode(recorded);
    return compare(field, today ? std::string_view{*today} : recorded, made);
}

std::string first_of(std::initializer_list<std::string> differences) {
    for (const auto& each : differences) {
        if (!each.empty()) {
            return each;
        }
    }
    return {};
}

std::string
differs(const ActivityScheduled& recorded, const ActivityScheduled& made, detail::Recode recode) {
    return first_of({compare("name", recorded.name, made.name),
                     compare_payload("input", recorded.input, made.input, recode),
                     compare_optional("session", recorded.session_id, made.session_id),
                     compare_optional("tag", recorded.tag, made.tag)});
}
std::string differs(const SubOrchestrationScheduled& recorded,
                    const SubOrchestrationScheduled& made,
                    detail::Recode recode) {
    return first_of(
        {compare("name", recorded.name, made.name),
         compare_payload("input", recorded.input, made.input, recode),
         made.instance.empty() ? std::string{} : compare("id", recorded.instance, made.instance)});
}
std::string differs(const OrchestrationChained& recorded,
                    const OrchestrationChained& made,
                    detail::Recode recode) {
    return first_of(
        {compare("name", recorded.name, made.name),
         made.instance.empty() ? std::string{} : compare("id", recorded.instance, made.instance),
         compare_payload("input", recorded.input, made.input, recode)});
}
std::string
differs(const ExternalSubscribed& recorded, const ExternalSubscribed& made, detail::Recode) {
    return compare("name", recorded.name, made.name);
}
std::string differs(const QueueSubscribed& recorded, const QueueSubscribed& made, detail::Recode) {
    return compare("name", recorded.name, made.name);
}
std::string differs(const KeyValueSet& recorded, const KeyValueSet& made, detail::Recode recode) {
    return first_of({compare("key", recorded.key, made.key),
                     compare_payload("value", recorded.value, made.value, recode)});
}
std::string differs(const KeyValueCleared& recorded, const KeyValueCleared& made, detail::Recode) {
    return compare("key", recorded.key, made.key);
}
std::string differs(const PatchMarked& recorded, const PatchMarked& made, detail::Recode) {
    return compare("id", recorded.id, made.id);
}
std::string differs(const OrchestrationCompleted& recorded,
                    const OrchestrationCompleted& made,
                    detail::Recode recode) {
    return compare_payload("output", recorded.output, made.output, recode);
}
std::string differs(const OrchestrationContinuedAsNew& recorded,
                    const OrchestrationContinuedAsNew& made,
                    detail::Recode recode) {
    return compare_payload("input", recorded.input, made.input, recode);
}
// The decision as an older engine would have recorded it: without the activity that failed, and
// without saying that it was one.
OrchestrationFailed as_recorded(OrchestrationFailed made, const OrchestrationFailed& recorded) {
    auto* const now = std::get_if<details::Application>(&made.details);
    const auto* const then = std::get_if<details::Application>(&recorded.details);
    if (now != nullptr && then != nullptr && then->activity.empty()) {
        now->activity.clear();
        if (then->failure_kind.empty() && now->failure_kind == failure_kind::activity_failed) {
            now->failure_kind.clear();
        }
    }
    return made;
}
std::string
differs(const OrchestrationFailed& recorded, const OrchestrationFailed& made, detail::Recode) {
    const auto comparable = as_recorded(made, recorded);
    return first_of(
        {compare("category", category(recorded.details), category(comparable.details)),
         compare("kind", kind_of(recorded.details), kind_of(comparable.details)),
         compare("details", display_text(recorded.details), display_text(comparable.details))});
}
// Timers, status, clearing of all keys, cancellations: only their kind is compared.
template <class Kind>
std::string differs(const Kind&, const Kind&, detail::Recode) {
    return {};
}

std::string source_text(std::optional<std::uint64_t> source) {
    return source ? "step " + std::to_string(*source) : std::string{"no step"};
}

template <class Kind>
std::string subject(const Kind& kind) {
    if constexpr (requires { kind.name; }) {
        return " \"" + kind.name + '"';
    } else if constexpr (requires { kind.key; }) {
        return " \"" + kind.key + '"';
    } else if constexpr (requires { kind.id; }) {
        return " \"" + kind.id + '"';
    } else if constexpr (std::is_same_v<Kind, OrchestrationFailed>) {
        return ' ' + describe(kind.details);
    } else {
        return {};
    }
}

} // namespace

bool is_decision(const history::Kind& kind) noexcept {
    return std::visit([]<class Kind>(const Kind&) { return !is_message<Kind>; }, kind);
}

std::string difference(const HistoryEvent& recorded, const Decision& made) {
    if (recorded.kind.index() != made.kind.index()) {
        return "kind: " + std::string{type_name(recorded.kind)} + " / " +
               std::string{type_name(made.kind)};
    }
    if (recorded.source_event_id != made.source) {
        return "cancels: " + source_text(recorded.source_event_id) + " / " +
               source_text(made.source);
    }
    return std::visit(
        [&]<class Kind>(const Kind& kind) {
            return differs(kind, std::get<Kind>(made.kind), made.recode);
        },
        recorded.kind);
}

std::string describe(const ErrorDetails& details) {
    constexpr std::size_t most = 500;
    std::string text;
    utf8::append_one_line(text, display_text(details));
    return std::string{kind_of(details)} + ' ' + excerpt(text, 0, most);
}

std::string describe(const history::Kind& kind, std::optional<std::uint64_t> source) {
    auto text = std::string{type_name(kind)} +
                std::visit([](const auto& each) { return subject(each); }, kind);
    return source ? text + " of " + source_text(source) : text;
}

} // namespace durable::replay
