// Code and history that do not agree: always found, and explained to a person.

#include "replay/fixture.hpp"

#include <gtest/gtest.h>

namespace durable::replay_test::nondeterminism_test {

namespace {

using enum replay::NondeterminismKind;

Task<std::string> one_activity(Context ctx, std::string) {
    co_return co_await ctx.call_raw("ActivityB", "input-y");
}

Task<std::string> one_timer(Context ctx, std::string) {
    co_await ctx.sleep(60s);
    co_return "timer_done";
}

Task<std::string> return_at_once(Context, std::string) {
    co_return "done";
}

TEST(Nondeterminism, ATimerWhereHistoryHasAnActivity) {
    given(started(), activity("A"))
        .when(one_timer)
        .is_nondeterministic(different, {"kind: ActivityScheduled / TimerCreated"});
}

TEST(Nondeterminism, AnActivityWhereHistoryHasATimer) {
    given(started(), timer())
        .when(one_activity)
        .is_nondeterministic(different, {"kind: TimerCreated / ActivityScheduled"});
}

TEST(Nondeterminism, AnActivityOfAnotherName) {
    given(started(), activity("ActivityA", "input-y"))
        .when(one_activity)
        .is_nondeterministic(different, {"name: \"ActivityA\" / \"ActivityB\""});
}

TEST(Nondeterminism, AnotherInput) {
    given(started(), activity("ActivityB", "input-x"))
        .when(one_activity)
        .is_nondeterministic(different, {"input: \"input-x\" / \"input-y\""});
}

TEST(Nondeterminism, AWaitForAnotherEvent) {
    given(started(), wait("EventX"))
        .when([](Context ctx, std::string) -> Task<std::string> {
            co_return co_await ctx.wait_for_raw("EventY");
        })
        .is_nondeterministic(different, {"name: \"EventX\" / \"EventY\""});
}

TEST(Nondeterminism, AnotherSessionOrTag) {
    auto recorded = activity("ActivityB", "input-y");
    std::get<history::ActivityScheduled>(recorded.kind).session_id = "s-1";
    given(started(), recorded)
        .when(one_activity)
        .is_nondeterministic(different, {"session: \"s-1\" / none"});

    recorded = activity("ActivityB", "input-y");
    std::get<history::ActivityScheduled>(recorded.kind).tag = "gpu";
    given(started(), recorded)
        .when([](Context ctx, std::string) -> Task<std::string> {
            co_return co_await ctx.call_raw("ActivityB", "input-y", {.tag = "cpu"});
        })
        .is_nondeterministic(different, {"tag: \"gpu\" / \"cpu\""});
}

TEST(Nondeterminism, ASessionOrTagThatWasAddedOrTakenAway) {
    given(started(), activity("ActivityB", "input-y"))
        .when([](Context ctx, std::string) -> Task<std::string> {
            co_return co_await ctx.call_raw("ActivityB", "input-y", {.session = "s-1"});
        })
        .is_nondeterministic(different, {"session: none / \"s-1\""});
    given(started(), activity("ActivityB", "input-y"))
        .when([](Context ctx, std::string) -> Task<std::string> {
            co_return co_await ctx.call_raw("ActivityB", "input-y", {.tag = "gpu"});
        })
        .is_nondeterministic(different, {"tag: none / \"gpu\""});

    auto recorded = activity("ActivityB", "input-y");
    std::get<history::ActivityScheduled>(recorded.kind).tag = "gpu";
    given(started(), recorded)
        .when(one_activity)
        .is_nondeterministic(different, {"tag: \"gpu\" / none"});
}

// The reference lets code return early; an exact history does not.
TEST(Nondeterminism, AStepThatTheCodeNoLongerMakes) {
    given(started(), activity("A"))
        .when(return_at_once)
        .is_nondeterministic(
            different, {"history   ActivityScheduled \"A\"", "code      OrchestrationCompleted"});
}

TEST(Nondeterminism, AStepThatIsMissingWhileTheCodeWaits) {
    given(started(), activity("ActivityB", "input-y"), activity("Another"))
        .when(one_activity)
        .is_nondeterministic(missing,
                             {"history   ActivityScheduled \"Another\"", "code      nothing"});
}

TEST(Nondeterminism, AStepThatHistoryDoesNotHave) {
    given(started(), activity("ActivityB", "input-y"))
        .when([](Context ctx, std::string) -> Task<std::string> {
            auto [a, b] =
                co_await all{ctx.call_raw("ActivityB", "input-y"), ctx.call_raw("Extra", "")};
            co_return a + b;
        })
        .is_nondeterministic(extra,
                             {"after the end of its history",
                              "history   nothing",
                              "code      ActivityScheduled \"Extra\""});
}

TEST(Nondeterminism, AStepBeforeTheNextMessageThatHistoryDoesNotHave) {
    given(started(), activity("ActivityB", "input-y"), raised("E", "x"))
        .when([](Context ctx, std::string) -> Task<std::string> {
            auto [a, b] =
                co_await all{ctx.call_raw("ActivityB", "input-y"), ctx.call_raw("Extra", "")};
            co_return a + b;
        })
        .is_nondeterministic(extra, {"history   ExternalEvent \"E\"", "event 3"});
}

TEST(Nondeterminism, ACodeThatEndsWhereHistoryGoesOn) {
    given(started(), activity("ActivityB", "input-y"), completed(2, "r"), activity("Next"))
        .when(one_activity)
        .is_nondeterministic(different, {"history   ActivityScheduled \"Next\""});
}

TEST(Nondeterminism, ADetachedStartThatTheCodeNoLongerMakes) {
    given(started(),
          activity("ActivityB", "input-y"),
          event(history::OrchestrationChained{"Other", "other-1", "x"}))
        .when(one_activity)
        .is_nondeterministic(missing, {"OrchestrationChained \"Other\""});
}

TEST(Nondeterminism, ADetachedStartOfAnotherOrchestration) {
    given(started(), event(history::OrchestrationChained{"ChildA", "c", "x"}), activity("A"))
        .when([](Context ctx, std::string) -> Task<std::string> {
            ctx.start_detached_raw("ChildB", "x", {.id = "c"});
            co_return co_await ctx.call_raw("A", "");
        })
        .is_nondeterministic(different, {"name: \"ChildA\" / \"ChildB\""});
}

// ---- Messages and recorded answers that fit no step

TEST(Nondeterminism, AnAnswerToAStepThatWasNeverMade) {
    given(started(), activity("ActivityB", "input-y"))
        .when(one_activity, completion(999, "x"))
        .is_nondeterministic(unmatched, {"no matching schedule for completion id=999"});
    given(started(), activity("ActivityB", "input-y"))
        .when(one_activity, timer_fires(99))
        .is_nondeterministic(unmatched, {"no matching schedule for timer id=99"});
}

TEST(Nondeterminism, AnActivitysResultForATimer) {
    given(started(), timer())
        .when(one_timer, completion(2, "x"))
        .is_nondeterministic(
            unmatched, {"completion kind mismatch for id=2, expected 'timer', got 'activity'"});
}

TEST(Nondeterminism, ATimersFiringForAnActivity) {
    given(started(), activity("ActivityB", "input-y"))
        .when(one_activity, timer_fires(2))
        .is_nondeterministic(unmatched, {"completion kind mismatch"});
}

TEST(Nondeterminism, ATimersFiringForAChild) {
    given(started(), child("C", "sub::1_2"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_return co_await ctx.call_child_raw("C", "");
            },
            timer_fires(2))
        .is_nondeterministic(unmatched, {"completion kind mismatch"});
}

TEST(Nondeterminism, ARecordedAnswerOfTheWrongKind) {
    given(started(), timer(), completed(2, "x"))
        .when(one_timer)
        .is_nondeterministic(corrupt, {"completion kind mismatch"});
}

Task<std::string> step_then_wait(Context ctx, std::string) {
    co_await ctx.sleep(1s);
    co_await ctx.call_child_raw("C", "");
    co_await ctx.call_raw("A", "");
    co_await ctx.sleep(1s);
    co_return "";
}

TEST(Nondeterminism, ASecondRecordedAnswerToATimer) {
    given(started(), timer(), fired(2), child("C", "sub::1_4"), fired(2))
        .when(step_then_wait)
        .is_nondeterministic(corrupt, {"completion without open schedule"});
}

TEST(Nondeterminism, ASecondRecordedAnswerToAChild) {
    given(started(),
          timer(),
          fired(2),
          child("C", "sub::1_4"),
          child_completed(4, "x"),
          activity("A"),
          child_completed(4, "x"))
        .when(step_then_wait)
        .is_nondeterministic(corrupt, {"completion without open schedule"});
    given(started(),
          timer(),
          fired(2),
          child("C", "sub::1_4"),
          child_completed(4, "x"),
          activity("A"),
          child_failed(4, application("x")))
        .when(step_then_wait)
        .is_nondeterministic(corrupt, {"completion without open schedule"});
}

TEST(Nondeterminism, ASecondRecordedAnswerToAnActivity) {
    const auto history = std::vector{started(),
                                     timer(),
                                     fired(2),
                                     child("C", "sub::1_4"),
                                     child_completed(4, "x"),
                                     activity("A"),
                                     completed(6, "x"),
                                     timer()};
    auto twice = history;
    twice.push_back(completed(6, "x"));
    Given{twice}
        .when(step_then_wait)
        .is_nondeterministic(corrupt, {"completion without open schedule"});
    twice = history;
    twice.push_back(failed(6, "x"));
    Given{twice}
        .when(step_then_wait)
        .is_nondeterministic(corrupt, {"completion without open schedule"});
}

// ---- The report

TEST(Nondeterminism, TheReportNamesBothSidesTheirPlacesAndWhatToDo) {
    const auto turn = given(started(), made_at("checkout.cpp:41", activity("ChargeCard", "x")))
                          .when([](Context ctx, std::string) -> Task<std::string> {
                              co_return co_await ctx.call_raw("ChargeCustomer", "x");
                          });

    turn.is_nondeterministic(different,
                             {"error E2001 in TestOrch 1.0.0, instance test-instance, execution 1, "
                              "event 2",
                              "history   ActivityScheduled \"ChargeCard\", made at checkout.cpp:41",
                              "code      ActivityScheduled \"ChargeCustomer\", made at "
                              "nondeterminism_test.cpp:",
                              "differs   name: \"ChargeCard\" / \"ChargeCustomer\"",
                              "to do     The code of a running instance was changed."});
}

Task<std::string> throws_at_once(Context, std::string) {
    throw std::runtime_error{"a new bug,\nin two lines"};
    co_return "";
}

TEST(Nondeterminism, TheReportShowsKindAndTextOfAFailureThatIsNew) {
    given(started(), activity("A"))
        .when(throws_at_once)
        .is_nondeterministic(different,
                             {"history   ActivityScheduled \"A\"",
                              "code      OrchestrationFailed Panicked \"orchestration panicked: a "
                              "new bug,\\nin two lines\"\n"});
}

// It gives up on its steps before it ends: their cancellation alone would explain nothing.
TEST(Nondeterminism, TheReportShowsTheFailureBehindAStepThatWasGivenUp) {
    const Code code = [](Context ctx, std::string) -> Task<std::string> {
        const auto first = ctx.call_raw("A", "");
        throw OperationFailed{{.kind = "Declined", .message = "no money"}};
        co_return "";
    };
    const auto turn = given(started(), activity("A"), activity("B")).when(code);

    turn.is_nondeterministic(different,
                             {"history   ActivityScheduled \"B\"",
                              "code      ActivityCancelRequested of step 2",
                              "failed    Declined \"no money\"\n"});
    EXPECT_NE(turn.result().nondeterminism->summary().find(
                  "the code made ActivityCancelRequested of step 2, made at"),
              std::string::npos);
    EXPECT_NE(
        turn.result().nondeterminism->summary().find(", after it failed: Declined \"no money\""),
        std::string::npos)
        << turn.result().nondeterminism->summary();
}

TEST(Nondeterminism, TheReportShowsTheFailureBehindACompensation) {
    given(started(), activity("A"), completed(2), activity("B"))
        .when([](Context ctx, std::string) -> Task<std::string> {
            ctx.on_failure_raw("Undo", "");
            co_await ctx.call_raw("A", "");
            throw std::runtime_error{"a new bug"};
        })
        .is_nondeterministic(different,
                             {"code      ActivityScheduled \"Undo\"",
                              "failed    Panicked \"orchestration panicked: a new bug\""});
}

TEST(Nondeterminism, AFailureOfAnotherKindIsAnotherEnd) {
    const auto report = given(started(),
                              event(history::OrchestrationFailed{details::Application{
                                  .kind = details::ApplicationKind::orchestration_failed,
                                  .message = "no money",
                                  .failure_kind = "Declined"}}))
                            .verify([](Context, std::string) -> Task<std::string> {
                                throw OperationFailed{{.kind = "Refused", .message = "no money"}};
                                co_return "";
                            });

    ASSERT_TRUE(report);
    EXPECT_EQ(report->expected, "OrchestrationFailed Declined \"no money\"");
    EXPECT_EQ(report->actual, "OrchestrationFailed Refused \"no money\"");
    EXPECT_EQ(report->difference, "kind: \"Declined\" / \"Refused\"");
}

TEST(Determinism, AnEndThatDoesNotSayWhichActivityFailedIsTheSame) {
    const auto end = [](std::string message) {
        return event(history::OrchestrationFailed{
            details::Application{.kind = details::ApplicationKind::orchestration_failed,
                                 .message = std::move(message)}});
    };
    const details::Application failure{.message = "boom", .activity = "ActivityB"};
    const auto history = given(
        started(), activity("ActivityB", "input-y"), failed(2, ErrorDetails{failure}), end("boom"));
    const auto other = given(started(),
                             activity("ActivityB", "input-y"),
                             failed(2, ErrorDetails{failure}),
                             end("another"));

    EXPECT_FALSE(history.verify(one_activity));
    EXPECT_TRUE(other.verify(one_activity));
}

TEST(Nondeterminism, TheReportShowsWhereLongInputsBeginToDiffer) {
    given(started(), activity("A", std::string(500, 'x') + "OLD" + std::string(500, 'y')))
        .when([](Context ctx, std::string) -> Task<std::string> {
            co_return co_await ctx.call_raw("A",
                                            std::string(500, 'x') + "NEW" + std::string(500, 'y'));
        })
        .is_nondeterministic(different, {"xxxOLDyyy", "xxxNEWyyy"});
}

// The code runs on after a mismatch, until it waits: none of it may leave a trace.
TEST(Nondeterminism, NothingOfALostTurnIsCommitted) {
    const auto turn =
        given(started(), activity("A")).when([](Context ctx, std::string) -> Task<std::string> {
            auto b = ctx.call_raw("B", "");
            ctx.kv().set("key", "value");
            ctx.start_detached_raw("Other", "", {.id = "o"});
            co_return co_await b;
        });

    turn.is_nondeterministic(different, {"\"A\" / \"B\""}).gives_to_workers({}).sends({});
}

TEST(Nondeterminism, UserCodeNeverSeesIt) {
    static bool unwound;
    unwound = false;
    given(started(), activity("A"))
        .when([](Context ctx, std::string) -> Task<std::string> {
            try {
                co_await ctx.call_raw("B", "");
            } catch (...) {
                unwound = true;
            }
            co_return "";
        })
        .is_nondeterministic(different, {});
    EXPECT_FALSE(unwound);
}

Task<std::string> wait_on(Operation<std::string>* step) {
    co_return co_await *step;
}

TEST(Nondeterminism, AnUnfinishedCoroutineThatWaitsForNoStepIsFound) {
    given(started(), activity("A"), activity("B"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto step = ctx.call_raw("A", "");
                auto waiter = wait_on(&step);
                waiter.start();
                co_await ctx.call_raw("B", "");
                step.cancel(); // under the feet of the other task
                co_return co_await waiter;
            },
            completion(3, ""))
        .is_nondeterministic(stuck, {"E2006", "unfinished but waits for no step"});
}

// ---- What may change under a running instance

TEST(Determinism, TheDurationOfATimerMayChange) {
    given(started(), timer(start_ms + 1)).when(one_timer, timer_fires(2)).completes("timer_done");
}

TEST(Determinism, TheTextOfACustomStatusMayChange) {
    given(started(), event(history::CustomStatusUpdated{"old words"}), activity("A"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                ctx.set_status("new words");
                co_await ctx.call_raw("A", "");
                co_return *ctx.status();
            },
            completion(3, ""))
        .completes("old words");
}

TEST(Determinism, StepsMayBeAddedAfterWhereTheInstanceWaits) {
    given(started(), activity("ActivityB", "input-y"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_await ctx.call_raw("ActivityB", "input-y");
                co_return co_await ctx.call_raw("Added", "");
            },
            completion(2, "r"))
        .runs_on()
        .gives_to_workers({"ActivityExecute#4 Added()"});
}

} // namespace

} // namespace durable::replay_test::nondeterminism_test
