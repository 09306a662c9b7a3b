#include "base/mutex.hpp"

namespace durable {

namespace {

// Lets the other hyperthread have the core, for some nanoseconds.
void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

} // namespace

void Mutex::lock_slowly() {
    constexpr int looks_before_sleep = 100;
    int looks = 0;
    bool tries = false; // this thread has set `awake`
    auto state = state_.load(std::memory_order_relaxed);
    for (;;) {
        if ((state & locked) != 0 && looks < looks_before_sleep) {
            // From now on an unlock need not wake a sleeper: this thread spins for the mutex.
            if (!tries && (state & awake) == 0 && state >= one_sleeper &&
                state_.compare_exchange_weak(
                    state, state | awake, std::memory_order_relaxed, std::memory_order_relaxed)) {
                tries = true;
            }
            pause_briefly();
            ++looks;
            state = state_.load(std::memory_order_relaxed);
            continue;
        }
        const bool taken = (state & locked) != 0;
        auto next = (state | locked) + (taken ? one_sleeper : 0U);
        next = tries ? next & ~awake : next;
        if (!state_.compare_exchange_weak(
                state, next, std::memory_order_acquire, std::memory_order_relaxed)) {
            continue;
        }
        if (!taken) {
            return;
        }
        sleep();
        tries = true; // the unlock that woke this thread has set `awake` for it
        looks = 0;
        state = state_.load(std::memory_order_relaxed);
    }
}

void Mutex::sleep() {
    for (;;) {
        auto calls = calls_.load(std::memory_order_relaxed);
        if (calls == 0) {
            sleep_while(calls_, 0);
        } else if (calls_.compare_exchange_weak(
                       calls, calls - 1, std::memory_order_acquire, std::memory_order_relaxed)) {
            return;
        }
    }
}

// The unlock has uncounted one sleeper, which cannot return before this call: the mutex still
// exists. After the increment only the word's address is used: release and acquire order that
// write before everything the sleeper does next, also before it destroys the mutex.
void Mutex::wake_sleeper() {
    calls_.fetch_add(1, std::memory_order_release);
    wake_one(calls_);
}

} // namespace durable
