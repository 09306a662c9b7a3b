// Agenda: when the housekeeping thread must look again. Cheap to ask for on every turn: a thread is
// woken only when its sleep would end too late, and never more than once for the same hour.

#pragma once

#include "base/mutex.hpp"

#include <durable/time.hpp>

#include <atomic>
#include <stop_token>

namespace durable::runtime {

class Agenda {
 public:
    explicit Agenda(Clock& clock) : clock_{clock}, wake_up_{mutex_, clock} {}

    // Somebody must look at `when`, at the latest.
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

    // Sleeps until the earliest hour that was asked for, `when` included.
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
        // What is asked for from here on belongs to the next sleep.
        wake_at_.store(SteadyInstant::max(), std::memory_order_release);
    }

 private:
    Clock& clock_;
    Mutex mutex_;
    WakeUp wake_up_;
    std::atomic<SteadyInstant> wake_at_{SteadyInstant::max()};
};

} // namespace durable::runtime
