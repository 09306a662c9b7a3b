// The first turn of an execution: what an orchestration asks for becomes history and work.

#include "replay/fixture.hpp"

#include <gtest/gtest.h>

namespace durable::replay_test::fresh_execution_test {

namespace {

const std::string started_line = "1 OrchestrationStarted TestOrch(test-input)";

TEST(FreshExecution, CompletesWhenTheCodeReturnsAtOnce) {
    fresh([](Context, std::string input) -> Task<std::string> { co_return "got " + input; })
        .completes("got test-input")
        .then({started_line, "2 OrchestrationCompleted got test-input"})
        .gives_to_workers({})
        .sends({});
}

TEST(FreshExecution, FailsWhenTheCodeThrowsAFailure) {
    fresh([](Context, std::string) -> Task<std::string> {
        throw OperationFailed{Failure{.kind = "Declined", .message = "failure"}};
        co_return "";
    })
        .fails("failure")
        .then({started_line, "2 OrchestrationFailed failure"})
        .gives_to_workers({});
}

TEST(FreshExecution, RecordsAnActivityAndHandsItToWorkers) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_raw("Greet", "Alice");
    })
        .runs_on()
        .then({started_line, "2 ActivityScheduled Greet(Alice)"})
        .gives_to_workers({"ActivityExecute#2 Greet(Alice)"});
}

TEST(FreshExecution, TellsTheWorkerWhichOrchestrationCalls) {
    const auto turn = fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_raw("Greet", "Alice");
    });

    const auto& item = std::get<work::ActivityExecute>(turn.result().commit.worker_items.at(0));
    EXPECT_EQ(item.instance, test_instance);
    EXPECT_EQ(item.execution_id, 1u);
    EXPECT_EQ(item.orchestration, "TestOrch");
    EXPECT_EQ(item.orchestration_version, "1.0.0");
}

TEST(FreshExecution, RecordsATimerAndQueuesItsFiring) {
    const auto turn = fresh([](Context ctx, std::string) -> Task<std::string> {
        co_await ctx.sleep(60s);
        co_return "timer_done";
    });

    turn.runs_on().sends({"TimerFired#2"});
    const auto& created = std::get<history::TimerCreated>(turn.delta().at(1).kind);
    EXPECT_EQ(created.fire_at_ms, turn.delta().at(0).timestamp_ms + 60'000);
    const auto& item = turn.result().commit.orchestrator_items.at(0);
    EXPECT_EQ(std::get<work::TimerFired>(item).fire_at_ms, created.fire_at_ms);
}

TEST(FreshExecution, RecordsAWaitForAnEvent) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.wait_for_raw("Approval");
    })
        .runs_on()
        .then({started_line, "2 ExternalSubscribed Approval"})
        .sends({});
}

TEST(FreshExecution, RecordsAChildAndStartsItWithALinkToItsParent) {
    const auto turn = fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_child_raw("Child", "child-input");
    });

    turn.runs_on()
        .then({started_line, "2 SubOrchestrationScheduled Child(child-input) as sub::1_2"})
        .sends({"StartOrchestration Child(child-input) as test-instance::sub::1_2"});
    const auto& start =
        std::get<work::StartOrchestration>(turn.result().commit.orchestrator_items.at(0));
    EXPECT_EQ(start.parent_instance, test_instance);
    EXPECT_EQ(start.parent_id, 2u);
    EXPECT_EQ(start.parent_execution_id, 1u);
}

TEST(FreshExecution, ContinuesAsNew) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.continue_as_new_raw("new-input");
    })
        .continues_as_new("new-input")
        .then({started_line, "2 OrchestrationContinuedAsNew new-input"})
        .sends({"ContinueAsNew TestOrch(new-input)"});
}

TEST(FreshExecution, ContinuesAsNewAfterDroppingAChild) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        ctx.call_child_raw("Child", "x").cancel();
        co_return co_await ctx.continue_as_new_raw("new-input");
    })
        .continues_as_new("new-input")
        .then({started_line,
               "2 SubOrchestrationScheduled Child(x) as sub::1_2",
               "3 SubOrchestrationCancelRequested <-2 dropped_future",
               "4 OrchestrationContinuedAsNew new-input"})
        .sends({"StartOrchestration Child(x) as test-instance::sub::1_2",
                "CancelInstance test-instance::sub::1_2: parent dropped sub-orchestration future",
                "ContinueAsNew TestOrch(new-input)"});
}

TEST(FreshExecution, CancelsWhatWasScheduledAndNotAwaited) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        const auto a = ctx.call_raw("A", "");
        const auto b = ctx.call_raw("B", "");
        const auto c = ctx.call_raw("C", "");
        co_return "done";
    })
        .completes("done")
        .then({started_line,
               "2 ActivityScheduled A()",
               "3 ActivityScheduled B()",
               "4 ActivityScheduled C()",
               "5 ActivityCancelRequested <-2 dropped_future",
               "6 ActivityCancelRequested <-3 dropped_future",
               "7 ActivityCancelRequested <-4 dropped_future",
               "8 OrchestrationCompleted done"})
        .cancels_activities({2, 3, 4});
}

TEST(FreshExecution, StoresWhatTheStoreNeedsToKnowAboutTheInstance) {
    const auto turn = fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_raw("A", "");
    });

    const auto& metadata = turn.result().commit.metadata;
    EXPECT_EQ(metadata.orchestration_name, "TestOrch");
    EXPECT_EQ(metadata.orchestration_version, "1.0.0");
    EXPECT_EQ(metadata.pinned_version, engine_version());
    EXPECT_EQ(metadata.status, std::nullopt);
}

TEST(FreshExecution, RunsAnOrchestrationWithoutInput) {
    constexpr Orchestration<int()> answer{"Answer"};
    Registry registry;
    registry.add(answer, [](Context) -> Task<int> { co_return 42; });
    const auto execution = replay::Execution::create(
        {.handler = registry.find_orchestration("Answer"), .instance = "i"});

    const std::vector<WorkItem> messages{
        work::StartOrchestration{.instance = "i", .orchestration = "Answer", .input = "null"}};
    const auto result = execution->run(messages, from_epoch_ms(start_ms));

    EXPECT_EQ(result.status, TurnStatus::completed);
    EXPECT_EQ(result.output, "42");
}

TEST(FreshExecution, FailsWhenTheInputDoesNotFitTheOrchestration) {
    constexpr Orchestration<int(int)> twice{"Twice"};
    Registry registry;
    registry.add(twice, [](Context, int n) -> Task<int> { co_return 2 * n; });
    const auto execution = replay::Execution::create(
        {.handler = registry.find_orchestration("Twice"), .instance = "i"});

    const std::vector<WorkItem> messages{
        work::StartOrchestration{.instance = "i", .orchestration = "Twice", .input = "x"}};
    const auto result = execution->run(messages, from_epoch_ms(start_ms));

    EXPECT_EQ(result.status, TurnStatus::failed);
    EXPECT_EQ(result.output, "cannot read the payload: expected a number in range, found 'x'");
}

} // namespace

} // namespace durable::replay_test::fresh_execution_test
