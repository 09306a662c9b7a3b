// Ending an execution without its code: what is under way is cancelled and the parent is told.

#include "replay/end_execution.hpp"
#include "replay/fixture.hpp"

#include <gtest/gtest.h>

namespace durable::replay_test::end_execution_test {

namespace {

ErrorDetails poison() {
    return details::Poison{.attempt_count = 11, .max_attempts = 10, .instance = test_instance};
}

const std::string poison_text = "poison: orchestration test-instance exceeded 11 attempts (max 10)";

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
