#include "observability/call_counters.hpp"

#include <durable/instrumented.hpp>
#include <durable/provider_admin.hpp>

#include <stdexcept>
#include <utility>

namespace durable {

// The management half, measured alike.
class InstrumentedProvider::Admin final : public ProviderAdmin {
 public:
    Admin(ProviderAdmin& inner, Counters& counters) : inner_{inner}, counters_{counters} {}

    Result<std::vector<std::string>> list_instances() override {
        return counters_.measure(Call::list_instances, [&] { return inner_.list_instances(); });
    }
    Result<std::vector<std::string>> list_instances_by_status(const std::string& status) override {
        return counters_.measure(Call::list_instances_by_status,
                                 [&] { return inner_.list_instances_by_status(status); });
    }
    Result<std::vector<std::uint64_t>> list_executions(const std::string& instance) override {
        return counters_.measure(Call::list_executions,
                                 [&] { return inner_.list_executions(instance); });
    }
    Result<std::vector<HistoryEvent>>
    read_history_with_execution_id(const std::string& instance,
                                   std::uint64_t execution_id) override {
        return counters_.measure(Call::read_history_with_execution_id, [&] {
            return inner_.read_history_with_execution_id(instance, execution_id);
        });
    }
    Result<std::vector<HistoryEvent>> read_history(const std::string& instance) override {
        return counters_.measure(Call::read_history, [&] { return inner_.read_history(instance); });
    }
    Result<std::uint64_t> latest_execution_id(const std::string& instance) override {
        return counters_.measure(Call::latest_execution_id,
                                 [&] { return inner_.latest_execution_id(instance); });
    }
    Result<InstanceInfo> get_instance_info(const std::string& instance) override {
        return counters_.measure(Call::get_instance_info,
                                 [&] { return inner_.get_instance_info(instance); });
    }
    Result<ExecutionInfo> get_execution_info(const std::string& instance,
                                             std::uint64_t execution_id) override {
        return counters_.measure(Call::get_execution_info,
                                 [&] { return inner_.get_execution_info(instance, execution_id); });
    }
    Result<SystemMetrics> get_system_metrics() override {
        return counters_.measure(Call::get_system_metrics,
                                 [&] { return inner_.get_system_metrics(); });
    }
    Result<QueueDepths> get_queue_depths() override {
        return counters_.measure(Call::get_queue_depths, [&] { return inner_.get_queue_depths(); });
    }
    Result<std::vector<QuarantinedItem>> list_quarantined() override {
        return counters_.measure(Call::list_quarantined, [&] { return inner_.list_quarantined(); });
    }
    Result<std::vector<ParkedWork>> list_parked(Duration waited, std::uint32_t limit) override {
        return counters_.measure(Call::list_parked,
                                 [&] { return inner_.list_parked(waited, limit); });
    }
    Result<std::vector<std::string>> list_children(const std::string& instance) override {
        return counters_.measure(Call::list_children,
                                 [&] { return inner_.list_children(instance); });
    }
    Result<std::optional<std::string>> get_parent_id(const std::string& instance) override {
        return counters_.measure(Call::get_parent_id,
                                 [&] { return inner_.get_parent_id(instance); });
    }
    Result<InstanceTree> get_instance_tree(const std::string& instance) override {
        return counters_.measure(Call::get_instance_tree,
                                 [&] { return inner_.get_instance_tree(instance); });
    }
    Result<DeleteInstanceResult> delete_instance(const std::string& instance, bool force) override {
        return counters_.measure(Call::delete_instance,
                                 [&] { return inner_.delete_instance(instance, force); });
    }
    Result<DeleteInstanceResult> delete_instances_atomic(const std::vector<std::string>& instances,
                                                         bool force) override {
        return counters_.measure(Call::delete_instances_atomic,
                                 [&] { return inner_.delete_instances_atomic(instances, force); });
    }
    Result<DeleteInstanceResult> delete_instance_bulk(const InstanceFilter& filter) override {
        return counters_.measure(Call::delete_instance_bulk,
                                 [&] { return inner_.delete_instance_bulk(filter); });
    }
    Result<PruneResult> prune_executions(const std::string& instance,
                                         const PruneOptions& options) override {
        return counters_.measure(Call::prune_executions,
                                 [&] { return inner_.prune_executions(instance, options); });
    }
    Result<PruneResult> prune_executions_bulk(const InstanceFilter& filter,
                                              const PruneOptions& options) override {
        return counters_.measure(Call::prune_executions_bulk,
                                 [&] { return inner_.prune_executions_bulk(filter, options); });
    }

 private:
    ProviderAdmin& inner_;
    Counters& counters_;
};

InstrumentedProvider::InstrumentedProvider(std::shared_ptr<Provider> inner)
    : inner_{std::move(inner)}, counters_{std::make_unique<Counters>()} {
    if (!inner_) {
        throw std::invalid_argument{"InstrumentedProvider: there is no provider"};
    }
    if (auto* const admin = inner_->as_management_capability(); admin != nullptr) {
        admin_ = std::make_unique<Admin>(*admin, *counters_);
    }
}

InstrumentedProvider::~InstrumentedProvider() = default;

std::vector<CallStatistics> InstrumentedProvider::snapshot() const {
    std::vector<CallStatistics> all;
    for (std::size_t i = 0; i < call_count; ++i) {
        auto statistics = counters_->statistics(static_cast<Call>(i));
        if (statistics.calls > 0) {
            all.push_back(statistics);
        }
    }
    return all;
}

CallStatistics InstrumentedProvider::of(std::string_view operation) const {
    for (std::size_t i = 0; i < call_count; ++i) {
        if (name_of(static_cast<Call>(i)) == operation) {
            return counters_->statistics(static_cast<Call>(i));
        }
    }
    return {.operation = operation};
}

void InstrumentedProvider::reset() noexcept {
    counters_->reset();
}

std::string InstrumentedProvider::name() const {
    return inner_->name();
}

std::string InstrumentedProvider::version() const {
    return inner_->version();
}

Durability InstrumentedProvider::durability() const noexcept {
    return inner_->durability();
}

std::size_t InstrumentedProvider::suitable_concurrency() const noexcept {
    return inner_->suitable_concurrency();
}

ProviderAdmin* InstrumentedProvider::as_management_capability() noexcept {
    return admin_.get();
}

Result<std::optional<OrchestrationItem>>
InstrumentedProvider::fetch_orchestration_item(const FetchOrchestration& request) {
    return counters_->measure(Call::fetch_orchestration_item,
                              [&] { return inner_->fetch_orchestration_item(request); });
}

Result<> InstrumentedProvider::ack_orchestration_item(const TurnCommit& commit) {
    return counters_->measure(Call::ack_orchestration_item,
                              [&] { return inner_->ack_orchestration_item(commit); });
}

Result<> InstrumentedProvider::abandon_orchestration_item(const AbandonTurn& abandon) {
    return counters_->measure(Call::abandon_orchestration_item,
                              [&] { return inner_->abandon_orchestration_item(abandon); });
}

Result<> InstrumentedProvider::renew_orchestration_item_lock(const std::string& lock_token,
                                                             Duration extend_for) {
    return counters_->measure(Call::renew_orchestration_item_lock, [&] {
        return inner_->renew_orchestration_item_lock(lock_token, extend_for);
    });
}

Result<std::vector<HistoryEvent>> InstrumentedProvider::read(const std::string& instance) {
    return counters_->measure(Call::read, [&] { return inner_->read(instance); });
}

Result<std::vector<HistoryEvent>>
InstrumentedProvider::read_with_execution(const std::string& instance, std::uint64_t execution_id) {
    return counters_->measure(Call::read_with_execution,
                              [&] { return inner_->read_with_execution(instance, execution_id); });
}

Result<> InstrumentedProvider::append_with_execution(const std::string& instance,
                                                     std::uint64_t execution_id,
                                                     const std::vector<HistoryEvent>& events) {
    return counters_->measure(Call::append_with_execution, [&] {
        return inner_->append_with_execution(instance, execution_id, events);
    });
}

Result<> InstrumentedProvider::enqueue_for_worker(const WorkItem& item) {
    return counters_->measure(Call::enqueue_for_worker,
                              [&] { return inner_->enqueue_for_worker(item); });
}

Result<std::optional<WorkLease>> InstrumentedProvider::fetch_work_item(const FetchWork& request) {
    return counters_->measure(Call::fetch_work_item,
                              [&] { return inner_->fetch_work_item(request); });
}

Result<> InstrumentedProvider::ack_work_item(const std::string& lock_token,
                                             const std::optional<WorkItem>& completion) {
    return counters_->measure(Call::ack_work_item,
                              [&] { return inner_->ack_work_item(lock_token, completion); });
}

Result<> InstrumentedProvider::renew_work_item_lock(const std::string& lock_token,
                                                    Duration extend_for) {
    return counters_->measure(Call::renew_work_item_lock,
                              [&] { return inner_->renew_work_item_lock(lock_token, extend_for); });
}

Result<> InstrumentedProvider::abandon_work_item(const std::string& lock_token,
                                                 std::optional<Duration> delay,
                                                 bool ignore_attempt) {
    return counters_->measure(Call::abandon_work_item, [&] {
        return inner_->abandon_work_item(lock_token, delay, ignore_attempt);
    });
}

Result<std::uint64_t> InstrumentedProvider::renew_session_lock(
    const std::vector<std::string>& owner_ids, Duration extend_for, Duration idle_timeout) {
    return counters_->measure(Call::renew_session_lock, [&] {
        return inner_->renew_session_lock(owner_ids, extend_for, idle_timeout);
    });
}

Result<std::uint64_t> InstrumentedProvider::cleanup_orphaned_sessions(Duration idle_timeout) {
    return counters_->measure(Call::cleanup_orphaned_sessions,
                              [&] { return inner_->cleanup_orphaned_sessions(idle_timeout); });
}

Result<> InstrumentedProvider::start_instance(const work::StartOrchestration& start,
                                              std::optional<Duration> delay) {
    return counters_->measure(Call::start_instance,
                              [&] { return inner_->start_instance(start, delay); });
}

Result<> InstrumentedProvider::enqueue_for_orchestrator(const WorkItem& item,
                                                        std::optional<Duration> delay) {
    return counters_->measure(Call::enqueue_for_orchestrator,
                              [&] { return inner_->enqueue_for_orchestrator(item, delay); });
}

Result<std::optional<CustomStatus>>
InstrumentedProvider::get_custom_status(const std::string& instance,
                                        std::uint64_t last_seen_version) {
    return counters_->measure(Call::get_custom_status, [&] {
        return inner_->get_custom_status(instance, last_seen_version);
    });
}

Result<std::optional<std::string>> InstrumentedProvider::get_kv_value(const std::string& instance,
                                                                      const std::string& key) {
    return counters_->measure(Call::get_kv_value,
                              [&] { return inner_->get_kv_value(instance, key); });
}

Result<std::map<std::string, std::string>>
InstrumentedProvider::get_kv_all_values(const std::string& instance) {
    return counters_->measure(Call::get_kv_all_values,
                              [&] { return inner_->get_kv_all_values(instance); });
}

Result<std::optional<InstanceStats>>
InstrumentedProvider::get_instance_stats(const std::string& instance) {
    return counters_->measure(Call::get_instance_stats,
                              [&] { return inner_->get_instance_stats(instance); });
}

Result<InstanceState> InstrumentedProvider::watch_instance(const WatchInstance& request) {
    return counters_->measure(Call::watch_instance,
                              [&] { return inner_->watch_instance(request); });
}

} // namespace durable
