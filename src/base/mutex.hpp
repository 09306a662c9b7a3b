// A mutex for many threads on few cores, with clang's thread-safety annotations, so that
// `clang++ -Wthread-safety` rejects code that touches guarded state without holding it.
//
// Not std::mutex: where dozens of threads want it and its holder lost the core, every unlock of
// that one wakes a sleeper, which then wants what somebody awake takes first. This one wakes
// nobody while one who is awake tries to get it, and never more than one.
//
// WakeUp is the condition to wait for under such a mutex, with time taken from a Clock.

#pragma once

#include "base/bell.hpp"

#include <durable/time.hpp>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#if defined(__clang__)
#define DURABLE_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define DURABLE_THREAD_ANNOTATION(x)
#endif

#define DURABLE_GUARDED_BY(mutex) DURABLE_THREAD_ANNOTATION(guarded_by(mutex))
#define DURABLE_REQUIRES(mutex) DURABLE_THREAD_ANNOTATION(requires_capability(mutex))
#define DURABLE_EXCLUDES(mutex) DURABLE_THREAD_ANNOTATION(locks_excluded(mutex))

namespace durable {

class DURABLE_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
    Mutex() = default;
    Mutex(const Mutex&) = delete;
    Mutex& operator=(const Mutex&) = delete;

    // Looks for some microseconds whether it becomes free before it goes to sleep for it: most
    // hold it for less than a sleep and a wake-up cost.
    void lock() DURABLE_THREAD_ANNOTATION(acquire_capability()) {
        std::uint32_t free = 0;
        if (!state_.compare_exchange_strong(
                free, locked, std::memory_order_acquire, std::memory_order_relaxed)) {
            lock_slowly();
        }
    }
    void unlock() DURABLE_THREAD_ANNOTATION(release_capability()) {
        auto state = state_.load(std::memory_order_relaxed);
        bool wake = false;
        std::uint32_t next = 0;
        do { // in one step: once it is free, it may be locked and destroyed by somebody else
            wake = state >= one_sleeper && (state & awake) == 0;
            next = wake ? state - locked - one_sleeper + awake : state - locked;
        } while (!state_.compare_exchange_weak(
            state, next, std::memory_order_release, std::memory_order_relaxed));
        if (wake) {
            wake_sleeper();
        }
    }
    // Tells the analysis what it cannot see: inside a lambda, that the caller holds the mutex.
    void assert_held() const DURABLE_THREAD_ANNOTATION(assert_capability(this)) {}

 private:
    static constexpr std::uint32_t locked = 1;
    static constexpr std::uint32_t awake = 2; // one who slept, or saw others sleep, tries to get it
    static constexpr std::uint32_t one_sleeper = 4; // and above: how many

    void lock_slowly();
    void sleep();
    void wake_sleeper();

    std::atomic<std::uint32_t> state_{0};
    FutexWord calls_{0}; // to sleepers, that they have not followed yet
};

class DURABLE_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
    explicit MutexLock(Mutex& mutex) DURABLE_THREAD_ANNOTATION(acquire_capability(mutex))
        : mutex_{mutex} {
        mutex_.lock();
    }
    MutexLock(const MutexLock&) = delete;
    MutexLock& operator=(const MutexLock&) = delete;
    ~MutexLock() DURABLE_THREAD_ANNOTATION(release_capability()) {
        mutex_.unlock();
        ring();
    }

    // Once the mutex is given up: whoever is woken needs it next, and waking takes its time.
    void ring_later(std::shared_ptr<Bell> bell) const { bells_.push_back(std::move(bell)); }

    // Gives the mutex up and waits for the bell. What it rang for is forgotten when the mutex is
    // held again: the caller looks at everything that it could have been about.
    void sleep(Bell& bell, Duration longest) const
        DURABLE_THREAD_ANNOTATION(no_thread_safety_analysis) {
        mutex_.unlock();
        ring();
        bell.wait(longest);
        mutex_.lock();
        bell.reset();
    }

 private:
    friend class WakeUp;

    void ring() const {
        for (const auto& bell : bells_) {
            bell->ring();
        }
        bells_.clear();
    }

    Mutex& mutex_;
    mutable std::vector<std::shared_ptr<Bell>> bells_;
};

// Sleepers under `mutex`, woken by notify, by the passing of the clock's time, and by time that is
// moved by hand. Wake-ups may be spurious: callers re-check.
class WakeUp {
 public:
    WakeUp(Mutex& mutex, Clock& clock)
        : mutex_{mutex}, clock_{clock}, on_jump_{clock.on_jump([this] { wake_all(); })} {}

    // Waits at most `longest` of the clock's time; gives the mutex up meanwhile. The lock is passed
    // as proof that it is held: the analysis cannot see that our mutex and the caller's are one.
    void wait(const MutexLock& lock, Duration longest)
        DURABLE_THREAD_ANNOTATION(no_thread_safety_analysis) {
        const auto seen = calls_.load(std::memory_order_relaxed);
        ++sleepers_;
        lock.mutex_.unlock();
        sleep_while(calls_, seen, std::max(clock_.real_time(longest), Duration::zero()));
        lock.mutex_.lock();
        --sleepers_;
    }

    void notify_one(const MutexLock&) {
        if (sleepers_ > 0) {
            calls_.fetch_add(1, std::memory_order_relaxed);
            wake_one(calls_);
        }
    }
    void notify_all(const MutexLock&) {
        if (sleepers_ > 0) {
            calls_.fetch_add(1, std::memory_order_relaxed);
            durable::wake_all(calls_);
        }
    }
    // From a thread that does not hold the mutex, for example a stop callback. Taking the mutex
    // first closes the gap between a sleeper's last check and its sleep.
    void wake_all() {
        const MutexLock lock{mutex_};
        notify_all(lock);
    }

 private:
    Mutex& mutex_;
    Clock& clock_;
    FutexWord calls_{0};            // changes under mutex_ only
    int sleepers_ = 0;              // guarded by mutex_
    std::shared_ptr<void> on_jump_; // last: destroyed first, so that no call finds us half gone
};

} // namespace durable
