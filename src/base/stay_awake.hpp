// Spinning before sleeping, for a wait that is likely shorter than a sleep and a wake-up.
//
// The core of a sleeping thread sleeps too, and on a virtual machine it takes 30 to 60 µs to run
// again. A spinning thread yields: other threads get the core meanwhile. Waiters of the stores call
// this before they sleep.

#pragma once

#include "base/stopwatch.hpp"

#include <chrono>
#include <thread>
#include <utility>

namespace durable {

struct AwakeLimits {
    std::chrono::microseconds longest;
    std::chrono::microseconds others_run; // in one yield: then other threads need the core
};

// With one core only, a spinning thread delays the thread that it waits for.
[[nodiscard]] inline bool may_stay_awake() noexcept {
    static const bool several_cores = std::thread::hardware_concurrency() > 1;
    return several_cores;
}

// Spins until over() is true. False: one of the limits was reached first.
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
