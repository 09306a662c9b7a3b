// Hours of simulated time with crashes and faults lose nothing and run nothing too often. The long
// version is among the slow tests.

#include "day/day.hpp"

#include <chrono>
#include <iostream>

#include <gtest/gtest.h>

namespace durable::simulation {
namespace {

using namespace std::chrono_literals;

TEST(Day, AFewHoursWithFaults) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Day day{seed, 4h};

        day.run();

        for (const auto& complaint : day.complaints()) {
            ADD_FAILURE() << complaint;
        }
        const auto& counts = day.counts();
        std::cout << "seed " << seed << ": " << counts.lives << " lives, " << counts.crashes
                  << " crashes, " << counts.failures << " failures, " << counts.orders
                  << " orders, " << counts.refused << " refused, " << counts.runs << " runs, "
                  << counts.calls << " calls\n";
        EXPECT_GT(counts.orders, 0U);
        EXPECT_GT(counts.crashes, 0U);
    }
}

TEST(Day, TheSameSeedGivesTheSameDay) {
    Day first{11, 2h};
    Day second{11, 2h};

    first.run();
    second.run();

    EXPECT_EQ(first.counts(), second.counts());
    EXPECT_EQ(first.digest(), second.digest());
}

} // namespace
} // namespace durable::simulation
