#include "validation/support/redirecting_provider.hpp"

#include <type_traits>
#include <utility>

namespace durable::validation {

namespace {

template <class Call>
std::invoke_result_t<Call, Provider&> forward(Result<std::shared_ptr<Provider>> target, Call call) {
    if (!target) {
        return std::unexpected{std::move(target).error()};
    }
    return call(**target);
}

} // namespace

RedirectingProvider::RedirectingProvider(Provider& inner)
    : name_{inner.name()},
      version_{inner.version()},
      durability_{inner.durability()},
      has_management_{inner.as_management_capability() != nullptr} {}

Result<std::optional<OrchestrationItem>>
RedirectingProvider::fetch_orchestration_item(const FetchOrchestration& request) {
    return forward(target(), [&](Provider& to) { return to.fetch_orchestration_item(request); });
}

Result<> RedirectingProvider::ack_orchestration_item(const TurnCommit& commit) {
    return forward(target(), [&](Provider& to) { return to.ack_orchestration_item(commit); });
}

Result<> RedirectingProvider::abandon_orchestration_item(const AbandonTurn& abandon) {
    return forward(target(), [&](Provider& to) { return to.abandon_orchestration_item(abandon); });
}

Result<> RedirectingProvider::renew_orchestration_item_lock(const std::string& lock_token,
                                                            Duration extend_for) {
    return forward(target(), [&](Provider& to) {
        return to.renew_orchestration_item_lock(lock_token, extend_for);
    });
}

Result<std::vector<std::string>>
RedirectingProvider::renew_leases(const std::vector<LeaseRenewal>& leases) {
    return forward(target(), [&](Provider& to) { return to.renew_leases(leases); });
}

Result<std::vector<HistoryEvent>> RedirectingProvider::read(const std::string& instance) {
    return forward(target(), [&](Provider& to) { return to.read(instance); });
}

Result<std::vector<HistoryEvent>>
RedirectingProvider::read_with_execution(const std::string& instance, std::uint64_t execution_id) {
    return forward(target(),
                   [&](Provider& to) { return to.read_with_execution(instance, execution_id); });
}

Result<> RedirectingProvider::append_with_execution(const std::string& instance,
                                                    std::uint64_t execution_id,
                                                    const std::vector<HistoryEvent>& events) {
    return forward(target(), [&](Provider& to) {
        return to.append_with_execution(instance, execution_id, events);
    });
}

Result<> RedirectingProvider::enqueue_for_worker(const WorkItem& item) {
    return forward(target(), [&](Provider& to) { return to.enqueue_for_worker(item); });
}

Result<std::optional<WorkLease>> RedirectingProvider::fetch_work_item(const FetchWork& request) {
    return forward(target(), [&](Provider& to) { return to.fetch_work_item(request); });
}

Result<> RedirectingProvider::ack_work_item(const std::string& lock_token,
                                            const std::optional<WorkItem>& completion) {
    return forward(target(),
                   [&](Provider& to) { return to.ack_work_item(lock_token, completion); });
}

Result<> RedirectingProvider::renew_work_item_lock(const std::string& lock_token,
                                                   Duration extend_for) {
    return forward(target(),
                   [&](Provider& to) { return to.renew_work_item_lock(lock_token, extend_for); });
}

Result<> RedirectingProvider::abandon_work_item(const std::string& lock_token,
                                                std::optional<Duration> delay,
                                                bool ignore_attempt) {
    return forward(target(), [&](Provider& to) {
        return to.abandon_work_item(lock_token, delay, ignore_attempt);
    });
}

Result<std::uint64_t> RedirectingProvider::renew_session_lock(
    const std::vector<std::string>& owner_ids, Duration extend_for, Duration idle_timeout) {
    return forward(target(), [&](Provider& to) {
        return to.renew_session_lock(owner_ids, extend_for, idle_timeout);
    });
}

Result<std::uint64_t> RedirectingProvider::cleanup_orphaned_sessions(Duration idle_timeout) {
    return forward(target(),
                   [&](Provider& to) { return to.cleanup_orphaned_sessions(idle_timeout); });
}

Result<> RedirectingProvider::start_instance(const work::StartOrchestration& start,
                                             std::optional<Duration> delay) {
    return forward(target(), [&](Provider& to) { return to.start_instance(start, delay); });
}

Result<> RedirectingProvider::enqueue_for_orchestrator(const WorkItem& item,
                                                       std::optional<Duration> delay) {
    return forward(target(),
                   [&](Provider& to) { return to.enqueue_for_orchestrator(item, delay); });
}

Result<std::optional<CustomStatus>>
RedirectingProvider::get_custom_status(const std::string& instance, std::uint64_t last_seen) {
    return forward(target(),
                   [&](Provider& to) { return to.get_custom_status(instance, last_seen); });
}

Result<std::optional<std::string>> RedirectingProvider::get_kv_value(const std::string& instance,
                                                                     const std::string& key) {
    return forward(target(), [&](Provider& to) { return to.get_kv_value(instance, key); });
}

Result<std::map<std::string, std::string>>
RedirectingProvider::get_kv_all_values(const std::string& instance) {
    return forward(target(), [&](Provider& to) { return to.get_kv_all_values(instance); });
}

Result<std::optional<InstanceStats>>
RedirectingProvider::get_instance_stats(const std::string& instance) {
    return forward(target(), [&](Provider& to) { return to.get_instance_stats(instance); });
}

Result<InstanceState> RedirectingProvider::watch_instance(const WatchInstance& request) {
    return forward(target(), [&](Provider& to) { return to.watch_instance(request); });
}

Result<std::vector<std::string>> RedirectingProvider::list_instances() {
    return forward(target(),
                   [&](Provider& to) { return to.as_management_capability()->list_instances(); });
}

Result<std::vector<std::string>>
RedirectingProvider::list_instances_by_status(const std::string& status) {
    return forward(target(), [&](Provider& to) {
        return to.as_management_capability()->list_instances_by_status(status);
    });
}

Result<std::vector<std::uint64_t>>
RedirectingProvider::list_executions(const std::string& instance) {
    return forward(target(), [&](Provider& to) {
        return to.as_management_capability()->list_executions(instance);
    });
}

Result<std::vector<HistoryEvent>>
RedirectingProvider::read_history_with_execution_id(const std::string& instance,
                                                    std::uint64_t execution_id) {
    return forward(target(), [&](Provider& to) {
        return to.as_management_capability()->read_history_with_execution_id(instance,
                                                                             execution_id);
    });
}

Result<std::vector<HistoryEvent>> RedirectingProvider::read_history(const std::string& instance) {
    return forward(target(), [&](Provider& to) {
        return to.as_management_capability()->read_history(instance);
    });
}

Result<std::uint64_t> RedirectingProvider::latest_execution_id(const std::string& instance) {
    return forward(target(), [&](Provider& to) {
        return to.as_management_capability()->latest_execution_id(instance);
    });
}

Result<InstanceInfo> RedirectingProvider::get_instance_info(const std::string& instance) {
    return forward(target(), [&](Provider& to) {
        return to.as_management_capability()->get_instance_info(instance);
    });
}

Result<ExecutionInfo> RedirectingProvider::get_execution_info(const std::string& instance,
                                                              std::uint64_t execution_id) {
    return forward(target(), [&](Provider& to) {
        return to.as_management_capability()->get_execution_info(instance, execution_id);
    });
}

Result<SystemMetrics> RedirectingProvider::get_system_metrics() {
    return forward(target(), [&](Provider& to) {
        return to.as_management_capability()->get_system_metrics();
    });
}

Result<QueueDepths> RedirectingProvider::get_queue_depths() {
    return forward(target(),
                   [&](Provider& to) { return to.as_management_capability()->get_queue_depths(); });
}

Result<std::vector<ParkedWork>> RedirectingProvider::list_parked(Duration waited,
                                                                 std::uint32_t limit) {
    return forward(target(), [&](Provider& to) {
        return to.as_management_capability()->list_parked(waited, limit);
    });
}

Result<std::vector<QuarantinedItem>> RedirectingProvider::list_quarantined() {
    return forward(target(),
                   [&](Provider& to) { return to.as_management_capability()->list_quarantined(); });
}

Result<std::vector<std::string>> RedirectingProvider::list_children(const std::string& instance) {
    return forward(target(), [&](Provider& to) {
        return to.as_management_capability()->list_children(instance);
    });
}

Result<std::optional<std::string>> RedirectingProvider::get_parent_id(const std::string& instance) {
    return forward(target(), [&](Provider& to) {
        return to.as_management_capability()->get_parent_id(instance);
    });
}

Result<InstanceTree> RedirectingProvider::get_instance_tree(const std::string& instance) {
    return forward(target(), [&](Provider& to) {
        return to.as_management_capability()->get_instance_tree(instance);
    });
}

Result<DeleteInstanceResult> RedirectingProvider::delete_instance(const std::string& instance,
                                                                  bool force) {
    return forward(target(), [&](Provider& to) {
        return to.as_management_capability()->delete_instance(instance, force);
    });
}

Result<DeleteInstanceResult>
RedirectingProvider::delete_instances_atomic(const std::vector<std::string>& instances,
                                             bool force) {
    return forward(target(), [&](Provider& to) {
        return to.as_management_capability()->delete_instances_atomic(instances, force);
    });
}

Result<DeleteInstanceResult>
RedirectingProvider::delete_instance_bulk(const InstanceFilter& filter) {
    return forward(target(), [&](Provider& to) {
        return to.as_management_capability()->delete_instance_bulk(filter);
    });
}

Result<PruneResult> RedirectingProvider::prune_executions(const std::string& instance,
                                                          const PruneOptions& options) {
    return forward(target(), [&](Provider& to) {
        return to.as_management_capability()->prune_executions(instance, options);
    });
}

Result<PruneResult> RedirectingProvider::prune_executions_bulk(const InstanceFilter& filter,
                                                               const PruneOptions& options) {
    return forward(target(), [&](Provider& to) {
        return to.as_management_capability()->prune_executions_bulk(filter, options);
    });
}

} // namespace durable::validation
