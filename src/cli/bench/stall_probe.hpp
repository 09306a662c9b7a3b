// The machine below a run: how long it kept a thread from running that hardly wants to.
//
// On every core a thread sleeps for a millisecond, again and again. What it oversleeps nobody in
// this process can help: a virtual machine whose host takes the core away, or other programs. A
// pause of the engine that is not longer than that is not the engine's.

#pragma once

#include "base/futex.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <stop_token>
#include <thread>
#include <vector>

namespace durable::cli {

class StallProbe {
 public:
    StallProbe();

    // The longest so far.
    [[nodiscard]] std::chrono::nanoseconds longest() const noexcept {
        return std::chrono::nanoseconds{longest_.load()};
    }

 private:
    void watch(const std::stop_token& stop, std::size_t core);

    FutexWord never_{0}; // wakes
    std::atomic<std::chrono::nanoseconds::rep> longest_{0};
    std::vector<std::jthread> threads_; // last: they use what is above
};

} // namespace durable::cli
