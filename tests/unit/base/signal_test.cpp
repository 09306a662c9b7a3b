// A signal wakes the thread that sleeps for it, also one that is only about to.

#include "base/mutex.hpp"
#include "base/signal.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

namespace durable {
namespace {

using namespace std::chrono_literals;

TEST(Signal, ThatIsSetBeforeTheWaitEndsItAtOnce) {
    Signal signal;
    signal.set();
    signal.set();

    signal.wait(Duration::max());
}

TEST(Signal, DoesNotEndAWaitThatBeganAfterItsReset) {
    Signal signal;
    signal.set();
    signal.reset();
    const auto clock = system_clock();
    const auto begin = clock->steady();

    for (auto now = begin; now - begin < 20ms; now = clock->steady()) {
        signal.wait(20ms - (now - begin)); // may return early
    }

    EXPECT_GE(clock->steady() - begin, 20ms);
}

TEST(Signal, WakesHoweverTheTwoThreadsMeet) {
    constexpr int rounds = 20'000;
    Signal there;
    Signal back;
    std::atomic<int> said{0};
    std::jthread other{[&] {
        for (int round = 1; round <= rounds; ++round) {
            while (said.load() < 2 * round - 1) {
                there.wait(Duration::max());
                there.reset();
            }
            said.store(2 * round);
            back.set();
        }
    }};

    for (int round = 1; round <= rounds; ++round) {
        said.store(2 * round - 1);
        there.set();
        while (said.load() < 2 * round) {
            back.wait(Duration::max());
            back.reset();
        }
    }

    EXPECT_EQ(said.load(), 2 * rounds);
}

TEST(Signal, SetUnderAMutexWakesTheThreadThatSleepsWithIt) {
    Mutex mutex;
    const auto signal = std::make_shared<Signal>();
    int value = 0; // guarded by mutex
    std::jthread sleeper{[&] {
        const MutexLock lock{mutex};
        while (value == 0) {
            lock.sleep(*signal, Duration::max());
        }
        value = 2;
    }};
    {
        const MutexLock lock{mutex};
        value = 1;
        lock.set_later(signal);
        EXPECT_EQ(value, 1);
    }
    sleeper.join();

    EXPECT_EQ(value, 2);
}

} // namespace
} // namespace durable
