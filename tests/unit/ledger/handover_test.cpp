// Images and the handover of leases: a ledger closed in good order goes on as if nothing happened.

#include "providers/ledger/handover.hpp"
#include "unit/ledger/ledger_fixture.hpp"

namespace durable::ledger {
namespace {

class HandoverTest : public LedgerTest {
 protected:
    void fill() {
        run_first_turn("a");
        ASSERT_FALSE(send(raised_item("a", "1")));
        ASSERT_FALSE(send(raised_item("a", "2"), 1h));
        ASSERT_FALSE(send(raised_item("parked")));
        ASSERT_FALSE(send(start_item("hidden")));
        ASSERT_FALSE(queue_work(activity_item("a", 4, "s", "gpu")));
        ASSERT_FALSE(queue_work(activity_item("a", 5, "s")));
        ASSERT_FALSE(queue_work(activity_item("a", 6)));
        turn = fetch(30s);
        ASSERT_FALSE(carry_out(abandon_turn(ledger,
                                            {.lock_token = fetch()->lock_token,
                                             .delay = 1h,
                                             .ignore_attempt = false,
                                             .whole_instance = true},
                                            now)));
        lease = fetch_work({.lock_timeout = 30s, .session = SessionClaim{"me", 60s}});
        apply(restore_message(ledger, "a", "broken", now));
    }
    // Another ledger with the same durable state.
    void reopen(Ledger& reopened) {
        reopened.restore(ledger.rest());
        ledger.instances.for_each(
            [&](const Instance& instance) { reopened.restore(image_of(instance), now.wall); });
    }

    std::optional<OrchestrationItem> turn;
    std::optional<durable::WorkLease> lease;
};

TEST_F(HandoverTest, ImagesRestoreAnEqualState) {
    fill();
    Ledger reopened;
    reopen(reopened);

    EXPECT_TRUE(state_image(reopened) == state_image(ledger));
}

TEST_F(HandoverTest, ImagesInAnyOrderRestoreAnEqualState) {
    fill();
    std::vector<InstanceImage> images;
    ledger.instances.for_each(
        [&](const Instance& instance) { images.insert(images.begin(), image_of(instance)); });
    Ledger reopened;
    for (auto& image : images) {
        reopened.restore(std::move(image), now.wall);
    }
    reopened.restore(ledger.rest());

    EXPECT_TRUE(state_image(reopened) == state_image(ledger));
}

TEST_F(HandoverTest, ARestoredInstanceIsFiledWhereItBelongs) {
    fill();
    Ledger reopened;
    reopen(reopened);
    const FetchOrchestration request{.lock_timeout = 30s};

    EXPECT_EQ(offer_turn(reopened, request, now)->item->instance, "a");
    const auto later = Moment{.wall = now.wall + 1h, .steady = now.steady + 1h};
    EXPECT_EQ(offer_turn(reopened, request, later)->item->messages.size(), 2u);
    EXPECT_TRUE(expire_messages(reopened, later));
}

TEST_F(HandoverTest, LeasesAndSessionsGoOn) {
    fill();
    const auto handover = hand_over(ledger, now);
    Ledger reopened;
    reopen(reopened);

    const Moment later{.wall = now.wall + 10s, .steady = SteadyInstant{5s}}; // after a reboot
    take_over(reopened, handover, 10s, later);

    EXPECT_EQ(hand_over(reopened, {.wall = later.wall, .steady = SteadyInstant{5s} - 10s}),
              handover);
    EXPECT_FALSE(offer_turn(reopened, {.lock_timeout = 30s}, later));
    EXPECT_TRUE(commit_turn(reopened, {.lock_token = turn->lock_token}, later));
    EXPECT_TRUE(renew_work(reopened, lease->lock_token, 30s, later));
    const durable::FetchWork yours{.lock_timeout = 30s, .session = SessionClaim{"you", 60s}};
    EXPECT_EQ(offer_work(reopened, yours, later)->lease->item.id, 6u);
}

TEST_F(HandoverTest, WhatExpiredInBetweenCanOnlyBeGivenBack) {
    fill();
    const auto handover = hand_over(ledger, now);
    Ledger reopened;
    reopen(reopened);

    take_over(reopened, handover, 30s, now); // the session had 60 s, the others 30

    const auto after = hand_over(reopened, now);
    ASSERT_EQ(after.turns.size(), handover.turns.size());
    EXPECT_EQ(after.turns[0].left, 0s);
    ASSERT_EQ(after.activities.size(), handover.activities.size());
    EXPECT_EQ(after.activities[0].left, 0s);
    EXPECT_FALSE(renew_turn(reopened, after.turns[0].lock_token, 30s, now));
    EXPECT_TRUE(abandon_turn(reopened,
                             {.lock_token = after.turns[0].lock_token,
                              .delay = std::nullopt,
                              .ignore_attempt = false,
                              .whole_instance = true},
                             now));
    ASSERT_EQ(after.sessions.size(), 1u);
    EXPECT_EQ(after.sessions[0].left, 30s);
    EXPECT_EQ(after.sessions[0].idle, 30s);
}

TEST_F(HandoverTest, AHandoverThatFitsNothingIsHarmless) {
    fill();
    const auto before = hand_over(ledger, now);
    const Handover nonsense{
        .turns = {{.instance = "ghost", .lock_token = std::string(32, '1'), .left = 1h},
                  {.instance = "parked", .lock_token = "not a token", .left = 1h},
                  {.instance = "a", .lock_token = std::string(32, '2'), .left = 1h}},
        .activities = {{.seq = 99999, .lock_token = std::string(32, '3'), .left = 1h}}};

    take_over(ledger, nonsense, 0s, now);

    EXPECT_EQ(hand_over(ledger, now), before);
}

TEST_F(HandoverTest, AnInstanceThatWasSetAsideCountsAndComesBackAsItWas) {
    fill();
    const auto before = state_image(ledger);
    const auto metrics = system_metrics(ledger);
    auto& instance = *ledger.instances.find("a");
    auto image = image_of(instance);

    ledger.set_aside(instance);
    EXPECT_EQ(ledger.instances.find("a"), nullptr);
    EXPECT_EQ(system_metrics(ledger).total_instances, metrics.total_instances);
    EXPECT_EQ(system_metrics(ledger).total_events, metrics.total_events);
    ledger.bring_back(std::move(image));

    EXPECT_EQ(ledger.instances.find("a")->copy, Instance::Copy::made);
    EXPECT_EQ(system_metrics(ledger).total_instances, metrics.total_instances);
    EXPECT_TRUE(state_image(ledger) == before);
}

TEST_F(HandoverTest, AWalkMeetsEveryInstanceWhateverComesAndGoesMeanwhile) {
    for (const auto* id : {"a", "b", "c", "d"}) {
        ASSERT_FALSE(send(start_item(id)));
    }
    std::vector<std::string> met;
    ledger.instances.start_walk();
    met.emplace_back(ledger.instances.walk()->id());
    apply(delete_instances(ledger, {"a", "b"}, true, now)->record); // the next one among them
    ASSERT_FALSE(send(start_item("e")));
    while (const auto* instance = ledger.instances.walk()) {
        met.emplace_back(instance->id());
    }

    EXPECT_EQ(met, (std::vector<std::string>{"a", "c", "d", "e"}));
    EXPECT_EQ(ledger.instances.walk(), nullptr);
}

TEST_F(HandoverTest, TouchedNamesEveryInstanceThatARecordChanges) {
    run_first_turn("a");
    ASSERT_FALSE(queue_work(activity_item("b", 7)));
    ASSERT_FALSE(send(raised_item("a")));
    const auto item = fetch();

    const auto record = commit_turn(ledger,
                                    {.lock_token = item->lock_token,
                                     .worker_items = {activity_item("c", 1)},
                                     .cancelled_activities = {{"b", 1, 7}},
                                     .orchestrator_items = {start_item("d")}},
                                    now);

    EXPECT_EQ(touched(ledger, *record), (std::vector<std::string>{"a", "b", "c", "d"}));
}

TEST(Settled, AnInstanceSettlesWhenItHasEndedAndNothingIsQueued) {
    Ledger ledger{{.track_settled = true}};
    const Moment now{.wall = from_epoch_ms(1), .steady = SteadyInstant{1h}};
    const auto apply = [&](Result<Record> record) { ledger.apply(*std::move(record)); };
    const auto turn = [&](TurnCommit commit) {
        auto offer = offer_turn(ledger, {.lock_timeout = 30s}, now);
        ledger.apply(offer->record);
        take_turn(ledger, *offer, Token{1, 2}, now.steady + 30s);
        commit.lock_token = offer->item->lock_token;
        apply(commit_turn(ledger, commit, now));
    };
    apply(enqueue_message(ledger, start_item("a"), std::nullopt, now));
    turn({.metadata = {.status = ExecutionStatus::completed,
                       .orchestration_name = "Order",
                       .orchestration_version = "1.0.0"},
          .worker_items = {activity_item("a", 2)}});

    EXPECT_EQ(ledger.take_settled(), nullptr); // an activity is still queued
    auto work = offer_work(ledger, {.lock_timeout = 30s}, now);
    take_work(ledger, *work, {.lock_timeout = 30s}, Token{3, 4}, now);
    apply(finish_work(ledger, work->lease->lock_token, std::nullopt, now));

    EXPECT_EQ(ledger.take_settled(), ledger.instances.find("a"));
    EXPECT_EQ(ledger.take_settled(), nullptr);
}

} // namespace
} // namespace durable::ledger
