// Twenty-four hours of simulated time with crashes and faults, for several seeds.

#include "day/day.hpp"

#include <chrono>
#include <iostream>

#include <gtest/gtest.h>

namespace durable::simulation {
namespace {

using namespace std::chrono_literals;

class LongDay : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(LongDay, LosesNothing) {
    Day day{GetParam(), 24h};

    day.run();

    for (const auto& complaint : day.complaints()) {
        ADD_FAILURE() << complaint;
    }
    const auto& counts = day.counts();
    std::cout << "seed " << GetParam() << ": " << counts.lives << " lives, " << counts.crashes
              << " crashes, " << counts.failures << " failures, " << counts.orders << " orders, "
              << counts.refused << " refused, " << counts.runs << " runs, " << counts.calls
              << " calls\n";
}

INSTANTIATE_TEST_SUITE_P(Seeds, LongDay, ::testing::Values(101, 102, 103, 104));

} // namespace
} // namespace durable::simulation
