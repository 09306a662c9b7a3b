// A pause of the runtime, or of an activity, never ends before its time.

#include "runtime/pause.hpp"
#include "unit/base/running_clock.hpp"

#include <chrono>
#include <stop_token>

#include <gtest/gtest.h>

namespace durable::runtime {
namespace {

using namespace std::chrono_literals;

TEST(Pause, IsNotOverBeforeItsTime) {
    RunningClock clock{900us};

    EXPECT_TRUE(pause_on(clock, 5ms, {}));

    EXPECT_GE(clock.time() - 900us, 5ms);
}

TEST(Pause, IsOverWhenItIsToldToStop) {
    RunningClock clock{900us};
    std::stop_source stop;
    stop.request_stop();

    EXPECT_FALSE(pause_on(clock, 5ms, stop.get_token()));
}

} // namespace
} // namespace durable::runtime
