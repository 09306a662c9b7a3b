// std::mutex with clang's thread-safety annotations, so that `clang++ -Wthread-safety` rejects code
// that touches guarded state without holding the lock. On other compilers it is just std::mutex.
//
// WakeUp is the condition to wait for under such a mutex, with time taken from a Clock.

#pragma once

#include "base/bell.hpp"

#include <durable/time.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>
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
    // Looks for some microseconds whether it becomes free before it goes to sleep for it: most
    // hold it for less than a sleep and a wake-up cost.
    void lock() DURABLE_THREAD_ANNOTATION(acquire_capability()) {
        constexpr int looks = 100;
        for (int look = 0; look < looks; ++look) {
            if (mutex_.try_lock()) {
                return;
            }
            pause_briefly();
        }
        mutex_.lock();
    }
    void unlock() DURABLE_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }
    // Tells the analysis what it cannot see: inside a lambda, that the caller holds the mutex.
    void assert_held() const DURABLE_THREAD_ANNOTATION(assert_capability(this)) {}

 private:
    friend class WakeUp;
    // Lets the other hyperthread have the core, for some nanoseconds.
    static void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }

    std::mutex mutex_;
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
    void wait(const MutexLock& lock, Duration longest) {
        std::unique_lock held{lock.mutex_.mutex_, std::adopt_lock};
        ++sleepers_;
        // A cap keeps the addition inside wait_for from overflowing.
        const auto real = clock_.real_time(longest);
        condition_.wait_for(held, real < most ? real : most);
        --sleepers_;
        held.release();
    }

    void notify_one(const MutexLock&) {
        if (sleepers_ > 0) {
            condition_.notify_one();
        }
    }
    void notify_all(const MutexLock&) {
        if (sleepers_ > 0) {
            condition_.notify_all();
        }
    }
    // From a thread that does not hold the mutex, for example a stop callback. Taking the mutex
    // first closes the gap between a sleeper's last check and its sleep.
    void wake_all() {
        const MutexLock lock{mutex_};
        notify_all(lock);
    }

 private:
    static constexpr Duration most = std::chrono::hours{24 * 365};

    Mutex& mutex_;
    Clock& clock_;
    std::condition_variable condition_;
    int sleepers_ = 0;              // guarded by mutex_
    std::shared_ptr<void> on_jump_; // last: destroyed first, so that no call finds us half gone
};

} // namespace durable
