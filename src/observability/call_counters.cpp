#include "observability/call_counters.hpp"

#include <algorithm>

namespace durable {

namespace {

constexpr std::array<std::string_view, call_count> names = {
    "fetch_orchestration_item",
    "ack_orchestration_item",
    "abandon_orchestration_item",
    "renew_orchestration_item_lock",
    "read",
    "read_with_execution",
    "append_with_execution",
    "enqueue_for_worker",
    "fetch_work_item",
    "ack_work_item",
    "renew_work_item_lock",
    "abandon_work_item",
    "renew_session_lock",
    "cleanup_orphaned_sessions",
    "start_instance",
    "enqueue_for_orchestrator",
    "get_custom_status",
    "get_kv_value",
    "get_kv_all_values",
    "get_instance_stats",
    "watch_instance",
    "list_instances",
    "list_instances_by_status",
    "list_executions",
    "read_history_with_execution_id",
    "read_history",
    "latest_execution_id",
    "get_instance_info",
    "get_execution_info",
    "get_system_metrics",
    "get_queue_depths",
    "list_quarantined",
    "list_parked",
    "list_children",
    "get_parent_id",
    "get_instance_tree",
    "delete_instance",
    "delete_instances_atomic",
    "delete_instance_bulk",
    "prune_executions",
    "prune_executions_bulk",
};
static_assert(static_cast<std::size_t>(Call::prune_executions_bulk) + 1 == call_count);
static_assert(static_cast<std::size_t>(ErrorCode::storage_failed) + 1 == error_code_count);

std::size_t bucket_of(std::uint64_t nanoseconds) noexcept {
    const auto width = static_cast<std::size_t>(std::bit_width(nanoseconds));
    return std::min(width == 0 ? 0 : width - 1, CallStatistics::buckets - 1);
}

// Counts are read one by one while others add to them: order between them does not matter.
std::uint64_t load(const std::atomic<std::uint64_t>& number) noexcept {
    return number.load(std::memory_order_relaxed);
}

void add(std::atomic<std::uint64_t>& number, std::uint64_t by) noexcept {
    number.fetch_add(by, std::memory_order_relaxed);
}

} // namespace

std::string_view name_of(Call call) noexcept {
    return names[static_cast<std::size_t>(call)];
}

void InstrumentedProvider::Counters::count(Call call,
                                           std::chrono::nanoseconds took,
                                           const Error* error) noexcept {
    auto& cell = cells_[static_cast<std::size_t>(call)];
    const auto nanoseconds = static_cast<std::uint64_t>(std::max<std::int64_t>(took.count(), 0));
    add(cell.total_ns, nanoseconds);
    add(cell.histogram[bucket_of(nanoseconds)], 1);
    auto longest = load(cell.longest_ns);
    while (longest < nanoseconds && !cell.longest_ns.compare_exchange_weak(
                                        longest, nanoseconds, std::memory_order_relaxed)) {
    }
    if (error != nullptr) {
        add(cell.errors[static_cast<std::size_t>(error->code)], 1);
    }
}

CallStatistics InstrumentedProvider::Counters::statistics(Call call) const {
    const auto& cell = cells_[static_cast<std::size_t>(call)];
    CallStatistics statistics{.operation = name_of(call)};
    statistics.total = std::chrono::nanoseconds{load(cell.total_ns)};
    statistics.longest = std::chrono::nanoseconds{load(cell.longest_ns)};
    for (std::size_t i = 0; i < CallStatistics::buckets; ++i) {
        statistics.histogram[i] = load(cell.histogram[i]);
        statistics.calls += statistics.histogram[i];
    }
    for (std::size_t i = 0; i < error_code_count; ++i) {
        statistics.errors_by_code[i] = load(cell.errors[i]);
        statistics.errors += statistics.errors_by_code[i];
    }
    return statistics;
}

void InstrumentedProvider::Counters::reset() noexcept {
    for (auto& cell : cells_) {
        cell.total_ns = 0;
        cell.longest_ns = 0;
        std::ranges::for_each(cell.histogram, [](auto& number) { number = 0; });
        std::ranges::for_each(cell.errors, [](auto& number) { number = 0; });
    }
}

CallStatistics::Nanoseconds CallStatistics::mean() const noexcept {
    return calls == 0 ? Nanoseconds{}
                      : Nanoseconds{total.count() / static_cast<std::int64_t>(calls)};
}

CallStatistics::Nanoseconds CallStatistics::quantile(double share) const noexcept {
    const auto wanted = share * static_cast<double>(calls);
    double seen = 0;
    for (std::size_t i = 0; i < buckets; ++i) {
        seen += static_cast<double>(histogram[i]);
        if (seen > 0 && seen >= wanted) {
            return std::min(Nanoseconds{std::int64_t{2} << i}, longest);
        }
    }
    return longest;
}

} // namespace durable
