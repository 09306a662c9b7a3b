// HistoryEvent: one line of an execution's append-only history. Histories are the only truth an
// orchestration has: everything it knows is recomputed from them.
//
// codec.hpp writes and reads the JSON; names in it follow the wire format, not the C++ names.

#pragma once

#include <durable/error_details.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace durable {

// A message that was not read before continue-as-new: the name of its queue or event, and data.
struct CarriedMessage {
    std::string name;
    std::string data;
    bool operator==(const CarriedMessage&) const = default;
};

namespace history {

// Absent and empty are different on the wire wherever the type says std::optional.

struct OrchestrationStarted {
    std::string name;
    std::string version;
    std::string input;
    std::optional<std::string> parent_instance;
    std::optional<std::uint64_t> parent_id; // event id in the parent's history
    std::optional<std::vector<CarriedMessage>> carry_forward_events; // of queues
    std::optional<std::string> initial_custom_status;
    std::optional<std::uint64_t> parent_execution_id;
    std::optional<std::vector<CarriedMessage>> carry_forward_raised; // events that were raised
    // Of both kinds together, oldest first: "qeq". Absent on the wire when empty: queues first.
    std::string carry_forward_order;
    std::optional<std::uint64_t> rules; // of replay, that the execution began with; absent: 0
    std::optional<std::uint64_t> parent_incarnation; // see work_item.hpp
    bool operator==(const OrchestrationStarted&) const = default;
};

// How many messages the execution before left unread, of queues and events together.
[[nodiscard]] inline std::size_t carried_messages(const OrchestrationStarted& started) noexcept {
    return (started.carry_forward_events ? started.carry_forward_events->size() : 0) +
           (started.carry_forward_raised ? started.carry_forward_raised->size() : 0);
}

struct OrchestrationCompleted {
    std::string output;
    bool operator==(const OrchestrationCompleted&) const = default;
};

struct OrchestrationFailed {
    ErrorDetails details;
    std::string ended_by; // "runtime": without its code; absent on the wire when empty
    bool operator==(const OrchestrationFailed&) const = default;
};

struct OrchestrationContinuedAsNew {
    std::string input;
    bool operator==(const OrchestrationContinuedAsNew&) const = default;
};

struct OrchestrationCancelRequested {
    std::string reason;
    bool operator==(const OrchestrationCancelRequested&) const = default;
};

struct ActivityScheduled {
    std::string name;
    std::string input;
    std::optional<std::string> session_id;
    std::optional<std::string> tag;
    std::optional<std::string> on_cancel{}; // "wait": a cancellation waits for its end
    std::optional<std::string> undo{};      // the activity that undoes it
    bool operator==(const ActivityScheduled&) const = default;
};

struct ActivityCompleted {
    std::string result;
    bool operator==(const ActivityCompleted&) const = default;
};

struct ActivityFailed {
    ErrorDetails details;
    bool operator==(const ActivityFailed&) const = default;
};

struct ActivityCancelRequested {
    std::string reason;
    bool operator==(const ActivityCancelRequested&) const = default;
};

struct TimerCreated {
    std::uint64_t fire_at_ms = 0;
    bool operator==(const TimerCreated&) const = default;
};

struct TimerFired {
    std::uint64_t fire_at_ms = 0;
    bool operator==(const TimerFired&) const = default;
};

struct TimerCancelRequested { // ours: the reference cannot cancel timers
    std::string reason;
    bool operator==(const TimerCancelRequested&) const = default;
};

struct ExternalSubscribed {
    std::string name;
    bool operator==(const ExternalSubscribed&) const = default;
};

struct ExternalEvent {
    std::string name;
    std::string data;
    bool operator==(const ExternalEvent&) const = default;
};

struct ExternalSubscribedCancelled {
    std::string reason;
    bool operator==(const ExternalSubscribedCancelled&) const = default;
};

struct QueueSubscribed { // on the wire: ExternalSubscribedPersistent
    std::string name;
    bool operator==(const QueueSubscribed&) const = default;
};

struct QueueEventDelivered { // on the wire: ExternalEventPersistent
    std::string name;
    std::string data;
    bool operator==(const QueueEventDelivered&) const = default;
};

struct QueueSubscriptionCancelled { // on the wire: ExternalSubscribedPersistentCancelled
    std::string reason;
    bool operator==(const QueueSubscriptionCancelled&) const = default;
};

struct OrchestrationChained {
    std::string name;
    std::string instance;
    std::string input;
    bool operator==(const OrchestrationChained&) const = default;
};

struct SubOrchestrationScheduled {
    std::string name;
    std::string instance;
    std::string input;
    std::string when_dropped; // "abandon"; absent on the wire when empty: cancel
    bool operator==(const SubOrchestrationScheduled&) const = default;
};

struct SubOrchestrationCompleted {
    std::string result;
    bool operator==(const SubOrchestrationCompleted&) const = default;
};

struct SubOrchestrationFailed {
    ErrorDetails details;
    bool operator==(const SubOrchestrationFailed&) const = default;
};

struct SubOrchestrationCancelRequested {
    std::string reason;
    bool operator==(const SubOrchestrationCancelRequested&) const = default;
};

struct CustomStatusUpdated {
    std::optional<std::string> status; // nullopt clears
    bool operator==(const CustomStatusUpdated&) const = default;
};

struct KeyValueSet {
    std::string key;
    std::string value;
    std::uint64_t last_updated_at_ms = 0;
    bool operator==(const KeyValueSet&) const = default;
};

struct KeyValueCleared {
    std::string key;
    bool operator==(const KeyValueCleared&) const = default;
};

struct KeyValuesCleared {
    bool operator==(const KeyValuesCleared&) const = default;
};

struct PatchMarked { // ours: the answer patched("id") gave, so that replay gives it again
    std::string id;
    bool operator==(const PatchMarked&) const = default;
};

using Kind = std::variant<OrchestrationStarted,
                          OrchestrationCompleted,
                          OrchestrationFailed,
                          OrchestrationContinuedAsNew,
                          OrchestrationCancelRequested,
                          ActivityScheduled,
                          ActivityCompleted,
                          ActivityFailed,
                          ActivityCancelRequested,
                          TimerCreated,
                          TimerFired,
                          TimerCancelRequested,
                          ExternalSubscribed,
                          ExternalEvent,
                          ExternalSubscribedCancelled,
                          QueueSubscribed,
                          QueueEventDelivered,
                          QueueSubscriptionCancelled,
                          OrchestrationChained,
                          SubOrchestrationScheduled,
                          SubOrchestrationCompleted,
                          SubOrchestrationFailed,
                          SubOrchestrationCancelRequested,
                          CustomStatusUpdated,
                          KeyValueSet,
                          KeyValueCleared,
                          KeyValuesCleared,
                          PatchMarked>;

} // namespace history

struct HistoryEvent {
    std::uint64_t event_id = 0; // 1, 2, 3, ... in one execution; 0 is "unset" and is refused
    std::optional<std::uint64_t>
        source_event_id;            // the step that a completion or cancellation answers
    std::string instance_id;        // a copy for readers; storage never trusts it
    std::uint64_t execution_id = 0; // a copy for readers; storage never trusts it
    std::uint64_t timestamp_ms = 0;
    std::string engine_version; // on the wire: duroxide_version
    history::Kind kind;
    std::string location; // "order.cpp:42", where the step was made; absent on the wire when empty
    std::string extra;    // unknown members as raw JSON text, see error_details.hpp

    bool operator==(const HistoryEvent&) const = default;
};

// The event's name on the wire: "ExternalSubscribedPersistent".
[[nodiscard]] std::string_view type_name(const history::Kind& kind) noexcept;

// Completed, failed or continued as new: nothing follows in this execution.
[[nodiscard]] bool is_terminal(const history::Kind& kind) noexcept;

} // namespace durable
