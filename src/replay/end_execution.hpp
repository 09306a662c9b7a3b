// Ending an execution from its history alone, without running its code: for poisoned messages, for
// nondeterminism under the policy `fail`, and for messages that find the instance finished.

#pragma once

#include "replay/parent_link.hpp"
#include "replay/turn_result.hpp"

#include <durable/error_details.hpp>
#include <durable/history_event.hpp>
#include <durable/time.hpp>
#include <durable/work_item.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace durable::replay {

// The event that ended this history, or nullptr.
[[nodiscard]] const HistoryEvent* terminal_event(std::span<const HistoryEvent> history) noexcept;

// The first event of an execution, from its StartOrchestration or ContinueAsNew.
[[nodiscard]] history::OrchestrationStarted started_event(const WorkItem& start,
                                                          std::string version);

// The instance of a child, from the id that SubOrchestrationScheduled recorded: ids that begin with
// "sub::" are relative to the parent.
[[nodiscard]] std::string child_instance(std::string_view parent, std::string_view recorded);

// SubOrchestrationScheduled::when_dropped of a child that runs on when its parent drops it.
inline constexpr std::string_view abandon_child = "abandon";
// OrchestrationFailed::ended_by of an execution that ended without its code.
inline constexpr std::string_view by_runtime = "runtime";

struct FailExecution {
    std::string instance;
    std::uint64_t execution_id = 1;
    std::uint64_t incarnation = 0;         // OrchestrationItem::incarnation; 0: unknown
    std::span<const HistoryEvent> history; // of this execution; empty: it never ran
    // Needed when the history is empty: StartOrchestration or ContinueAsNew. The failure is then
    // recorded in the execution that would have begun, never in its predecessor (T-31).
    const WorkItem* start = nullptr;
    std::string version = "unknown"; // of the handler, when it was resolved
    ErrorDetails details;
    Instant now;
};

// Cancels everything the history left open (activities, timers, waits, and children but those that
// were started with ChildPolicy::abandon), records OrchestrationFailed as the last event and sends
// the failure to the parent (T-19, T-30).
[[nodiscard]] TurnResult fail_execution(const FailExecution& request);

// A start for an instance that exists already changes nothing (T-18). If another parent waits for
// it, that parent gets an answer instead of waiting for ever (T-05): the message to send, or
// nothing. `existing`: the parent of the instance; nullptr: it has none.
[[nodiscard]] std::optional<WorkItem> answer_to_second_start(const work::StartOrchestration& start,
                                                             const ParentLink* existing);

// "a start was ignored: ...": of a start without a parent that waits for it.
[[nodiscard]] std::string ignored_start(const work::StartOrchestration& start);

// Whether the runtime has ended this history, not the code: as poison, because the code differs
// from it, or cancelled while it could not be run. See fail_execution.
[[nodiscard]] bool given_up(std::span<const HistoryEvent> history);
// The events before that end: the decisions of the code, and the messages delivered to it.
[[nodiscard]] std::span<const HistoryEvent> before_given_up(std::span<const HistoryEvent> history);

} // namespace durable::replay
