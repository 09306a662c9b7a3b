#include "base/mutex.hpp"

#include <durable/testing.hpp>

#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

namespace durable {
namespace {

using namespace std::chrono_literals;

TEST(ManualClock, StandsStillUntilItIsMoved) {
    ManualClock clock{from_epoch_ms(1000)};

    EXPECT_EQ(to_epoch_ms(clock.now()), 1000u);
    clock.advance(1500ms);
    EXPECT_EQ(to_epoch_ms(clock.now()), 2500u);
}

TEST(ManualClock, SettingTheWallClockDoesNotMoveTheSteadyOne) {
    ManualClock clock;
    const auto before = clock.steady();

    clock.set_wall(from_epoch_ms(5));

    EXPECT_EQ(to_epoch_ms(clock.now()), 5u);
    EXPECT_EQ(clock.steady(), before);
}

TEST(ManualClock, DoesNotGoBackByAdvancing) {
    ManualClock clock;
    const auto before = clock.now();

    EXPECT_THROW(clock.advance(-5s), std::invalid_argument);
    EXPECT_EQ(clock.now(), before);
}

TEST(ManualClock, RefusesASleeperWithoutAFunction) {
    ManualClock clock;

    EXPECT_THROW(static_cast<void>(clock.on_jump(nullptr)), std::invalid_argument);
    clock.advance(1s);
}

TEST(ManualClock, MovingItWakesASleeper) {
    ManualClock clock;
    Mutex mutex;
    WakeUp wake_up{mutex, clock};
    const auto deadline = clock.steady() + 1h;

    std::jthread sleeper{[&] {
        const MutexLock lock{mutex};
        while (clock.steady() < deadline) {
            wake_up.wait(lock, deadline - clock.steady());
        }
    }};
    clock.advance(1h);

    sleeper.join(); // hangs when the wake-up is lost
}

TEST(Time, AdditionSaturates) {
    EXPECT_EQ(add_saturating(Instant::max() - 1ms, 5ms), Instant::max());
    EXPECT_EQ(add_saturating(Instant{5ms}, Duration::max()), Instant::max());
    EXPECT_EQ(add_saturating(Instant{5ms}, 5ms), Instant{10ms});
    EXPECT_EQ(from_epoch_ms(~0ULL), Instant::max());
}

} // namespace
} // namespace durable
