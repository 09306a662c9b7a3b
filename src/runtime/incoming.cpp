#include "runtime/incoming.hpp"

#include <durable/codec.hpp>

namespace durable::runtime {

const WorkItem* find_start(std::span<const WorkItem> messages) noexcept {
    const auto* next = find_message<work::ContinueAsNew>(messages);
    return next != nullptr ? next : find_message<work::StartOrchestration>(messages);
}

Wanted wanted_by(const WorkItem& start) noexcept {
    if (const auto* first = std::get_if<work::StartOrchestration>(&start)) {
        return {.name = first->orchestration, .version = first->version};
    }
    if (const auto* next = std::get_if<work::ContinueAsNew>(&start)) {
        return {.name = next->orchestration, .version = next->version};
    }
    return {};
}

const history::OrchestrationStarted* started_in(std::span<const HistoryEvent> history) noexcept {
    return history.empty() ? nullptr
                           : std::get_if<history::OrchestrationStarted>(&history.front().kind);
}

std::string describe(std::span<const WorkItem> messages) {
    std::string text;
    for (const auto& message : messages) {
        text += text.empty() ? "" : ",";
        text += encode(message).value_or(std::string{type_name(message)});
    }
    return '[' + text + ']';
}

} // namespace durable::runtime
