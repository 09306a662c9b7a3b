// Callers: threads that make the same call again and again, and what that took.

#pragma once

#include "cli/bench/latencies.hpp"

#include <durable/result.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

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
    // The longest time in which no call came to its end.
    std::chrono::nanoseconds longest_pause{0};
};

// Told now and then how many calls have ended.
using Progress = std::function<void(std::uint64_t)>;

// `call` is called by several threads. The first error ends it all.
[[nodiscard]] Result<CallsMade>
make_calls(const Load& load, const std::function<Result<>()>& call, const Progress& progress);

} // namespace durable::cli
