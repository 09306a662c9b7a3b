// StallProbe: the times in which the machine did not run this process.
//
// On every core a thread sleeps for some milliseconds, again and again, with real-time priority
// where the system allows it. When it oversleeps, the cause is outside of this process: the host of
// a virtual machine took the core away, or other programs used it. Such stalls are subtracted from
// the pauses of the engine.

#pragma once

#include "base/futex.hpp"
#include "base/stopwatch.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

namespace durable::cli {

// From when to when on a stopwatch.
struct Interval {
    std::chrono::nanoseconds begin{0};
    std::chrono::nanoseconds end{0};

    [[nodiscard]] std::chrono::nanoseconds length() const noexcept { return end - begin; }
};

// The longest of `pauses` without the parts of it that lie in `stalls`, which may overlap.
[[nodiscard]] std::chrono::nanoseconds longest_without(std::span<const Interval> pauses,
                                                       std::vector<Interval> stalls);

class StallProbe {
 public:
    // Records stalls longer than `shortest`.
    explicit StallProbe(const Stopwatch& watch,
                        std::chrono::nanoseconds shortest = std::chrono::milliseconds{1});

    // So far, in no order.
    [[nodiscard]] std::vector<Interval> stalls() const;
    // Whether the threads have real-time priority. If not, this process itself may delay them.
    [[nodiscard]] bool goes_first() const noexcept { return goes_first_.load(); }

 private:
    void run(const std::stop_token& stop, std::size_t core);

    const Stopwatch watch_;
    const std::chrono::nanoseconds shortest_;
    std::atomic<bool> goes_first_{true};
    FutexWord never_{0}; // wakes
    mutable std::mutex mutex_;
    std::vector<Interval> stalls_;      // guarded by mutex_
    std::vector<std::jthread> threads_; // last: they use what is above
};

} // namespace durable::cli
