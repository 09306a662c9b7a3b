// Continue as new: the next execution begins with an empty history and everything it should keep.

#include "replay/fixture.hpp"

#include <gtest/gtest.h>

namespace durable::replay_test::continue_as_new_test {

namespace {

Task<std::string> continue_when_told(Context ctx, std::string) {
    co_await ctx.call_raw("A", "");
    co_return co_await ctx.continue_as_new_raw("next");
}

const work::ContinueAsNew& successor(const Then& turn) {
    for (const auto& item : turn.result().commit.orchestrator_items) {
        if (const auto* next = std::get_if<work::ContinueAsNew>(&item)) {
            return *next;
        }
    }
    throw std::logic_error{"no ContinueAsNew among the items"};
}

HistoryEvent started_by_parent() {
    auto start = started();
    auto& event = std::get<history::OrchestrationStarted>(start.kind);
    event.parent_instance = "parent";
    event.parent_id = 7;
    event.parent_execution_id = 3;
    return start;
}

TEST(ContinueAsNew, EndsTheExecutionAndNotesItsStatus) {
    const auto turn = given(started(), activity("A")).when(continue_when_told, completion(2, ""));

    turn.continues_as_new("next").then(
        {"3 ActivityCompleted <-2", "4 OrchestrationContinuedAsNew next"});
    EXPECT_EQ(turn.result().commit.metadata.status, ExecutionStatus::continued_as_new);
    EXPECT_EQ(turn.result().commit.metadata.output, "next");
}

TEST(ContinueAsNew, CanChooseTheVersion) {
    const auto turn = fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.continue_as_new_raw("next", {.version = "2.0.0"});
    });

    EXPECT_EQ(successor(turn).version, "2.0.0");
}

TEST(ContinueAsNew, OnlyContinuesItself) {
    static constexpr Orchestration<std::string(std::string)> other{"Other"};
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.continue_as_new(other, "x");
    }).fails("continue_as_new continues 'TestOrch', not 'Other'");
}

TEST(ContinueAsNew, T30_CancelsEverythingThatIsStillOpen) {
    given(started(), activity("B"), child("C", "sub::1_3"), timer(), wait("E"), activity("A"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                const auto b = ctx.call_raw("B", "");
                const auto c = ctx.call_child_raw("C", "");
                const auto t = ctx.sleep(1h);
                const auto e = ctx.wait_for_raw("E");
                co_await ctx.call_raw("A", "");
                co_return co_await ctx.continue_as_new_raw("next");
            },
            completion(6, ""))
        .continues_as_new("next")
        .cancels_activities({2})
        .cancels_timers({4})
        .sends({"CancelInstance test-instance::sub::1_3: parent ended",
                "ContinueAsNew TestOrch(next)"});
}

TEST(ContinueAsNew, T07_DetachedStartsOfTheLastTurnAreHonoured) {
    given(started(), activity("A"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_await ctx.call_raw("A", "");
                ctx.start_detached_raw("Other", "x", {.id = "other-1"});
                co_return co_await ctx.continue_as_new_raw("next");
            },
            completion(2, ""))
        .continues_as_new("next")
        .sends({"StartOrchestration Other(x) as other-1", "ContinueAsNew TestOrch(next)"});
}

TEST(ContinueAsNew, T04_TheLinkToTheParentIsKept) {
    const auto turn =
        given(started_by_parent(), activity("A")).when(continue_when_told, completion(2, ""));

    EXPECT_EQ(successor(turn).parent_instance, "parent");
    EXPECT_EQ(successor(turn).parent_id, 7u);
    EXPECT_EQ(successor(turn).parent_execution_id, 3u);
}

TEST(ContinueAsNew, T04_TheSuccessorAnswersTheExecutionThatCalled) {
    work::ContinueAsNew next{.instance = test_instance, .orchestration = "TestOrch"};
    next.parent_instance = "parent";
    next.parent_id = 7;
    next.parent_execution_id = 3;

    given()
        .as_execution(2)
        .when([](Context, std::string) -> Task<std::string> { co_return "done"; }, WorkItem{next})
        .completes("done")
        .sends({"SubOrchCompleted to parent/3#7: done"});
}

TEST(ContinueAsNew, T05_ChildrenOfTheNextExecutionGetIdsOfTheirOwn) {
    given()
        .as_execution(2)
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_return co_await ctx.call_child_raw("C", "");
            },
            WorkItem{work::ContinueAsNew{.instance = test_instance, .orchestration = "TestOrch"}})
        .sends({"StartOrchestration C() as test-instance::sub::2_2"});
}

TEST(ContinueAsNew, TheCustomStatusIsKept) {
    const auto turn = fresh([](Context ctx, std::string) -> Task<std::string> {
        ctx.set_status("halfway");
        co_return co_await ctx.continue_as_new_raw("next");
    });
    EXPECT_EQ(successor(turn).initial_custom_status, "halfway");

    given()
        .as_execution(2)
        .when([](Context ctx, std::string) -> Task<std::string> { co_return *ctx.status(); },
              WorkItem{successor(turn)})
        .completes("halfway");
}

// ---- Messages that were not read

TEST(ContinueAsNew, UnreadQueueMessagesAreCarriedOnInOrder) {
    const auto turn = given(started(), activity("A"), queued("Q", "m1"), queued("R", "r1"))
                          .when(continue_when_told, enqueue("Q", "m2"), completion(2, ""));

    EXPECT_EQ(successor(turn).carry_forward_events,
              (std::vector<CarriedMessage>{{"Q", "m1"}, {"R", "r1"}, {"Q", "m2"}}));
    given()
        .as_execution(2)
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                const auto first = co_await ctx.dequeue_raw("Q");
                const auto second = co_await ctx.dequeue_raw("Q");
                co_return first + "," + second;
            },
            WorkItem{successor(turn)})
        .completes("m1,m2");
}

// The dequeue that holds the message is dropped in the very turn that continues.
TEST(ContinueAsNew, T15_AMessageThatNobodyLookedAtIsCarriedOn) {
    const auto turn = given(started(), dequeue("Q"), activity("A"))
                          .when(
                              [](Context ctx, std::string) -> Task<std::string> {
                                  const auto unseen = ctx.dequeue_raw("Q");
                                  co_await ctx.call_raw("A", "");
                                  co_return co_await ctx.continue_as_new_raw("next");
                              },
                              enqueue("Q", "m1"),
                              completion(3, ""));

    EXPECT_EQ(successor(turn).carry_forward_events, (std::vector<CarriedMessage>{{"Q", "m1"}}));
}

TEST(ContinueAsNew, CarriesAnyNumberOfUnreadMessages) {
    std::vector<WorkItem> messages;
    std::vector<CarriedMessage> carried;
    for (int i = 0; i < 1000; ++i) {
        messages.push_back(enqueue("Q", std::to_string(i)));
        carried.push_back({.name = "Q", .data = std::to_string(i)});
    }
    messages.push_back(completion(2, ""));

    const auto turn = given(started(), activity("A")).run(continue_when_told, messages);

    turn.sends({"ContinueAsNew TestOrch(next)"});
    EXPECT_EQ(successor(turn).carry_forward_events, carried);
    EXPECT_EQ(turn.result().counters.carried, 1000u);
}

Task<std::string> wait_for_two(Context ctx, std::string) {
    const auto first = co_await ctx.wait_for_raw("E");
    const auto second = co_await ctx.wait_for_raw("E");
    co_return first + "," + second;
}

TEST(ContinueAsNew, UnreadEventsAreCarriedOnInOrder) {
    const auto turn = given(started(), activity("A"), raised("E", "e1"), raised("F", "f1"))
                          .when(continue_when_told, raise("E", "e2"), completion(2, ""));

    turn.sends({"ContinueAsNew TestOrch(next)"});
    EXPECT_EQ(successor(turn).carry_forward_raised,
              (std::vector<CarriedMessage>{{"E", "e1"}, {"F", "f1"}, {"E", "e2"}}));
    given().as_execution(2).when(wait_for_two, WorkItem{successor(turn)}).completes("e1,e2");
}

TEST(ContinueAsNew, EventsAndQueueMessagesOfOneNameDoNotMix) {
    const auto turn = given(started(), activity("A"), raised("N", "event"), queued("N", "message"))
                          .when(continue_when_told, completion(2, ""));

    given()
        .as_execution(2)
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                const auto message = co_await ctx.dequeue_raw("N");
                const auto event = co_await ctx.wait_for_raw("N");
                co_return message + "," + event;
            },
            WorkItem{successor(turn)})
        .completes("message,event");
}

TEST(ContinueAsNew, WithNothingUnreadCarriesNothing) {
    const auto turn = given(started(), activity("A")).when(continue_when_told, completion(2, ""));

    EXPECT_TRUE(successor(turn).carry_forward_events.empty());
    EXPECT_EQ(successor(turn).carry_forward_raised, std::nullopt);
    EXPECT_EQ(turn.result().counters.carried, 0u);
}

TEST(ContinueAsNew, MessagesThatComeAfterItInTheBatchAreTheNextExecutions) {
    const auto turn = given(started(), activity("A"), queued("Q", "unread"))
                          .when(continue_when_told,
                                completion(2, ""),
                                raise("E", "late"),
                                enqueue("Q", "late"),
                                completion(2, "stale"));

    turn.continues_as_new("next").sends({"ContinueAsNew TestOrch(next)"}).ignores(1);
    EXPECT_EQ(successor(turn).carry_forward_events,
              (std::vector<CarriedMessage>{{"Q", "unread"}, {"Q", "late"}}));
    EXPECT_EQ(successor(turn).carry_forward_raised, (std::vector<CarriedMessage>{{"E", "late"}}));
    EXPECT_EQ(turn.result().counters.carried, 3u);
}

// Clients sent them while the last turn ran: they stand before the successor in the queue.
TEST(ContinueAsNew, WhatIsCarriedComesBeforeMessagesThatOvertookTheSuccessor) {
    const auto turn = given(started(), activity("A"), raised("E", "e1"))
                          .when(continue_when_told, completion(2, ""));
    given()
        .as_execution(2)
        .when(wait_for_two, raise("E", "e2"), WorkItem{successor(turn)})
        .completes("e1,e2");
}

TEST(ContinueAsNew, ACancellationBehindItInTheBatchIsStillFirst) {
    given(started(), activity("A"))
        .when(continue_when_told, completion(2, ""), cancel("stop"))
        .is_cancelled("stop")
        .sends({});
}

TEST(ContinueAsNew, ACancellationThatOvertookTheSuccessorKeepsItFromRunning) {
    const auto turn = given(started(), activity("A"), raised("E", "e1"))
                          .when(continue_when_told, completion(2, ""));
    given()
        .as_execution(2)
        .when(wait_for_two, cancel("stop"), WorkItem{successor(turn)})
        .is_cancelled("stop")
        .then({"1 OrchestrationStarted TestOrch(next)",
               "2 OrchestrationCancelRequested stop",
               "3 OrchestrationFailed canceled: stop"});
}

// What continues as new at once, again and again, moves everything along.
TEST(ContinueAsNew, WhatNobodyReadsIsCarriedThroughManyExecutions) {
    const Code restless = [](Context ctx, std::string input) -> Task<std::string> {
        co_return co_await ctx.continue_as_new_raw(input);
    };
    WorkItem next = work::ContinueAsNew{.instance = test_instance, .orchestration = "TestOrch"};
    for (std::uint64_t execution = 2; execution < 12; ++execution) {
        const auto number = std::to_string(execution);
        const auto turn = given().as_execution(execution).when(
            restless, enqueue("Q", number), next, raise("E", number));
        next = successor(turn);
    }

    const auto& last = std::get<work::ContinueAsNew>(next);
    ASSERT_EQ(last.carry_forward_events.size(), 10u);
    ASSERT_EQ(last.carry_forward_raised.value().size(), 10u);
    for (std::size_t i = 0; i < 10; ++i) {
        EXPECT_EQ(last.carry_forward_events[i].data, std::to_string(i + 2));
        EXPECT_EQ(last.carry_forward_raised.value()[i].data, std::to_string(i + 2));
    }
}

TEST(ContinueAsNew, AnswersForTheOldExecutionMeanNothingToTheNext) {
    given(started(), activity("A"))
        .as_execution(2)
        .when(continue_when_told, completion(2, "stale", 1))
        .runs_on()
        .ignores(1);
}

// A client's start is queued before the successor's: it must not begin the instance anew.
TEST(ContinueAsNew, T18_AStartThatOvertakesTheSuccessorIsIgnored) {
    given()
        .as_execution(2)
        .when([](Context, std::string input) -> Task<std::string> { co_return input; },
              start_message("from a client"),
              WorkItem{work::ContinueAsNew{
                  .instance = test_instance, .orchestration = "TestOrch", .input = "next"}})
        .completes("next")
        .ignores(1);
}

TEST(SecondStart, T18_ChangesNothingOfARunningInstance) {
    given(started(), activity("A"))
        .when(continue_when_told, start_message("other input"))
        .runs_on()
        .then({})
        .sends({})
        .ignores(1);
}

TEST(SecondStart, T05_AParentThatCollidesWithAnInstanceIsTold) {
    given(started(), activity("A"))
        .when(continue_when_told,
              WorkItem{work::StartOrchestration{.instance = test_instance,
                                                .orchestration = "TestOrch",
                                                .parent_instance = "somebody",
                                                .parent_id = 4,
                                                .parent_execution_id = 2}})
        .sends({"SubOrchFailed to somebody/2#4: instance 'test-instance' already exists"});
}

TEST(SecondStart, OfTheSameParentIsARepetition) {
    given(started_by_parent(), activity("A"))
        .when(continue_when_told,
              WorkItem{work::StartOrchestration{.instance = test_instance,
                                                .orchestration = "TestOrch",
                                                .parent_instance = "parent",
                                                .parent_id = 7,
                                                .parent_execution_id = 3}})
        .sends({})
        .ignores(1);
}

} // namespace

} // namespace durable::replay_test::continue_as_new_test
