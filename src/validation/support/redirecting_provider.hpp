// A provider with its management half that chooses the target of every call: a base class for
// decorators whose store changes, or that misbehave. For one store without management,
// observability/forwarding_provider.hpp is simpler.

#pragma once

#include <durable/provider.hpp>
#include <durable/provider_admin.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace durable::validation {

class RedirectingProvider : public Provider, public ProviderAdmin {
 public:
    [[nodiscard]] std::string name() const override { return name_; }
    [[nodiscard]] std::string version() const override { return version_; }
    [[nodiscard]] Durability durability() const noexcept override { return durability_; }
    [[nodiscard]] ProviderAdmin* as_management_capability() noexcept override {
        return has_management_ ? this : nullptr;
    }

    [[nodiscard]] Result<std::optional<OrchestrationItem>>
    fetch_orchestration_item(const FetchOrchestration& request) override;
    [[nodiscard]] Result<> ack_orchestration_item(const TurnCommit& commit) override;
    [[nodiscard]] Result<> abandon_orchestration_item(const AbandonTurn& abandon) override;
    [[nodiscard]] Result<> renew_orchestration_item_lock(const std::string& lock_token,
                                                         Duration extend_for) override;
    [[nodiscard]] Result<std::vector<std::string>>
    renew_leases(const std::vector<LeaseRenewal>& leases) override;
    [[nodiscard]] Result<std::vector<HistoryEvent>> read(const std::string& instance) override;
    [[nodiscard]] Result<std::vector<HistoryEvent>>
    read_with_execution(const std::string& instance, std::uint64_t execution_id) override;
    [[nodiscard]] Result<> append_with_execution(const std::string& instance,
                                                 std::uint64_t execution_id,
                                                 const std::vector<HistoryEvent>& events) override;
    [[nodiscard]] Result<> enqueue_for_worker(const WorkItem& item) override;
    [[nodiscard]] Result<std::optional<WorkLease>>
    fetch_work_item(const FetchWork& request) override;
    [[nodiscard]] Result<> ack_work_item(const std::string& lock_token,
                                         const std::optional<WorkItem>& completion) override;
    [[nodiscard]] Result<> renew_work_item_lock(const std::string& lock_token,
                                                Duration extend_for) override;
    [[nodiscard]] Result<> abandon_work_item(const std::string& lock_token,
                                             std::optional<Duration> delay,
                                             bool ignore_attempt) override;
    [[nodiscard]] Result<std::uint64_t>
    renew_session_lock(const std::vector<std::string>& owner_ids,
                       Duration extend_for,
                       Duration idle_timeout) override;
    [[nodiscard]] Result<std::uint64_t> cleanup_orphaned_sessions(Duration idle_timeout) override;
    [[nodiscard]] Result<> start_instance(const work::StartOrchestration& start,
                                          std::optional<Duration> delay) override;
    [[nodiscard]] Result<> enqueue_for_orchestrator(const WorkItem& item,
                                                    std::optional<Duration> delay) override;
    [[nodiscard]] Result<std::optional<CustomStatus>>
    get_custom_status(const std::string& instance, std::uint64_t last_seen) override;
    [[nodiscard]] Result<std::optional<std::string>> get_kv_value(const std::string& instance,
                                                                  const std::string& key) override;
    [[nodiscard]] Result<std::map<std::string, std::string>>
    get_kv_all_values(const std::string& instance) override;
    [[nodiscard]] Result<std::optional<InstanceStats>>
    get_instance_stats(const std::string& instance) override;
    [[nodiscard]] Result<InstanceState> watch_instance(const WatchInstance& request) override;

    [[nodiscard]] Result<std::vector<std::string>> list_instances() override;
    [[nodiscard]] Result<std::vector<std::string>>
    list_instances_by_status(const std::string& status) override;
    [[nodiscard]] Result<std::vector<std::uint64_t>>
    list_executions(const std::string& instance) override;
    [[nodiscard]] Result<std::vector<HistoryEvent>>
    read_history_with_execution_id(const std::string& instance,
                                   std::uint64_t execution_id) override;
    [[nodiscard]] Result<std::vector<HistoryEvent>>
    read_history(const std::string& instance) override;
    [[nodiscard]] Result<std::uint64_t> latest_execution_id(const std::string& instance) override;
    [[nodiscard]] Result<InstanceInfo> get_instance_info(const std::string& instance) override;
    [[nodiscard]] Result<ExecutionInfo> get_execution_info(const std::string& instance,
                                                           std::uint64_t execution_id) override;
    [[nodiscard]] Result<SystemMetrics> get_system_metrics() override;
    [[nodiscard]] Result<QueueDepths> get_queue_depths() override;
    [[nodiscard]] Result<std::vector<QuarantinedItem>> list_quarantined() override;
    [[nodiscard]] Result<std::vector<ParkedWork>> list_parked(Duration waited,
                                                              std::uint32_t limit) override;
    [[nodiscard]] Result<std::vector<std::string>>
    list_children(const std::string& instance) override;
    [[nodiscard]] Result<std::optional<std::string>>
    get_parent_id(const std::string& instance) override;
    [[nodiscard]] Result<InstanceTree> get_instance_tree(const std::string& instance) override;
    [[nodiscard]] Result<DeleteInstanceResult> delete_instance(const std::string& instance,
                                                               bool force) override;
    [[nodiscard]] Result<DeleteInstanceResult>
    delete_instances_atomic(const std::vector<std::string>& instances, bool force) override;
    [[nodiscard]] Result<DeleteInstanceResult>
    delete_instance_bulk(const InstanceFilter& filter) override;
    [[nodiscard]] Result<PruneResult> prune_executions(const std::string& instance,
                                                       const PruneOptions& options) override;
    [[nodiscard]] Result<PruneResult> prune_executions_bulk(const InstanceFilter& filter,
                                                            const PruneOptions& options) override;

 protected:
    // Has the name, version and durability of the provider that the calls will go to.
    explicit RedirectingProvider(Provider& inner);

    // Called before every call, which holds the result until it returns. An error is the call's
    // error.
    [[nodiscard]] virtual Result<std::shared_ptr<Provider>> target() = 0;

 private:
    std::string name_;
    std::string version_;
    Durability durability_;
    bool has_management_;
};

} // namespace durable::validation
