// Commits: the end of a turn, with everything that follows from it, as one change.

#pragma once

#include "turns.hpp"

namespace files_store {

class Commits : public Turns {
 public:
    using Turns::Turns;

    Result<> ack_orchestration_item(const TurnCommit& commit) override {
        return change("ack_orchestration_item", [&] {
            const auto owner = owner_of(commit.lock_token, true);
            commit_turn(owner->first, owner->second, commit);
            turns_.erase(owner);
        });
    }

 private:
    // P2: everything is checked and put together before the one call that changes files.
    void commit_turn(const std::string& id, const Lease& lease, const TurnCommit& commit) {
        const auto& told = commit.metadata;
        if (told.status == ExecutionStatus::pending) {
            refuse(ErrorCode::invalid_argument, "no commit makes an instance pending");
        }
        Change change;
        auto execution = records_.execution(id, commit.execution_id).value_or(Execution{});
        records_.append(change, id, commit.execution_id, execution, commit.history_delta);
        if (execution.status.empty()) {
            execution.status = name_of(ExecutionStatus::running);
            execution.started_at_ms = now();
        }
        if (told.pinned_version) {
            execution.pinned = told.pinned_version->text();
        }
        const bool ends = told.status && *told.status != ExecutionStatus::running;
        if (told.status) {
            execution.status = name_of(*told.status);
            execution.output = told.output;
            execution.completed_at_ms = ends ? std::optional{now()} : std::nullopt;
        }
        change.push_back(store(path_of(id, commit.execution_id) + "/status.json", execution));
        if (const auto meta = new_meta(id, lease, commit)) {
            change.push_back(store(path_of(id) + "/meta.json", *meta));
        }
        if (auto values = records_.values(id); change_values(values, commit.history_delta, ends)) {
            change.push_back(store(path_of(id) + "/kv.json", values));
        }
        for (const auto& file : lease.files) { // P4: these and no others
            change.push_back(removal(file));
        }
        queue_items(change, id, commit);
        directory_.change(change);
        forget_leases_on(change); // the owner of a cancelled activity learns it by renewing
    }
    [[nodiscard]] std::optional<Meta>
    new_meta(const std::string& id, const Lease& lease, const TurnCommit& commit) {
        const auto& told = commit.metadata;
        auto meta = records_.meta(id);
        const bool named = told.orchestration_name && told.orchestration_version;
        if (!meta && !named) {
            return std::nullopt;
        }
        const auto number = directory_.next_number();
        if (!meta) {
            meta = Meta{.id = id,
                        .execution = commit.execution_id,
                        .created = number,
                        .incarnation = lease.incarnation != 0 ? lease.incarnation : number,
                        .created_at_ms = now()};
        }
        if (named) {
            meta->name = *told.orchestration_name;
            meta->version = *told.orchestration_version;
            meta->parent = meta->parent ? meta->parent : told.parent_instance_id;
        }
        meta->execution = std::max(meta->execution, commit.execution_id);
        meta->revision = number;
        meta->updated_at_ms = now();
        meta->parked.reset();
        const auto sets_status = [](const HistoryEvent& event) {
            return std::holds_alternative<history::CustomStatusUpdated>(event.kind);
        };
        const auto last = std::ranges::find_if(
            commit.history_delta.rbegin(), commit.history_delta.rend(), sets_status);
        if (last != commit.history_delta.rend()) {
            meta->custom_status = std::get<history::CustomStatusUpdated>(last->kind).status;
            ++meta->custom_status_version;
        }
        return meta;
    }
    // P9. Says whether there is anything new.
    static bool
    change_values(Values& values, const std::vector<HistoryEvent>& events, bool execution_ends) {
        bool any = false;
        for (const auto& event : events) {
            if (const auto* set = std::get_if<history::KeyValueSet>(&event.kind)) {
                values.changed[set->key] = {.value = set->value,
                                            .last_updated_at_ms = set->last_updated_at_ms};
            } else if (const auto* clear = std::get_if<history::KeyValueCleared>(&event.kind)) {
                values.changed[clear->key] = {};
            } else if (std::holds_alternative<history::KeyValuesCleared>(event.kind)) {
                values.changed.insert(values.kept.begin(), values.kept.end());
                for (auto& [key, entry] : values.changed) {
                    entry = {};
                }
            } else {
                continue;
            }
            any = true;
        }
        if (execution_ends && !values.changed.empty()) {
            for (auto& [key, entry] : std::exchange(values.changed, {})) {
                if (entry.value) {
                    values.kept[key] = std::move(entry);
                } else {
                    values.kept.erase(key);
                }
            }
            any = true;
        }
        return any;
    }
    // New activities and messages, without what the same commit cancels.
    void queue_items(Change& change, const std::string& id, const TurnCommit& commit) {
        const auto cancels = [&](const WorkItem& item) {
            const auto* job = std::get_if<work::ActivityExecute>(&item);
            return job != nullptr &&
                   contains(commit.cancelled_activities,
                            ActivityId{job->instance, job->execution_id, job->id});
        };
        const auto cancels_timer = [&](const WorkItem& item) {
            const auto* timer = std::get_if<work::TimerFired>(&item);
            return timer != nullptr && timer->instance == id &&
                   timer->execution_id == commit.execution_id &&
                   contains(commit.cancelled_timers, timer->id);
        };
        if (!commit.cancelled_activities.empty()) {
            for (const auto& item : records_.items(worker_queue, now())) {
                if (cancels(item.item)) {
                    change.push_back(removal(item.file));
                }
            }
        }
        if (!commit.cancelled_timers.empty()) {
            for (const auto& message : records_.items(orchestrator_queue, now())) {
                if (cancels_timer(message.item)) {
                    change.push_back(removal(message.file));
                }
            }
        }
        for (const auto& item : commit.worker_items) {
            auto step = records_.enqueue(worker_queue, item, now()); // checked in any case
            if (!cancels(item)) {
                change.push_back(std::move(step));
            }
        }
        for (const auto& item : commit.orchestrator_items) {
            auto step = queue_message(item, now());
            if (!cancels_timer(item)) {
                change.push_back(std::move(step));
            }
        }
    }
};

} // namespace files_store
