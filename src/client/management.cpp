#include "base/try.hpp"

#include <durable/management.hpp>

#include <utility>

namespace durable {

StoreCapabilities capabilities_of(Provider& provider) {
    return {.provider = provider.name(),
            .version = provider.version(),
            .durability = provider.durability(),
            .management = provider.as_management_capability() != nullptr};
}

Management::Management(std::shared_ptr<Provider> provider, ProviderAdmin& admin)
    : provider_{std::move(provider)}, admin_{&admin} {}

Result<Management> Management::of(std::shared_ptr<Provider> provider) {
    if (!provider) {
        return fail(ErrorCode::invalid_argument, "there is no provider", "Management::of");
    }
    auto* admin = provider->as_management_capability();
    if (admin == nullptr) {
        return fail(ErrorCode::unsupported,
                    "the provider '" + provider->name() + "' offers no management");
    }
    return Management{std::move(provider), *admin};
}

Result<std::vector<std::string>> Management::list_instances() const {
    return admin_->list_instances();
}

Result<std::vector<std::string>>
Management::list_instances_by_status(const std::string& status) const {
    if (!parse_execution_status(status)) {
        return fail(ErrorCode::invalid_argument,
                    "no such status: '" + status +
                        "'; expected Pending, Running, Completed, Failed or ContinuedAsNew");
    }
    return admin_->list_instances_by_status(status);
}

Result<InstanceInfo> Management::instance_info(const std::string& instance) const {
    return admin_->get_instance_info(instance);
}

Result<InstanceTree> Management::instance_tree(const std::string& instance) const {
    DURABLE_TRY_ASSIGN(auto tree, admin_->get_instance_tree(instance));
    if (tree.is_root_only()) {
        DURABLE_TRY(admin_->get_instance_info(instance)); // not_found
    }
    return tree;
}

Result<std::vector<std::string>> Management::children(const std::string& instance) const {
    DURABLE_TRY_ASSIGN(auto found, admin_->list_children(instance));
    if (found.empty()) { // children of an instance that was deleted alone are still listed
        DURABLE_TRY(admin_->get_instance_info(instance)); // not_found
    }
    return found;
}

Result<std::optional<std::string>> Management::parent(const std::string& instance) const {
    return admin_->get_parent_id(instance);
}

Result<std::vector<std::uint64_t>> Management::executions(const std::string& instance) const {
    DURABLE_TRY(admin_->get_instance_info(instance)); // not_found
    return admin_->list_executions(instance);
}

Result<std::uint64_t> Management::latest_execution(const std::string& instance) const {
    DURABLE_TRY(admin_->get_instance_info(instance)); // not_found
    return admin_->latest_execution_id(instance);
}

Result<ExecutionInfo> Management::execution_info(const std::string& instance,
                                                 std::uint64_t execution_id) const {
    return admin_->get_execution_info(instance, execution_id);
}

Result<std::vector<HistoryEvent>> Management::history(const std::string& instance) const {
    DURABLE_TRY_ASSIGN(auto events, admin_->read_history(instance));
    if (events.empty()) {
        DURABLE_TRY(admin_->get_instance_info(instance)); // not_found
    }
    return events;
}

Result<std::vector<HistoryEvent>> Management::history(const std::string& instance,
                                                      std::uint64_t execution_id) const {
    DURABLE_TRY_ASSIGN(auto events, admin_->read_history_with_execution_id(instance, execution_id));
    if (events.empty()) {
        DURABLE_TRY(admin_->get_execution_info(instance, execution_id)); // not_found
    }
    return events;
}

Result<SystemMetrics> Management::system_metrics() const {
    return admin_->get_system_metrics();
}

Result<QueueDepths> Management::queue_depths() const {
    return admin_->get_queue_depths();
}

Result<std::vector<ParkedWork>> Management::parked(Timespan waited, std::uint32_t limit) const {
    if (waited < Duration::zero()) {
        return fail(ErrorCode::invalid_argument,
                    "the time that work has waited must not be negative: " +
                        std::to_string(waited.count()) + " ms");
    }
    return admin_->list_parked(waited, limit);
}

Result<std::vector<QuarantinedItem>> Management::quarantined() const {
    return admin_->list_quarantined();
}

Result<DeleteInstanceResult> Management::delete_instance(const std::string& instance,
                                                         bool force) const {
    return admin_->delete_instance(instance, force);
}

Result<DeleteInstanceResult> Management::delete_instances(const std::vector<std::string>& instances,
                                                          bool force) const {
    return admin_->delete_instances_atomic(instances, force);
}

Result<DeleteInstanceResult> Management::delete_bulk(const InstanceFilter& filter) const {
    return admin_->delete_instance_bulk(filter);
}

Result<PruneResult> Management::prune(const std::string& instance,
                                      const PruneOptions& options) const {
    return admin_->prune_executions(instance, options);
}

Result<PruneResult> Management::prune_bulk(const InstanceFilter& filter,
                                           const PruneOptions& options) const {
    return admin_->prune_executions_bulk(filter, options);
}

} // namespace durable
