// Management: look inside a store, delete and prune. For operators and their tools.
//
//     auto management = durable::Management::of(provider).value();
//     const auto failed = management.list_instances_by_status("Failed").value();
//     for (const auto& id : failed) { ... }
//
// Reads show committed state; for an instance that does not exist they return not_found.
// docs/operating.md says what may be deleted when.

#pragma once

#include <durable/provider.hpp>
#include <durable/provider_admin.hpp>
#include <durable/result.hpp>
#include <durable/time.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace durable {

// What a store can do, to be asked before relying on it.
struct StoreCapabilities {
    std::string provider; // "sqlite"
    std::string version;
    Durability durability = Durability::none;
    bool management = false;
};

[[nodiscard]] StoreCapabilities capabilities_of(Provider& provider);

class Management final { // NOLINT(cppcoreguidelines-special-member-functions)
 public:
    // unsupported when the provider has no management half; invalid_argument without a provider.
    [[nodiscard]] static Result<Management> of(std::shared_ptr<Provider> provider);
    // Moving is copying, as for Client.
    Management(const Management&) = default;
    Management& operator=(const Management&) = default;
    ~Management() = default;

    // ---- Instances

    [[nodiscard]] Result<std::vector<std::string>> list_instances() const; // newest first
    // "Pending", "Running", "Completed", "Failed", "ContinuedAsNew"; else invalid_argument.
    [[nodiscard]] Result<std::vector<std::string>>
    list_instances_by_status(const std::string& status) const;
    [[nodiscard]] Result<InstanceInfo> instance_info(const std::string& instance) const;
    [[nodiscard]] Result<InstanceTree> instance_tree(const std::string& instance) const;
    [[nodiscard]] Result<std::vector<std::string>> children(const std::string& instance) const;
    [[nodiscard]] Result<std::optional<std::string>> parent(const std::string& instance) const;

    // ---- Executions and their histories

    [[nodiscard]] Result<std::vector<std::uint64_t>> executions(const std::string& instance) const;
    [[nodiscard]] Result<std::uint64_t> latest_execution(const std::string& instance) const;
    [[nodiscard]] Result<ExecutionInfo> execution_info(const std::string& instance,
                                                       std::uint64_t execution_id) const;
    // Of the last execution, or of one: not_found when there is no such instance or execution, or
    // no more.
    [[nodiscard]] Result<std::vector<HistoryEvent>> history(const std::string& instance) const;
    [[nodiscard]] Result<std::vector<HistoryEvent>> history(const std::string& instance,
                                                            std::uint64_t execution_id) const;

    // ---- The store as a whole

    [[nodiscard]] Result<SystemMetrics> system_metrics() const;
    [[nodiscard]] Result<QueueDepths> queue_depths() const;
    [[nodiscard]] Result<std::vector<QuarantinedItem>> quarantined() const;
    // Work that does not go on, oldest first: instances that a node has given back, with its
    // reason; and turns and activities that no node has fetched for `waited`, for example because
    // none has their code. Then the reason is empty, and `name` and `version` say which code is
    // missing.
    [[nodiscard]] Result<std::vector<ParkedWork>> parked(Timespan waited = std::chrono::seconds{10},
                                                         std::uint32_t limit = 1000) const;

    // ---- Removing

    // A root with its whole tree. not_found, not_a_root; still_running unless forced.
    [[nodiscard]] Result<DeleteInstanceResult> delete_instance(const std::string& instance,
                                                               bool force = false) const;
    // Exactly these, all or none. has_children when a child outside the list would be orphaned.
    [[nodiscard]] Result<DeleteInstanceResult>
    delete_instances(const std::vector<std::string>& instances, bool force = false) const;
    // The trees of matching roots that have ended.
    [[nodiscard]] Result<DeleteInstanceResult> delete_bulk(const InstanceFilter& filter) const;
    // Old executions, never the current one.
    [[nodiscard]] Result<PruneResult> prune(const std::string& instance,
                                            const PruneOptions& options = {}) const;
    [[nodiscard]] Result<PruneResult> prune_bulk(const InstanceFilter& filter,
                                                 const PruneOptions& options = {}) const;

 private:
    Management(std::shared_ptr<Provider> provider, ProviderAdmin& admin);

    std::shared_ptr<Provider> provider_; // keeps the other half alive
    ProviderAdmin* admin_;
};

} // namespace durable
