// Callers: threads that make the same call again and again, and the time that it took.

#pragma once

#include "base/stopwatch.hpp"
#include "cli/bench/latencies.hpp"
#include "cli/bench/stall_probe.hpp"

#include <durable/result.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace durable::cli {

struct Load {
    std::uint64_t count = 0;      // calls, at most; 0: any number
    std::uint64_t in_flight = 1;  // callers, each with one call at a time
    std::chrono::seconds time{0}; // no call begins later; 0: any time
    std::uint64_t steps = 0;      // activities of a long chain; 0: as many as usual
};

struct CallsMade {
    std::uint64_t count = 0;
    double seconds = 0;
    Latencies latencies;
    // The longest time in which no call ended, and all pauses that are long enough to matter.
    std::chrono::nanoseconds longest_pause{0};
    std::vector<Interval> pauses;
};

// Called now and then with the number of calls that have ended; an error ends the measurement.
using Progress = std::function<Result<>(std::uint64_t)>;

// Several threads call `call`. The first error ends the measurement. `watch` has just begun.
[[nodiscard]] Result<CallsMade> make_calls(const Load& load,
                                           const std::function<Result<>()>& call,
                                           const Progress& progress,
                                           const Stopwatch& watch);

} // namespace durable::cli
