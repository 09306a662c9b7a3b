// Agenda: when the housekeeping thread wakes up next.
//
// Dispatchers call at_latest() from any thread, on every turn: it is one atomic load unless the
// housekeeping thread, the only caller of sleep_until(), would wake up too late.

#pragma once

#include "base/mutex.hpp"

#include <durable/time.hpp>

#include <atomic>
#include <stop_token>

namespace durable::runtime {

class Agenda {
 public:
    explicit Agenda(Clock& clock) : clock_{clock}, wake_up_{mutex_, clock} {}

    // The housekeeping thread wakes up at `when`, or earlier.
    void at_latest(SteadyInstant when) {
        if (when >= wake_at_.load(std::memory_order_acquire)) {
            return;
        }
        const MutexLock lock{mutex_};
        if (when < wake_at_.load(std::memory_order_relaxed)) {
            wake_at_.store(when, std::memory_order_release);
            wake_up_.notify_all(lock);
        }
    }

    // Sleeps until the earliest moment that was asked for, `when` included.
    void sleep_until(SteadyInstant when, const std::stop_token& stop) {
        const std::stop_callback on_stop{stop, [this] { wake_up_.wake_all(); }};
        const MutexLock lock{mutex_};
        if (when < wake_at_.load(std::memory_order_relaxed)) {
            wake_at_.store(when, std::memory_order_release);
        }
        while (!stop.stop_requested()) {
            const auto now = clock_.steady();
            const auto wake_at = wake_at_.load(std::memory_order_relaxed);
            if (now >= wake_at) {
                break;
            }
            wake_up_.wait(lock, wake_at - now);
        }
        // Calls of at_latest() from here on belong to the next sleep.
        wake_at_.store(SteadyInstant::max(), std::memory_order_release);
    }

 private:
    Clock& clock_;
    Mutex mutex_;
    WakeUp wake_up_;
    std::atomic<SteadyInstant> wake_at_{SteadyInstant::max()};
};

} // namespace durable::runtime
