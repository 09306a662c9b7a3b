// WorkItem: one message of the two queues. The orchestrator queue carries what an instance must
// react to, the worker queue carries activities to run (ActivityExecute and nothing else).

#pragma once

#include <durable/error_details.hpp>
#include <durable/history_event.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace durable {

namespace work {

// `extra`: unknown members as raw JSON text, see error_details.hpp.
//
// An id may be deleted and used again. `incarnation` (OrchestrationItem::incarnation) says which of
// the instances of that id is meant, `parent_incarnation` the same of the parent. Absent when the
// sender did not know it: then the id alone counts.

struct StartOrchestration {
    std::string instance;
    std::string orchestration;
    std::string input;
    std::optional<std::string> version; // nullopt: the newest registered
    std::optional<std::string> parent_instance;
    std::optional<std::uint64_t> parent_id;
    std::uint64_t execution_id = 1;
    std::optional<std::uint64_t> parent_execution_id;
    std::optional<std::uint64_t> parent_incarnation;
    std::string extra;
    bool operator==(const StartOrchestration&) const = default;
};

struct ContinueAsNew {
    std::string instance;
    std::string orchestration;
    std::string input;
    std::optional<std::string> version;
    std::vector<CarriedMessage> carry_forward_events; // unread, of queues; oldest first
    std::optional<std::string> initial_custom_status;
    std::optional<std::string> parent_instance;
    std::optional<std::uint64_t> parent_id;
    std::optional<std::uint64_t> parent_execution_id;
    std::optional<std::vector<CarriedMessage>> carry_forward_raised; // likewise, of events
    std::string carry_forward_order; // of both, see history::OrchestrationStarted
    std::optional<std::uint64_t> parent_incarnation;
    std::string extra;
    bool operator==(const ContinueAsNew&) const = default;
};

struct ActivityExecute {
    std::string instance;
    std::uint64_t execution_id = 0;
    std::uint64_t id = 0; // event id of its ActivityScheduled
    std::string name;
    std::string input;
    std::optional<std::string> session_id;
    std::optional<std::string> tag;
    std::string orchestration;         // for the activity's context; absent on the wire when empty
    std::string orchestration_version; // likewise
    // A retry of a call: the id of the call's first attempt, and which attempt this is (2, 3, ...).
    std::optional<std::uint64_t> call_id;
    std::optional<std::uint32_t> call_attempt;
    std::optional<std::uint64_t> incarnation;
    std::string extra;
    bool operator==(const ActivityExecute&) const = default;
};

struct ActivityCompleted {
    std::string instance;
    std::uint64_t execution_id = 0;
    std::uint64_t id = 0;
    std::string result;
    std::string extra;
    bool operator==(const ActivityCompleted&) const = default;
};

struct ActivityFailed {
    std::string instance;
    std::uint64_t execution_id = 0;
    std::uint64_t id = 0;
    ErrorDetails details;
    std::string extra;
    bool operator==(const ActivityFailed&) const = default;
};

struct TimerFired { // queued when the timer is made, visible from fire_at_ms on
    std::string instance;
    std::uint64_t execution_id = 0;
    std::uint64_t id = 0;
    std::uint64_t fire_at_ms = 0;
    std::string extra;
    bool operator==(const TimerFired&) const = default;
};

struct ExternalRaised {
    std::string instance;
    std::string name;
    std::string data;
    std::string extra;
    bool operator==(const ExternalRaised&) const = default;
};

struct QueueMessage {
    std::string instance;
    std::string name;
    std::string data;
    std::string extra;
    bool operator==(const QueueMessage&) const = default;
};

struct SubOrchCompleted {
    std::string parent_instance;
    std::uint64_t parent_execution_id = 0;
    std::uint64_t parent_id = 0;
    std::string result;
    std::optional<std::uint64_t> parent_incarnation;
    std::string extra;
    bool operator==(const SubOrchCompleted&) const = default;
};

struct SubOrchFailed {
    std::string parent_instance;
    std::uint64_t parent_execution_id = 0;
    std::uint64_t parent_id = 0;
    ErrorDetails details;
    std::optional<std::uint64_t> parent_incarnation;
    std::string extra;
    bool operator==(const SubOrchFailed&) const = default;
};

// A parent's cancellation names the call it gave up on: it concerns the child of that call and no
// other instance that has the id. A client's names no parent.
struct CancelInstance {
    std::string instance;
    std::string reason;
    std::optional<std::string> parent_instance;
    std::optional<std::uint64_t> parent_execution_id;
    std::optional<std::uint64_t> parent_id;
    std::optional<std::uint64_t> parent_incarnation;
    std::optional<std::uint64_t> incarnation; // of the instance that is to end
    std::string extra;
    bool operator==(const CancelInstance&) const = default;
};

} // namespace work

using WorkItem = std::variant<work::StartOrchestration,
                              work::ContinueAsNew,
                              work::ActivityExecute,
                              work::ActivityCompleted,
                              work::ActivityFailed,
                              work::TimerFired,
                              work::ExternalRaised,
                              work::QueueMessage,
                              work::SubOrchCompleted,
                              work::SubOrchFailed,
                              work::CancelInstance>;

// The instance whose queue the item belongs to: for answers of children, the parent.
[[nodiscard]] const std::string& target_instance(const WorkItem& item) noexcept;

// "StartOrchestration", as on the wire.
[[nodiscard]] std::string_view type_name(const WorkItem& item) noexcept;

} // namespace durable
