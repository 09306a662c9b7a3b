// Instances that wait for code: counted, bounded, and forgotten when others have taken them.

#include "runtime/parking_lot.hpp"

#include <string>

#include <gtest/gtest.h>

namespace durable::runtime {
namespace {

using namespace std::chrono_literals;

constexpr Instant begin = from_epoch_ms(1'000'000);

ParkedInstance parked(std::string id, ParkReason reason, Instant since = begin) {
    return {
        .instance = std::move(id), .since = since, .next_attempt = since + 1s, .reason = reason};
}

TEST(ParkingLot, CountsAttemptsSinceTheFirst) {
    ParkingLot lot;

    EXPECT_EQ(lot.park(parked("a", ParkReason::differs)), 1u);
    EXPECT_EQ(lot.park(parked("a", ParkReason::differs, begin + 1s)), 2u);
    EXPECT_EQ(lot.list(begin).at(0).since, begin);
    EXPECT_EQ(lot.list(begin).at(0).attempts, 2u);
}

TEST(ParkingLot, BeginsAnewForAnotherReason) {
    ParkingLot lot;
    lot.park(parked("a", ParkReason::unregistered));
    EXPECT_EQ(lot.differing(), 0u);

    EXPECT_EQ(lot.park(parked("a", ParkReason::differs, begin + 1s)), 1u);
    EXPECT_EQ(lot.list(begin).size(), 1u);
    EXPECT_EQ(lot.differing(), 1u);
    EXPECT_TRUE(lot.leave("a"));
    EXPECT_FALSE(lot.leave("a"));
    EXPECT_EQ(lot.differing(), 0u);
}

TEST(ParkingLot, RemembersTheNewestThousandWithoutAHandler) {
    ParkingLot lot;
    lot.park(parked("x", ParkReason::differs, begin - 1h));
    for (int i = 0; i < 1010; ++i) {
        lot.park(parked("a" + std::to_string(i), ParkReason::unregistered, begin + i * 1ms));
    }

    EXPECT_EQ(lot.list(begin).size(), 1001u);
    EXPECT_EQ(lot.differing(), 1u);
    EXPECT_FALSE(lot.leave("a9"));
    EXPECT_TRUE(lot.leave("a10"));
    EXPECT_TRUE(lot.leave("a1009"));
}

TEST(ParkingLot, ForgetsOneWithoutAHandlerThatDidNotComeBack) {
    ParkingLot lot;
    lot.park(parked("a", ParkReason::unregistered));
    lot.park(parked("b", ParkReason::differs));

    EXPECT_EQ(lot.list(begin + 61s).size(), 2u);
    ASSERT_EQ(lot.list(begin + 62s).size(), 1u);
    EXPECT_EQ(lot.list(begin + 62s).at(0).instance, "b");
}

} // namespace
} // namespace durable::runtime
