// The management half of the naive provider.

#pragma once

#include "base/try.hpp"
#include "naive_turns.hpp"

#include <durable/provider_admin.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace durable::testing::naive {

class NaiveAdmin : public ProviderAdmin, protected NaiveTurns {
 public:
    using NaiveTurns::NaiveTurns;

    Result<std::vector<std::string>> list_instances() override {
        const std::scoped_lock lock{mutex_};
        return ids_if([](const auto&) { return true; });
    }
    Result<std::vector<std::string>> list_instances_by_status(const std::string& status) override {
        const std::scoped_lock lock{mutex_};
        return ids_if([&](const auto& entry) { return status_of(entry.first) == status; });
    }
    Result<std::vector<std::uint64_t>> list_executions(const std::string& id) override {
        const std::scoped_lock lock{mutex_};
        std::vector<std::uint64_t> ids;
        for (const auto& [key, execution] : executions_) {
            if (key.first == id) {
                ids.push_back(key.second);
            }
        }
        return ids;
    }
    Result<std::vector<HistoryEvent>>
    read_history_with_execution_id(const std::string& id, std::uint64_t execution) override {
        const std::scoped_lock lock{mutex_};
        return events_of({id, execution});
    }
    Result<std::vector<HistoryEvent>> read_history(const std::string& id) override {
        const std::scoped_lock lock{mutex_};
        return events_of({id, latest(id)});
    }
    Result<std::uint64_t> latest_execution_id(const std::string& id) override {
        const std::scoped_lock lock{mutex_};
        return latest(id);
    }
    Result<InstanceInfo> get_instance_info(const std::string& id) override {
        const std::scoped_lock lock{mutex_};
        const auto row = rows_.find(id);
        if (row == rows_.end()) {
            return fail(ErrorCode::not_found, "not found", "get_instance_info");
        }
        const auto* execution = current(id);
        return InstanceInfo{.instance_id = id,
                            .orchestration_name = row->second.name,
                            .orchestration_version = row->second.version,
                            .current_execution_id = row->second.execution,
                            .status = status_of(id),
                            .output = execution != nullptr ? execution->output : std::nullopt,
                            .created_at = row->second.created,
                            .updated_at = row->second.updated,
                            .parent_instance_id = row->second.parent,
                            .parked = row->second.parked};
    }
    Result<ExecutionInfo> get_execution_info(const std::string& id,
                                             std::uint64_t execution_id) override {
        const std::scoped_lock lock{mutex_};
        const auto found = executions_.find({id, execution_id});
        if (found == executions_.end()) {
            return fail(ErrorCode::not_found, "not found", "get_execution_info");
        }
        return ExecutionInfo{.execution_id = execution_id,
                             .status = std::string{name_of(found->second.status)},
                             .output = found->second.output,
                             .started_at = found->second.started_at,
                             .completed_at = found->second.completed_at,
                             .event_count = events_of(found->first).size()};
    }
    Result<SystemMetrics> get_system_metrics() override {
        const std::scoped_lock lock{mutex_};
        SystemMetrics metrics{.total_instances = rows_.size(),
                              .total_executions = executions_.size()};
        for (const auto& [id, row] : rows_) {
            metrics.running_instances += status_of(id) == "Running" ? 1U : 0U;
            metrics.pending_instances += pending(id) ? 1U : 0U;
            metrics.completed_instances += status_of(id) == "Completed" ? 1U : 0U;
            metrics.failed_instances += status_of(id) == "Failed" ? 1U : 0U;
        }
        for (const auto& [key, events] : histories_) {
            metrics.total_events += events.size();
        }
        return metrics;
    }
    Result<QueueDepths> get_queue_depths() override {
        const std::scoped_lock lock{mutex_};
        QueueDepths depths;
        for (const auto& message : messages_) {
            const auto lease = leases_.find(target_instance(message.item));
            const bool held = lease != leases_.end() && lease->second.until > steady() &&
                              message.token == lease->second.token;
            depths.orchestrator_queue += held ? 0U : 1U;
        }
        for (const auto& work : works_) {
            depths.worker_queue += !work.token.empty() && work.until > steady() ? 0U : 1U;
        }
        return depths;
    }
    Result<std::vector<QuarantinedItem>> list_quarantined() override {
        return std::vector<QuarantinedItem>{};
    }
    Result<std::vector<ParkedWork>> list_parked(Duration waited, std::uint32_t limit) override {
        const std::scoped_lock lock{mutex_};
        auto found = parked(now() - std::max(waited, Duration::zero()));
        found.resize(std::min<std::size_t>(found.size(), limit));
        return found;
    }
    Result<std::vector<std::string>> list_children(const std::string& id) override {
        const std::scoped_lock lock{mutex_};
        return children(id);
    }
    Result<std::optional<std::string>> get_parent_id(const std::string& id) override {
        const std::scoped_lock lock{mutex_};
        if (!rows_.contains(id)) {
            return fail(ErrorCode::not_found, "not found", "get_parent_id");
        }
        return rows_.at(id).parent;
    }
    Result<InstanceTree> get_instance_tree(const std::string& id) override {
        const std::scoped_lock lock{mutex_};
        return tree(id);
    }

    Result<DeleteInstanceResult> delete_instance(const std::string& id, bool force) override {
        const std::scoped_lock lock{mutex_};
        constexpr auto* op = "delete_instance";
        if (!rows_.contains(id)) {
            return fail(ErrorCode::not_found, "not found", op);
        }
        if (has_parent(id)) {
            return fail(ErrorCode::not_a_root, "a sub-orchestration: delete the root", op);
        }
        return remove(tree(id).all_ids, force, op);
    }
    Result<DeleteInstanceResult> delete_instances_atomic(const std::vector<std::string>& ids,
                                                         bool force) override {
        const std::scoped_lock lock{mutex_};
        return remove(ids, force, "delete_instances_atomic");
    }
    Result<DeleteInstanceResult> delete_instance_bulk(const InstanceFilter& filter) override {
        const std::scoped_lock lock{mutex_};
        DeleteInstanceResult sum;
        for (const auto& id : matching(filter)) {
            if (!rows_.contains(id) || has_parent(id) || runs(id) || status_of(id) == "Unknown" ||
                (status_of(id) == "ContinuedAsNew" && successor_queued(id))) {
                continue;
            }
            DURABLE_TRY_ASSIGN(const auto one, remove(tree(id).all_ids, true, ""));
            sum.instances_deleted += one.instances_deleted;
            sum.executions_deleted += one.executions_deleted;
            sum.events_deleted += one.events_deleted;
            sum.queue_messages_deleted += one.queue_messages_deleted;
        }
        return sum;
    }
    Result<PruneResult> prune_executions(const std::string& id,
                                         const PruneOptions& options) override {
        const std::scoped_lock lock{mutex_};
        if (!rows_.contains(id)) {
            return fail(ErrorCode::not_found, "not found", "prune_executions");
        }
        return prune(id, options);
    }
    Result<PruneResult> prune_executions_bulk(const InstanceFilter& filter,
                                              const PruneOptions& options) override {
        const std::scoped_lock lock{mutex_};
        PruneResult sum;
        for (const auto& id : matching(filter)) {
            if (pending(id)) {
                continue;
            }
            const auto one = prune(id, options);
            sum.instances_processed += one.instances_processed;
            sum.executions_deleted += one.executions_deleted;
            sum.events_deleted += one.events_deleted;
        }
        return sum;
    }

 private:
    template <class Predicate>
    std::vector<std::string> ids_if(const Predicate& predicate) const {
        std::vector<std::pair<std::uint64_t, std::string>> found;
        for (const auto& entry : rows_) {
            if (predicate(entry)) {
                found.emplace_back(entry.second.number, entry.first);
            }
        }
        std::ranges::sort(found, std::ranges::greater{});
        std::vector<std::string> ids;
        for (auto& [number, id] : found) {
            ids.push_back(std::move(id));
        }
        return ids;
    }
    [[nodiscard]] bool has_parent(const std::string& id) const {
        const auto& parent = rows_.at(id).parent;
        return parent && rows_.contains(*parent);
    }
    [[nodiscard]] std::vector<std::string> children(const std::string& id) const {
        return ids_if([&](const auto& entry) { return entry.second.parent == id; });
    }
    [[nodiscard]] InstanceTree tree(const std::string& id) const {
        InstanceTree tree{.root_id = id, .all_ids = {id}};
        for (std::size_t i = 0; i < tree.all_ids.size(); ++i) {
            for (const auto& child : children(tree.all_ids[i])) {
                if (std::ranges::count(tree.all_ids, child) == 0) {
                    tree.all_ids.push_back(child);
                }
            }
        }
        return tree;
    }
    Result<DeleteInstanceResult>
    remove(const std::vector<std::string>& listed, bool force, const char* op) {
        const std::set<std::string> ids{listed.begin(), listed.end()};
        for (const auto& id : ids) {
            if (!force && rows_.contains(id) && runs(id)) {
                return fail(ErrorCode::still_running, "still running", op);
            }
        }
        for (const auto& [id, row] : rows_) {
            if (row.parent && ids.contains(*row.parent) && !ids.contains(id)) {
                return fail(ErrorCode::has_children, "would orphan a child", op);
            }
        }
        DeleteInstanceResult result;
        for (const auto& id : ids) {
            const auto own = [&](const auto& entry) { return entry.first.first == id; };
            for (const auto& [key, events] : histories_) {
                result.events_deleted += key.first == id ? events.size() : 0;
            }
            std::erase_if(histories_, own);
            result.executions_deleted += std::erase_if(executions_, own);
            result.queue_messages_deleted += std::erase_if(messages_, [&](const Message& m) {
                return target_instance(m.item) == id && !has_caller_outside(m, ids);
            });
            for (auto& message : messages_) {
                if (target_instance(message.item) == id) {
                    message.token.clear();
                }
            }
            result.queue_messages_deleted +=
                std::erase_if(works_, [&](const Work& w) { return w.item.instance == id; });
            result.instances_deleted += rows_.erase(id);
            leases_.erase(id);
            hidden_.erase(id);
            stores_.erase(id);
            deltas_.erase(id);
        }
        remove_unbegun_children(ids, result);
        return result;
    }
    // A start by a parent that stays begins the next life of the id.
    [[nodiscard]] static bool has_caller_outside(const Message& message,
                                                 const std::set<std::string>& deleted) {
        const auto* start = std::get_if<work::StartOrchestration>(&message.item);
        return start != nullptr && start->parent_instance &&
               !deleted.contains(*start->parent_instance);
    }
    void remove_unbegun_children(const std::set<std::string>& parents,
                                 DeleteInstanceResult& result) {
        const auto sent = [&](const Message& message) {
            const auto* start = std::get_if<work::StartOrchestration>(&message.item);
            return start != nullptr && start->parent_instance &&
                   parents.contains(*start->parent_instance);
        };
        std::set<std::string> children;
        for (const auto& message : messages_) {
            if (sent(message)) {
                children.insert(target_instance(message.item));
            }
        }
        for (const auto& id : children) {
            const auto own = [&](const Message& m) { return target_instance(m.item) == id; };
            const bool begins =
                rows_.contains(id) ||
                std::ranges::any_of(executions_,
                                    [&](const auto& entry) { return entry.first.first == id; }) ||
                std::ranges::any_of(histories_,
                                    [&](const auto& entry) {
                                        return entry.first.first == id && !entry.second.empty();
                                    }) ||
                std::ranges::any_of(messages_, [&](const Message& message) {
                    return own(message) && is_start(message.item) && !sent(message);
                });
            const auto lease = leases_.find(id);
            if (lease != leases_.end() && std::ranges::any_of(messages_, [&](const Message& m) {
                    return own(m) && sent(m) && m.token == lease->second.token;
                })) {
                leases_.erase(lease);
            }
            result.queue_messages_deleted += std::erase_if(
                messages_, [&](const Message& m) { return own(m) && (sent(m) || !begins); });
            if (!begins) {
                result.queue_messages_deleted +=
                    std::erase_if(works_, [&](const Work& w) { return w.item.instance == id; });
                leases_.erase(id);
                hidden_.erase(id);
            }
        }
    }
    [[nodiscard]] bool runs(const std::string& id) const {
        return status_of(id) == "Running" || pending(id);
    }
    [[nodiscard]] bool successor_queued(const std::string& id) const {
        return std::ranges::any_of(messages_, [&](const Message& message) {
            return target_instance(message.item) == id &&
                   std::holds_alternative<work::ContinueAsNew>(message.item);
        });
    }
    [[nodiscard]] std::vector<std::string> matching(const InstanceFilter& filter) const {
        return ids_if([&](const auto& entry) {
            if (filter.instance_ids && std::ranges::count(*filter.instance_ids, entry.first) == 0) {
                return false;
            }
            if (!filter.completed_before) {
                return true;
            }
            const auto found = executions_.find({entry.first, entry.second.execution});
            return found != executions_.end() && found->second.completed_at &&
                   *found->second.completed_at < *filter.completed_before;
        });
    }
    PruneResult prune(const std::string& id, const PruneOptions& options) {
        std::vector<std::uint64_t> ids;
        for (const auto& [key, execution] : executions_) {
            if (key.first == id) {
                ids.push_back(key.second);
            }
        }
        std::ranges::sort(ids, std::ranges::greater{});
        const std::size_t keep = std::max(1U, options.keep_last.value_or(1));
        PruneResult result{.instances_processed = 1};
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const auto& execution = executions_.at({id, ids[i]});
            const bool recent = i < keep;
            const bool late =
                options.completed_before &&
                (!execution.completed_at || *execution.completed_at >= *options.completed_before);
            if (recent || late || ids[i] == rows_.at(id).execution ||
                execution.status == ExecutionStatus::running) {
                continue;
            }
            result.events_deleted += events_of({id, ids[i]}).size();
            ++result.executions_deleted;
            histories_.erase({id, ids[i]});
            executions_.erase({id, ids[i]});
        }
        return result;
    }
};

} // namespace durable::testing::naive
