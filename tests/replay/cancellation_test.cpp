// Cancelling an instance: it ends, with everything it had under way.

#include "replay/fixture.hpp"

#include <gtest/gtest.h>

namespace durable::replay_test::cancellation_test {

namespace {

Task<std::string> return_at_once(Context, std::string) {
    co_return "too late";
}

Task<std::string> wait_for_everything(Context ctx, std::string) {
    auto [a, b, c, d] = co_await all{ctx.call_raw("A", ""),
                                     ctx.call_child_raw("Child", ""),
                                     ctx.wait_for_raw("E"),
                                     ctx.sleep(60s)};
    co_return a + b + c;
}

TEST(Cancellation, ThatComesWithTheStartPreventsTheCodeFromRunning) {
    fresh(return_at_once, cancel("user requested"))
        .is_cancelled("user requested")
        .then({"1 OrchestrationStarted TestOrch(test-input)",
               "2 OrchestrationCancelRequested user requested",
               "3 OrchestrationFailed canceled: user requested"});
}

// A request and what follows from it are one commit: a history that has only the first half of it
// was damaged.
TEST(Cancellation, WithoutItsConsequencesInTheHistoryIsDamage) {
    given(started(), activity("A"), cancel_requested("admin cancelled"))
        .when([](Context ctx,
                 std::string) -> Task<std::string> { co_return co_await ctx.call_raw("A", ""); },
              completion(2, "done"))
        .is_nondeterministic(replay::NondeterminismKind::extra,
                             {"history   nothing", "ActivityCancelRequested of step 2"});
    EXPECT_FALSE(
        given(started(),
              activity("A"),
              cancel_requested("admin cancelled"),
              activity_cancelled(2, "orchestration_terminal_cancelled"),
              event(history::OrchestrationFailed{details::Application{
                  .kind = details::ApplicationKind::cancelled, .reason = "admin cancelled"}}))
            .verify([](Context ctx, std::string) -> Task<std::string> {
                co_return co_await ctx.call_raw("A", "");
            }));
}

TEST(Cancellation, BeatsACompletionThatIsInTheSameBatch) {
    given(started(), activity("A"))
        .when([](Context ctx,
                 std::string) -> Task<std::string> { co_return co_await ctx.call_raw("A", ""); },
              completion(2, "done"),
              cancel("stop"))
        .is_cancelled("stop")
        .then({"3 OrchestrationCancelRequested stop",
               "4 ActivityCancelRequested <-2 orchestration_terminal_cancelled",
               "5 OrchestrationFailed canceled: stop"})
        .ignores(1);
}

TEST(Cancellation, EndsEverythingThatWasUnderWay) {
    given(started(), activity("A"), child("Child", "sub::1_3"), wait("E"), timer())
        .when(wait_for_everything, cancel("stop"))
        .is_cancelled("stop")
        .then({"6 OrchestrationCancelRequested stop",
               "7 ActivityCancelRequested <-2 orchestration_terminal_cancelled",
               "8 SubOrchestrationCancelRequested <-3 orchestration_terminal_cancelled",
               "9 ExternalSubscribedCancelled <-4 orchestration_terminal_cancelled",
               "10 TimerCancelRequested <-5 orchestration_terminal_cancelled",
               "11 OrchestrationFailed canceled: stop"})
        .cancels_activities({2})
        .cancels_timers({5})
        .sends({"CancelInstance test-instance::sub::1_3: parent canceled"});
}

TEST(Cancellation, IsRequestedOnceTheFirstReasonCounts) {
    given(started(), activity("A"))
        .when([](Context ctx,
                 std::string) -> Task<std::string> { co_return co_await ctx.call_raw("A", ""); },
              cancel("first"),
              cancel("second"))
        .is_cancelled("first")
        .ignores(1);
}

TEST(Cancellation, TellsTheParent) {
    auto start = started();
    auto& event = std::get<history::OrchestrationStarted>(start.kind);
    event.parent_instance = "parent";
    event.parent_id = 7;
    event.parent_execution_id = 3;

    given(start, wait("E"))
        .when([](Context ctx,
                 std::string) -> Task<std::string> { co_return co_await ctx.wait_for_raw("E"); },
              cancel("stop"))
        .sends({"SubOrchFailed to parent/3#7: canceled: stop"});
}

TEST(Cancellation, OfAChildIsAFailureThatItsParentCanCatch) {
    given(started(), child("Child", "sub::1_2"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                const auto result = co_await ctx.call_child_raw("Child", "").as_result();
                co_return result.error().kind + " / " + result.error().message;
            },
            child_fails(2,
                        details::Application{.kind = details::ApplicationKind::cancelled,
                                             .reason = "by hand"}))
        .completes("Cancelled / canceled: by hand");
}

// ---- Compensation

Task<std::string> book_trip(Context ctx, std::string) {
    const auto flight = co_await ctx.call_raw("BookFlight", "");
    ctx.on_failure_raw("CancelFlight", flight);
    const auto hotel = co_await ctx.call_raw("BookHotel", "");
    ctx.on_failure_raw("CancelHotel", hotel);
    co_return co_await ctx.call_raw("Charge", "");
}

TEST(Compensation, RunsNewestFirstAndThenTheFailureIsRecorded) {
    given(started(),
          activity("BookFlight"),
          completed(2, "LX"),
          activity("BookHotel"),
          completed(4, "Ritz"),
          activity("Charge"))
        .when(book_trip, failure(6, application("declined")), completion(8, ""), completion(10, ""))
        .fails("declined")
        .then({"7 ActivityFailed <-6 declined",
               "8 ActivityScheduled CancelHotel(Ritz)",
               "9 ActivityCompleted <-8",
               "10 ActivityScheduled CancelFlight(LX)",
               "11 ActivityCompleted <-10",
               "12 OrchestrationFailed declined"});
}

TEST(Compensation, IsNotNeededWhenAllWentWell) {
    given(started(),
          activity("BookFlight"),
          completed(2, "LX"),
          activity("BookHotel"),
          completed(4, "Ritz"),
          activity("Charge"))
        .when(book_trip, completion(6, "paid"))
        .completes("paid")
        .then({"7 ActivityCompleted <-6 paid", "8 OrchestrationCompleted paid"});
}

TEST(Compensation, GoesOnWhenOneOfThemFails) {
    const auto turn = given(started(),
                            activity("BookFlight"),
                            completed(2, "LX"),
                            activity("BookHotel"),
                            completed(4, "Ritz"),
                            activity("Charge"),
                            failed(6, "declined"),
                            activity("CancelHotel", "Ritz"))
                          .when(book_trip, failure(8, application("closed")));

    turn.runs_on().then({"9 ActivityFailed <-8 closed", "10 ActivityScheduled CancelFlight(LX)"});
    EXPECT_EQ(turn.result().log.at(0).message, "compensation 'CancelHotel' failed: closed");
}

Task<std::string> undo_twice(Context ctx, std::string) {
    ctx.on_failure_raw("UndoFirst", "");
    ctx.on_failure_raw("UndoSecond", "");
    co_return co_await ctx.call_raw("Charge", "");
}

TEST(Compensation, EveryOneThatFailsIsToldBehindTheFailureThatKeepsItsKind) {
    const auto turn = given(started(), activity("Charge"))
                          .when(undo_twice,
                                failure(2,
                                        details::Application{.message = "declined",
                                                             .retryable = true,
                                                             .failure_kind = "PaymentDeclined"}),
                                failure(4, application("closed")),
                                failure(6, application("gone")));

    turn.fails("declined; compensation 'UndoSecond' failed: closed; "
               "compensation 'UndoFirst' failed: gone");
    EXPECT_EQ(kind_of(turn.result().details.value()), "PaymentDeclined");
    EXPECT_TRUE(retryable(turn.result().details.value()));
}

TEST(Compensation, OneThatFailsIsToldWhateverTheFailureWas) {
    const auto text_after = [](const ErrorDetails& details) {
        return given(started(), activity("Charge"))
            .when(undo_twice,
                  failure(2, details),
                  failure(4, application("closed")),
                  completion(6, ""))
            .result()
            .output;
    };
    const std::string note = "compensation 'UndoSecond' failed: closed";

    EXPECT_EQ(text_after(infrastructure("down")), "infrastructure:op: down; " + note);
    EXPECT_EQ(text_after(details::Configuration{.resource = "Orch"}),
              "nondeterministic: in Orch; " + note);
    details::Poison poison{.attempt_count = 11, .max_attempts = 10, .instance = "i"};
    EXPECT_EQ(text_after(poison), "poison: orchestration i exceeded 10 attempts: " + note);
    poison.cause = "it crashed";
    EXPECT_EQ(text_after(poison),
              "poison: orchestration i exceeded 10 attempts: it crashed; " + note);
    poison.kind = details::PoisonKind::failed_deserialization;
    poison.error = "not JSON";
    EXPECT_EQ(text_after(poison),
              "poison: orchestration i history deserialization failed after 10 attempts: "
              "not JSON; " +
                  note);
}

TEST(Compensation, OneThatFailsIsToldBehindACancellationThatKeepsItsReason) {
    const auto turn =
        given(started(), activity("Charge"))
            .when(undo_twice, cancel("stop"), failure(5, application("closed")), completion(7, ""));

    turn.is_cancelled("stop; compensation 'UndoSecond' failed: closed");
    EXPECT_EQ(std::get<details::Application>(turn.result().details.value()).reason, "stop");
    EXPECT_EQ(kind_of(turn.result().details.value()), failure_kind::cancelled);
}

TEST(Compensation, AlsoFollowsACancellation) {
    given(started(), activity("BookFlight"), completed(2, "LX"), activity("BookHotel"))
        .when(book_trip, cancel("stop"), completion(7, ""))
        .is_cancelled("stop")
        .then({"5 OrchestrationCancelRequested stop",
               "6 ActivityCancelRequested <-4 orchestration_terminal_cancelled",
               "7 ActivityScheduled CancelFlight(LX)",
               "8 ActivityCompleted <-7",
               "9 OrchestrationFailed canceled: stop"});
}

TEST(Compensation, IsNotInterruptedByASecondCancellation) {
    given(started(),
          activity("BookFlight"),
          completed(2, "LX"),
          activity("BookHotel"),
          cancel_requested("first"),
          activity_cancelled(4, "orchestration_terminal_cancelled"),
          activity("CancelFlight", "LX"))
        .when(book_trip, cancel("second"))
        .runs_on()
        .then({})
        .ignores(1);
}

TEST(Compensation, FollowsAnExceptionToo) {
    given(started(), activity("A"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                ctx.on_failure_raw("Undo", "all");
                co_await ctx.call_raw("A", "");
                throw std::runtime_error{"bug"};
            },
            completion(2, ""),
            completion(4, ""))
        .fails("orchestration panicked: bug")
        .then({"3 ActivityCompleted <-2",
               "4 ActivityScheduled Undo(all)",
               "5 ActivityCompleted <-4",
               "6 OrchestrationFailed orchestration panicked: bug"});
}

} // namespace

} // namespace durable::replay_test::cancellation_test
