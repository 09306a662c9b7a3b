// Of what many threads meet again and again a few lines reach the log.

#include "runtime/complaints.hpp"

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

TEST(Complaints, AreToldLessAndLess) {
    Complaints complaints;
    std::vector<Duration> told;
    for (Duration time = 0ms; time <= 20s; time += 250ms) {
        for (int thread = 0; thread < 64; ++thread) {
            if (complaints.tells("the disk failed", at(time))) {
                told.push_back(time);
            }
        }
    }
    EXPECT_EQ(told, (std::vector<Duration>{0s, 1s, 3s, 7s, 15s}));
}

TEST(Complaints, AreToldAtLeastOnceInAnHour) {
    Complaints complaints;
    int told = 0;
    for (Duration time = 0s; time < 240h; time += 1min) {
        told += complaints.tells("the disk failed", at(time)) ? 1 : 0;
    }
    EXPECT_GE(told, 240);
    EXPECT_LE(told, 260);
}

TEST(Complaints, OfSomethingElseAreToldAtOnce) {
    Complaints complaints;
    EXPECT_TRUE(complaints.tells("the disk failed", at(0s)));
    EXPECT_TRUE(complaints.tells("the file is damaged", at(0s)));
    EXPECT_FALSE(complaints.tells("the disk failed", at(100ms)));
    EXPECT_FALSE(complaints.tells("the file is damaged", at(100ms)));
}

TEST(Complaints, AreToldAtOnceWhenItHadWorkedInBetween) {
    Complaints complaints;
    EXPECT_TRUE(complaints.tells("the disk failed", at(0s)));
    complaints.settle();
    EXPECT_TRUE(complaints.tells("the disk failed", at(10ms)));
    EXPECT_FALSE(complaints.tells("the disk failed", at(20ms)));
}

// Whatever is told, for example with a number in it, is not kept for good.
TEST(Complaints, OfManyKindsAreNotKept) {
    Complaints complaints;
    for (int kind = 0; kind < 100; ++kind) {
        EXPECT_TRUE(complaints.tells("error " + std::to_string(kind), at(0s)));
    }
    EXPECT_FALSE(complaints.tells("error 99", at(0s)));
}

} // namespace
} // namespace durable::runtime
