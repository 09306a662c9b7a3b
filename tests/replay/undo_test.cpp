// Calls that a cancellation waits for, and calls with an undo: nothing that has begun is forgotten.

#include "replay/fixture.hpp"

#include <gtest/gtest.h>

namespace durable::replay_test::undo_test {

namespace {

HistoryEvent waited_for(std::string name, std::string input = "") {
    return event(history::ActivityScheduled{
        .name = std::move(name), .input = std::move(input), .on_cancel = "wait"});
}

HistoryEvent undoable(std::string name, std::string input = "") {
    return event(history::ActivityScheduled{
        .name = std::move(name), .input = std::move(input), .on_cancel = "wait", .undo = "Refund"});
}

const std::string refund_r1 =
    R"({"input":"7","outcome":"succeeded","result":"r-1","idempotency_key":"test-instance/1/2"})";
const std::string refund_failed =
    R"({"input":"7","outcome":"failed","idempotency_key":"test-instance/1/2"})";
const std::string refund_unknown =
    R"({"input":"7","outcome":"unknown","idempotency_key":"test-instance/1/2"})";

Task<std::string> order(Context ctx, std::string) {
    const auto receipt = co_await ctx.call_undoable_raw("Charge", "7", "Refund");
    co_return co_await ctx.call_raw("Ship", receipt);
}

// ---- The call that a cancellation waits for

Task<std::string> order_the_old_way(Context ctx, std::string) {
    const auto receipt = co_await ctx.call_raw("Charge", "7", {.on_cancel = CancelPolicy::wait});
    ctx.on_failure_raw("Refund", receipt);
    co_return co_await ctx.call_raw("Ship", receipt);
}

TEST(CancelPolicy, WaitIsRecorded) {
    fresh(order_the_old_way)
        .then({"1 OrchestrationStarted TestOrch(test-input)",
               "2 ActivityScheduled Charge(7) on_cancel=wait"});
}

// U4
TEST(CancelPolicy, ACancellationWaitsForTheCallAndTheCodeSeesItsResult) {
    given(started(), waited_for("Charge", "7"))
        .when(order_the_old_way, cancel("stop"))
        .runs_on()
        .then({"3 OrchestrationCancelRequested stop"})
        .cancels_activities({});
    // What the code makes from now on is recorded, but never begins.
    given(started(), waited_for("Charge", "7"), cancel_requested("stop"))
        .when(order_the_old_way, completion(2, "r-1"))
        .runs_on()
        .then({"4 ActivityCompleted <-2 r-1",
               "5 ActivityScheduled Ship(r-1)",
               "6 ActivityCancelRequested <-5 orchestration_terminal_cancelled",
               "7 ActivityScheduled Refund(r-1)"})
        .gives_to_workers({"ActivityExecute#7 Refund(r-1)"})
        .cancels_activities({});
}

TEST(CancelPolicy, ACancellationThatCameFirstAlsoWaitsWhereTheAnswerIsInItsBatch) {
    given(started(), waited_for("Charge", "7"))
        .when(order_the_old_way, completion(2, "r-1"), cancel("stop"), completion(7, ""))
        .is_cancelled("stop");
}

TEST(CancelPolicy, OnceACancellationWasAskedForTheOrchestrationEndsCancelled) {
    given(started(), waited_for("Charge", "7"), cancel_requested("stop"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_return co_await ctx.call_raw("Charge", "7", {.on_cancel = CancelPolicy::wait});
            },
            completion(2, "r-1"))
        .is_cancelled("stop");
}

TEST(CancelPolicy, ACancellationWaitsForAllAttemptsOfTheCall) {
    const Code code = [](Context ctx, std::string) -> Task<std::string> {
        const RetryPolicy retry{.max_attempts = 3, .backoff = Backoff::fixed, .first_delay = 10s};
        co_return co_await ctx.call_raw(
            "Charge", "7", {.retry = retry, .on_cancel = CancelPolicy::wait});
    };
    given(started(), waited_for("Charge", "7"), cancel_requested("stop"))
        .when(code, failure(2, application("busy")))
        .runs_on()
        .then({"4 ActivityFailed <-2 busy", "5 TimerCreated"})
        .sends({"TimerFired#5"});
    given(
        started(), waited_for("Charge", "7"), cancel_requested("stop"), failed(2, "busy"), timer())
        .when(code, timer_fires(5))
        .runs_on()
        .gives_to_workers({"ActivityExecute#7 Charge(7)"});
}

TEST(CancelPolicy, ACallThatIsDroppedIsLeftAlone) {
    const Code code = [](Context ctx, std::string) -> Task<std::string> {
        auto call = ctx.call_raw("Charge", "7", {.on_cancel = CancelPolicy::wait});
        const auto answer = co_await ctx.within(60s, std::move(call));
        co_await ctx.call_raw("Ship", "");
        co_return answer ? *answer : "late";
    };
    given(started(), waited_for("Charge", "7"), timer())
        .when(code, timer_fires(3))
        .then({"4 TimerFired <-3", "5 ActivityScheduled Ship()"})
        .cancels_activities({});
    given(started(), waited_for("Charge", "7"), timer(), fired(3), activity("Ship"))
        .when(code, cancel("stop"))
        .runs_on(); // a cancellation waits for it all the same
    given(started(), waited_for("Charge", "7"), timer(), fired(3), activity("Ship"))
        .when(code, completion(5, ""))
        .completes("late"); // an end does not
}

TEST(CancelPolicy, ThatIsNoneIsRefused) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_raw("A", "", {.on_cancel = static_cast<CancelPolicy>(9)});
    }).fails("activity 'A': on_cancel is none of its values: 9");
}

// ---- Undo

TEST(Undo, IsRecordedWithItsCall) {
    fresh(order).then({"1 OrchestrationStarted TestOrch(test-input)",
                       "2 ActivityScheduled Charge(7) on_cancel=wait undo=Refund"});
}

TEST(Undo, IsNotNeededWhenAllWentWell) {
    given(started(), undoable("Charge", "7"), completed(2, "r-1"), activity("Ship", "r-1"))
        .when(order, completion(4, "parcel"))
        .completes("parcel");
}

// U4
TEST(Undo, RunsWithTheResultWhenACancellationCameWhileTheCallRan) {
    given(started(), undoable("Charge", "7")).when(order, cancel("stop")).runs_on();
    given(started(), undoable("Charge", "7"), cancel_requested("stop"))
        .when(order, completion(2, "r-1"), completion(7, ""))
        .is_cancelled("stop")
        .then({"4 ActivityCompleted <-2 r-1",
               "5 ActivityScheduled Ship(r-1)",
               "6 ActivityCancelRequested <-5 orchestration_terminal_cancelled",
               "7 ActivityScheduled Refund(" + refund_r1 + ")",
               "8 ActivityCompleted <-7",
               "9 OrchestrationFailed canceled: stop"});
}

TEST(Undo, RunsWithTheResultWhenALaterStepFails) {
    given(started(), undoable("Charge", "7"), completed(2, "r-1"), activity("Ship", "r-1"))
        .when(order, failure(4, application("no truck")), completion(6, ""))
        .fails("no truck")
        .then({"5 ActivityFailed <-4 no truck",
               "6 ActivityScheduled Refund(" + refund_r1 + ")",
               "7 ActivityCompleted <-6",
               "8 OrchestrationFailed no truck"});
}

TEST(Undo, RunsWithoutAResultWhenTheCallFailed) {
    given(started(), undoable("Charge", "7"))
        .when(order, failure(2, application("broken line")))
        .then({"3 ActivityFailed <-2 broken line",
               "4 ActivityScheduled Refund(" + refund_failed + ")"});
}

TEST(Undo, IsToldThatTheOutcomeIsUnknownWhenTheActivityKilledItsProcesses) {
    given(started(), undoable("Charge", "7"))
        .when(order, failure(2, details::Poison{.permanent = true}))
        .gives_to_workers({"ActivityExecute#4 Refund(" + refund_unknown + ")"});
}

TEST(Undo, OfACallThatMayBeStoppedRunsAtOnceAndIsToldThatTheOutcomeIsUnknown) {
    const Code code = [](Context ctx, std::string) -> Task<std::string> {
        const CallOptions options{.on_cancel = CancelPolicy::stop};
        co_return co_await ctx.call_undoable_raw("Charge", "7", "Refund", options);
    };
    given(started(),
          event(history::ActivityScheduled{.name = "Charge", .input = "7", .undo = "Refund"}))
        .when(code, cancel("stop"), completion(5, ""))
        .is_cancelled("stop")
        .then({"3 OrchestrationCancelRequested stop",
               "4 ActivityCancelRequested <-2 orchestration_terminal_cancelled",
               "5 ActivityScheduled Refund(" + refund_unknown + ")",
               "6 ActivityCompleted <-5",
               "7 OrchestrationFailed canceled: stop"})
        .cancels_activities({2});
}

TEST(Undo, AfterATimeoutIsToldThatTheOutcomeIsUnknown) {
    const Code code = [](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_undoable_raw("Charge", "7", "Refund", {.timeout = 60s});
    };
    given(started(), undoable("Charge", "7"), timer())
        .when(code, timer_fires(3), completion(6, ""))
        .fails("activity 'Charge' failed: timeout: activity timed out")
        .then({"4 TimerFired <-3",
               "5 ActivityCancelRequested <-2 dropped_future",
               "6 ActivityScheduled Refund(" + refund_unknown + ")",
               "7 ActivityCompleted <-6",
               "8 OrchestrationFailed activity 'Charge' failed: timeout: activity timed out"});
}

Task<std::string> charge_in_time(Context ctx, std::string) {
    auto call = ctx.call_undoable_raw("Charge", "7", "Refund");
    const auto receipt = co_await ctx.within(60s, std::move(call));
    co_return receipt ? *receipt : "late";
}

TEST(Undo, OfACallThatWasDroppedRunsWhenItHasEndedAndTheEndWaitsForIt) {
    given(started(), undoable("Charge", "7"), timer())
        .when(charge_in_time, timer_fires(3))
        .runs_on()
        .then({"4 TimerFired <-3"})
        .cancels_activities({});
    given(started(), undoable("Charge", "7"), timer(), fired(3))
        .when(charge_in_time, completion(2, "r-1"))
        .runs_on()
        .then({"5 ActivityCompleted <-2 r-1",
               "6 ActivityScheduled Refund(" + refund_r1 + ") on_cancel=wait"});
    given(started(),
          undoable("Charge", "7"),
          timer(),
          fired(3),
          completed(2, "r-1"),
          waited_for("Refund", refund_r1))
        .when(charge_in_time, completion(6, ""))
        .completes("late");
}

TEST(Undo, OfACallThatWasDroppedRunsBesideTheCode) {
    const Code code = [](Context ctx, std::string) -> Task<std::string> {
        auto call = ctx.call_undoable_raw("Charge", "7", "Refund");
        const auto receipt = co_await ctx.within(60s, std::move(call));
        co_return co_await ctx.wait_for_raw("Approval");
    };
    given(started(), undoable("Charge", "7"), timer(), fired(3), wait("Approval"))
        .when(code, completion(2, "r-1"))
        .then({"6 ActivityCompleted <-2 r-1",
               "7 ActivityScheduled Refund(" + refund_r1 + ") on_cancel=wait"});
    given(started(),
          undoable("Charge", "7"),
          timer(),
          fired(3),
          wait("Approval"),
          completed(2, "r-1"),
          waited_for("Refund", refund_r1))
        .when(code, raise("Approval", "yes"))
        .runs_on()
        .then({"8 ExternalEvent Approval=yes"});
    given(started(),
          undoable("Charge", "7"),
          timer(),
          fired(3),
          wait("Approval"),
          completed(2, "r-1"),
          waited_for("Refund", refund_r1))
        .when(code, cancel("stop"), completion(7, ""))
        .is_cancelled("stop"); // it is undone once
}

// Two answers in one batch: when the first has won, the second is already there, and is undone.
TEST(Undo, OfACallWhoseResultTheCodeNeverTookRuns) {
    const Code code = [](Context ctx, std::string) -> Task<std::string> {
        auto first =
            co_await race{ctx.call_raw("Free", ""), ctx.call_undoable_raw("Charge", "7", "Refund")};
        co_return first.index() == 0 ? "free" : "charged";
    };
    given(started(), activity("Free"), undoable("Charge", "7"))
        .when(code, completion(2, ""), completion(3, "r-1"), completion(6, ""))
        .completes("free");
}

TEST(Undo, RunsBeforeTheNextExecutionBegins) {
    const Code code = [](Context ctx, std::string) -> Task<std::string> {
        auto call = ctx.call_undoable_raw("Charge", "7", "Refund");
        co_return co_await ctx.continue_as_new_raw("again");
    };
    given(started(), undoable("Charge", "7"))
        .when(code, completion(2, "r-1"))
        .runs_on()
        .gives_to_workers({"ActivityExecute#4 Refund(" + refund_r1 + ")"});
    given(started(), undoable("Charge", "7"), completed(2, "r-1"), waited_for("Refund", refund_r1))
        .when(code, completion(4, ""))
        .continues_as_new("again");
    given(started(), undoable("Charge", "7"))
        .when(code, cancel("stop"), completion(2, "r-1"), completion(5, ""))
        .is_cancelled("stop"); // and it does not begin
}

TEST(Undo, RunsInOneOrderWithOtherCompensationsNewestFirst) {
    const Code code = [](Context ctx, std::string) -> Task<std::string> {
        ctx.on_failure_raw("First", "");
        const auto receipt = co_await ctx.call_undoable_raw("Charge", "7", "Refund");
        ctx.on_failure_raw("Last", receipt);
        throw OperationFailed{{.message = "no"}};
    };
    given(started(), undoable("Charge", "7"))
        .when(code,
              completion(2, "r-1"),
              completion(4, ""),
              failure(6, application("bank closed")),
              completion(8, ""))
        .fails("no; compensation 'Refund' failed: bank closed")
        .then({"3 ActivityCompleted <-2 r-1",
               "4 ActivityScheduled Last(r-1)",
               "5 ActivityCompleted <-4",
               "6 ActivityScheduled Refund(" + refund_r1 + ")",
               "7 ActivityFailed <-6 bank closed",
               "8 ActivityScheduled First()",
               "9 ActivityCompleted <-8",
               "10 OrchestrationFailed no; compensation 'Refund' failed: bank closed"});
}

// Code that has an undo now, or waits now, goes on with what it did when it had none.
TEST(Undo, AddedLaterChangesNothingForCallsThatWereMadeBefore) {
    given(started(), activity("Charge", "7"))
        .when(order, cancel("stop"))
        .is_cancelled("stop")
        .then({"3 OrchestrationCancelRequested stop",
               "4 ActivityCancelRequested <-2 orchestration_terminal_cancelled",
               "5 OrchestrationFailed canceled: stop"});
}

TEST(Undo, WithABadNameOrOptionsIsRefusedBeforeTheCallBegins) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_undoable_raw("Charge", "", "no name");
    })
        .fails("compensation 'no name': a durable name consists of letters, digits, '_', '-', '.' "
               "and ':': 'no name'")
        .gives_to_workers({});
}

TEST(Undo, OfAnOperationInAGlobalIsHarmless) {
    static std::optional<Operation<std::string>> kept;
    const Code code = [](Context ctx, std::string) -> Task<std::string> {
        kept.emplace(ctx.call_undoable_raw("Charge", "7", "Refund"));
        co_return co_await ctx.call_raw("Ship", "");
    };
    given(started(), undoable("Charge", "7"), activity("Ship"))
        .when(code, completion(2, "r-1"), completion(3, ""))
        .runs_on(); // it is undone first
    kept.reset();
}

} // namespace

} // namespace durable::replay_test::undo_test
