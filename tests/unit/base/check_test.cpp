#include "base/check.hpp"

#include <gtest/gtest.h>

namespace durable {
namespace {

TEST(CheckDeathTest, EndsTheProcessAndSaysWhatShouldHaveBeenTrue) {
    const int leases = 2;
    EXPECT_DEATH(DURABLE_CHECK(leases < 2, "an instance has one lease"),
                 "durable: a bug in the library: an instance has one lease \\(leases < 2, "
                 "check_test.cpp:[0-9]+\\)");
}

TEST(Check, CostsNothingButItsConditionWhenItHolds) {
    int looked = 0;
    DURABLE_CHECK(++looked == 1, "looked once");
    EXPECT_EQ(looked, 1);
}

} // namespace
} // namespace durable
