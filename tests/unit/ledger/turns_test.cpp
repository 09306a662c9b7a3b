// Which instance gets its turn, and with what.

#include "unit/ledger/ledger_fixture.hpp"

namespace durable::ledger {
namespace {

class Turns : public LedgerTest {
 protected:
    // Ends a turn with a pinned version.
    void pin(const std::string& instance, Version version) {
        ASSERT_FALSE(send(start_item(instance)));
        const auto item = fetch();
        ASSERT_TRUE(item);
        ASSERT_FALSE(commit_named({.lock_token = item->lock_token,
                                   .metadata = {.pinned_version = version},
                                   .history_delta = {started_event()}}));
    }
    static FetchOrchestration only(Version min, Version max) {
        return {.lock_timeout = 30s,
                .filter = CapabilityFilter{.supported = {{.min = min, .max = max}}}};
    }
};

TEST_F(Turns, P6_MessagesForAnInstanceThatHasNotStartedWaitAside) {
    ASSERT_FALSE(send(raised_item("early")));
    ASSERT_FALSE(send(work::QueueMessage{.instance = "early", .name = "inbox", .data = "1"}));
    ASSERT_FALSE(send(start_item("other")));

    EXPECT_EQ(fetched(), "other");
    EXPECT_EQ(fetched(), "");
}

TEST_F(Turns, P6_WaitingMessagesAreDeliveredWithTheStartInTheirOrder) {
    ASSERT_FALSE(send(raised_item("a", "before")));
    ASSERT_FALSE(send(work::QueueMessage{.instance = "a", .name = "inbox", .data = "1"}));
    ASSERT_FALSE(send(start_item("a")));

    const auto item = fetch();

    ASSERT_TRUE(item);
    ASSERT_EQ(item->messages.size(), 3u);
    EXPECT_EQ(std::get<work::ExternalRaised>(item->messages[0]).data, "before");
    EXPECT_EQ(std::get<work::QueueMessage>(item->messages[1]).data, "1");
    EXPECT_EQ(item->orchestration_name, "Order");
    EXPECT_EQ(item->version, "unknown");
}

TEST_F(Turns, P6_AStartThatIsDelayedDoesNotReleaseWaitingMessagesEarly) {
    ASSERT_FALSE(send(start_item("a"), 10s));
    ASSERT_FALSE(send(raised_item("a")));

    EXPECT_EQ(fetched(), "");
    pass(10s);

    EXPECT_EQ(fetch()->messages.size(), 2u);
}

TEST_F(Turns, P5_InstancesComeByTheirOldestDeliverableMessage) {
    run_first_turn("a");
    run_first_turn("b");
    ASSERT_FALSE(send(raised_item("a"), 10s));
    ASSERT_FALSE(send(raised_item("b")));
    pass(10s);

    EXPECT_EQ(fetched(), "a"); // its message is older, although it became visible later
    EXPECT_EQ(fetched(), "b");
}

TEST_F(Turns, P4_MessagesThatArriveDuringATurnStayForTheNext) {
    run_first_turn("a");
    ASSERT_FALSE(send(raised_item("a", "1")));
    const auto item = fetch();
    ASSERT_FALSE(send(raised_item("a", "2")));
    ASSERT_FALSE(fetch());

    ASSERT_FALSE(commit({.lock_token = item->lock_token}));

    const auto next = fetch();
    ASSERT_EQ(next->messages.size(), 1u);
    EXPECT_EQ(std::get<work::ExternalRaised>(next->messages[0]).data, "2");
}

TEST_F(Turns, P5_AfterAnExpiredLeaseOldAndNewMessagesComeInTheirOrder) {
    run_first_turn("a");
    ASSERT_FALSE(send(raised_item("a", "late"), 20s));
    ASSERT_FALSE(send(raised_item("a", "first")));
    ASSERT_TRUE(fetch(30s));
    ASSERT_FALSE(send(raised_item("a", "second")));
    pass(30s);

    const auto item = fetch();

    ASSERT_EQ(item->messages.size(), 3u);
    EXPECT_EQ(std::get<work::ExternalRaised>(item->messages[0]).data, "late");
    EXPECT_EQ(std::get<work::ExternalRaised>(item->messages[1]).data, "first");
    EXPECT_EQ(std::get<work::ExternalRaised>(item->messages[2]).data, "second");
    EXPECT_EQ(item->attempt_count, 2u); // of "first"
}

TEST_F(Turns, P5_NewcomersAreHiddenWithAnAbandonedInstance) {
    ASSERT_FALSE(send(start_item("a")));
    ASSERT_FALSE(carry_out(abandon_turn(ledger,
                                        {.lock_token = fetch()->lock_token,
                                         .delay = 10s,
                                         .ignore_attempt = false,
                                         .whole_instance = true},
                                        now)));
    ASSERT_FALSE(send(raised_item("a")));

    EXPECT_EQ(fetched(), "");
    pass(10s);

    EXPECT_EQ(fetch()->messages.size(), 2u);
}

TEST_F(Turns, P7_IgnoringAnAttemptGivesItBackToTheMessagesOfTheTurnOnly) {
    run_first_turn("a");
    ASSERT_FALSE(send(raised_item("a", "old")));
    ASSERT_FALSE(carry_out(abandon_turn(ledger,
                                        {.lock_token = fetch()->lock_token,
                                         .delay = std::nullopt,
                                         .ignore_attempt = false,
                                         .whole_instance = true},
                                        now)));
    const auto item = fetch(); // "old" has 2 attempts now
    ASSERT_FALSE(send(raised_item("a", "new")));

    ASSERT_FALSE(carry_out(abandon_turn(ledger,
                                        {.lock_token = item->lock_token,
                                         .delay = std::nullopt,
                                         .ignore_attempt = true,
                                         .whole_instance = true},
                                        now)));

    EXPECT_EQ(fetch()->attempt_count, 2u);
    EXPECT_EQ(ledger.turns.find(ledger.next_seq() - 1)->attempts,
              1u); // "new" never had less than 0
}

TEST_F(Turns, AFilterSkipsWhatItCannotReplayWithoutTouchingIt) {
    pin("old", {1, 0, 0});
    pin("new", {2, 0, 0});
    ASSERT_FALSE(send(raised_item("old")));
    ASSERT_FALSE(send(raised_item("new")));

    EXPECT_EQ(fetch(only({2, 0, 0}, {2, 9, 9}))->instance, "new");
    EXPECT_FALSE(fetch(only({2, 0, 0}, {2, 9, 9})));
    const auto item = fetch(only({1, 0, 0}, {1, 9, 9}));

    ASSERT_TRUE(item);
    EXPECT_EQ(item->attempt_count, 1u);
}

TEST_F(Turns, AnyRangeOfAFilterCounts) {
    pin("a", {3, 1, 0});
    ASSERT_FALSE(send(raised_item("a")));

    const auto item = fetch({.lock_timeout = 30s,
                             .filter = CapabilityFilter{
                                 .supported = {{{1, 0, 0}, {1, 9, 9}}, {{3, 0, 0}, {3, 9, 9}}}}});

    ASSERT_TRUE(item);
    EXPECT_EQ(item->instance, "a");
}

TEST_F(Turns, ANewPinnedVersionIsSeenByTheNextFilter) {
    pin("a", {1, 0, 0});
    ASSERT_FALSE(send(raised_item("a")));
    const auto item = fetch();
    ASSERT_FALSE(send(raised_item("a")));
    ASSERT_FALSE(commit({.lock_token = item->lock_token,
                         .execution_id = 2,
                         .metadata = {.pinned_version = Version{2, 0, 0}}}));

    EXPECT_FALSE(fetch(only({1, 0, 0}, {1, 9, 9})));
    EXPECT_TRUE(fetch(only({2, 0, 0}, {2, 0, 0})));
}

TEST_F(Turns, AHistoryWithoutARowTellsWhoTheInstanceIs) {
    ASSERT_FALSE(send(raised_item("a")));
    ASSERT_FALSE(fetch());

    ASSERT_FALSE(carry_out(append_events(ledger, "a", 1, {started_event()}, now)));

    const auto item = fetch();
    ASSERT_TRUE(item);
    EXPECT_EQ(item->orchestration_name, "Order");
    EXPECT_EQ(item->version, "1.0.0");
    EXPECT_EQ(item->execution_id, 1u);
    EXPECT_EQ(item->history.size(), 1u);
}

TEST_F(Turns, AHistoryWithoutARowReportsTheLatestExecution) {
    ASSERT_FALSE(send(start_item("a")));
    ASSERT_FALSE(commit({.lock_token = fetch()->lock_token,
                         .execution_id = 3,
                         .history_delta = {started_event()}}));
    ASSERT_FALSE(send(raised_item("a")));

    const auto item = fetch();

    ASSERT_TRUE(item);
    EXPECT_EQ(item->execution_id, 3u);
    EXPECT_EQ(item->history.size(), 1u);
}

TEST_F(Turns, ACommitWithoutANameLeavesTheInstanceUnknown) {
    ASSERT_FALSE(send(start_item("a")));
    const auto item = fetch();
    ASSERT_FALSE(send(raised_item("a")));
    ASSERT_FALSE(
        commit({.lock_token = item->lock_token, .metadata = {.orchestration_name = "Order"}}));

    EXPECT_EQ(fetched(), ""); // nothing tells what it is: the message waits aside
    ASSERT_FALSE(send(start_item("a")));

    EXPECT_EQ(fetch()->messages.size(), 2u);
}

TEST_F(Turns, OnlyEventsAfterTheCachedOneAreReturned) {
    ASSERT_FALSE(send(start_item("a")));
    ASSERT_FALSE(commit_named({.lock_token = fetch()->lock_token,
                               .history_delta = {started_event(), event(2), event(3)}}));
    ASSERT_FALSE(send(raised_item("a")));

    const auto item = fetch({.lock_timeout = 30s, .cached = [](std::string_view) {
                                 return CachedHistory{.execution_id = 1, .last_event_id = 2};
                             }});

    EXPECT_EQ(item->history_after, 2u);
    ASSERT_EQ(item->history.size(), 1u);
    EXPECT_EQ(item->history[0].event_id, 3u);
}

TEST_F(Turns, ACacheOfAnotherExecutionOrOfMoreThanThereIsIsNotUsed) {
    run_first_turn("a");
    ASSERT_FALSE(send(raised_item("a")));
    const auto other_execution =
        fetch({.lock_timeout = 0s, .cached = [](std::string_view) {
                   return CachedHistory{.execution_id = 2, .last_event_id = 1};
               }});
    const auto too_much = fetch({.lock_timeout = 0s, .cached = [](std::string_view) {
                                     return CachedHistory{.execution_id = 1, .last_event_id = 7};
                                 }});

    EXPECT_EQ(other_execution->history_after, 0u);
    EXPECT_EQ(too_much->history_after, 0u);
    EXPECT_EQ(too_much->history.size(), 1u);
}

TEST_F(Turns, ACacheOfAnEarlierInstanceWithTheSameIdIsNotUsed) {
    run_first_turn("a");
    ASSERT_FALSE(send(raised_item("a")));
    const auto first = fetch();
    const CachedHistory stale{
        .execution_id = 1, .last_event_id = 1, .incarnation = first->incarnation};
    apply(delete_instances(ledger, {"a"}, true, now)->record);
    run_first_turn("a");
    ASSERT_FALSE(send(raised_item("a")));

    const auto item =
        fetch({.lock_timeout = 30s, .cached = [&](std::string_view) { return stale; }});

    EXPECT_NE(item->incarnation, first->incarnation);
    EXPECT_EQ(item->history_after, 0u);
    EXPECT_EQ(item->history.size(), 1u);
}

TEST_F(Turns, ACancelledTimerDoesNotComeWhereverItStands) {
    run_first_turn("a");
    const auto soon = to_epoch_ms(now.wall) + 1000;
    ASSERT_FALSE(send(timer_item("a", 2, soon)));
    ASSERT_FALSE(send(timer_item("a", 3, soon + 60'000)));
    ASSERT_FALSE(send(timer_item("a", 4, soon + 60'000)));
    ASSERT_FALSE(send(raised_item("a")));
    const auto item = fetch();
    pass(1s); // timer 2 is visible now, but not part of the turn

    ASSERT_FALSE(commit({.lock_token = item->lock_token,
                         .orchestrator_items = {timer_item("a", 5, soon), timer_item("a", 6, soon)},
                         .cancelled_timers = {2, 3, 5, 77}}));
    pass(1h);

    const auto next = fetch();
    ASSERT_EQ(next->messages.size(), 2u);
    EXPECT_EQ(std::get<work::TimerFired>(next->messages[0]).id, 6u);
    EXPECT_EQ(std::get<work::TimerFired>(next->messages[1]).id, 4u);
}

// A million of them wait at a time.
TEST_F(Turns, AnInstanceThatOnlyWaitsForTimersHasNothingUnderWay) {
    static_assert(sizeof(Instance) <= 168 && sizeof(Execution) <= 80 && sizeof(Message) <= 104);
    run_first_turn("a");
    const auto soon = to_epoch_ms(now.wall) + 1000;
    ASSERT_FALSE(send(timer_item("a", 2, soon)));
    ASSERT_FALSE(send(timer_item("a", 3, soon + 1000)));

    EXPECT_EQ(ledger.instances.find("a")->under_way, nullptr);
    pass(1s);
    const auto item = fetch();
    EXPECT_NE(ledger.instances.find("a")->under_way, nullptr);
    ASSERT_EQ(item->messages.size(), 1u);
    ASSERT_FALSE(commit({.lock_token = item->lock_token}));
    EXPECT_EQ(ledger.instances.find("a")->under_way, nullptr);
    pass(1s);
    EXPECT_EQ(std::get<work::TimerFired>(fetch()->messages.at(0)).id, 3u);
}

TEST_F(Turns, P5_ATimerComesBehindWhatWasThereBeforeItWasDue) {
    run_first_turn("a");
    ASSERT_FALSE(send(timer_item("a", 2, to_epoch_ms(now.wall) + 3000)));
    ASSERT_FALSE(send(raised_item("a", "delayed"), 5s));
    pass(1s);
    ASSERT_FALSE(send(raised_item("a", "in time")));
    pass(3s);
    ASSERT_FALSE(send(raised_item("a", "late")));
    pass(1s);

    const auto item = fetch();

    ASSERT_EQ(item->messages.size(), 4u);
    EXPECT_EQ(std::get<work::ExternalRaised>(item->messages[0]).data, "delayed");
    EXPECT_EQ(std::get<work::ExternalRaised>(item->messages[1]).data, "in time");
    EXPECT_EQ(std::get<work::TimerFired>(item->messages[2]).id, 2u);
    EXPECT_EQ(std::get<work::ExternalRaised>(item->messages[3]).data, "late");
}

TEST_F(Turns, TimersOfAnotherExecutionOrInstanceAreNotCancelled) {
    run_first_turn("a");
    run_first_turn("b");
    ASSERT_FALSE(send(timer_item("b", 2, 0)));
    ASSERT_FALSE(send(timer_item("a", 2, to_epoch_ms(now.wall) + 1)));
    ASSERT_FALSE(send(raised_item("a")));
    const auto b = fetch();
    const auto a = fetch();
    ASSERT_EQ(b->instance, "b");

    ASSERT_FALSE(commit({.lock_token = a->lock_token, .execution_id = 2, .cancelled_timers = {2}}));
    ASSERT_FALSE(carry_out(abandon_turn(ledger,
                                        {.lock_token = b->lock_token,
                                         .delay = std::nullopt,
                                         .ignore_attempt = false,
                                         .whole_instance = true},
                                        now)));
    pass(1ms);

    EXPECT_EQ(fetched(), "b");
    EXPECT_EQ(fetched(), "a");
}

TEST_F(Turns, ATurnIsTheOneThatItsTokenLeases) {
    ASSERT_FALSE(send(start_item("a")));
    auto foreign = started_event();
    foreign.instance_id = "somebody else";
    foreign.execution_id = 9;

    ASSERT_FALSE(commit_named({.lock_token = fetch()->lock_token, .history_delta = {foreign}}));

    EXPECT_EQ(events_of(ledger, "a", 1).size(), 1u);
    EXPECT_EQ(ledger.instances.find("somebody else"), nullptr);
}

TEST_F(Turns, P2_ARefusedCommitChangesNothingAndKeepsTheLease) {
    run_first_turn("a");
    ASSERT_FALSE(send(raised_item("a")));
    const auto item = fetch();
    const auto before = state_image(ledger);
    const TurnCommit good{.lock_token = item->lock_token,
                          .worker_items = {activity_item("a", 7)},
                          .orchestrator_items = {start_item("child")}};
    auto zero = good;
    zero.history_delta = {event(2), event(0)};
    auto taken = good;
    taken.history_delta = {event(2), event(1)};
    auto twice = good;
    twice.history_delta = {event(5), event(3), event(5)};
    auto message_as_work = good;
    message_as_work.worker_items.push_back(raised_item("a"));
    auto work_as_message = good;
    work_as_message.orchestrator_items.push_back(activity_item("a", 8));
    auto not_utf8 = good;
    not_utf8.orchestrator_items.push_back(raised_item("a", "\xff"));

    auto bad_output = good;
    bad_output.metadata.output = "\x80";
    auto bad_name = good;
    bad_name.metadata.orchestration_name = "\xc0\xaf"; // overlong
    auto bad_version = good;
    bad_version.metadata.orchestration_version = "1.\xed\xa0\x80"; // a surrogate
    auto bad_parent = good;
    bad_parent.metadata.parent_instance_id = "caf\xc3"; // cut off

    for (const auto& bad : {zero,
                            taken,
                            twice,
                            message_as_work,
                            work_as_message,
                            not_utf8,
                            bad_output,
                            bad_name,
                            bad_version,
                            bad_parent}) {
        EXPECT_EQ(commit(bad), ErrorCode::invalid_argument);
        EXPECT_TRUE(state_image(ledger) == before);
    }
    EXPECT_EQ(fetched(), "");
    EXPECT_FALSE(commit(good));
}

TEST_F(Turns, TextsOfManyLanguagesAreFine) {
    ASSERT_FALSE(send(start_item("a")));

    EXPECT_FALSE(
        commit({.lock_token = fetch()->lock_token,
                .metadata = {.status = ExecutionStatus::completed,
                             .output = "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
                             .orchestration_name = "\xd0\x97\xd0\xb0\xd0\xba\xd0\xb0\xd0\xb7",
                             .orchestration_version = ""}}));
    EXPECT_EQ(carry_out(append_events(ledger, "\xff", 1, {event(1)}, now)),
              ErrorCode::invalid_argument);
}

TEST_F(Turns, EventIdsNeedNotAscendButReadersGetThemAscending) {
    ASSERT_FALSE(send(start_item("a")));
    ASSERT_FALSE(commit_named(
        {.lock_token = fetch()->lock_token, .history_delta = {event(99999), event(5), event(7)}}));

    const auto events = decode(events_of(ledger, "a", 1), "read");

    ASSERT_EQ(events->size(), 3u);
    EXPECT_EQ((*events)[0].event_id, 5u);
    EXPECT_EQ((*events)[1].event_id, 7u);
    EXPECT_EQ((*events)[2].event_id, 99999u);
}

TEST_F(Turns, ErrorsNameTheCallAndTheReason) {
    const auto unknown = commit_turn(ledger, {.lock_token = "no such token"}, now);
    EXPECT_EQ(unknown.error().text(), "ack_orchestration_item: Invalid lock token");
    EXPECT_EQ(abandon_turn(ledger,
                           {.lock_token = "",
                            .delay = std::nullopt,
                            .ignore_attempt = false,
                            .whole_instance = true},
                           now)
                  .error()
                  .operation,
              "abandon_orchestration_item");
    EXPECT_EQ(renew_turn(ledger, std::string(32, 'f'), 1s, now).error().operation,
              "renew_orchestration_item_lock");

    ASSERT_FALSE(send(start_item("a")));
    const auto item = fetch(1s);
    pass(1s);
    const auto expired = commit_turn(ledger, {.lock_token = item->lock_token}, now);
    EXPECT_EQ(expired.error().text(),
              "ack_orchestration_item: the lease on instance \"a\" has expired");
}

} // namespace
} // namespace durable::ledger
