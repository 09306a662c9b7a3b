// Questions about a fetched item. The OrchestrationDispatcher asks them, on its own thread, to
// decide what it does with the item. Pure functions.

#pragma once

#include "observability/observer.hpp"

#include <durable/history_event.hpp>
#include <durable/provider.hpp>
#include <durable/work_item.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace durable::runtime {

[[nodiscard]] inline observability::Where where_of(const OrchestrationItem& item) {
    return {.instance = item.instance, .execution_id = item.execution_id};
}

// The first message of this kind, or nullptr.
template <class Message>
[[nodiscard]] const WorkItem* find_message(std::span<const WorkItem> messages) noexcept {
    const auto found = std::ranges::find_if(
        messages, [](const WorkItem& each) { return std::holds_alternative<Message>(each); });
    return found == messages.end() ? nullptr : &*found;
}

// The message that begins an execution. A ContinueAsNew, which the engine sends, goes before the
// starts of clients and parents.
[[nodiscard]] const WorkItem* find_start(std::span<const WorkItem> messages) noexcept;

// Which code a start asks for. No version: the newest.
struct Wanted {
    std::string_view name;
    std::optional<std::string_view> version;
};
[[nodiscard]] Wanted wanted_by(const WorkItem& start) noexcept;

// How the execution began, or nullptr when its first event is not among these.
[[nodiscard]] const history::OrchestrationStarted*
started_in(std::span<const HistoryEvent> history) noexcept;

// The messages as JSON, for the details of a poisoned instance.
[[nodiscard]] std::string describe(std::span<const WorkItem> messages);

} // namespace durable::runtime
