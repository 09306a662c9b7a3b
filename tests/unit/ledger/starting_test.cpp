// An instance exists from its start on, and what is given back may wait without holding up the
// rest.

#include "unit/ledger/ledger_fixture.hpp"

namespace durable::ledger {
namespace {

class Starting : public LedgerTest {};

TEST_F(Starting, P15_TheSecondStartIsRefusedAtOnce) {
    ASSERT_FALSE(start("a"));

    EXPECT_EQ(start("a"), ErrorCode::already_exists);
    EXPECT_EQ(instance_info(ledger, "a")->status, "Pending");
    EXPECT_EQ(list_by_status(ledger, "Pending"), std::vector<std::string>{"a"});
    const auto state = state_of(ledger, "a");
    EXPECT_TRUE(state.exists);
    EXPECT_EQ(state.status, ExecutionStatus::pending);
}

TEST_F(Starting, P15_AQueuedStartTakesTheIdAsWell) {
    ASSERT_FALSE(send(start_item("child"), 1h));

    EXPECT_EQ(start("child"), ErrorCode::already_exists);
}

TEST_F(Starting, P15_WhatComesBeforeADelayedStartWaitsForItAndStays) {
    ASSERT_FALSE(start("a", 3h));
    ASSERT_FALSE(send(raised_item("a")));
    ASSERT_FALSE(send(start_item("a"))); // of a parent that chose the same id

    pass(2h);
    expire();
    EXPECT_EQ(fetched(), "");
    EXPECT_EQ(ledger.totals().expired, 0u);
    pass(1h);

    const auto item = fetch();
    ASSERT_TRUE(item);
    ASSERT_EQ(item->messages.size(), 3u);
    EXPECT_TRUE(std::holds_alternative<work::StartOrchestration>(item->messages[0]));
}

TEST_F(Starting, P15_ADeletedIdCanBeStartedAgain) {
    ASSERT_FALSE(start("a"));
    const auto first = state_of(ledger, "a").incarnation;
    EXPECT_EQ(delete_instances(ledger, {"a"}, false, now).error().code, ErrorCode::still_running);
    apply(delete_instances(ledger, {"a"}, true, now)->record);

    ASSERT_FALSE(start("a"));

    EXPECT_NE(state_of(ledger, "a").incarnation, first);
    EXPECT_EQ(fetch()->messages.size(), 1u);
}

TEST_F(Starting, AnAbandonWithADelayHidesTheMessagesOfThatFetchOnly) {
    run_first_turn("a");
    ASSERT_FALSE(send(raised_item("a", "old")));
    const auto item = fetch();
    ASSERT_FALSE(send(raised_item("a", "new")));

    ASSERT_FALSE(
        carry_out(abandon_turn(ledger, {.lock_token = item->lock_token, .delay = 10s}, now)));

    const auto early = fetch();
    ASSERT_EQ(early->messages.size(), 1u);
    EXPECT_EQ(std::get<work::ExternalRaised>(early->messages[0]).data, "new");
    ASSERT_FALSE(carry_out(abandon_turn(ledger, {.lock_token = early->lock_token}, now)));
    pass(10s);
    const auto late = fetch(); // in the order they went in
    ASSERT_EQ(late->messages.size(), 2u);
    EXPECT_EQ(std::get<work::ExternalRaised>(late->messages[0]).data, "old");
}

TEST_F(Starting, ATimerThatWasGivenBackStandsWhereItWasDue) {
    run_first_turn("a");
    ASSERT_FALSE(send(timer_item("a", 2, to_epoch_ms(now.wall))));
    const auto item = fetch();
    pass(1s);
    ASSERT_FALSE(send(raised_item("a", "after")));

    ASSERT_FALSE(
        carry_out(abandon_turn(ledger, {.lock_token = item->lock_token, .delay = 10s}, now)));
    pass(10s);

    const auto late = fetch();
    ASSERT_EQ(late->messages.size(), 2u);
    EXPECT_TRUE(std::holds_alternative<work::TimerFired>(late->messages[0]));
    EXPECT_EQ(std::get<work::TimerFired>(late->messages[0]).fire_at_ms,
              to_epoch_ms(now.wall - 11s));
}

TEST_F(Starting, ACancellationGetsThroughToAHiddenInstance) {
    run_first_turn("a");
    ASSERT_FALSE(send(raised_item("a")));
    const auto item = fetch();
    ASSERT_FALSE(carry_out(abandon_turn(
        ledger, {.lock_token = item->lock_token, .delay = 1h, .whole_instance = true}, now)));
    ASSERT_FALSE(send(raised_item("a", "waits")));
    ASSERT_EQ(fetched(), "");

    ASSERT_FALSE(send(work::CancelInstance{.instance = "a", .reason = "enough"}));

    EXPECT_EQ(fetch()->messages.size(), 3u);
}

TEST_F(Starting, ACancellationThatCameDuringTheTurnIsNotHiddenWithIt) {
    run_first_turn("a");
    ASSERT_FALSE(send(raised_item("a")));
    const auto item = fetch();
    ASSERT_FALSE(send(work::CancelInstance{.instance = "a", .reason = "enough"}));
    pass(1s);

    ASSERT_FALSE(carry_out(abandon_turn(
        ledger, {.lock_token = item->lock_token, .delay = 1h, .whole_instance = true}, now)));

    EXPECT_EQ(fetched(), "a");
}

TEST_F(Starting, AReasonStaysUntilTheNextCommit) {
    run_first_turn("a");
    ASSERT_FALSE(send(raised_item("a")));
    const auto began = now.wall;
    ASSERT_FALSE(carry_out(abandon_turn(
        ledger, {.lock_token = fetch()->lock_token, .parked = "the code differs"}, now)));
    pass(1h);
    const auto again = fetch();
    ASSERT_FALSE(carry_out(abandon_turn(
        ledger, {.lock_token = again->lock_token, .parked = "the code differs"}, now)));

    EXPECT_EQ(state_of(ledger, "a").parked, (Parked{.reason = "the code differs", .since = began}));
    const auto listed = list_parked(ledger, 10s, 10, now);
    ASSERT_EQ(listed.size(), 1u);
    EXPECT_EQ(listed[0].reason, "the code differs");
    EXPECT_EQ(listed[0].attempts, 2u);

    ASSERT_FALSE(commit({.lock_token = fetch()->lock_token}));
    EXPECT_EQ(instance_info(ledger, "a")->parked, std::nullopt);
    EXPECT_TRUE(list_parked(ledger, 10s, 10, now).empty());
}

TEST_F(Starting, WhatNobodyFetchesIsListedWithTheCodeItNeeds) {
    ASSERT_FALSE(start("a"));
    ASSERT_FALSE(queue_work(activity_item("b", 1)));
    pass(10s);

    const auto listed = list_parked(ledger, 10s, 10, now);

    ASSERT_EQ(listed.size(), 2u);
    EXPECT_EQ(listed[0].name, "Order");
    EXPECT_EQ(listed[0].kind, ParkedWork::Kind::turn);
    EXPECT_EQ(listed[1].name, "Charge");
    EXPECT_EQ(listed[1].kind, ParkedWork::Kind::activity);
    EXPECT_TRUE(list_parked(ledger, 11s, 10, now).empty());
}

} // namespace
} // namespace durable::ledger
