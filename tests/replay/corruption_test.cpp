// Histories that are damaged, foreign or finished: every one has a defined outcome.

#include "replay/fixture.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace durable::replay_test::corruption_test {

namespace {

using enum replay::NondeterminismKind;

Task<std::string> one_activity(Context ctx, std::string) {
    co_return co_await ctx.call_raw("A", "");
}

Task<std::string> return_at_once(Context, std::string) {
    co_return "done";
}

TEST(Corruption, AnEmptyHistoryWithoutAStartCannotRun) {
    given().when(one_activity, completion(2, "x")).is_nondeterministic(corrupt, {"empty"});
}

TEST(Corruption, AHistoryMustBeginWithTheStart) {
    given(activity("A")).when(one_activity).is_nondeterministic(corrupt, {"OrchestrationStarted"});
    given(activity("A"), started())
        .when(one_activity)
        .is_nondeterministic(corrupt, {"OrchestrationStarted"});
    given(completed(2, "x"))
        .when(one_activity)
        .is_nondeterministic(corrupt, {"OrchestrationStarted"});
}

TEST(Corruption, AHistoryHasOneStart) {
    given(started(), activity("A"), started())
        .when(one_activity)
        .is_nondeterministic(corrupt, {"OrchestrationStarted twice"});
}

TEST(Corruption, IsReportedWithTheEventAndWithoutCodeThatHasNoPartInIt) {
    const auto turn = given(started(), activity("A"), fired(2)).when(one_activity);
    const auto report = turn.result().nondeterminism.value();

    EXPECT_EQ(report.text(),
              "error E2004 in TestOrch 1.0.0, instance " + report.instance +
                  ", execution 1, event 3\n"
                  "  history   TimerFired of step 2\n"
                  "  problem   " +
                  report.difference + "\n  to do     " + report.advice + "\n");
}

TEST(Corruption, BehindTheEndIsReportedWithTheEvent) {
    const auto end = event(history::OrchestrationCompleted{.output = "done"});

    given(started(), end, end)
        .when(return_at_once)
        .is_nondeterministic(corrupt, {"  history   OrchestrationCompleted"});
}

TEST(Corruption, GapsInTheIdsAreHarmless) {
    given(at(1, started()), at(100, activity("A")))
        .when(one_activity, completion(100, "r"))
        .completes("r")
        .then({"101 ActivityCompleted <-100 r", "102 OrchestrationCompleted r"});
}

// A store refuses such an event; a history that has one all the same can be read.
TEST(Corruption, AFirstEventWithIdZeroIsRead) {
    given(at(0, started()), at(1, activity("A")))
        .when(one_activity, completion(1, "r"))
        .completes("r")
        .then({"2 ActivityCompleted <-1 r", "3 OrchestrationCompleted r"});
}

TEST(Corruption, IdsThatGoBackwardsAreReadAndNotRepeated) {
    given(at(1, started()), at(5, activity("A")), at(3, raised("E", "x")))
        .when(one_activity, completion(5, "r"))
        .completes("r")
        .then({"6 ActivityCompleted <-5 r", "7 OrchestrationCompleted r"});
}

TEST(Corruption, TwoStepsWithTheSameIdAreRefused) {
    given(at(1, started()), at(2, activity("A")), at(2, activity("B")))
        .when([](Context ctx, std::string) -> Task<std::string> {
            auto [a, b] = co_await all{ctx.call_raw("A", ""), ctx.call_raw("B", "")};
            co_return a + b;
        })
        .is_nondeterministic(corrupt, {"two steps with the same id"});
}

TEST(Corruption, TheLargestPossibleIdLeavesNoRoomAndIsRefused) {
    given(at(1, started()), at(std::numeric_limits<std::uint64_t>::max(), activity("A")))
        .when(one_activity, raise("E", "x"))
        .is_nondeterministic(corrupt, {"no event id is left"});
}

TEST(Corruption, ACompletionBeforeItsStepIsRefused) {
    given(started(), fired(3), timer())
        .when([](Context ctx, std::string) -> Task<std::string> {
            co_await ctx.sleep(1s);
            co_return "";
        })
        .is_nondeterministic(extra, {"TimerCreated"});
    given(started(), completed(3, "x"), activity("A"))
        .when(one_activity)
        .is_nondeterministic(extra, {"ActivityScheduled"});
}

TEST(Corruption, ACompletionWithoutASourceIsRefused) {
    given(started(), activity("A"), event(history::ActivityCompleted{"x"}))
        .when(one_activity)
        .is_nondeterministic(corrupt, {"completion without open schedule"});
}

TEST(Corruption, AStepThatIsRecordedTwiceIsRefused) {
    given(started(), activity("A"), activity("A"))
        .when(one_activity)
        .is_nondeterministic(missing, {"ActivityScheduled \"A\""});
    given(started(), timer(), timer())
        .when([](Context ctx, std::string) -> Task<std::string> {
            co_await ctx.sleep(60s);
            co_return "";
        })
        .is_nondeterministic(missing, {"TimerCreated"});
    given(started(), wait("E"), wait("E"))
        .when([](Context ctx, std::string) -> Task<std::string> {
            co_return co_await ctx.wait_for_raw("E");
        })
        .is_nondeterministic(missing, {"ExternalSubscribed \"E\""});
}

TEST(Corruption, AnEventFromOutsideThatNobodyWaitsForIsKept) {
    fresh([](Context ctx,
             std::string) -> Task<std::string> { co_return co_await ctx.call_raw("A", ""); },
          raise("Orphan", "x"))
        .runs_on()
        .then({"1 OrchestrationStarted TestOrch(test-input)",
               "2 ActivityScheduled A()",
               "3 ExternalEvent Orphan=x"});
}

// ---- A finished history: the code does not run, and messages are ignored.

TEST(FinishedHistory, ChangesNothingAnyMore) {
    static int runs;
    runs = 0;
    const Code counted = [](Context, std::string) -> Task<std::string> {
        ++runs;
        co_return "again";
    };
    const auto ends = std::vector<history::Kind>{
        history::OrchestrationCompleted{"done"},
        history::OrchestrationFailed{application("broken")},
        history::OrchestrationContinuedAsNew{"next"},
    };
    for (const auto& end : ends) {
        given(started(), event(end)).when(counted, raise("E", "x")).runs_on().then({}).ignores(1);
    }
    EXPECT_EQ(runs, 0);
}

TEST(FinishedHistory, IsCorruptWhenAnythingFollowsItsEnd) {
    const auto ends = std::vector<history::Kind>{
        history::OrchestrationCompleted{"done"},
        history::OrchestrationFailed{application("broken")},
        history::OrchestrationContinuedAsNew{"next"},
    };
    const auto later = std::vector<HistoryEvent>{
        event(history::OrchestrationFailed{application("x")}),
        activity("A"),
        cancel_requested("late"),
        raised("E", "x"),
        event(history::PatchMarked{"p"}),
    };
    for (const auto& end : ends) {
        for (const auto& after : later) {
            const auto history = given(started(), event(end), after);
            const auto text = std::string{type_name(after.kind)};
            history.when(return_at_once, raise("E", "y"))
                .is_nondeterministic(corrupt, {text, "after the end", "event 3"});

            const auto report = history.verify(return_at_once);
            ASSERT_TRUE(report);
            EXPECT_EQ(report->kind, corrupt);
            EXPECT_EQ(report->event_id, 3u);
        }
    }
}

TEST(FinishedHistory, IsCorruptWhenMoreOfItArrivesLater) {
    const std::vector<HistoryEvent> finished{at(1, started()),
                                             at(2, event(history::OrchestrationCompleted{"done"}))};
    const std::vector<HistoryEvent> more{at(3, activity("A"))};
    for (const auto mode : {replay::ReplayMode::resume, replay::ReplayMode::verify}) {
        const auto execution = replay::Execution::create(
            {.handler = handler_of(return_at_once), .instance = test_instance});
        EXPECT_TRUE(execution->replay(finished, mode));

        EXPECT_FALSE(execution->replay(more, mode));

        EXPECT_EQ(execution->nondeterminism()->kind, corrupt);
    }
}

TEST(FinishedHistory, CanBeVerifiedAgainstTheCode) {
    const auto history = given(
        started(), activity("A"), completed(2, "r"), event(history::OrchestrationCompleted{"r"}));
    EXPECT_FALSE(history.verify(one_activity));

    const auto report = history.verify([](Context ctx, std::string) -> Task<std::string> {
        co_return "new " + co_await ctx.call_raw("A", "");
    });

    ASSERT_TRUE(report);
    EXPECT_EQ(report->difference, "output: \"r\" / \"new r\"");
}

TEST(FinishedHistory, ThatWasCancelledBeforeItRanVerifies) {
    EXPECT_FALSE(given(started(),
                       cancel_requested("early"),
                       event(history::OrchestrationFailed{details::Application{
                           .kind = details::ApplicationKind::cancelled, .reason = "early"}}))
                     .verify(one_activity));
}

// ---- Unusual content is content

TEST(UnusualText, NamesInputsAndResultsMayHoldAnyText) {
    given(started(), activity("", ""))
        .when([](Context ctx,
                 std::string) -> Task<std::string> { co_return co_await ctx.call_raw("", ""); },
              completion(2, "r"))
        .completes("r");
    given(started(), activity("Prüfung 🎉 日本", "日本語"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_return co_await ctx.call_raw("Prüfung 🎉 日本", "日本語");
            },
            completion(2, "größer"))
        .completes("größer");
    given(started(), activity("line\nbreak", std::string{"tab\t\r\n\0nul", 10}))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_return co_await ctx.call_raw("line\nbreak", std::string{"tab\t\r\n\0nul", 10});
            },
            completion(2, std::string{"\0", 1}))
        .completes(std::string_view{"\0", 1});
}

TEST(UnusualText, LongTextsAreKept) {
    static const std::string long_text(1'000'000, 'x');
    given(started(), activity(long_text, long_text))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_return co_await ctx.call_raw(long_text, long_text);
            },
            completion(2, long_text))
        .completes(long_text);
}

TEST(UnusualText, BytesThatAreNoUtf8FailTheOrchestrationBeforeTheyAreStored) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_raw("A", "\xff");
    })
        .fails("'A': input and options must be UTF-8 text")
        .gives_to_workers({});
    fresh([](Context, std::string) -> Task<std::string> {
        co_return "\xc3\x28";
    }).fails("the result of an orchestration must be UTF-8 text");
    fresh([](Context, std::string) -> Task<std::string> {
        throw std::runtime_error{"bad \xff byte"};
        co_return "";
    }).fails("orchestration panicked: bad \\xff byte");
}

} // namespace

} // namespace durable::replay_test::corruption_test
