#include "runtime/agenda.hpp"
#include "runtime/pause.hpp"
#include "runtime/step.hpp"

#include <durable/testing.hpp>

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace durable::runtime {
namespace {

using namespace std::chrono_literals;

TEST(FetchBackoff, TransientErrorsInARowWaitLonger) {
    FetchBackoff backoff;
    const Error transient{.code = ErrorCode::unavailable};

    EXPECT_EQ(backoff.failed(transient).pause, 200ms);
    EXPECT_EQ(backoff.failed(transient).pause, 400ms);
    EXPECT_EQ(backoff.failed(transient).pause, 800ms);
    EXPECT_EQ(backoff.failed(transient).pause, 1600ms);
    EXPECT_EQ(backoff.failed(transient).pause, 3000ms);
    EXPECT_EQ(backoff.failed(transient).pause, 3000ms);
    backoff.succeeded();
    EXPECT_EQ(backoff.failed(transient).pause, 200ms);
}

TEST(FetchBackoff, OtherErrorsWaitAFixedTime) {
    FetchBackoff backoff;

    EXPECT_EQ(backoff.failed({.code = ErrorCode::corrupt}).pause, 100ms);
    EXPECT_EQ(backoff.failed({.code = ErrorCode::corrupt}).pause, 100ms);
}

TEST(FetchBackoff, AStoreThatFailedForGoodIsAskedLessAndLess) {
    FetchBackoff backoff;
    const Error for_good{.code = ErrorCode::storage_failed};

    EXPECT_EQ(backoff.failed(for_good).pause, 200ms);
    EXPECT_EQ(backoff.failed(for_good).pause, 400ms);
}

TEST(Pause, EndsWhenTheClockHasMovedFarEnough) {
    ManualClock clock;
    std::atomic<bool> done = false;
    bool whole = false;

    std::jthread sleeper{[&] {
        whole = pause_on(clock, 1h, {});
        done = true;
    }};
    while (!done) { // hangs when the pause misses every movement
        clock.advance(30min);
    }
    sleeper.join();

    EXPECT_TRUE(whole);
}

TEST(Pause, EndsAtOnceWhenAskedToStop) {
    ManualClock clock;
    std::stop_source stop;
    bool whole = true;

    std::jthread sleeper{[&] { whole = pause_on(clock, 1h, stop.get_token()); }};
    stop.request_stop();
    sleeper.join();

    EXPECT_FALSE(whole);
}

TEST(Agenda, AnEarlierWishShortensTheSleep) {
    ManualClock clock;
    Agenda agenda{clock};

    std::jthread sleeper{[&] { agenda.sleep_until(clock.steady() + 24h, {}); }};
    agenda.at_latest(clock.steady());
    sleeper.join(); // hangs when the wish is not heard
}

TEST(Agenda, AWishBeforeTheSleepCounts) {
    ManualClock clock;
    Agenda agenda{clock};

    agenda.at_latest(clock.steady());
    agenda.sleep_until(SteadyInstant::max(), {});
}

} // namespace
} // namespace durable::runtime
