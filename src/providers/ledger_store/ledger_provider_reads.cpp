// The part of LedgerProvider that only reads.

#include "base/try.hpp"
#include "providers/ledger/queueing.hpp"
#include "providers/ledger/reading.hpp"
#include "providers/ledger_store/ledger_provider.hpp"

#include <type_traits>
#include <utility>

namespace durable::ledger {

namespace {

template <class T>
inline constexpr bool is_result = false;
template <class T>
inline constexpr bool is_result<Result<T>> = true;

} // namespace

// P12: answers what `look` reads, once that is durable.
template <class Look>
auto LedgerProvider::look(std::string_view operation, Look&& look) {
    using Answer = decltype(look(std::declval<Ledger&>()));
    using Told = std::conditional_t<is_result<Answer>, Answer, Result<Answer>>;
    std::optional<Answer> answer;
    std::uint64_t reached = 0;
    auto seen = with_all_here([&](const MutexLock&) {
        mutex_.assert_held();
        answer.emplace(look(ledger_));
        reached = position();
        return looked();
    });
    if (!seen) {
        return Told{failed(std::move(seen).error(), operation)};
    }
    if (auto safe = wait_until_safe(AnswerKind::state, reached, 0); !safe) {
        return Told{failed(std::move(safe).error(), operation)};
    }
    return Told{*std::move(answer)};
}

// Decodes without the mutex: a long history takes longer than everything else.
Result<std::vector<HistoryEvent>>
LedgerProvider::read_events(const std::string& instance,
                            std::optional<std::uint64_t> execution_id,
                            std::string_view operation) {
    DURABLE_TRY_ASSIGN(const auto texts, look(operation, [&](const Ledger& ledger) {
                           return events_of(ledger, instance, execution_id);
                       }));
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
    return look("get_custom_status", [&](const Ledger& ledger) {
        return custom_status_after(ledger, instance, last_seen_version);
    });
}

Result<std::optional<std::string>> LedgerProvider::get_kv_value(const std::string& instance,
                                                                const std::string& key) {
    return look("get_kv_value",
                [&](const Ledger& ledger) { return kv_value(ledger, instance, key); });
}

Result<std::map<std::string, std::string>>
LedgerProvider::get_kv_all_values(const std::string& instance) {
    return look("get_kv_all_values",
                [&](const Ledger& ledger) { return kv_values(ledger, instance); });
}

Result<std::optional<InstanceStats>>
LedgerProvider::get_instance_stats(const std::string& instance) {
    return look("get_instance_stats",
                [&](const Ledger& ledger) { return stats_of(ledger, instance); });
}

Result<std::vector<std::string>> LedgerProvider::list_instances() {
    return look("list_instances",
                [](const Ledger& ledger) { return ledger::list_instances(ledger); });
}

Result<std::vector<std::string>>
LedgerProvider::list_instances_by_status(const std::string& status) {
    return look("list_instances_by_status",
                [&](const Ledger& ledger) { return list_by_status(ledger, status); });
}

Result<std::vector<std::uint64_t>> LedgerProvider::list_executions(const std::string& instance) {
    return look("list_executions",
                [&](const Ledger& ledger) { return ledger::list_executions(ledger, instance); });
}

Result<std::uint64_t> LedgerProvider::latest_execution_id(const std::string& instance) {
    return look("latest_execution_id",
                [&](const Ledger& ledger) { return latest_execution(ledger, instance); });
}

Result<InstanceInfo> LedgerProvider::get_instance_info(const std::string& instance) {
    return look("get_instance_info",
                [&](const Ledger& ledger) { return instance_info(ledger, instance); });
}

Result<ExecutionInfo> LedgerProvider::get_execution_info(const std::string& instance,
                                                         std::uint64_t execution_id) {
    return look("get_execution_info", [&](const Ledger& ledger) {
        return execution_info(ledger, instance, execution_id);
    });
}

// Expires messages first: the counts below must not include them.
Result<> LedgerProvider::expire_now(std::string_view operation) {
    const MutexLock lock{mutex_};
    auto expired = expire();
    wake(lock);
    if (!expired) {
        return failed(std::move(expired).error(), operation);
    }
    return {};
}

Result<SystemMetrics> LedgerProvider::get_system_metrics() {
    DURABLE_TRY(expire_now("get_system_metrics"));
    return look("get_system_metrics", [](const Ledger& ledger) { return system_metrics(ledger); });
}

Result<QueueDepths> LedgerProvider::get_queue_depths() {
    DURABLE_TRY(expire_now("get_queue_depths"));
    return look("get_queue_depths", [&](Ledger& ledger) { return queue_depths(ledger, now()); });
}

Result<std::vector<ParkedWork>> LedgerProvider::list_parked(Duration waited, std::uint32_t limit) {
    DURABLE_TRY(expire_now("list_parked"));
    return look("list_parked",
                [&](Ledger& ledger) { return ledger::list_parked(ledger, waited, limit, now()); });
}

Result<std::vector<QuarantinedItem>> LedgerProvider::list_quarantined() {
    DURABLE_TRY(expire_now("list_quarantined"));
    return look("list_quarantined",
                [](const Ledger& ledger) { return ledger::list_quarantined(ledger); });
}

Result<std::vector<std::string>> LedgerProvider::list_children(const std::string& instance) {
    return look("list_children",
                [&](const Ledger& ledger) { return ledger::list_children(ledger, instance); });
}

Result<std::optional<std::string>> LedgerProvider::get_parent_id(const std::string& instance) {
    return look("get_parent_id", [&](const Ledger& ledger) { return parent_of(ledger, instance); });
}

Result<InstanceTree> LedgerProvider::get_instance_tree(const std::string& instance) {
    return look("get_instance_tree",
                [&](const Ledger& ledger) { return tree_of(ledger, instance); });
}

} // namespace durable::ledger
