#include "base/try.hpp"
#include "model/error_details_codec.hpp"
#include "model/tagged_union.hpp"
#include "model/wire_members.hpp"
#include "model/wire_names.hpp"

#include <durable/codec.hpp>

#include <string>
#include <string_view>

namespace durable {

namespace wire {

template <>
struct MembersOf<work::StartOrchestration> {
    using Item = work::StartOrchestration;
    using List =
        MemberList<Member<"instance", &Item::instance>,
                   Member<"orchestration", &Item::orchestration>,
                   Member<"input", &Item::input>,
                   Member<"version", &Item::version, Presence::nullable>,
                   Member<"parent_instance", &Item::parent_instance, Presence::nullable>,
                   Member<"parent_id", &Item::parent_id, Presence::nullable>,
                   Member<"execution_id", &Item::execution_id>,
                   Member<"parent_execution_id", &Item::parent_execution_id, Presence::omitted>,
                   Member<"parent_incarnation", &Item::parent_incarnation, Presence::omitted>>;
};

template <>
struct MembersOf<work::ContinueAsNew> {
    using Item = work::ContinueAsNew;
    using List =
        MemberList<Member<"instance", &Item::instance>,
                   Member<"orchestration", &Item::orchestration>,
                   Member<"input", &Item::input>,
                   Member<"version", &Item::version, Presence::nullable>,
                   Member<"carry_forward_events", &Item::carry_forward_events, Presence::defaulted>,
                   Member<"initial_custom_status", &Item::initial_custom_status, Presence::omitted>,
                   Member<"parent_instance", &Item::parent_instance, Presence::omitted>,
                   Member<"parent_id", &Item::parent_id, Presence::omitted>,
                   Member<"parent_execution_id", &Item::parent_execution_id, Presence::omitted>,
                   Member<"carry_forward_raised", &Item::carry_forward_raised, Presence::omitted>,
                   Member<"carry_forward_order", &Item::carry_forward_order, Presence::omitted>,
                   Member<"parent_incarnation", &Item::parent_incarnation, Presence::omitted>>;
};

template <>
struct MembersOf<work::ActivityExecute> {
    using Item = work::ActivityExecute;
    using List =
        MemberList<Member<"instance", &Item::instance>,
                   Member<"execution_id", &Item::execution_id>,
                   Member<"id", &Item::id>,
                   Member<"name", &Item::name>,
                   Member<"input", &Item::input>,
                   Member<"session_id", &Item::session_id, Presence::omitted>,
                   Member<"tag", &Item::tag, Presence::omitted>,
                   Member<"orchestration", &Item::orchestration, Presence::omitted>,
                   Member<"orchestration_version", &Item::orchestration_version, Presence::omitted>,
                   Member<"call_id", &Item::call_id, Presence::omitted>,
                   Member<"call_attempt", &Item::call_attempt, Presence::omitted>,
                   Member<"incarnation", &Item::incarnation, Presence::omitted>>;
};

template <>
struct MembersOf<work::ActivityCompleted> {
    using Item = work::ActivityCompleted;
    using List = MemberList<Member<"instance", &Item::instance>,
                            Member<"execution_id", &Item::execution_id>,
                            Member<"id", &Item::id>,
                            Member<"result", &Item::result>>;
};

template <>
struct MembersOf<work::ActivityFailed> {
    using Item = work::ActivityFailed;
    using List = MemberList<Member<"instance", &Item::instance>,
                            Member<"execution_id", &Item::execution_id>,
                            Member<"id", &Item::id>,
                            Member<"details", &Item::details>>;
};

template <>
struct MembersOf<work::TimerFired> {
    using Item = work::TimerFired;
    using List = MemberList<Member<"instance", &Item::instance>,
                            Member<"execution_id", &Item::execution_id>,
                            Member<"id", &Item::id>,
                            Member<"fire_at_ms", &Item::fire_at_ms>>;
};

template <>
struct MembersOf<work::ExternalRaised> {
    using Item = work::ExternalRaised;
    using List = MemberList<Member<"instance", &Item::instance>,
                            Member<"name", &Item::name>,
                            Member<"data", &Item::data>>;
};

template <>
struct MembersOf<work::QueueMessage> {
    using Item = work::QueueMessage;
    using List = MemberList<Member<"instance", &Item::instance>,
                            Member<"name", &Item::name>,
                            Member<"data", &Item::data>>;
};

template <>
struct MembersOf<work::SubOrchCompleted> {
    using Item = work::SubOrchCompleted;
    using List =
        MemberList<Member<"parent_instance", &Item::parent_instance>,
                   Member<"parent_execution_id", &Item::parent_execution_id>,
                   Member<"parent_id", &Item::parent_id>,
                   Member<"result", &Item::result>,
                   Member<"parent_incarnation", &Item::parent_incarnation, Presence::omitted>>;
};

template <>
struct MembersOf<work::SubOrchFailed> {
    using Item = work::SubOrchFailed;
    using List =
        MemberList<Member<"parent_instance", &Item::parent_instance>,
                   Member<"parent_execution_id", &Item::parent_execution_id>,
                   Member<"parent_id", &Item::parent_id>,
                   Member<"details", &Item::details>,
                   Member<"parent_incarnation", &Item::parent_incarnation, Presence::omitted>>;
};

template <>
struct MembersOf<work::CancelInstance> {
    using Item = work::CancelInstance;
    using List =
        MemberList<Member<"instance", &Item::instance>,
                   Member<"reason", &Item::reason>,
                   Member<"parent_instance", &Item::parent_instance, Presence::omitted>,
                   Member<"parent_execution_id", &Item::parent_execution_id, Presence::omitted>,
                   Member<"parent_id", &Item::parent_id, Presence::omitted>,
                   Member<"parent_incarnation", &Item::parent_incarnation, Presence::omitted>,
                   Member<"incarnation", &Item::incarnation, Presence::omitted>>;
};

} // namespace wire

Result<> encode_to(std::string& out, const WorkItem& item) {
    wire::JsonWriter writer{out};
    wire::write_tagged(writer, item, wire::item_names);
    return writer.finish("encode");
}

Result<std::string> encode(const WorkItem& item) {
    std::string out;
    DURABLE_TRY(encode_to(out, item));
    return out;
}

Result<WorkItem> decode_work_item(std::string_view text) {
    wire::JsonReader in{text};
    Result<WorkItem> item;
    wire::read_tagged(in, *item, wire::item_names, "unknown work item");
    in.finish();
    if (in.failed()) {
        item = in.error("decode_work_item");
    }
    return item;
}

} // namespace durable
