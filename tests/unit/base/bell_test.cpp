// A bell wakes whoever sleeps for it, and whoever is only about to.

#include "base/bell.hpp"
#include "base/mutex.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

namespace durable {
namespace {

using namespace std::chrono_literals;

TEST(Bell, ThatRangBeforeTheWaitEndsItAtOnce) {
    Bell bell;
    bell.ring();
    bell.ring();

    bell.wait(Duration::max());
}

TEST(Bell, DoesNotEndAWaitThatBeganAfterItsReset) {
    Bell bell;
    bell.ring();
    bell.reset();
    const auto clock = system_clock();
    const auto begin = clock->steady();

    for (auto now = begin; now - begin < 20ms; now = clock->steady()) {
        bell.wait(20ms - (now - begin)); // may return early
    }

    EXPECT_GE(clock->steady() - begin, 20ms);
}

TEST(Bell, IsHeardHoweverTheTwoThreadsMeet) {
    constexpr int rounds = 20'000;
    Bell there;
    Bell back;
    std::atomic<int> said{0};
    std::jthread other{[&] {
        for (int round = 1; round <= rounds; ++round) {
            while (said.load() < 2 * round - 1) {
                there.wait(Duration::max());
                there.reset();
            }
            said.store(2 * round);
            back.ring();
        }
    }};

    for (int round = 1; round <= rounds; ++round) {
        said.store(2 * round - 1);
        there.ring();
        while (said.load() < 2 * round) {
            back.wait(Duration::max());
            back.reset();
        }
    }

    EXPECT_EQ(said.load(), 2 * rounds);
}

TEST(Bell, RungFromUnderAMutexWakesWhoSleepsWithIt) {
    Mutex mutex;
    const auto bell = std::make_shared<Bell>();
    int value = 0; // guarded by mutex
    std::jthread sleeper{[&] {
        const MutexLock lock{mutex};
        while (value == 0) {
            lock.sleep(*bell, Duration::max());
        }
        value = 2;
    }};
    {
        const MutexLock lock{mutex};
        value = 1;
        lock.ring_later(bell);
        EXPECT_EQ(value, 1);
    }
    sleeper.join();

    EXPECT_EQ(value, 2);
}

} // namespace
} // namespace durable
