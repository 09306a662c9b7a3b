#include "validation/support/observation.hpp"

#include <durable/codec.hpp>
#include <durable/provider_admin.hpp>

#include <utility>
#include <variant>

namespace durable::validation {

namespace {

std::string lines_of(const std::vector<HistoryEvent>& events, Where where) {
    std::string lines;
    for (const auto& stored : events) {
        lines += value_of(encode(stored), where) + "\n";
    }
    return lines;
}

std::string text_of(const InstanceInfo& info) {
    return info.orchestration_name + " " + info.orchestration_version + " execution " +
           std::to_string(info.current_execution_id) + " " + info.status + " output " +
           show(info.output) + " created " + show(info.created_at) + " updated " +
           show(info.updated_at) + " parent " + show(info.parent_instance_id) + " parked " +
           show(info.parked);
}

std::string text_of(const ExecutionInfo& info) {
    return info.status + " output " + show(info.output) + " started " + show(info.started_at) +
           " completed " + show(info.completed_at) + " events " + std::to_string(info.event_count);
}

std::string text_of(const InstanceState& state) {
    return "revision " + std::to_string(state.revision) + (state.exists ? " exists " : " absent ") +
           state.orchestration_name + " " + state.orchestration_version + " execution " +
           std::to_string(state.execution_id) + " " + std::string{name_of(state.status)} +
           " output " + show(state.output) + " failure " +
           (state.failure ? display_text(*state.failure) : "none") + " status " +
           show(state.custom_status) + " parked " + show(state.parked);
}

std::string text_of(const InstanceStats& stats) {
    return show(std::vector{stats.history_event_count,
                            stats.history_size_bytes,
                            stats.queue_pending_count,
                            stats.kv_user_key_count,
                            stats.kv_total_value_bytes});
}

template <class T>
std::string found(const Result<T>& result, Where where) {
    if (!result) {
        expect_error(result, ErrorCode::not_found, "what is not there is not found", where);
        return "not found";
    }
    return text_of(*result);
}

void observe_instance(Observation& seen, const Store& store, const std::string& id, Where where) {
    auto& admin = store.admin();
    seen[id + ": info"] = found(admin.get_instance_info(id), where);
    seen[id + ": state"] = text_of(value_of(store->watch_instance({.instance = id}), where));
    seen[id + ": values"] = show(value_of(store->get_kv_all_values(id), where));
    seen[id + ": custom status"] = show(value_of(store->get_custom_status(id, 0), where));
    const auto stats = value_of(store->get_instance_stats(id), where);
    seen[id + ": stats"] = stats ? text_of(*stats) : "none";
    seen[id + ": children"] = show(value_of(admin.list_children(id), where));
    seen[id + ": executions"] = show(value_of(admin.list_executions(id), where));
    seen[id + ": latest history"] = lines_of(value_of(store->read(id), where), where);
    for (const auto execution : value_of(admin.list_executions(id), where)) {
        const auto name = id + ": execution " + std::to_string(execution);
        seen[name] = found(admin.get_execution_info(id, execution), where);
        seen[name + " history"] =
            lines_of(value_of(store->read_with_execution(id, execution), where), where);
    }
}

void observe_store(Observation& seen, const Store& store, Where where) {
    auto& admin = store.admin();
    const auto metrics = value_of(admin.get_system_metrics(), where);
    seen["metrics"] = show(std::vector{metrics.total_instances,
                                       metrics.total_executions,
                                       metrics.running_instances,
                                       metrics.pending_instances,
                                       metrics.completed_instances,
                                       metrics.failed_instances,
                                       metrics.total_events,
                                       metrics.quarantined_items,
                                       metrics.expired_messages});
    const auto depths = value_of(admin.get_queue_depths(), where);
    seen["queue depths"] =
        show(std::vector{depths.orchestrator_queue, depths.worker_queue, depths.timer_queue});
    seen["instances"] = show(value_of(admin.list_instances(), where));
    for (const auto status : {ExecutionStatus::pending,
                              ExecutionStatus::running,
                              ExecutionStatus::completed,
                              ExecutionStatus::failed}) {
        const std::string name{name_of(status)};
        seen["instances " + name] = show(value_of(admin.list_instances_by_status(name), where));
    }
    auto parked = value_of(admin.list_parked(Duration::zero(), 1'000), where);
    std::string quarantined;
    for (const auto& item : value_of(admin.list_quarantined(), where)) {
        quarantined += item.queue + " " + show(item.instance) + " " + item.text + "\n";
    }
    seen["quarantined"] = quarantined;
    // Only work with a reason counts. Whether other work is listed depends on leases and delays,
    // and an observation must not depend on the time.
    std::erase_if(parked, [](const ParkedWork& each) { return each.reason.empty(); });
    seen["parked"] = show(parked);
}

std::string line_of(const OrchestrationItem& turn, Where where) {
    std::string line = "turn of " + show(turn.instance) + " " + turn.orchestration_name + " " +
                       turn.version + " execution " + std::to_string(turn.execution_id) +
                       " attempt " + std::to_string(turn.attempt_count) + " values " +
                       show(turn.kv_snapshot);
    for (auto message : turn.messages) {
        if (auto* timer = std::get_if<work::TimerFired>(&message)) {
            timer->fire_at_ms = 0;
        }
        line += "\n  " + value_of(encode(message), where);
    }
    return line + "\n" + lines_of(turn.history, where);
}

} // namespace

Observation observe(const Store& store, const std::vector<std::string>& instances, Where where) {
    Observation seen;
    observe_store(seen, store, where);
    for (const auto& instance : instances) {
        observe_instance(seen, store, instance, where);
    }
    return seen;
}

void expect_same(const Observation& now,
                 const Observation& before,
                 std::string_view sentence,
                 Where where) {
    for (const auto& [what, seen] : before) {
        const auto found = now.find(what);
        expect(found != now.end(), std::string{sentence} + " (" + what + " is gone)", where);
        expect_eq(found->second, seen, std::string{sentence} + " (" + what + ")", where);
    }
    expect_eq(now.size(), before.size(), std::string{sentence} + " (how much there is)", where);
}

std::vector<std::string> drain(const Store& store, const std::string& session_owner, Where where) {
    store.outlive_lease();
    std::vector<std::string> lines;
    const auto add = [&](std::string line) {
        lines.push_back(std::move(line));
        // No check queues so much: the store must be handing out finished work again.
        expect(lines.size() < 10'000, "what was finished is not handed out again", where);
    };
    while (const auto turn = store.try_fetch_turn(long_lease, where)) {
        add(line_of(*turn, where));
        store.commit(*turn, {.execution_id = turn->execution_id}, where);
    }
    const FetchWork everything{
        .lock_timeout = long_lease,
        .session = SessionClaim{.owner_id = session_owner, .lock_timeout = long_lease},
        .tags = TagFilter::any()};
    while (const auto work = store.try_fetch_work(everything, where)) {
        add("activity attempt " + std::to_string(work->attempt_count) + " " +
            value_of(encode(WorkItem{work->item}), where));
        store.discard(*work, where);
    }
    return lines;
}

} // namespace durable::validation
