#include "observability/catalogue.hpp"

#include <array>

namespace durable {

namespace {

using observability::Metric;
using Text = std::string_view;

constexpr auto metric_count = static_cast<std::size_t>(Metric::count);

constexpr std::array<Text, 1> by_orchestration{"orchestration_name"};
constexpr std::array<Text, 3> by_start{"orchestration_name", "version", "initiated_by"};
constexpr std::array<Text, 4> by_completion{
    "orchestration_name", "version", "status", "final_turn_count"};
constexpr std::array<Text, 3> by_failure{"orchestration_name", "version", "error_category"};
constexpr std::array<Text, 2> by_configuration{"orchestration_name", "kind"};
constexpr std::array<Text, 3> by_status{"orchestration_name", "version", "status"};
constexpr std::array<Text, 1> by_reason{"reason"};
constexpr std::array<Text, 1> by_result{"result"};
constexpr std::array<Text, 4> by_execution{"activity_name", "outcome", "attempt", "tag"};
constexpr std::array<Text, 3> by_outcome{"activity_name", "outcome", "tag"};
constexpr std::array<Text, 1> by_activity{"activity_name"};
constexpr std::array<Text, 3> by_child{"parent_orchestration", "child_orchestration", "outcome"};
constexpr std::array<Text, 2> by_operation{"operation", "status"};
constexpr std::array<Text, 2> by_error{"operation", "error_code"};

constexpr std::array orchestration_seconds{
    0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0, 1800.0, 3600.0};
constexpr std::array activity_seconds{
    0.001, 0.01, 0.05, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0};
constexpr std::array operation_seconds{
    0.00001, 0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 2.0, 5.0};
constexpr std::array turn_counts{1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0};
constexpr std::array event_counts{10.0, 50.0, 100.0, 500.0, 1000.0, 5000.0, 10000.0, 100000.0};

constexpr MetricInfo counter(Text name, Text help, std::span<const Text> labels = {}) {
    return {.name = name, .kind = MetricKind::counter, .help = help, .labels = labels};
}

constexpr MetricInfo gauge(Text name, Text help) {
    return {.name = name, .kind = MetricKind::gauge, .help = help};
}

constexpr MetricInfo
histogram(Text name, Text help, std::span<const Text> labels, std::span<const double> buckets) {
    return {.name = name,
            .kind = MetricKind::histogram,
            .help = help,
            .labels = labels,
            .buckets = buckets};
}

// In the order of observability::Metric.
constexpr auto catalogue = [] {
    std::array<MetricInfo, metric_count> all{
        counter("durable_orchestration_starts_total", "Executions begun, once each", by_start),
        counter("durable_orchestration_completions_total",
                "Executions ended, once each",
                by_completion),
        counter("durable_orchestration_failures_total", "Executions that failed", by_failure),
        counter("durable_orchestration_infrastructure_errors_total",
                "Turns that storage refused to commit",
                by_orchestration),
        counter("durable_orchestration_configuration_errors_total",
                "Turns that found no handler or differed from their history",
                by_configuration),
        histogram("durable_orchestration_duration_seconds",
                  "From the start of an execution to its end",
                  by_status,
                  orchestration_seconds),
        histogram("durable_orchestration_turns",
                  "Turns of an execution that ended",
                  by_orchestration,
                  turn_counts),
        histogram("durable_orchestration_history_size",
                  "Events of an execution that ended",
                  by_orchestration,
                  event_counts),
        counter("durable_orchestration_continue_as_new_total",
                "Executions that continued as new",
                by_orchestration),
        counter("durable_orchestration_poison_total",
                "Instances failed because their messages exceeded max_attempts"),
        counter("durable_orchestration_limit_violations_total",
                "Executions failed because they exceeded a limit",
                by_orchestration),
        counter("durable_orchestration_dropped_messages_total",
                "Messages that no execution wanted",
                by_reason),
        gauge("durable_active_orchestrations", "Instances that run, as storage counts them"),
        gauge("durable_parked_orchestrations", "Instances whose code differs from their history"),
        gauge("durable_unfetched_work", "Turns and activities that no node has taken for 10 s"),
        gauge("durable_orchestrator_queue_depth", "Messages waiting for a turn"),
        gauge("durable_worker_queue_depth", "Activities waiting for a worker"),
        gauge("durable_quarantined_items", "Queue items that storage could not decode"),
        gauge("durable_expired_messages", "Messages whose instance never started"),
        histogram("durable_turn_duration_seconds",
                  "From fetch to commit, the fetch not included",
                  by_orchestration,
                  operation_seconds),
        counter("durable_turns_discarded_total", "Turns run but not committed", by_reason),
        counter("durable_frame_cache_lookups_total", "Turns by where their frame was", by_result),
        counter("durable_frame_cache_evictions_total", "Frames given up", by_reason),
        gauge("durable_cached_frames", "Suspended orchestrations in memory"),
        gauge("durable_cached_frame_bytes", "Their estimated size"),
        counter("durable_activity_executions_total", "Activities run, once each", by_execution),
        histogram("durable_activity_duration_seconds",
                  "Time inside the activity",
                  by_outcome,
                  activity_seconds),
        counter("durable_activity_infrastructure_errors_total",
                "Results that storage refused to take",
                by_activity),
        counter("durable_activity_configuration_errors_total",
                "Activities fetched without a handler",
                by_activity),
        counter("durable_activity_poison_total", "Activities that exceeded max_attempts"),
        gauge("durable_activity_threads", "Threads that run or await activities"),
        gauge("durable_activity_zombies", "Activities that ignore the request to stop"),
        counter("durable_suborchestration_calls_total", "Children that answered", by_child),
        histogram("durable_suborchestration_duration_seconds",
                  "From scheduling a child to its answer",
                  by_child,
                  orchestration_seconds),
        histogram("durable_provider_operation_duration_seconds",
                  "Storage calls; fetches include the wait for work",
                  by_operation,
                  operation_seconds),
        counter("durable_provider_errors_total", "Storage calls that failed", by_error),
    };
    for (std::size_t index = 0; index < all.size(); ++index) {
        all[index].index = index;
    }
    return all;
}();

} // namespace

std::span<const MetricInfo> metric_catalogue() noexcept {
    return catalogue;
}

const MetricInfo& observability::metric(Metric which) noexcept {
    return catalogue[static_cast<std::size_t>(which)];
}

} // namespace durable
