// A wait never ends before its time, wherever in a millisecond it begins.

#include "base/deadline.hpp"
#include "unit/base/running_clock.hpp"

#include <durable/testing.hpp>

#include <gtest/gtest.h>

namespace durable {
namespace {

using namespace std::chrono_literals;

TEST(Deadline, IsNotReachedBeforeTheTimeIsUp) {
    for (const auto start : {0us, 1us, 500us, 999us, 1000us}) {
        const RunningClock clock{start};

        const auto deadline = deadline_after(clock, 500ms);

        EXPECT_GE(deadline.time_since_epoch(), start + 500ms);
        EXPECT_LE(deadline.time_since_epoch(), start + 501ms);
    }
}

TEST(Deadline, IsExactOnAClockThatIsMovedByHand) {
    const ManualClock clock;

    EXPECT_EQ(deadline_after(clock, 500ms), clock.steady() + 500ms);
}

TEST(Deadline, OfNoWaitIsOverAtOnceAndOfAnEndlessOneNever) {
    const RunningClock clock{900us};

    EXPECT_EQ(deadline_after(clock, 0ms), clock.steady());
    EXPECT_EQ(deadline_after(clock, Duration::max()), SteadyInstant::max());
}

} // namespace
} // namespace durable
