// Ending an execution without its code: what is under way is cancelled and the parent is told.

#include "replay/end_execution.hpp"
#include "replay/fixture.hpp"

#include <gtest/gtest.h>

namespace durable::replay_test::end_execution_test {

namespace {

ErrorDetails poison() {
    return details::Poison{.attempt_count = 11, .max_attempts = 10, .instance = test_instance};
}

const std::string poison_text = "poison: orchestration test-instance exceeded 10 attempts";

std::vector<HistoryEvent> numbered(std::vector<HistoryEvent> history) {
    std::uint64_t id = 0;
    for (auto& event : history) {
        event.event_id = ++id;
    }
    return history;
}

Then fail(const std::vector<HistoryEvent>& history, const WorkItem* start = nullptr) {
    return Then{replay::fail_execution({.instance = test_instance,
                                        .execution_id = 1,
                                        .history = history,
                                        .start = start,
                                        .details = poison(),
                                        .now = from_epoch_ms(start_ms + 1)})};
}

TEST(FailExecution, T30_CancelsWhatTheHistoryLeftOpen) {
    fail(numbered({started(),
                   activity("Open"),
                   activity("Done"),
                   timer(),
                   wait("E"),
                   dequeue("Q"),
                   child("C", "sub::1_7"),
                   child("D", "explicit"),
                   completed(3),
                   activity("Dropped"),
                   activity_cancelled(10)}))
        .fails(poison_text)
        .then({"12 ActivityCancelRequested <-2 orchestration_terminal_failed",
               "13 TimerCancelRequested <-4 orchestration_terminal_failed",
               "14 ExternalSubscribedCancelled <-5 orchestration_terminal_failed",
               "15 ExternalSubscribedPersistentCancelled <-6 orchestration_terminal_failed",
               "16 SubOrchestrationCancelRequested <-7 orchestration_terminal_failed",
               "17 SubOrchestrationCancelRequested <-8 orchestration_terminal_failed",
               "18 OrchestrationFailed " + poison_text})
        .cancels_activities({2})
        .cancels_timers({4})
        .sends({"CancelInstance test-instance::sub::1_7: parent ended",
                "CancelInstance explicit: parent ended"});
}

TEST(FailExecution, AChildThatWasStartedWithThePolicyAbandonRunsOn) {
    auto abandoned = child("C", "explicit");
    std::get<history::SubOrchestrationScheduled>(abandoned.kind).when_dropped = "abandon";

    fail(numbered({started(), abandoned, child("D", "other")}))
        .then({"4 SubOrchestrationCancelRequested <-3 orchestration_terminal_failed",
               "5 OrchestrationFailed " + poison_text})
        .sends({"CancelInstance other: parent ended"});
}

TEST(FailExecution, WaitsThatWereAnsweredAreNotOpen) {
    fail(numbered({started(), wait("E"), wait("E"), raised("E", "x"), activity("A")}))
        .then({"6 ExternalSubscribedCancelled <-3 orchestration_terminal_failed",
               "7 ActivityCancelRequested <-5 orchestration_terminal_failed",
               "8 OrchestrationFailed " + poison_text});
}

TEST(FailExecution, TellsTheParent) {
    auto start = started();
    auto& event = std::get<history::OrchestrationStarted>(start.kind);
    event.parent_instance = "parent";
    event.parent_id = 7;

    fail(numbered({start})).sends({"SubOrchFailed to parent/1#7: " + poison_text});
}

TEST(FailExecution, OfAnInstanceThatNeverRanRecordsItsStart) {
    const auto start = start_message("in");
    const auto turn = fail({}, &start);

    turn.then({"1 OrchestrationStarted TestOrch(in)", "2 OrchestrationFailed " + poison_text});
    EXPECT_EQ(turn.result().commit.metadata.orchestration_name, "TestOrch");
    EXPECT_EQ(turn.result().commit.metadata.orchestration_version, "unknown");
    EXPECT_EQ(turn.result().commit.metadata.status, ExecutionStatus::failed);
}

TEST(FailExecution, T31_OfASuccessorThatNeverRanIsRecordedInTheSuccessor) {
    work::ContinueAsNew next{
        .instance = test_instance, .orchestration = "TestOrch", .input = "next"};
    next.parent_instance = "parent";
    next.parent_id = 7;
    next.parent_execution_id = 2;
    const WorkItem start{next};

    const Then turn{replay::fail_execution({.instance = test_instance,
                                            .execution_id = 5,
                                            .start = &start,
                                            .version = "2.0.0",
                                            .details = poison(),
                                            .now = from_epoch_ms(start_ms)})};

    turn.then({"1 OrchestrationStarted TestOrch(next)", "2 OrchestrationFailed " + poison_text})
        .sends({"SubOrchFailed to parent/2#7: " + poison_text});
    EXPECT_EQ(turn.result().commit.execution_id, 5u);
    EXPECT_EQ(turn.delta().at(0).execution_id, 5u);
}

// ---- A replay of what ended without its code

Task<std::string> one_wait(Context ctx, std::string) {
    co_return co_await ctx.wait_for_raw("E");
}

Task<std::string> another_wait(Context ctx, std::string) {
    co_return co_await ctx.wait_for_raw("F");
}

// What the runtime records; an older one left `ended_by` out.
std::vector<HistoryEvent>
ended_without_code(std::vector<HistoryEvent> history, ErrorDetails details, bool by_older_runtime) {
    history = numbered(std::move(history));
    auto end = replay::fail_execution({.instance = test_instance,
                                       .execution_id = 1,
                                       .history = history,
                                       .details = std::move(details),
                                       .now = from_epoch_ms(start_ms + 1)});
    for (auto& event : end.commit.history_delta) {
        history.push_back(std::move(event));
    }
    if (by_older_runtime) {
        std::get<history::OrchestrationFailed>(history.back().kind).ended_by.clear();
    }
    return history;
}

const ErrorDetails cancelled_details =
    details::Application{.kind = details::ApplicationKind::cancelled, .reason = "stop"};
const ErrorDetails own_poison = details::Poison{
    .attempt_count = 11, .max_attempts = 10, .instance = test_instance, .execution_id = 1};
const ErrorDetails different_details = details::Configuration{
    .resource = "TestOrch 1.0.0", .has_message = true, .message = "E2001: ..."};

TEST(GivenUp, AHistoryThatEndedWithoutItsCodeIsReplayedUpToThatEnd) {
    for (const bool older : {false, true}) {
        for (const auto& details : {cancelled_details, different_details, own_poison}) {
            const Given history{ended_without_code({started(), wait("E")}, details, older)};

            EXPECT_FALSE(history.verify(one_wait)) << display_text(details);
            EXPECT_TRUE(history.verify(another_wait)) << display_text(details);
        }
    }
}

TEST(GivenUp, ACancellationDuringCompensationsIsTheRuntimesToo) {
    const Given history{ended_without_code(
        {started(), cancel_requested("first"), activity("Undo")}, cancelled_details, false)};
    const auto undoes = [](Context ctx, std::string) -> Task<std::string> {
        ctx.on_failure_raw("Undo", "");
        co_return co_await ctx.wait_for_raw("E");
    };
    // Cancelled before the code ran: nothing is registered, and the code that ends differs.
    EXPECT_TRUE(history.verify(undoes));

    const Given compensating{ended_without_code(
        {started(),
         wait("E"),
         cancel_requested("first"),
         event(history::ExternalSubscribedCancelled{"orchestration_terminal_cancelled"}, 2),
         activity("Undo")},
        cancelled_details,
        false)};
    EXPECT_FALSE(compensating.verify(undoes));
}

TEST(GivenUp, WhatTheCodePassedOnIsItsOwnEnd) {
    const auto passes_on = [](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_child_raw("TestOrch", "", {.id = "c"});
    };
    const auto ends = [](Context ctx, std::string) -> Task<std::string> {
        static_cast<void>(co_await ctx.call_child_raw("TestOrch", "", {.id = "c"}).as_result());
        co_return "fine";
    };
    const auto history = given(started(),
                               child("TestOrch", "c"),
                               child_failed(2, different_details),
                               event(history::OrchestrationFailed{.details = different_details}));

    EXPECT_FALSE(history.verify(passes_on));
    EXPECT_TRUE(history.verify(ends));
}

TEST(TerminalEvent, IsFoundWhereverItStands) {
    const auto open = numbered({started(), activity("A")});
    const auto ended =
        numbered({started(), event(history::OrchestrationCompleted{"x"}), activity("A")});

    EXPECT_EQ(replay::terminal_event(open), nullptr);
    ASSERT_NE(replay::terminal_event(ended), nullptr);
    EXPECT_EQ(replay::terminal_event(ended)->event_id, 2u);
}

} // namespace

} // namespace durable::replay_test::end_execution_test
