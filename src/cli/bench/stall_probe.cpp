#include "cli/bench/stall_probe.hpp"

#include <algorithm>
#include <system_error>

#include <pthread.h>
#include <sched.h>

namespace durable::cli {

std::chrono::nanoseconds longest_without(std::span<const Interval> pauses,
                                         std::vector<Interval> stalls) {
    std::ranges::sort(stalls, {}, &Interval::begin);
    std::chrono::nanoseconds longest{0};
    for (const auto& pause : pauses) {
        auto own = pause.length();
        auto counted = pause.begin; // stalls up to here are taken off
        for (const auto& stall : stalls) {
            const auto begin = std::max(stall.begin, counted);
            const auto end = std::min(stall.end, pause.end);
            if (begin < end) {
                own -= end - begin;
                counted = end;
            }
        }
        longest = std::max(longest, own);
    }
    return longest;
}

StallProbe::StallProbe(const Stopwatch& watch, std::chrono::nanoseconds shortest)
    : watch_{watch}, shortest_{shortest} {
    const std::size_t cores = std::thread::hardware_concurrency();
    try {
        while (threads_.size() < cores) {
            threads_.emplace_back(
                [this, core = threads_.size()](const std::stop_token& stop) { run(stop, core); });
        }
    } catch (const std::system_error&) {
        // Fewer threads see fewer stalls. A system without threads fails the callers as well.
    }
}

std::vector<Interval> StallProbe::stalls() const {
    const std::scoped_lock lock{mutex_};
    return stalls_;
}

void StallProbe::run(const std::stop_token& stop, std::size_t core) {
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(core, &own);
    // When the process may not use that core, the thread watches another one.
    (void)::pthread_setaffinity_np(::pthread_self(), sizeof own, &own);
    const sched_param first{.sched_priority = 1};
    if (::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &first) != 0) {
        goes_first_.store(false);
    }
    // Shorter sleeps would slow `hello` down. The part of a stall before the end of the sleep is
    // not seen, and counts as a pause of the engine.
    constexpr Duration nap{4};
    while (!stop.stop_requested()) {
        const auto due = watch_.elapsed() + nap;
        sleep_while(never_, 0, nap);
        const auto now = watch_.elapsed();
        if (now - due > shortest_) {
            const std::scoped_lock lock{mutex_};
            stalls_.push_back({.begin = due, .end = now});
        }
    }
}

} // namespace durable::cli
