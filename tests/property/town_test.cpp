// Whatever happens to the ids of a town: a message for one instance reaches no other, no instance
// waits for what cannot come, and none fails because its code is on another node or because of a
// neighbour.

#include "property/cases.hpp"
#include "property/town.hpp"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace durable::property {

namespace {

constexpr std::uint64_t parts = 10;
const std::uint64_t towns_per_part = cases(300) / parts;

class InTown : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(InTown, EverythingReachesTheInstanceThatItIsMeantFor) {
    TownStatistics statistics;
    for (std::uint64_t i = 0; i < towns_per_part; ++i) {
        const auto seed = GetParam() * towns_per_part + i;
        const auto trouble = live_in_town(seed, statistics);
        ASSERT_EQ(trouble, "") << "seed " << seed;
    }
}

// Seeds that found what they stand for, before it was mended.
TEST(Towns, ADroppedCallOfATakenIdCancelsNobody) {
    TownStatistics statistics;
    for (const std::uint64_t seed : {102U, 123U, 249U, 273U}) {
        EXPECT_EQ(live_in_town(seed, statistics, Fleet::uniform), "") << "seed " << seed;
    }
}

TEST(Towns, NobodyIsAnsweredByTheChildOfAFormerLife) {
    TownStatistics statistics;
    for (const std::uint64_t seed : {227U, 274U}) {
        EXPECT_EQ(live_in_town(seed, statistics, Fleet::uniform), "") << "seed " << seed;
    }
}

TEST(Towns, AParentWhoseChildsIdIsDeletedAndFreeGetsItsChild) {
    TownStatistics statistics;
    for (const std::uint64_t seed : {17164U, 24750U, 27208U, 33158U, 47081U}) {
        EXPECT_EQ(live_in_town(seed, statistics), "") << "seed " << seed;
    }
}

INSTANTIATE_TEST_SUITE_P(Cases, InTown, ::testing::Range<std::uint64_t>(0, parts));

// The cases are worth something only if they reach everything.
TEST(Towns, DeleteAndBeginAgainAndFightOverIds) {
    TownStatistics statistics;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        (void)live_in_town(seed, statistics);
    }
    EXPECT_GT(statistics.deletions, 60u);
    EXPECT_GT(statistics.second_lives, 30u);
    EXPECT_GT(statistics.taken_ids, 3u);
    EXPECT_GT(statistics.cancellations, 20u);
    EXPECT_GT(statistics.deaths, 100u);
    EXPECT_GT(statistics.ends, 100u);
}

} // namespace

} // namespace durable::property
