// Of an error that many threads meet again and again, a few lines reach the log.

#include "runtime/log_throttle.hpp"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace durable::runtime {
namespace {

using namespace std::chrono_literals;

SteadyInstant at(Duration time) {
    return SteadyInstant{time};
}

TEST(LogThrottle, BacksOff) {
    LogThrottle throttle;
    std::vector<Duration> logged;
    for (Duration time = 0ms; time <= 20s; time += 250ms) {
        for (int thread = 0; thread < 64; ++thread) {
            if (throttle.due("the disk failed", at(time))) {
                logged.push_back(time);
            }
        }
    }
    EXPECT_EQ(logged, (std::vector<Duration>{0s, 1s, 3s, 7s, 15s}));
}

TEST(LogThrottle, IsDueAtLeastOnceInAnHour) {
    LogThrottle throttle;
    int logged = 0;
    for (Duration time = 0s; time < 240h; time += 1min) {
        logged += throttle.due("the disk failed", at(time)) ? 1 : 0;
    }
    EXPECT_GE(logged, 240);
    EXPECT_LE(logged, 260);
}

TEST(LogThrottle, TextsDoNotDelayEachOther) {
    LogThrottle throttle;
    EXPECT_TRUE(throttle.due("the disk failed", at(0s)));
    EXPECT_TRUE(throttle.due("the file is damaged", at(0s)));
    EXPECT_FALSE(throttle.due("the disk failed", at(100ms)));
    EXPECT_FALSE(throttle.due("the file is damaged", at(100ms)));
}

TEST(LogThrottle, IsDueAtOnceAfterAReset) {
    LogThrottle throttle;
    EXPECT_TRUE(throttle.due("the disk failed", at(0s)));
    throttle.reset();
    EXPECT_TRUE(throttle.due("the disk failed", at(10ms)));
    EXPECT_FALSE(throttle.due("the disk failed", at(20ms)));
}

// Texts with a number in them, for example, are not kept for good.
TEST(LogThrottle, KeepsFewTexts) {
    LogThrottle throttle;
    for (int kind = 0; kind < 100; ++kind) {
        EXPECT_TRUE(throttle.due("error " + std::to_string(kind), at(0s)));
    }
    EXPECT_FALSE(throttle.due("error 99", at(0s)));
}

} // namespace
} // namespace durable::runtime
