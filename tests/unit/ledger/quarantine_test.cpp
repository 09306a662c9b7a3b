// What cannot be delivered: rows that do not decode, messages whose instance never starts.

#include "unit/ledger/ledger_fixture.hpp"

namespace durable::ledger {
namespace {

class Quarantined : public LedgerTest {
 protected:
    // Damages a queued message in place.
    void damage(Seq seq) { ledger.turns.find(seq)->own_text = PackedText{"{damaged"}; }
};

TEST_F(Quarantined, P10_ARowThatDoesNotDecodeIsListedWithItsBytes) {
    apply(restore_message(ledger, "a", "\x01 not json", now));
    apply(restore_work(ledger, "[]", now));

    const auto items = list_quarantined(ledger);
    ASSERT_EQ(items.size(), 2u);
    EXPECT_EQ(items[0].queue, "orchestrator");
    EXPECT_EQ(items[0].instance, "a");
    EXPECT_EQ(items[0].text, "\x01 not json");
    EXPECT_FALSE(items[0].reason.empty());
    EXPECT_EQ(items[0].quarantined_at, now.wall);
    EXPECT_EQ(items[1].queue, "worker");
    EXPECT_EQ(items[1].instance, std::nullopt);
    EXPECT_EQ(system_metrics(ledger).quarantined_items, 2u);
}

TEST_F(Quarantined, P10_ARowOfTheWrongKindOrTheWrongInstanceIsQuarantinedToo) {
    const auto start = std::get<op::EnqueueMessage>(
        enqueue_message(ledger, start_item("b"), std::nullopt, now)->operation);
    apply(restore_work(ledger, start.message.text, now));
    apply(restore_message(ledger, "a", start.message.text, now));

    EXPECT_EQ(system_metrics(ledger).quarantined_items, 2u);
    EXPECT_EQ(fetched(), "");
}

TEST_F(Quarantined, AGoodRowFromOutsideIsQueuedWithItsOwnBytes) {
    const std::string spaced =
        R"( { "ExternalRaised" : {"instance":"a","name":"n","data":"d","later":[1]} } )";
    run_first_turn("a");

    apply(restore_message(ledger, "a", spaced, now));

    EXPECT_EQ(ledger.turns.find(ledger.next_seq() - 1)->text(), spaced);
    EXPECT_EQ(std::get<work::ExternalRaised>(fetch()->messages.at(0)).extra, R"("later":[1])");
}

TEST_F(Quarantined, P10_DamageFoundByAFetchIsTakenOutAndTheRestDelivered) {
    run_first_turn("a");
    ASSERT_FALSE(send(raised_item("a", "1")));
    ASSERT_FALSE(send(raised_item("a", "2")));
    damage(ledger.next_seq() - 2);

    const auto item = fetch();

    ASSERT_TRUE(item);
    EXPECT_EQ(item->messages.size(), 1u);
    EXPECT_EQ(item->attempt_count, 1u);
    EXPECT_EQ(list_quarantined(ledger).at(0).text, "{damaged");
    replayable = false; // the damage is in no record
}

TEST_F(Quarantined, P6_AMessageExpiresExactlyWhenItsTimeIsUp) {
    ASSERT_FALSE(send(raised_item("typo", "lost")));

    pass(1h - 1ms);
    EXPECT_EQ(expire(), 0u);
    pass(1ms);
    EXPECT_EQ(expire(), 1u);

    EXPECT_EQ(system_metrics(ledger).expired_messages, 1u);
    EXPECT_EQ(system_metrics(ledger).quarantined_items, 0u);
    ASSERT_EQ(list_quarantined(ledger).size(), 1u);
    EXPECT_EQ(list_quarantined(ledger)[0].instance, "typo");
    EXPECT_TRUE(list_quarantined(ledger)[0].reason.starts_with("expired"));
    EXPECT_EQ(ledger.instances.find("typo"), nullptr);
    EXPECT_EQ(queue_depths(ledger, now).orchestrator_queue, 0u);
}

TEST_F(Quarantined, ADelayedMessageWaitsFromTheEndOfItsDelay) {
    ASSERT_FALSE(send(raised_item("typo"), 30min));

    pass(1h);
    EXPECT_EQ(expire(), 0u);
    pass(30min);

    EXPECT_EQ(expire(), 1u);
}

TEST_F(Quarantined, EachMessageHasItsOwnHour) {
    ASSERT_FALSE(send(raised_item("a", "old")));
    pass(30min);
    ASSERT_FALSE(send(raised_item("a", "young")));
    pass(30min);
    ASSERT_EQ(expire(), 1u);

    ASSERT_FALSE(send(start_item("a")));

    const auto item = fetch();
    ASSERT_EQ(item->messages.size(), 2u);
    EXPECT_EQ(std::get<work::ExternalRaised>(item->messages[0]).data, "young");
}

TEST_F(Quarantined, NothingExpiresOnceTheInstanceHasStarted) {
    ASSERT_FALSE(send(raised_item("a")));
    ASSERT_FALSE(send(start_item("a")));
    ASSERT_FALSE(carry_out(abandon_turn(ledger,
                                        {.lock_token = fetch()->lock_token,
                                         .delay = 5h,
                                         .ignore_attempt = false,
                                         .whole_instance = true},
                                        now)));

    pass(3h);

    EXPECT_EQ(expire(), 0u);
}

TEST_F(Quarantined, OnlyTheNewestExpiredMessagesAreKeptButAllAreCounted) {
    for (int i = 0; i < 2500; ++i) {
        ASSERT_FALSE(send(raised_item("typo-" + std::to_string(i % 7), std::to_string(i))));
    }
    pass(1h);

    EXPECT_EQ(expire(), 3u); // a thousand at a time

    EXPECT_EQ(system_metrics(ledger).expired_messages, 2500u);
    EXPECT_EQ(list_quarantined(ledger).size(), Ledger::most_expired_kept);
}

} // namespace
} // namespace durable::ledger
