// The Prometheus text format, version 0.0.4:
//
//     # HELP durable_orchestration_turns Turns of an execution that ended
//     # TYPE durable_orchestration_turns histogram
//     durable_orchestration_turns_bucket{orchestration_name="Hello",le="1"} 3
//     durable_orchestration_turns_bucket{orchestration_name="Hello",le="+Inf"} 4
//     durable_orchestration_turns_sum{orchestration_name="Hello"} 9
//     durable_orchestration_turns_count{orchestration_name="Hello"} 4

#pragma once

#include <durable/metrics.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace durable::observability {

// One combination of label values.
struct Series {
    std::vector<std::string> labels;
    double value = 0; // of a histogram: the number of observations
    double sum = 0;
    std::vector<std::uint64_t> buckets; // observations in this bucket alone; not cumulative
};

// Appends one metric; nothing when it has no series yet.
void render_prometheus(std::string& out, const MetricInfo& metric, std::span<const Series> series);

} // namespace durable::observability
