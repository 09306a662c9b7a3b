// The half of LedgerProvider that looks and manages.

#include "base/try.hpp"
#include "providers/ledger/ledger_provider.hpp"
#include "providers/ledger/queueing.hpp"
#include "providers/ledger/reading.hpp"

#include <utility>

namespace durable::ledger {

// Decoding a long history takes longer than everything else: not under the mutex.
Result<std::vector<HistoryEvent>>
LedgerProvider::read_events(const std::string& instance,
                            std::optional<std::uint64_t> execution_id,
                            std::string_view operation) {
    const auto texts = [&] {
        const MutexLock lock{mutex_};
        return events_of(ledger_, instance, execution_id);
    }();
    return decode(texts, operation);
}

Result<std::vector<HistoryEvent>> LedgerProvider::read(const std::string& instance) {
    return read_events(instance, std::nullopt, "read");
}

Result<std::vector<HistoryEvent>> LedgerProvider::read_with_execution(const std::string& instance,
                                                                      std::uint64_t execution_id) {
    return read_events(instance, execution_id, "read_with_execution");
}

Result<std::vector<HistoryEvent>>
LedgerProvider::read_history_with_execution_id(const std::string& instance,
                                               std::uint64_t execution_id) {
    return read_events(instance, execution_id, "read_history_with_execution_id");
}

Result<std::vector<HistoryEvent>> LedgerProvider::read_history(const std::string& instance) {
    return read_events(instance, std::nullopt, "read_history");
}

Result<std::optional<CustomStatus>>
LedgerProvider::get_custom_status(const std::string& instance, std::uint64_t last_seen_version) {
    const MutexLock lock{mutex_};
    return custom_status_after(ledger_, instance, last_seen_version);
}

Result<std::optional<std::string>> LedgerProvider::get_kv_value(const std::string& instance,
                                                                const std::string& key) {
    const MutexLock lock{mutex_};
    return kv_value(ledger_, instance, key);
}

Result<std::map<std::string, std::string>>
LedgerProvider::get_kv_all_values(const std::string& instance) {
    const MutexLock lock{mutex_};
    return kv_values(ledger_, instance);
}

Result<std::optional<InstanceStats>>
LedgerProvider::get_instance_stats(const std::string& instance) {
    const MutexLock lock{mutex_};
    return stats_of(ledger_, instance);
}

Result<std::vector<std::string>> LedgerProvider::list_instances() {
    const MutexLock lock{mutex_};
    return ledger::list_instances(ledger_);
}

Result<std::vector<std::string>>
LedgerProvider::list_instances_by_status(const std::string& status) {
    const MutexLock lock{mutex_};
    return list_by_status(ledger_, status);
}

Result<std::vector<std::uint64_t>> LedgerProvider::list_executions(const std::string& instance) {
    const MutexLock lock{mutex_};
    return ledger::list_executions(ledger_, instance);
}

Result<std::uint64_t> LedgerProvider::latest_execution_id(const std::string& instance) {
    const MutexLock lock{mutex_};
    return latest_execution(ledger_, instance);
}

Result<InstanceInfo> LedgerProvider::get_instance_info(const std::string& instance) {
    const MutexLock lock{mutex_};
    return instance_info(ledger_, instance);
}

Result<ExecutionInfo> LedgerProvider::get_execution_info(const std::string& instance,
                                                         std::uint64_t execution_id) {
    const MutexLock lock{mutex_};
    return execution_info(ledger_, instance, execution_id);
}

Result<SystemMetrics> LedgerProvider::get_system_metrics() {
    const MutexLock lock{mutex_};
    auto expired = expire();
    wake(lock);
    if (!expired) {
        return failed(std::move(expired).error(), "get_system_metrics");
    }
    return system_metrics(ledger_);
}

Result<QueueDepths> LedgerProvider::get_queue_depths() {
    const MutexLock lock{mutex_};
    auto expired = expire();
    const auto depths = queue_depths(ledger_, now());
    wake(lock);
    if (!expired) {
        return failed(std::move(expired).error(), "get_queue_depths");
    }
    return depths;
}

Result<std::vector<QuarantinedItem>> LedgerProvider::list_quarantined() {
    const MutexLock lock{mutex_};
    auto expired = expire();
    wake(lock);
    if (!expired) {
        return failed(std::move(expired).error(), "list_quarantined");
    }
    return ledger::list_quarantined(ledger_);
}

Result<std::vector<std::string>> LedgerProvider::list_children(const std::string& instance) {
    const MutexLock lock{mutex_};
    return ledger::list_children(ledger_, instance);
}

Result<std::optional<std::string>> LedgerProvider::get_parent_id(const std::string& instance) {
    const MutexLock lock{mutex_};
    return parent_of(ledger_, instance);
}

Result<InstanceTree> LedgerProvider::get_instance_tree(const std::string& instance) {
    const MutexLock lock{mutex_};
    return tree_of(ledger_, instance);
}

// ---- Deleting and pruning

Result<DeleteInstanceResult> LedgerProvider::finish(Result<Deletion> deletion,
                                                    const MutexLock& lock) {
    if (!deletion) {
        wake(lock);
        return std::unexpected{std::move(deletion).error()};
    }
    auto done = commit(std::move(deletion->record));
    wake(lock);
    if (!done) {
        return std::unexpected{std::move(done).error()};
    }
    return deletion->result;
}

Result<DeleteInstanceResult> LedgerProvider::delete_instance(const std::string& instance,
                                                             bool force) {
    const MutexLock lock{mutex_};
    return finish(delete_tree(ledger_, instance, force, now()), lock);
}

Result<DeleteInstanceResult>
LedgerProvider::delete_instances_atomic(const std::vector<std::string>& instances, bool force) {
    const MutexLock lock{mutex_};
    return finish(delete_instances(ledger_, instances, force, now()), lock);
}

Result<DeleteInstanceResult> LedgerProvider::delete_instance_bulk(const InstanceFilter& filter) {
    const MutexLock lock{mutex_};
    DeleteInstanceResult sum;
    for (const auto& root : deletable_roots(ledger_, filter)) {
        auto deleted = finish(delete_tree(ledger_, root, true, now()), lock);
        if (!deleted) {
            return failed(std::move(deleted).error(), "delete_instance_bulk");
        }
        sum.instances_deleted += deleted->instances_deleted;
        sum.executions_deleted += deleted->executions_deleted;
        sum.events_deleted += deleted->events_deleted;
        sum.queue_messages_deleted += deleted->queue_messages_deleted;
    }
    return sum;
}

Result<PruneResult> LedgerProvider::prune_executions(const std::string& instance,
                                                     const PruneOptions& options) {
    const MutexLock lock{mutex_};
    DURABLE_TRY_ASSIGN(auto pruning, prune(ledger_, instance, options, now()));
    DURABLE_TRY(commit(std::move(pruning.record)));
    wake(lock);
    return pruning.result;
}

Result<PruneResult> LedgerProvider::prune_executions_bulk(const InstanceFilter& filter,
                                                          const PruneOptions& options) {
    const MutexLock lock{mutex_};
    PruneResult sum;
    for (const auto& instance : prunable(ledger_, filter)) {
        DURABLE_TRY_ASSIGN(auto pruning, prune(ledger_, instance, options, now()));
        DURABLE_TRY(commit(std::move(pruning.record)));
        sum.instances_processed += pruning.result.instances_processed;
        sum.executions_deleted += pruning.result.executions_deleted;
        sum.events_deleted += pruning.result.events_deleted;
    }
    wake(lock);
    return sum;
}

} // namespace durable::ledger
