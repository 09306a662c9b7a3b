// The first turn of an execution: what an orchestration asks for becomes history and work.

#include "replay/fixture.hpp"

#include <gtest/gtest.h>

namespace durable::replay_test {

namespace {

Task<std::string> greet(Context ctx, std::string) {
    co_return co_await ctx.call_raw("Greet", "Alice");
}

TEST(FreshExecution, CompletesWhenTheCodeReturnsAtOnce) {
    const auto turn =
        fresh([](Context, std::string input) -> Task<std::string> { co_return "got " + input; });

    turn.completes("got test-input")
        .then({"1 OrchestrationStarted TestOrch(test-input)",
               "2 OrchestrationCompleted got test-input"})
        .gives_to_workers({})
        .sends({});
}

TEST(FreshExecution, FailsWhenTheCodeThrowsAFailure) {
    fresh([](Context, std::string) -> Task<std::string> {
        throw OperationFailed{Failure{.kind = "Declined", .message = "failure"}};
        co_return "";
    })
        .fails("failure")
        .then({"1 OrchestrationStarted TestOrch(test-input)", "2 OrchestrationFailed failure"});
}

TEST(FreshExecution, RecordsAnActivityAndHandsItToWorkers) {
    fresh(greet)
        .runs_on()
        .then({"1 OrchestrationStarted TestOrch(test-input)", "2 ActivityScheduled Greet(Alice)"})
        .gives_to_workers({"ActivityExecute#2 Greet(Alice)"});
}

TEST(FreshExecution, RecordsATimerAndQueuesItsFiring) {
    const auto turn = fresh([](Context ctx, std::string) -> Task<std::string> {
        co_await ctx.sleep(60s);
        co_return "timer_done";
    });

    turn.runs_on().sends({"TimerFired#2"});
    const auto& created = std::get<history::TimerCreated>(turn.delta().at(1).kind);
    EXPECT_EQ(created.fire_at_ms, turn.delta().at(0).timestamp_ms + 60'000);
}

} // namespace

} // namespace durable::replay_test
