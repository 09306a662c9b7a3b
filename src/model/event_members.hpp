// The members that each kind of event has of its own.

#pragma once

#include "model/error_details_codec.hpp"
#include "model/wire_members.hpp"

#include <durable/history_event.hpp>

namespace durable::wire {

template <>
struct MembersOf<history::OrchestrationStarted> {
    using Kind = history::OrchestrationStarted;
    using List =
        MemberList<Member<"name", &Kind::name>,
                   Member<"version", &Kind::version>,
                   Member<"input", &Kind::input>,
                   Member<"parent_instance", &Kind::parent_instance, Presence::nullable>,
                   Member<"parent_id", &Kind::parent_id, Presence::nullable>,
                   Member<"carry_forward_events", &Kind::carry_forward_events, Presence::omitted>,
                   Member<"initial_custom_status", &Kind::initial_custom_status, Presence::omitted>,
                   Member<"parent_execution_id", &Kind::parent_execution_id, Presence::omitted>,
                   Member<"carry_forward_raised", &Kind::carry_forward_raised, Presence::omitted>,
                   Member<"carry_forward_order", &Kind::carry_forward_order, Presence::omitted>,
                   Member<"rules", &Kind::rules, Presence::omitted>,
                   Member<"parent_incarnation", &Kind::parent_incarnation, Presence::omitted>>;
};

template <>
struct MembersOf<history::OrchestrationCompleted> {
    using Kind = history::OrchestrationCompleted;
    using List = MemberList<Member<"output", &Kind::output>>;
};

template <>
struct MembersOf<history::OrchestrationFailed> {
    using Kind = history::OrchestrationFailed;
    using List = MemberList<Member<"details", &Kind::details>,
                            Member<"ended_by", &Kind::ended_by, Presence::omitted>>;
};

template <>
struct MembersOf<history::OrchestrationContinuedAsNew> {
    using Kind = history::OrchestrationContinuedAsNew;
    using List = MemberList<Member<"input", &Kind::input>>;
};

template <>
struct MembersOf<history::OrchestrationCancelRequested> {
    using Kind = history::OrchestrationCancelRequested;
    using List = MemberList<Member<"reason", &Kind::reason>>;
};

template <>
struct MembersOf<history::ActivityScheduled> {
    using Kind = history::ActivityScheduled;
    using List = MemberList<Member<"name", &Kind::name>,
                            Member<"input", &Kind::input>,
                            Member<"session_id", &Kind::session_id, Presence::omitted>,
                            Member<"tag", &Kind::tag, Presence::omitted>,
                            Member<"on_cancel", &Kind::on_cancel, Presence::omitted>,
                            Member<"undo", &Kind::undo, Presence::omitted>>;
};

template <>
struct MembersOf<history::ActivityCompleted> {
    using Kind = history::ActivityCompleted;
    using List = MemberList<Member<"result", &Kind::result>>;
};

template <>
struct MembersOf<history::ActivityFailed> {
    using Kind = history::ActivityFailed;
    using List = MemberList<Member<"details", &Kind::details>>;
};

template <>
struct MembersOf<history::ActivityCancelRequested> {
    using Kind = history::ActivityCancelRequested;
    using List = MemberList<Member<"reason", &Kind::reason>>;
};

template <>
struct MembersOf<history::TimerCreated> {
    using Kind = history::TimerCreated;
    using List = MemberList<Member<"fire_at_ms", &Kind::fire_at_ms>>;
};

template <>
struct MembersOf<history::TimerFired> {
    using Kind = history::TimerFired;
    using List = MemberList<Member<"fire_at_ms", &Kind::fire_at_ms>>;
};

template <>
struct MembersOf<history::TimerCancelRequested> {
    using Kind = history::TimerCancelRequested;
    using List = MemberList<Member<"reason", &Kind::reason>>;
};

template <>
struct MembersOf<history::ExternalSubscribed> {
    using Kind = history::ExternalSubscribed;
    using List = MemberList<Member<"name", &Kind::name>>;
};

template <>
struct MembersOf<history::ExternalEvent> {
    using Kind = history::ExternalEvent;
    using List = MemberList<Member<"name", &Kind::name>, Member<"data", &Kind::data>>;
};

template <>
struct MembersOf<history::ExternalSubscribedCancelled> {
    using Kind = history::ExternalSubscribedCancelled;
    using List = MemberList<Member<"reason", &Kind::reason>>;
};

template <>
struct MembersOf<history::QueueSubscribed> {
    using Kind = history::QueueSubscribed;
    using List = MemberList<Member<"name", &Kind::name>>;
};

template <>
struct MembersOf<history::QueueEventDelivered> {
    using Kind = history::QueueEventDelivered;
    using List = MemberList<Member<"name", &Kind::name>, Member<"data", &Kind::data>>;
};

template <>
struct MembersOf<history::QueueSubscriptionCancelled> {
    using Kind = history::QueueSubscriptionCancelled;
    using List = MemberList<Member<"reason", &Kind::reason>>;
};

template <>
struct MembersOf<history::OrchestrationChained> {
    using Kind = history::OrchestrationChained;
    using List = MemberList<Member<"name", &Kind::name>,
                            Member<"instance", &Kind::instance>,
                            Member<"input", &Kind::input>>;
};

template <>
struct MembersOf<history::SubOrchestrationScheduled> {
    using Kind = history::SubOrchestrationScheduled;
    using List = MemberList<Member<"name", &Kind::name>,
                            Member<"instance", &Kind::instance>,
                            Member<"input", &Kind::input>,
                            Member<"when_dropped", &Kind::when_dropped, Presence::omitted>>;
};

template <>
struct MembersOf<history::SubOrchestrationCompleted> {
    using Kind = history::SubOrchestrationCompleted;
    using List = MemberList<Member<"result", &Kind::result>>;
};

template <>
struct MembersOf<history::SubOrchestrationFailed> {
    using Kind = history::SubOrchestrationFailed;
    using List = MemberList<Member<"details", &Kind::details>>;
};

template <>
struct MembersOf<history::SubOrchestrationCancelRequested> {
    using Kind = history::SubOrchestrationCancelRequested;
    using List = MemberList<Member<"reason", &Kind::reason>>;
};

template <>
struct MembersOf<history::CustomStatusUpdated> {
    using Kind = history::CustomStatusUpdated;
    using List = MemberList<Member<"status", &Kind::status, Presence::nullable>>;
};

template <>
struct MembersOf<history::KeyValueSet> {
    using Kind = history::KeyValueSet;
    using List =
        MemberList<Member<"key", &Kind::key>,
                   Member<"value", &Kind::value>,
                   Member<"last_updated_at_ms", &Kind::last_updated_at_ms, Presence::defaulted>>;
};

template <>
struct MembersOf<history::KeyValueCleared> {
    using Kind = history::KeyValueCleared;
    using List = MemberList<Member<"key", &Kind::key>>;
};

template <>
struct MembersOf<history::KeyValuesCleared> {
    using List = MemberList<>;
};

template <>
struct MembersOf<history::PatchMarked> {
    using Kind = history::PatchMarked;
    using List = MemberList<Member<"id", &Kind::id>>;
};

} // namespace durable::wire
