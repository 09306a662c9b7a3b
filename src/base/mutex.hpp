// A mutex for many threads on few cores, with clang's thread-safety annotations, so that
// `clang++ -Wthread-safety` rejects code that touches guarded state without holding it.
//
// Not std::mutex: under contention each of its unlocks wakes a sleeper, which then loses the mutex
// to a thread that was awake all the time. This one wakes no sleeper while an awake thread tries to
// lock it, and otherwise one.
//
// MutexLock holds it for a scope and wakes threads after the unlock. WakeUp is the condition
// variable for such a mutex, with time taken from a Clock. Stores and dispatchers use all three.

#pragma once

#include "base/signal.hpp"

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

    // Spins for some microseconds before it sleeps: most holders unlock sooner than a sleep and a
    // wake-up take.
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
        do { // in one step: once it is free, another thread may lock and destroy it
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
    static constexpr std::uint32_t awake = 2; // an awake thread tries to lock: wake no sleeper
    static constexpr std::uint32_t one_sleeper = 4; // this bit and above count the sleepers

    void lock_slowly();
    void sleep();
    void wake_sleeper();

    std::atomic<std::uint32_t> state_{0};
    FutexWord calls_{0}; // wake-ups that no sleeper has consumed yet
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
        set_signals();
    }

    // Sets the signal after the unlock: the woken thread locks the mutex next, and waking is slow.
    void set_later(std::shared_ptr<Signal> signal) const { signals_.push_back(std::move(signal)); }

    // Unlocks, waits for the signal, locks again and resets the signal. The caller then checks
    // every condition that the signal may have been set for.
    void sleep(Signal& signal, Duration longest) const
        DURABLE_THREAD_ANNOTATION(no_thread_safety_analysis) {
        mutex_.unlock();
        set_signals();
        signal.wait(longest);
        mutex_.lock();
        signal.reset();
    }

 private:
    friend class WakeUp;

    void set_signals() const {
        for (const auto& signal : signals_) {
            signal->set();
        }
        signals_.clear();
    }

    Mutex& mutex_;
    mutable std::vector<std::shared_ptr<Signal>> signals_;
};

// A condition variable: threads that sleep under `mutex`, woken by notify, when their time by the
// clock is up, and when a manual clock is moved. Wake-ups may be spurious: callers re-check.
class WakeUp {
 public:
    WakeUp(Mutex& mutex, Clock& clock)
        : mutex_{mutex}, clock_{clock}, on_jump_{clock.on_jump([this] { wake_all(); })} {}

    // Waits at most `longest` of the clock's time, with the mutex unlocked. The lock proves that
    // the caller holds it: the analysis cannot see that mutex_ and the caller's mutex are the same.
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
    // For a thread that does not hold the mutex, for example a stop callback. Locking it first
    // closes the gap between a sleeper's last check and its sleep.
    void wake_all() {
        const MutexLock lock{mutex_};
        notify_all(lock);
    }

 private:
    Mutex& mutex_;
    Clock& clock_;
    FutexWord calls_{0};            // changes under mutex_ only
    int sleepers_ = 0;              // guarded by mutex_
    std::shared_ptr<void> on_jump_; // last: destroyed first, so that the clock calls no dead object
};

} // namespace durable
