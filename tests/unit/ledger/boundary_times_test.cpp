// What happens exactly at the moment something ends, and when the wall clock jumps.

#include "unit/ledger/ledger_fixture.hpp"

#include <limits>

namespace durable::ledger {
namespace {

class BoundaryTimes : public LedgerTest {};

TEST_F(BoundaryTimes, P3_ALeaseIsLiveUntilTheMillisecondBeforeItsEnd) {
    ASSERT_FALSE(send(start_item("a")));
    const auto item = fetch(30s);

    pass(30s - 1ms);

    EXPECT_FALSE(fetch());
    EXPECT_TRUE(renew_turn(ledger, item->lock_token, 1ms, now));
}

TEST_F(BoundaryTimes, P3_ALeaseHasExpiredAtTheMillisecondOfItsEnd) {
    ASSERT_FALSE(send(start_item("a")));
    const auto item = fetch(30s);

    pass(30s);

    EXPECT_EQ(renew_turn(ledger, item->lock_token, 30s, now).error().code, ErrorCode::lock_lost);
    EXPECT_EQ(commit({.lock_token = item->lock_token}), ErrorCode::lock_lost);
    EXPECT_EQ(fetched(), "a");
}

TEST_F(BoundaryTimes, P3_AWorkLeaseHasExpiredAtTheMillisecondOfItsEnd) {
    ASSERT_FALSE(queue_work(activity_item("a", 1)));
    const auto lease = fetch_work({.lock_timeout = 30s});

    pass(30s - 1ms);
    EXPECT_EQ(fetched_work(), 0u);
    pass(1ms);

    EXPECT_EQ(carry_out(finish_work(ledger, lease->lock_token, std::nullopt, now)),
              ErrorCode::lock_lost);
    EXPECT_EQ(fetched_work(), 1u);
}

TEST_F(BoundaryTimes, P3_AnExpiredLeaseCanBeGivenBackWhileNobodyTookOver) {
    ASSERT_FALSE(send(start_item("a")));
    const auto item = fetch(30s);
    pass(31s);

    EXPECT_FALSE(carry_out(abandon_turn(ledger,
                                        {.lock_token = item->lock_token,
                                         .delay = std::nullopt,
                                         .ignore_attempt = true,
                                         .whole_instance = true},
                                        now)));

    EXPECT_EQ(fetch()->attempt_count, 1u); // the attempt was given back
}

TEST_F(BoundaryTimes, P3_ALeaseThatSomebodyTookOverCannotBeGivenBack) {
    ASSERT_FALSE(send(start_item("a")));
    const auto sleeper = fetch(30s);
    pass(31s);
    const auto owner = fetch(30s);

    EXPECT_EQ(carry_out(abandon_turn(ledger,
                                     {.lock_token = sleeper->lock_token,
                                      .delay = std::nullopt,
                                      .ignore_attempt = false,
                                      .whole_instance = true},
                                     now)),
              ErrorCode::lock_lost);
    EXPECT_FALSE(commit({.lock_token = owner->lock_token}));
}

TEST_F(BoundaryTimes, ARenewalCountsFromNowAndMayShortenTheLease) {
    ASSERT_FALSE(send(start_item("a")));
    const auto item = fetch(1h);

    ASSERT_TRUE(renew_turn(ledger, item->lock_token, 10s, now));
    pass(10s);

    EXPECT_EQ(fetched(), "a");
}

TEST_F(BoundaryTimes, ALeaseOfNoTimeHasExpiredAtOnce) {
    ASSERT_FALSE(send(start_item("a")));
    const auto first = fetch(0ms);
    const auto second = fetch(-5s);
    const auto third = fetch(1s);

    ASSERT_TRUE(first && second && third);
    EXPECT_EQ(commit({.lock_token = second->lock_token}), ErrorCode::lock_lost);
    EXPECT_FALSE(commit({.lock_token = third->lock_token}));
}

TEST_F(BoundaryTimes, ALeaseWithoutEndDoesNotWrapIntoThePast) {
    ASSERT_FALSE(send(start_item("a")));
    const auto item = fetch(Duration::max());

    pass(24h * 365 * 100);

    EXPECT_FALSE(fetch());
    EXPECT_FALSE(commit({.lock_token = item->lock_token}));
}

TEST_F(BoundaryTimes, ADelayedMessageIsVisibleExactlyWhenItsDelayHasPassed) {
    run_first_turn("a");
    ASSERT_FALSE(send(raised_item("a"), 5s));

    pass(5s - 1ms);
    EXPECT_EQ(fetched(), "");
    pass(1ms);

    EXPECT_EQ(fetched(), "a");
}

TEST_F(BoundaryTimes, ATimerFiresExactlyAtItsTime) {
    run_first_turn("a");
    ASSERT_FALSE(send(timer_item("a", 2, to_epoch_ms(now.wall) + 5000)));

    pass(5s - 1ms);
    EXPECT_EQ(fetched(), "");
    pass(1ms);

    EXPECT_EQ(fetched(), "a");
}

TEST_F(BoundaryTimes, ATimerWaitsForTheLaterOfItsTimeAndTheDelay) {
    run_first_turn("a");
    ASSERT_FALSE(send(timer_item("a", 2, to_epoch_ms(now.wall) + 1000), 5s));
    ASSERT_FALSE(send(timer_item("a", 3, 0), 2s));

    pass(2s);
    const auto early = fetch();
    ASSERT_TRUE(early);
    EXPECT_EQ(std::get<work::TimerFired>(early->messages.at(0)).id, 3u);
    ASSERT_FALSE(commit({.lock_token = early->lock_token}));
    pass(3s);

    EXPECT_EQ(std::get<work::TimerFired>(fetch()->messages.at(0)).id, 2u);
}

TEST_F(BoundaryTimes, ATimerAtTheEndOfTimeNeverFiresAndHarmsNobody) {
    run_first_turn("a");
    ASSERT_FALSE(send(timer_item("a", 2, std::numeric_limits<std::uint64_t>::max())));
    ASSERT_FALSE(send(raised_item("a"), Duration::max()));
    ASSERT_FALSE(send(raised_item("a")));

    const auto item = fetch();
    ASSERT_TRUE(item);
    EXPECT_EQ(item->messages.size(), 1u);
    ASSERT_FALSE(commit({.lock_token = item->lock_token}));
    pass(24h * 365 * 1000);

    EXPECT_EQ(fetched(), "");
    EXPECT_GT(ledger.turns.until_next(now).value(), 24h * 365 * 1000);
}

TEST_F(BoundaryTimes, AClockBeforeTheEpochDelaysTimersOfTheEpoch) {
    run_first_turn("a");
    now.wall = Instant{-1h}; // a machine whose clock was never set
    ASSERT_FALSE(send(timer_item("a", 2, 0)));

    EXPECT_EQ(fetched(), "");
    pass(1h);
    EXPECT_EQ(fetched(), "a");
}

TEST_F(BoundaryTimes, ANegativeDelayIsNone) {
    run_first_turn("a");
    ASSERT_FALSE(send(raised_item("a"), -1h));

    const auto item = fetch();
    ASSERT_TRUE(item);
    ASSERT_FALSE(carry_out(abandon_turn(ledger,
                                        {.lock_token = item->lock_token,
                                         .delay = -1h,
                                         .ignore_attempt = false,
                                         .whole_instance = true},
                                        now)));

    EXPECT_EQ(fetched(), "a");
}

TEST_F(BoundaryTimes, AnAbandonedInstanceIsHiddenUntilExactlyItsDelayHasPassed) {
    ASSERT_FALSE(send(start_item("a")));
    ASSERT_FALSE(carry_out(abandon_turn(ledger,
                                        {.lock_token = fetch()->lock_token,
                                         .delay = 5s,
                                         .ignore_attempt = false,
                                         .whole_instance = true},
                                        now)));

    pass(5s - 1ms);
    EXPECT_EQ(fetched(), "");
    pass(1ms);

    EXPECT_EQ(fetched(), "a");
}

TEST_F(BoundaryTimes, AWallClockSetBackDoesNotProlongALease) {
    ASSERT_FALSE(send(start_item("a")));
    const auto item = fetch(30s);

    now.wall -= 24h;
    now.steady += 30s;

    EXPECT_EQ(commit({.lock_token = item->lock_token}), ErrorCode::lock_lost);
    EXPECT_EQ(fetched(), "a");
}

TEST_F(BoundaryTimes, AWallClockSetForwardDoesNotEndALease) {
    ASSERT_FALSE(send(start_item("a")));
    ASSERT_FALSE(queue_work(activity_item("a", 1)));
    const auto item = fetch(30s);
    const auto lease = fetch_work({.lock_timeout = 30s});

    now.wall += 24h;

    EXPECT_FALSE(fetch());
    EXPECT_EQ(fetched_work(), 0u);
    EXPECT_FALSE(commit({.lock_token = item->lock_token}));
    EXPECT_TRUE(renew_work(ledger, lease->lock_token, 30s, now));
}

TEST_F(BoundaryTimes, WhatWasVisibleStaysVisibleWhenTheWallClockIsSetBack) {
    run_first_turn("a");
    ASSERT_FALSE(send(raised_item("a")));

    now.wall -= 24h;

    EXPECT_EQ(fetched(), "a");
}

TEST_F(BoundaryTimes, ASessionBelongsToItsOwnerUntilTheMillisecondBeforeItsEnd) {
    const durable::FetchWork mine{.lock_timeout = 1s, .session = SessionClaim{"me", 30s}};
    const durable::FetchWork yours{.lock_timeout = 1s, .session = SessionClaim{"you", 30s}};
    ASSERT_FALSE(queue_work(activity_item("a", 1, "s")));
    ASSERT_FALSE(queue_work(activity_item("a", 2, "s")));
    ASSERT_EQ(fetched_work(mine), 1u);

    pass(30s - 1ms);
    EXPECT_EQ(fetched_work(yours), 0u);
    pass(1ms);

    EXPECT_EQ(fetched_work(yours), 1u);
}

TEST_F(BoundaryTimes, ASessionIsForgottenAfterItsEndNotAtIt) {
    ASSERT_FALSE(queue_work(activity_item("a", 1, "s")));
    const auto lease = fetch_work({.lock_timeout = 1s, .session = SessionClaim{"me", 30s}});
    ASSERT_FALSE(carry_out(finish_work(ledger, lease->lock_token, std::nullopt, now)));

    pass(30s);
    EXPECT_EQ(forget_sessions(ledger, now), 0u);
    pass(1ms);

    EXPECT_EQ(forget_sessions(ledger, now), 1u);
    EXPECT_EQ(forget_sessions(ledger, now), 0u);
}

TEST_F(BoundaryTimes, ASessionIdleForExactlyTheTimeoutIsNotRenewed) {
    ASSERT_FALSE(queue_work(activity_item("a", 1, "s")));
    ASSERT_EQ(fetched_work({.lock_timeout = 1h, .session = SessionClaim{"me", 1h}}), 1u);

    pass(10s);

    EXPECT_EQ(renew_sessions(ledger, {"me"}, 1h, 10s, now), 0u);
    EXPECT_EQ(renew_sessions(ledger, {"me"}, 1h, 10s + 1ms, now), 1u);
    EXPECT_EQ(renew_sessions(ledger, {"me"}, 1h, Duration::max(), now), 1u);
    EXPECT_EQ(renew_sessions(ledger, {"me"}, 1h, 0ms, now), 0u);
    EXPECT_EQ(renew_sessions(ledger, {"you"}, 1h, 1h, now), 0u);
}

} // namespace
} // namespace durable::ledger
