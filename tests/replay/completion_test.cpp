// Answers to steps: delivered by a message in this turn, or found in the history.

#include "replay/fixture.hpp"

#include <gtest/gtest.h>

namespace durable::replay_test::completion_test {

namespace {

Task<std::string> greet(Context ctx, std::string) {
    co_return co_await ctx.call_raw("Greet", "Alice");
}

Task<std::string> sleep_a_minute(Context ctx, std::string) {
    co_await ctx.sleep(60s);
    co_return "timer_done";
}

Task<std::string> wait_for_approval(Context ctx, std::string) {
    co_return co_await ctx.wait_for_raw("Approval");
}

Task<std::string> call_child(Context ctx, std::string) {
    co_return co_await ctx.call_child_raw("Child", "in");
}

Task<std::string> two_activities(Context ctx, std::string) {
    const auto first = co_await ctx.call_raw("A1", "");
    const auto second = co_await ctx.call_raw("A2", "");
    co_return first + "," + second;
}

Task<std::string> same_activity_around_a_timer(Context ctx, std::string) {
    const auto first = co_await ctx.call_raw("A", "x");
    co_await ctx.sleep(1s);
    const auto second = co_await ctx.call_raw("A", "x");
    co_return first + "," + second;
}

TEST(Completion, OfAnActivityIsItsResult) {
    given(started(), activity("Greet", "Alice"))
        .when(greet, completion(2, "Hello, Alice!"))
        .completes("Hello, Alice!")
        .then({"3 ActivityCompleted <-2 Hello, Alice!", "4 OrchestrationCompleted Hello, Alice!"})
        .gives_to_workers({});
}

TEST(Completion, OfAFailedActivityIsThrown) {
    given(started(), activity("Greet", "Alice"))
        .when(greet, failure(2, application("no voice")))
        .fails("no voice")
        .then({"3 ActivityFailed <-2 no voice", "4 OrchestrationFailed no voice"});
}

TEST(Completion, OfATimerLetsTheSleeperGoOn) {
    given(started(), timer())
        .when(sleep_a_minute, timer_fires(2))
        .completes("timer_done")
        .then({"3 TimerFired <-2", "4 OrchestrationCompleted timer_done"});
}

TEST(Completion, OfAWaitIsTheDataThatWasRaised) {
    given(started(), wait("Approval"))
        .when(wait_for_approval, raise("Approval", "approved-data"))
        .completes("approved-data")
        .then({"3 ExternalEvent Approval=approved-data", "4 OrchestrationCompleted approved-data"});
}

TEST(Completion, OfAChildIsItsResult) {
    given(started(), child("Child", "sub::1_2", "in"))
        .when(call_child, child_answers(2, "child-result"))
        .completes("child-result")
        .then({"3 SubOrchestrationCompleted <-2 child-result",
               "4 OrchestrationCompleted child-result"});
}

// A history that ends with an open step is where the execution waits.

TEST(OpenStep, OfAnActivityIsWaitedForAndNotScheduledAgain) {
    given(started(), activity("Greet", "Alice"))
        .when(greet)
        .runs_on()
        .then({})
        .gives_to_workers({});
}
TEST(OpenStep, OfATimerIsWaitedForAndNotScheduledAgain) {
    given(started(), timer()).when(sleep_a_minute).runs_on().then({}).sends({});
}
TEST(OpenStep, OfAWaitStaysOpen) {
    given(started(), wait("Approval")).when(wait_for_approval).runs_on().then({});
}
TEST(OpenStep, OfAChildIsWaitedForAndNotStartedAgain) {
    given(started(), child("Child", "sub::1_2", "in"))
        .when(call_child)
        .runs_on()
        .then({})
        .sends({});
}

TEST(Progress, TheSecondActivityIsScheduledWhenTheFirstIsDone) {
    given(started(), activity("A1"))
        .when(two_activities, completion(2, "r1"))
        .runs_on()
        .then({"3 ActivityCompleted <-2 r1", "4 ActivityScheduled A2()"})
        .gives_to_workers({"ActivityExecute#4 A2()"});
}

TEST(Progress, BothResultsAreThereAtTheEnd) {
    given(started(), activity("A1"), completed(2, "r1"), activity("A2"))
        .when(two_activities, completion(4, "r2"))
        .completes("r1,r2");
}

TEST(Progress, ResultsOfEqualCallsGoToTheCallThatAskedForThem) {
    given(started(), activity("A", "x"), activity("A", "x"), completed(3, "R2"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto first = ctx.call_raw("A", "x");
                auto second = ctx.call_raw("A", "x");
                const auto one = co_await first;
                const auto two = co_await second;
                co_return one + "," + two;
            },
            completion(2, "R1"))
        .completes("R1,R2");
}

TEST(Progress, EqualCallsAreRoutedRightlyAcrossRestarts) {
    const auto one = fresh(same_activity_around_a_timer);
    one.then({"1 OrchestrationStarted TestOrch(test-input)", "2 ActivityScheduled A(x)"});

    given(started(), activity("A", "x"))
        .when(same_activity_around_a_timer, completion(2, "R1"))
        .then({"3 ActivityCompleted <-2 R1", "4 TimerCreated"});

    given(started(), activity("A", "x"), completed(2, "R1"), timer())
        .when(same_activity_around_a_timer, timer_fires(4))
        .then({"5 TimerFired <-4", "6 ActivityScheduled A(x)"});

    given(started(), activity("A", "x"), completed(2, "R1"), timer(), fired(4), activity("A", "x"))
        .when(same_activity_around_a_timer, completion(6, "R2"))
        .completes("R1,R2");
}

TEST(Progress, ATimerFollowsAnActivity) {
    given(started(), activity("A", "x"))
        .when(same_activity_around_a_timer, completion(2, "R1"))
        .runs_on()
        .sends({"TimerFired#4"});
}

TEST(Progress, AnActivityFollowsATimer) {
    given(started(), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_await ctx.sleep(1s);
                co_return co_await ctx.call_raw("A", "");
            },
            timer_fires(2))
        .runs_on()
        .gives_to_workers({"ActivityExecute#4 A()"});
}

TEST(Progress, TenActivitiesInARowAreReplayed) {
    std::vector<HistoryEvent> history{started()};
    for (std::uint64_t i = 0; i < 9; ++i) {
        history.push_back(activity("Step", std::to_string(i)));
        history.push_back(completed(2 + 2 * i, "r" + std::to_string(i)));
    }
    history.push_back(activity("Step", "9"));

    Given{history}
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                std::string all;
                for (int i = 0; i < 10; ++i) {
                    all += co_await ctx.call_raw("Step", std::to_string(i));
                }
                co_return all;
            },
            completion(20, "r9"))
        .completes("r0r1r2r3r4r5r6r7r8r9");
}

// Messages are facts about the world: each becomes one event, unless it says nothing new.

TEST(Message, BecomesOneEvent) {
    given(started(), activity("Greet", "Alice"), activity("Other"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto [a, b] =
                    co_await all{ctx.call_raw("Greet", "Alice"), ctx.call_raw("Other", "")};
                co_return a + b;
            },
            completion(2, "result"))
        .runs_on()
        .then({"4 ActivityCompleted <-2 result"});
}

TEST(Message, ThatAnswersAStepASecondTimeIsIgnored) {
    given(started(), activity("A1"), completed(2, "r1"), activity("A2"))
        .when(two_activities, completion(2, "again"))
        .runs_on()
        .then({})
        .ignores(1);
}

TEST(Message, ThatAnswersAStepTwiceInOneBatchCountsOnce) {
    given(started(), activity("A1"))
        .when(two_activities, completion(2, "first"), completion(2, "second"))
        .runs_on()
        .then({"3 ActivityCompleted <-2 first", "4 ActivityScheduled A2()"})
        .ignores(1);
}

TEST(Message, T12_AFailureAfterACompletionIsADuplicateToo) {
    given(started(), activity("A1"), completed(2, "r1"), activity("A2"))
        .when(two_activities, failure(2, application("late")))
        .runs_on()
        .then({})
        .ignores(1);
}

TEST(Message, T12_ACompletionAfterAFailureIsADuplicateToo) {
    const Code tolerant = [](Context ctx, std::string) -> Task<std::string> {
        const auto first = co_await ctx.call_raw("A1", "").as_result();
        co_return co_await ctx.call_raw("A2", first ? "ok" : "failed");
    };

    given(started(), activity("A1"), failed(2, "broken"), activity("A2", "failed"))
        .when(tolerant, completion(2, "late"), failure(2, application("again")))
        .runs_on()
        .then({})
        .ignores(2);
}

TEST(Message, OfAnotherExecutionIsIgnored) {
    given(started(), activity("A1"))
        .when(two_activities, completion(2, "r1", 999))
        .runs_on()
        .then({})
        .ignores(1);
}

TEST(Message, FromOutsideIsRecordedEvenIfNobodyWaits) {
    given(started(), activity("A1"))
        .when(two_activities, raise("Approval", "early"))
        .runs_on()
        .then({"3 ExternalEvent Approval=early"});
}

TEST(Message, SeveralInOneBatchAreProcessedInOrder) {
    given(started(), activity("A"), activity("B"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto [a, b] = co_await all{ctx.call_raw("A", ""), ctx.call_raw("B", "")};
                co_return a + b;
            },
            completion(3, "b"),
            completion(2, "a"))
        .completes("ab")
        .then({"4 ActivityCompleted <-3 b",
               "5 ActivityCompleted <-2 a",
               "6 OrchestrationCompleted ab"});
}

TEST(Message, EqualOnesFromOutsideAreDistinct) {
    given(started(), activity("A1"))
        .when(two_activities, raise("E", "same"), raise("E", "same"))
        .then({"3 ExternalEvent E=same", "4 ExternalEvent E=same"});
}

TEST(Message, EqualToOneInTheHistoryIsDistinct) {
    given(started(), activity("A1"), raised("E", "same"))
        .when(two_activities, raise("E", "same"))
        .then({"4 ExternalEvent E=same"});
}

} // namespace

} // namespace durable::replay_test::completion_test
