// Messages from outside: events and queues. Each message goes to one wait, oldest to oldest.

#include "replay/fixture.hpp"

#include <gtest/gtest.h>

namespace durable::replay_test::mailbox_test {

namespace {

Task<std::string> wait_twice(Context ctx, std::string) {
    const auto first = co_await ctx.wait_for_raw("E");
    const auto second = co_await ctx.wait_for_raw("E");
    co_return first + "," + second;
}

TEST(Events, ArePairedWithWaitsInOrder) {
    given(started(), wait("E"), wait("E"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto [a, b] = co_await all{ctx.wait_for_raw("E"), ctx.wait_for_raw("E")};
                co_return a + "," + b;
            },
            raise("E", "one"),
            raise("E", "two"))
        .completes("one,two");
}

// The reference loses an event that no wait expects. Here it is kept until a wait takes it.
TEST(Events, ThatComeEarlyAreKept) {
    given(started(), activity("A"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_await ctx.call_raw("A", "");
                co_return co_await ctx.wait_for_raw("E");
            },
            raise("E", "early"),
            completion(2, ""))
        .completes("early")
        .then({"3 ExternalEvent E=early",
               "4 ActivityCompleted <-2",
               "5 ExternalSubscribed E",
               "6 OrchestrationCompleted early"});
}

TEST(Events, SeveralOfOneNameAreDeliveredOneByOne) {
    given(started(), wait("E"))
        .when(wait_twice, raise("E", "one"), raise("E", "two"))
        .completes("one,two");
}

TEST(Events, OfAnotherNameDoNotMix) {
    given(started(), wait("E")).when(wait_twice, raise("F", "x")).runs_on();
}

TEST(Events, AndQueuesOfTheSameNameDoNotMix) {
    given(started(), wait("E"))
        .when(wait_twice, enqueue("E", "queued"))
        .runs_on()
        .then({"3 ExternalEventPersistent E=queued"});
}

TEST(Events, EmptyDataIsData) {
    given(started(), wait("E"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_return "[" + co_await ctx.wait_for_raw("E") + "]";
            },
            raise("E", ""))
        .completes("[]");
}

TEST(Events, AreNotStolenByACancelledWait) {
    given(started(), wait("E"), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_await race{ctx.wait_for_raw("E"), ctx.sleep(1s)};
                co_return co_await ctx.wait_for_raw("E");
            },
            timer_fires(3),
            raise("E", "for the second"))
        .completes("for the second")
        .then({"4 TimerFired <-3",
               "5 ExternalSubscribedCancelled <-2 dropped_future",
               "6 ExternalSubscribed E",
               "7 ExternalEvent E=for the second",
               "8 OrchestrationCompleted for the second"});
}

TEST(Events, OfTheWrongTypeAreAFailure) {
    constexpr Event<int> number{"Number"};
    static constexpr Event<int> event_contract = number;
    given(started(), wait("Number"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                const auto value = co_await ctx.wait_for(event_contract).as_result();
                co_return value.error().kind;
            },
            raise("Number", "many"))
        .completes("BadPayload");
}

// ---- The drop of a wait takes effect at the drop

// In one batch: the timer fires, the race drops its dequeue, a new dequeue is made, a message
// comes. The reference resolved the new one live but not on replay.
TEST(Queues, T02_AReplacedDequeueGetsTheMessageLiveAndOnReplay) {
    given(started(), dequeue("Q"), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_await race{ctx.dequeue_raw("Q"), ctx.sleep(1s)};
                const auto message = co_await ctx.dequeue_raw("Q");
                co_return co_await ctx.call_raw("Handle", message);
            },
            timer_fires(3),
            enqueue("Q", "m1"))
        .runs_on()
        .then({"4 TimerFired <-3",
               "5 ExternalSubscribedPersistentCancelled <-2 dropped_future",
               "6 ExternalSubscribedPersistent Q",
               "7 ExternalEventPersistent Q=m1",
               "8 ActivityScheduled Handle(m1)"});
}

TEST(Events, T03_AReplacedWaitGetsTheEventLiveAndOnReplay) {
    given(started(), wait("E"), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_await race{ctx.wait_for_raw("E"), ctx.sleep(1s)};
                const auto message = co_await ctx.wait_for_raw("E");
                co_return co_await ctx.call_raw("Handle", message);
            },
            timer_fires(3),
            raise("E", "m1"))
        .runs_on()
        .then({"4 TimerFired <-3",
               "5 ExternalSubscribedCancelled <-2 dropped_future",
               "6 ExternalSubscribed E",
               "7 ExternalEvent E=m1",
               "8 ActivityScheduled Handle(m1)"});
}

// Two dequeues; the newer one has its message when the older is dropped.
TEST(Queues, T14_DroppingAnOlderDequeueDoesNotDisturbANewerOne) {
    given(started(), dequeue("Q"), dequeue("Q"), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto older = ctx.dequeue_raw("Q");
                auto newer = ctx.dequeue_raw("Q");
                co_await ctx.sleep(1s);
                older.cancel(); // has m1, unseen: it goes to the next in line
                const auto second = co_await newer;
                const auto first = co_await ctx.dequeue_raw("Q");
                co_return first + "," + second;
            },
            enqueue("Q", "m1"),
            enqueue("Q", "m2"),
            timer_fires(4))
        .completes("m1,m2");
}

TEST(Queues, AMessageThatNobodyLookedAtGoesBackToTheFront) {
    given(started(), dequeue("Q"), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto unseen = ctx.dequeue_raw("Q");
                co_await ctx.sleep(1s);
                unseen.cancel();
                const auto first = co_await ctx.dequeue_raw("Q");
                const auto second = co_await ctx.dequeue_raw("Q");
                co_return first + "," + second;
            },
            enqueue("Q", "m1"),
            enqueue("Q", "m2"),
            timer_fires(3))
        .completes("m1,m2");
}

TEST(Queues, SeveralHandedBackKeepTheirOrderHoweverTheyAreDropped) {
    given(started(), dequeue("Q"), dequeue("Q"), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                std::vector<Operation<std::string>> unseen;
                unseen.push_back(ctx.dequeue_raw("Q"));
                unseen.push_back(ctx.dequeue_raw("Q"));
                co_await ctx.sleep(1s);
                unseen.pop_back();
                unseen.pop_back();
                const auto first = co_await ctx.dequeue_raw("Q");
                const auto second = co_await ctx.dequeue_raw("Q");
                co_return first + "," + second;
            },
            enqueue("Q", "m1"),
            enqueue("Q", "m2"),
            timer_fires(4))
        .completes("m1,m2");
}

TEST(Queues, AHandedBackMessageGoesToAWaitThatIsLeft) {
    given(started(), dequeue("Q"), dequeue("Q"), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto older = ctx.dequeue_raw("Q");
                auto newer = ctx.dequeue_raw("Q");
                co_await ctx.sleep(1s);
                older.cancel();
                co_return co_await newer;
            },
            enqueue("Q", "m1"),
            timer_fires(4))
        .completes("m1")
        .then({"5 ExternalEventPersistent Q=m1",
               "6 TimerFired <-4",
               "7 ExternalSubscribedPersistentCancelled <-2 dropped_future",
               "8 OrchestrationCompleted m1"});
}

TEST(Queues, KeepMessagesThatComeBeforeTheDequeue) {
    given(started(), activity("A"), queued("Q", "m1"), queued("Q", "m2"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_await ctx.call_raw("A", "");
                const auto first = co_await ctx.dequeue_raw("Q");
                const auto second = co_await ctx.dequeue_raw("Q");
                co_return first + "," + second;
            },
            completion(2, ""))
        .completes("m1,m2");
}

TEST(Queues, OfDifferentNamesAreIndependent) {
    given(started(), activity("A"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_await ctx.call_raw("A", "");
                const auto b1 = co_await ctx.dequeue_raw("B");
                const auto a1 = co_await ctx.dequeue_raw("A");
                const auto b2 = co_await ctx.dequeue_raw("B");
                co_return a1 + b1 + b2;
            },
            enqueue("A", "a1"),
            enqueue("B", "b1"),
            enqueue("B", "b2"),
            completion(2, ""))
        .completes("a1b1b2");
}

Task<std::string> drain_a_thousand(Context ctx, std::string) {
    co_await ctx.call_raw("A", "");
    std::string last;
    for (int i = 0; i < 1000; ++i) {
        last = co_await ctx.dequeue_raw("Q");
    }
    co_return last;
}

// The reference fails the instance for good after about a hundred.
TEST(Queues, T13_AThousandBufferedMessagesAreReadInOneTurn) {
    std::vector<WorkItem> messages;
    for (int i = 0; i < 1000; ++i) {
        messages.push_back(enqueue("Q", std::to_string(i)));
    }
    messages.push_back(completion(2, ""));

    given(started(), activity("A")).run(drain_a_thousand, messages).completes("999");
}

// ---- Which of several messages counts

Task<std::string> offer_or_withdrawal(Context ctx, std::string) {
    co_await ctx.sleep(1min);
    auto both = race{ctx.wait_for_raw("Offer"), ctx.wait_for_raw("Withdrawal")};
    const auto first = co_await both;
    const auto* const winner = first.index() == 0 ? "offer" : "withdrawal";
    co_return co_await ctx.call_raw("Tell", winner);
}

TEST(MessageOrder, DecidesBetweenWaitsThatFindTheirMessagesInTheMailbox) {
    fresh(offer_or_withdrawal, raise("Withdrawal", "w"), raise("Offer", "o"), timer_fires(2))
        .gives_to_workers({"ActivityExecute#9 Tell(withdrawal)"});
    fresh(offer_or_withdrawal, raise("Offer", "o"), raise("Withdrawal", "w"), timer_fires(2))
        .gives_to_workers({"ActivityExecute#9 Tell(offer)"});
}

TEST(MessageOrder, DecidesBetweenAMessageAndATimerThatHasFired) {
    fresh(
        [](Context ctx, std::string) -> Task<std::string> {
            auto deadline = ctx.sleep(1min);
            co_await ctx.sleep(2min);
            auto both = race{ctx.wait_for_raw("E"), std::move(deadline)};
            const auto first = co_await both;
            co_return first.index() == 0 ? "message" : "timer";
        },
        raise("E", "early"),
        timer_fires(2),
        timer_fires(3))
        .completes("message");
}

// As it was written before executions said by which rules they began.
TEST(MessageOrder, DoesNotChangeAHistoryThatBeganWithoutIt) {
    given(started(),
          timer(),
          raised("Withdrawal", "w"),
          raised("Offer", "o"),
          fired(2),
          wait("Offer"),
          wait("Withdrawal"),
          event(history::ExternalSubscribedCancelled{"dropped_future"}, 7),
          activity("Tell", "offer"))
        .when(offer_or_withdrawal, completion(9, "told"))
        .completes("told");
    given(started(), timer(), raised("Withdrawal", "w"), raised("Offer", "o"))
        .when(offer_or_withdrawal, timer_fires(2))
        .gives_to_workers({"ActivityExecute#9 Tell(offer)"});
}

TEST(MessageOrder, HoldsForGroupsThatAreCompleteWhenTheyStart) {
    const auto code = [](Context ctx, std::string) -> Task<std::string> {
        co_await ctx.sleep(1min);
        auto limited = ctx.within(1h, ctx.wait_for_raw("A"));
        auto pair = all{ctx.wait_for_raw("B"), ctx.wait_for_raw("C")};
        auto any = race{std::move(limited), std::move(pair), ctx.wait_for_raw("D")};
        const auto first = co_await any;
        co_return std::to_string(first.index());
    };
    const auto winner = [&](std::string_view order) {
        std::vector<WorkItem> messages{start_message()};
        for (const char name : order) {
            messages.push_back(raise(std::string{name}, ""));
        }
        messages.push_back(timer_fires(2));
        return Given{{}}.run(code, messages).result().output;
    };

    EXPECT_EQ(winner("ABCD"), "0");
    EXPECT_EQ(winner("BCAD"), "1");
    EXPECT_EQ(winner("BADC"), "0");
    EXPECT_EQ(winner("DABC"), "2");
    EXPECT_EQ(winner("BDC"), "2");
}

TEST(MessageOrder, HoldsForMessagesThatDroppedWaitsHandBack) {
    fresh(
        [](Context ctx, std::string) -> Task<std::string> {
            auto offer = ctx.wait_for_raw("Offer");
            auto withdrawal = ctx.wait_for_raw("Withdrawal");
            auto both = race{ctx.wait_for_raw("Offer"), ctx.wait_for_raw("Withdrawal")};
            co_await ctx.sleep(1min);
            offer.cancel();
            withdrawal.cancel();
            const auto first = co_await both;
            co_return first.index() == 0 ? "offer" : "withdrawal";
        },
        raise("Withdrawal", "w"),
        raise("Offer", "o"),
        timer_fires(6))
        .completes("withdrawal");
}

TEST(MessageOrder, HoldsBetweenQueuesAndEventsOverContinueAsNew) {
    const auto turn = fresh(
        [](Context ctx, std::string) -> Task<std::string> {
            co_await ctx.sleep(1min);
            co_return co_await ctx.continue_as_new_raw("next");
        },
        raise("E", "1"),
        enqueue("Q", "2"),
        timer_fires(2),
        raise("E", "3"));
    const auto next = std::get<work::ContinueAsNew>(turn.result().commit.orchestrator_items.back());
    EXPECT_EQ(next.carry_forward_order, "eqe");

    Given{{}}
        .as_execution(2)
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto both = race{ctx.dequeue_raw("Q"), ctx.wait_for_raw("E")};
                const auto first = co_await both;
                co_return first.index() == 0 ? "queue" : "event";
            },
            WorkItem{next})
        .completes("event");
}

TEST(Unread, MessagesOfAnOrchestrationThatEndsAreCountedNotHidden) {
    const auto turn = given(started(), activity("A"), raised("E", "x"), queued("Q", "y"))
                          .when(
                              [](Context ctx, std::string) -> Task<std::string> {
                                  co_return co_await ctx.call_raw("A", "");
                              },
                              completion(2, "done"));

    EXPECT_EQ(turn.result().counters.unread, 2u);
    EXPECT_EQ(turn.result().log.at(0).message,
              "2 messages were never read: the orchestration has ended");
}

} // namespace

} // namespace durable::replay_test::mailbox_test
