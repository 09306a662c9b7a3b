// The part of SqliteProvider that reads, deletes and prunes.

#include "base/try.hpp"
#include "providers/rules/stored.hpp"
#include "providers/sqlite/sqlite_provider.hpp"
#include "providers/sqlite/store/management.hpp"
#include "providers/sqlite/store/reading.hpp"

#include <algorithm>
#include <span>
#include <type_traits>
#include <utility>

namespace durable::sqlite {

using rules::failed;

namespace {

// Other calls get transactions in between.
constexpr std::uint32_t most_at_once = 100;

template <class T>
inline constexpr bool is_result = false;
template <class T>
inline constexpr bool is_result<Result<T>> = true;

void add(DeleteInstanceResult& sum, const DeleteInstanceResult& more) {
    sum.instances_deleted += more.instances_deleted;
    sum.executions_deleted += more.executions_deleted;
    sum.events_deleted += more.events_deleted;
    sum.queue_messages_deleted += more.queue_messages_deleted;
}

void add(PruneResult& sum, const PruneResult& more) {
    sum.instances_processed += more.instances_processed;
    sum.executions_deleted += more.executions_deleted;
    sum.events_deleted += more.events_deleted;
}

} // namespace

// Answers what `looking` reads, once it is durable (P12).
template <class Looking>
auto SqliteProvider::look(std::string_view operation, Looking&& looking) {
    using Answer = decltype(looking(std::declval<Connection&>()));
    using Told = std::conditional_t<is_result<Answer>, Answer, Result<Answer>>;
    std::optional<Answer> answer;
    const auto version = read([&](Connection& db) { answer.emplace(looking(db)); });
    if (!version) {
        return Told{failed(version.error(), operation)};
    }
    if (auto durable = ensure_durable(*version); !durable) {
        return Told{failed(std::move(durable).error(), operation)};
    }
    if constexpr (is_result<Answer>) {
        if (!*answer) {
            return Told{failed(std::move(*answer).error(), operation)};
        }
    }
    return Told{*std::move(answer)};
}

Result<std::vector<HistoryEvent>>
SqliteProvider::read_events(const std::string& instance,
                            std::optional<std::uint64_t> execution_id,
                            std::string_view operation) {
    DURABLE_TRY_ASSIGN(const auto texts, look(operation, [&](Connection& db) {
                           return events_of(db, instance, execution_id);
                       }));
    auto events = decode(texts);
    if (!events) {
        return failed(std::move(events).error(), operation);
    }
    return events;
}

Result<std::vector<HistoryEvent>> SqliteProvider::read(const std::string& instance) {
    return read_events(instance, std::nullopt, "read");
}

Result<std::vector<HistoryEvent>> SqliteProvider::read_with_execution(const std::string& instance,
                                                                      std::uint64_t execution_id) {
    return read_events(instance, execution_id, "read_with_execution");
}

Result<std::vector<HistoryEvent>>
SqliteProvider::read_history_with_execution_id(const std::string& instance,
                                               std::uint64_t execution_id) {
    return read_events(instance, execution_id, "read_history_with_execution_id");
}

Result<std::vector<HistoryEvent>> SqliteProvider::read_history(const std::string& instance) {
    return read_events(instance, std::nullopt, "read_history");
}

Result<std::optional<CustomStatus>>
SqliteProvider::get_custom_status(const std::string& instance, std::uint64_t last_seen_version) {
    return look("get_custom_status", [&](Connection& db) {
        return custom_status_after(db, instance, last_seen_version);
    });
}

Result<std::optional<std::string>> SqliteProvider::get_kv_value(const std::string& instance,
                                                                const std::string& key) {
    return look("get_kv_value", [&](Connection& db) { return kv_value(db, instance, key); });
}

Result<std::map<std::string, std::string>>
SqliteProvider::get_kv_all_values(const std::string& instance) {
    return look("get_kv_all_values", [&](Connection& db) { return kv_values(db, instance); });
}

Result<std::optional<InstanceStats>>
SqliteProvider::get_instance_stats(const std::string& instance) {
    return look("get_instance_stats", [&](Connection& db) { return stats_of(db, instance); });
}

Result<InstanceState> SqliteProvider::watch_instance(const WatchInstance& request) {
    constexpr std::string_view operation = "watch_instance";
    auto seen = waiting_.watch(request, [&]() -> Result<SeenState> {
        SeenState now;
        DURABLE_TRY_ASSIGN(
            now.version, read([&](Connection& db) { now.state = state_of(db, request.instance); }));
        return now;
    });
    if (!seen) {
        return failed(std::move(seen).error(), operation);
    }
    if (auto durable = ensure_durable(seen->version); !durable) {
        return failed(std::move(durable).error(), operation);
    }
    return std::move(seen->state);
}

Result<std::vector<std::string>> SqliteProvider::list_instances() {
    return look("list_instances", [](Connection& db) { return sqlite::list_instances(db); });
}

Result<std::vector<std::string>>
SqliteProvider::list_instances_by_status(const std::string& status) {
    return look("list_instances_by_status",
                [&](Connection& db) { return list_by_status(db, status); });
}

Result<std::vector<std::uint64_t>> SqliteProvider::list_executions(const std::string& instance) {
    return look("list_executions",
                [&](Connection& db) { return sqlite::list_executions(db, instance); });
}

Result<std::uint64_t> SqliteProvider::latest_execution_id(const std::string& instance) {
    return look("latest_execution_id",
                [&](Connection& db) { return latest_execution(db, instance); });
}

Result<InstanceInfo> SqliteProvider::get_instance_info(const std::string& instance) {
    return look("get_instance_info", [&](Connection& db) { return instance_info(db, instance); });
}

Result<ExecutionInfo> SqliteProvider::get_execution_info(const std::string& instance,
                                                         std::uint64_t execution_id) {
    return look("get_execution_info",
                [&](Connection& db) { return execution_info(db, instance, execution_id); });
}

// Expires messages and leases first: the counts below must not include them.
Result<rules::Moment> SqliteProvider::expire_now(std::string_view operation) {
    rules::Moment now;
    DURABLE_TRY(carry_out(operation, AnswerWhen::at_once, [&](Transaction& tx) -> Result<> {
        expire_messages(tx);
        now = tx.now;
        return {};
    }));
    return now;
}

Result<SystemMetrics> SqliteProvider::get_system_metrics() {
    DURABLE_TRY(expire_now("get_system_metrics"));
    return look("get_system_metrics", [](Connection& db) { return system_metrics(db); });
}

Result<QueueDepths> SqliteProvider::get_queue_depths() {
    DURABLE_TRY_ASSIGN(const auto now, expire_now("get_queue_depths"));
    return look("get_queue_depths", [&](Connection& db) { return queue_depths(db, now); });
}

Result<std::vector<QuarantinedItem>> SqliteProvider::list_quarantined() {
    DURABLE_TRY(expire_now("list_quarantined"));
    return look("list_quarantined", [](Connection& db) { return sqlite::list_quarantined(db); });
}

Result<std::vector<ParkedWork>> SqliteProvider::list_parked(Duration waited, std::uint32_t limit) {
    DURABLE_TRY_ASSIGN(const auto now, expire_now("list_parked"));
    return look("list_parked",
                [&](Connection& db) { return sqlite::list_parked(db, now.wall, waited, limit); });
}

Result<std::vector<std::string>> SqliteProvider::list_children(const std::string& instance) {
    return look("list_children",
                [&](Connection& db) { return sqlite::list_children(db, instance); });
}

Result<std::optional<std::string>> SqliteProvider::get_parent_id(const std::string& instance) {
    return look("get_parent_id", [&](Connection& db) { return parent_of(db, instance); });
}

Result<InstanceTree> SqliteProvider::get_instance_tree(const std::string& instance) {
    return look("get_instance_tree", [&](Connection& db) { return tree_of(db, instance); });
}

// ---- Deleting and pruning

Result<DeleteInstanceResult> SqliteProvider::delete_instance(const std::string& instance,
                                                             bool force) {
    DeleteInstanceResult deleted;
    DURABLE_TRY(
        carry_out("delete_instance", AnswerWhen::once_durable, [&](Transaction& tx) -> Result<> {
            DURABLE_TRY_ASSIGN(deleted, delete_tree(tx, instance, force));
            return {};
        }));
    return deleted;
}

Result<DeleteInstanceResult>
SqliteProvider::delete_instances_atomic(const std::vector<std::string>& instances, bool force) {
    DeleteInstanceResult deleted;
    DURABLE_TRY(carry_out(
        "delete_instances_atomic", AnswerWhen::once_durable, [&](Transaction& tx) -> Result<> {
            DURABLE_TRY_ASSIGN(deleted, delete_instances(tx, instances, force));
            return {};
        }));
    return deleted;
}

Result<DeleteInstanceResult> SqliteProvider::delete_instance_bulk(const InstanceFilter& filter) {
    DeleteInstanceResult sum;
    auto left = filter.limit.value_or(default_bulk_limit);
    for (auto some = filter; left > 0;) {
        some.limit = std::min(left, most_at_once);
        std::uint32_t roots = 0;
        DeleteInstanceResult deleted;
        DURABLE_TRY(carry_out(
            "delete_instance_bulk", AnswerWhen::once_durable, [&](Transaction& tx) -> Result<> {
                const auto matching = deletable_roots(tx.db, some);
                roots = static_cast<std::uint32_t>(matching.size());
                deleted = {};
                for (const auto& root : matching) {
                    DURABLE_TRY_ASSIGN(const auto tree, delete_tree(tx, root, true));
                    add(deleted, tree);
                }
                return {};
            }));
        add(sum, deleted);
        left = roots < *some.limit ? 0 : left - roots;
    }
    return sum;
}

Result<PruneResult> SqliteProvider::prune_executions(const std::string& instance,
                                                     const PruneOptions& options) {
    PruneResult pruned;
    DURABLE_TRY(
        carry_out("prune_executions", AnswerWhen::once_durable, [&](Transaction& tx) -> Result<> {
            DURABLE_TRY_ASSIGN(pruned, prune(tx, instance, options));
            return {};
        }));
    return pruned;
}

Result<PruneResult> SqliteProvider::prune_executions_bulk(const InstanceFilter& filter,
                                                          const PruneOptions& options) {
    constexpr std::string_view operation = "prune_executions_bulk";
    PruneResult sum;
    DURABLE_TRY_ASSIGN(const auto matching,
                       look(operation, [&](Connection& db) { return prunable(db, filter); }));
    for (std::span<const std::string> left{matching}; !left.empty();) {
        const auto some = left.first(std::min<std::size_t>(left.size(), most_at_once));
        left = left.subspan(some.size());
        PruneResult pruned;
        DURABLE_TRY(
            carry_out(operation, AnswerWhen::once_durable, [&](Transaction& tx) -> Result<> {
                pruned = {};
                for (const auto& instance : some) {
                    const auto one = prune(tx, instance, options);
                    if (one) {
                        add(pruned, *one);
                    } else if (one.error().code !=
                               ErrorCode::not_found) { // deleted meanwhile: fine
                        return std::unexpected{one.error()};
                    }
                }
                return {};
            }));
        add(sum, pruned);
    }
    return sum;
}

} // namespace durable::sqlite
