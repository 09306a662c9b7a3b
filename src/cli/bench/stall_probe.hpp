// The machine below a run: when it kept a thread from running that hardly wants to.
//
// On every core a thread sleeps for a millisecond, again and again, before all others where the
// system lets it. What it oversleeps nobody in this process can help: a virtual machine whose host
// takes the core away, or other programs. A pause of the engine is its own without that.

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
    // Sees what is longer than that.
    explicit StallProbe(const Stopwatch& watch,
                        std::chrono::nanoseconds shortest = std::chrono::milliseconds{1});

    // So far, in no order.
    [[nodiscard]] std::vector<Interval> stalls() const;
    // Whether the threads go before all others: if not, what keeps them may be this process.
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
