// The metrics by name, for the code that records them: `metric(Metric::turns)`.

#pragma once

#include <durable/metrics.hpp>

#include <cstdint>

namespace durable::observability {

enum class Metric : std::uint8_t {
    orchestration_starts,
    orchestration_completions,
    orchestration_failures,
    orchestration_infrastructure_errors,
    orchestration_configuration_errors,
    orchestration_duration,
    orchestration_turns,
    orchestration_history_size,
    orchestration_continue_as_new,
    orchestration_poison,
    orchestration_limit_violations,
    orchestration_dropped_messages,
    active_orchestrations,
    parked_orchestrations,
    unfetched_work,
    orchestrator_queue_depth,
    worker_queue_depth,
    quarantined_items,
    expired_messages,
    turn_duration,
    turns_discarded,
    frame_cache_lookups,
    frame_cache_evictions,
    cached_frames,
    cached_frame_bytes,
    activity_executions,
    activity_duration,
    activity_infrastructure_errors,
    activity_configuration_errors,
    activity_poison,
    activity_threads,
    activity_zombies,
    suborchestration_calls,
    suborchestration_duration,
    provider_operation_duration,
    provider_errors,
    count
};

[[nodiscard]] const MetricInfo& metric(Metric which) noexcept;

} // namespace durable::observability
