// Waiting awake, for what comes sooner than a thread that fell asleep would be back.
//
// A thread that sleeps lets its core sleep too, and on a virtual machine it takes 30 to 60 µs until
// that runs again. Whoever else wants the core gets it meanwhile.

#pragma once

#include "base/stopwatch.hpp"

#include <chrono>
#include <thread>
#include <utility>

namespace durable {

struct AwakeLimits {
    std::chrono::microseconds longest;
    std::chrono::microseconds others_run; // at a stretch: the core has something better to do
};

// With one core only, whoever waits awake holds up the one that it waits for.
[[nodiscard]] inline bool may_stay_awake() noexcept {
    static const bool several_cores = std::thread::hardware_concurrency() > 1;
    return several_cores;
}

// Until `over()` says true, as does this; false: one of the limits was reached.
template <class Over>
[[nodiscard]] bool stay_awake_until(Over&& over, const AwakeLimits& limits) {
    const Stopwatch watch;
    auto now = watch.elapsed();
    while (!over()) {
        std::this_thread::yield();
        const auto before = std::exchange(now, watch.elapsed());
        if (now > limits.longest || now - before > limits.others_run) {
            return false;
        }
    }
    return true;
}

} // namespace durable
