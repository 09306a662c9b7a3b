// One thread at a time holds the mutex, however many want it, and no thread is left asleep.

#include "base/mutex.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace durable {
namespace {

using namespace std::chrono_literals;

// The holder yields its core, so that the other threads find the mutex locked: spinning, sleeping
// and woken threads all compete.
TEST(Mutex, LetsOneThreadInAtATime) {
    constexpr int threads = 12;
    constexpr int each = 3'000;
    Mutex mutex;
    int count = 0;
    {
        std::vector<std::jthread> running;
        for (int t = 0; t < threads; ++t) {
            running.emplace_back([&] {
                for (int i = 0; i < each; ++i) {
                    const MutexLock lock{mutex};
                    const int before = count;
                    if (i % 16 == 0) {
                        std::this_thread::yield();
                    }
                    count = before + 1;
                }
            });
        }
    }
    EXPECT_EQ(count, threads * each);
}

TEST(Mutex, WakesWhoSleepsForItHoweverLongItWasHeld) {
    Mutex mutex;
    std::atomic<int> through{0};
    std::vector<std::jthread> running;
    {
        const MutexLock lock{mutex};
        for (int t = 0; t < 8; ++t) {
            running.emplace_back([&] {
                const MutexLock inside{mutex};
                ++through;
            });
        }
        // Long enough for all of them to stop looking.
        for (int look = 0; look < 20'000; ++look) {
            std::this_thread::yield();
        }
        EXPECT_EQ(through, 0);
    }
    running.clear();
    EXPECT_EQ(through, 8);
}

// As the last owner of an object with a mutex does.
TEST(Mutex, MayBeDestroyedByWhoHeldItLast) {
    constexpr int rounds = 2'000;
    struct Shared {
        Mutex mutex;
        int left = 3;
    };
    for (int round = 0; round < rounds; ++round) {
        auto* const shared = new Shared;
        const auto leave = [shared] {
            bool last = false;
            {
                const MutexLock lock{shared->mutex};
                last = --shared->left == 0;
            }
            if (last) {
                delete shared;
            }
        };
        const std::jthread first{leave};
        const std::jthread second{leave};
        leave();
    }
}

TEST(WakeUp, EndsAWaitAndNoticesWhatWasChanged) {
    constexpr int rounds = 5'000;
    Mutex mutex;
    const auto clock = system_clock();
    WakeUp wake_up{mutex, *clock};
    int turn = 0; // even: ours
    std::jthread other{[&] {
        const MutexLock lock{mutex};
        while (turn < 2 * rounds) {
            if (turn % 2 == 1) {
                ++turn;
                wake_up.notify_one(lock);
            } else {
                wake_up.wait(lock, 1h);
            }
        }
    }};
    {
        const MutexLock lock{mutex};
        while (turn < 2 * rounds) {
            if (turn % 2 == 0) {
                ++turn;
                wake_up.notify_all(lock);
            } else {
                wake_up.wait(lock, 1h);
            }
        }
        wake_up.notify_all(lock);
    }
}

TEST(WakeUp, EndsAWaitThatNobodyEndsWhenItsTimeIsUp) {
    Mutex mutex;
    const auto clock = system_clock();
    WakeUp wake_up{mutex, *clock};
    const MutexLock lock{mutex};
    const auto begin = clock->steady();

    for (auto now = begin; now - begin < 10ms; now = clock->steady()) {
        wake_up.wait(lock, 10ms - (now - begin));
    }
    wake_up.wait(lock, -1s);

    EXPECT_GE(clock->steady() - begin, 10ms);
}

} // namespace
} // namespace durable
