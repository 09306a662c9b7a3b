// The numbers behind InstrumentedProvider: one set of atomics per operation of the contract.

#pragma once

#include "base/stopwatch.hpp"

#include <durable/instrumented.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace durable {

enum class Call : std::uint8_t {
    fetch_orchestration_item,
    ack_orchestration_item,
    abandon_orchestration_item,
    renew_orchestration_item_lock,
    read,
    read_with_execution,
    append_with_execution,
    enqueue_for_worker,
    fetch_work_item,
    ack_work_item,
    renew_work_item_lock,
    abandon_work_item,
    renew_session_lock,
    cleanup_orphaned_sessions,
    start_instance,
    enqueue_for_orchestrator,
    get_custom_status,
    get_kv_value,
    get_kv_all_values,
    get_instance_stats,
    watch_instance,
    list_instances,
    list_instances_by_status,
    list_executions,
    read_history_with_execution_id,
    read_history,
    latest_execution_id,
    get_instance_info,
    get_execution_info,
    get_system_metrics,
    get_queue_depths,
    list_quarantined,
    list_parked,
    list_children,
    get_parent_id,
    get_instance_tree,
    delete_instance,
    delete_instances_atomic,
    delete_instance_bulk,
    prune_executions,
    prune_executions_bulk,
};

inline constexpr std::size_t call_count = 41;

[[nodiscard]] std::string_view name_of(Call call) noexcept;

class InstrumentedProvider::Counters {
 public:
    template <class Work>
    std::invoke_result_t<Work> measure(Call call, const Work& work) {
        const Stopwatch watch;
        auto result = work();
        count(call, watch.elapsed(), result ? nullptr : &result.error());
        return result;
    }

    [[nodiscard]] CallStatistics statistics(Call call) const;
    void reset() noexcept;

 private:
    struct alignas(64) Cell { // its own cache lines: threads count different operations at once
        std::atomic<std::uint64_t> total_ns = 0;
        std::atomic<std::uint64_t> longest_ns = 0;
        std::array<std::atomic<std::uint64_t>, CallStatistics::buckets> histogram{};
        std::array<std::atomic<std::uint64_t>, error_code_count> errors{};
    };

    void count(Call call, std::chrono::nanoseconds took, const Error* error) noexcept;

    std::array<Cell, call_count> cells_;
};

} // namespace durable
