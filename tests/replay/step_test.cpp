// What a step leaves in history: its event, its id, its place in the source.

#include "replay/fixture.hpp"

#include <gtest/gtest.h>

namespace durable::replay_test::step_test {

namespace {

const std::string started_line = "1 OrchestrationStarted TestOrch(test-input)";

TEST(EventIds, AreDenseAndInTheOrderOfTheDecisions) {
    const auto turn = fresh([](Context ctx, std::string) -> Task<std::string> {
        ctx.call_raw("A", "").cancel();
        ctx.call_raw("B", "").cancel();
        ctx.call_raw("C", "").cancel();
        co_return "";
    });

    std::uint64_t expected = 1;
    for (const auto& event : turn.delta()) {
        EXPECT_EQ(event.event_id, expected++);
        EXPECT_EQ(event.instance_id, test_instance);
        EXPECT_EQ(event.execution_id, 1u);
        EXPECT_EQ(event.engine_version, engine_version_text());
    }
}

TEST(EventIds, GoOnAfterTheHistory) {
    given(started(), activity("A"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_await ctx.call_raw("A", "");
                co_return co_await ctx.call_raw("B", "");
            },
            completion(2, ""))
        .then({"3 ActivityCompleted <-2", "4 ActivityScheduled B()"});
}

TEST(EventIds, GoOnAfterAGap) {
    given(at(1, started()), at(5, activity("A")))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_await ctx.call_raw("A", "");
                co_return co_await ctx.call_raw("B", "");
            },
            completion(5, ""))
        .then({"6 ActivityCompleted <-5", "7 ActivityScheduled B()"});
}

TEST(EventIds, OfAStepAndOfItsWorkAreTheSame) {
    const auto turn = fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_raw("A", "");
    });

    const auto& item = std::get<work::ActivityExecute>(turn.result().commit.worker_items.at(0));
    EXPECT_EQ(item.id, 2u);
}

TEST(Location, OfAStepIsFileAndLine) {
    const auto turn = fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_raw("A", "");
    });

    EXPECT_EQ(turn.delta().at(0).location, "");
    EXPECT_TRUE(turn.delta().at(1).location.starts_with("step_test.cpp:"))
        << turn.delta().at(1).location;
}

TEST(ActivityStep, RecordsSessionAndTag) {
    const auto turn = fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_raw("A", "in", {.tag = "gpu", .session = "sess-1"});
    });

    turn.then({started_line, "2 ActivityScheduled A(in) tag=gpu session=sess-1"});
    const auto& item = std::get<work::ActivityExecute>(turn.result().commit.worker_items.at(0));
    EXPECT_EQ(item.tag, "gpu");
    EXPECT_EQ(item.session_id, "sess-1");
}

TEST(ActivityStep, HasNoSessionAndNoTagUnlessAsked) {
    const auto turn = fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_raw("A", "in");
    });

    const auto& scheduled = std::get<history::ActivityScheduled>(turn.delta().at(1).kind);
    EXPECT_EQ(scheduled.tag, std::nullopt);
    EXPECT_EQ(scheduled.session_id, std::nullopt);
}

TEST(TimerStep, OfZeroLengthStillTakesATurn) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_await ctx.sleep(0s);
        co_return "";
    })
        .runs_on()
        .sends({"TimerFired#2"});
}

TEST(ChildStep, KeepsAnExplicitId) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_child_raw("C", "x", {.id = "order-7-payment"});
    })
        .then({started_line, "2 SubOrchestrationScheduled C(x) as order-7-payment"})
        .sends({"StartOrchestration C(x) as order-7-payment"});
}

TEST(ChildStep, AsksForAVersion) {
    const auto turn = fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_child_raw("C", "x", {.version = "2.0.0"});
    });

    const auto& start =
        std::get<work::StartOrchestration>(turn.result().commit.orchestrator_items.at(0));
    EXPECT_EQ(start.version, "2.0.0");
}

TEST(ChildStep, GetsAnIdOfItsOwn) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        auto [a, b] = co_await all{ctx.call_child_raw("C", ""), ctx.call_child_raw("C", "")};
        co_return a + b;
    })
        .sends({"StartOrchestration C() as test-instance::sub::1_2",
                "StartOrchestration C() as test-instance::sub::1_3"});
}

TEST(ChildStep, OfAnOlderHistoryKeepsItsRecordedId) {
    given(started(), child("C", "sub::2"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_return co_await ctx.call_child_raw("C", "");
            },
            child_answers(2, "child-result"))
        .completes("child-result");
}

TEST(ChildStep, MayNotTakeAnIdOfTheLibrary) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_child_raw("C", "", {.id = "sub::mine"});
    })
        .fails("'C': 'sub::' and '::detached::' in an instance id are the library's own: "
               "'sub::mine'")
        .sends({});
}

TEST(DetachedStart, IsRecordedAndSentWithoutALinkToAParent) {
    const auto turn = fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return ctx.start_detached_raw("Other", "x", {.id = "other-1", .version = "1.2.3"});
    });

    turn.completes("other-1")
        .then({started_line,
               "2 OrchestrationChained Other(x) as other-1",
               "3 OrchestrationCompleted other-1"})
        .sends({"StartOrchestration Other(x) as other-1"});
    const auto& start =
        std::get<work::StartOrchestration>(turn.result().commit.orchestrator_items.at(0));
    EXPECT_EQ(start.parent_instance, std::nullopt);
    EXPECT_EQ(start.version, "1.2.3");
}

TEST(DetachedStart, WithoutAnIdDerivesOneThatReplayFindsAgain) {
    given(started(),
          event(history::OrchestrationChained{"Other", "test-instance::detached::1_2", "x"}),
          activity("A"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                const auto id = ctx.start_detached_raw("Other", "x");
                co_await ctx.call_raw("A", "");
                co_return id;
            },
            completion(3, ""))
        .completes("test-instance::detached::1_2")
        .sends({});
}

TEST(DetachedStart, ThenAnActivityIsReplayed) {
    given(started(), event(history::OrchestrationChained{"Other", "o", "x"}), activity("A"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                ctx.start_detached_raw("Other", "x", {.id = "o"});
                co_return co_await ctx.call_raw("A", "");
            },
            completion(3, "activity-result"))
        .completes("activity-result")
        .sends({});
}

TEST(DetachedStart, T07_IsHonouredWhenTheOrchestrationIsCancelled) {
    fresh(
        [](Context ctx, std::string) -> Task<std::string> {
            ctx.start_detached_raw("Other", "x", {.id = "o"});
            co_return co_await ctx.wait_for_raw("E");
        },
        raise("F", ""))
        .sends({"StartOrchestration Other(x) as o"});
    given(started(), wait("E"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                const auto data = co_await ctx.wait_for_raw("E");
                ctx.start_detached_raw("Other", data, {.id = "o"});
                throw std::runtime_error{"bug"};
            },
            raise("E", "x"))
        .fails("orchestration panicked: bug")
        .sends({"StartOrchestration Other(x) as o"});
}

// ---- Failures

TEST(Failure, OfAnActivityKeepsTheKindItsAuthorGave) {
    given(started(), activity("Pay"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                const auto paid = co_await ctx.call_raw("Pay", "").as_result();
                co_return paid.error().kind + ": " + paid.error().message;
            },
            failure(2, details::Application{.message = "no funds", .failure_kind = "Declined"}))
        .completes("Declined: no funds");
}

TEST(Failure, OfAnActivityThatIsNotCaughtIsTheOrchestrations) {
    const auto turn =
        given(started(), activity("Pay"))
            .when(
                [](Context ctx, std::string) -> Task<std::string> {
                    co_return co_await ctx.call_raw("Pay", "");
                },
                failure(2,
                        details::Application{.message = "no funds", .failure_kind = "Declined"}));

    turn.fails("no funds");
    const auto& details = std::get<details::Application>(*turn.result().details);
    EXPECT_EQ(details.kind, details::ApplicationKind::orchestration_failed);
    EXPECT_EQ(details.failure_kind, "Declined");
}

Task<std::string> call_a(Context ctx, std::string) {
    co_return co_await ctx.call_raw("A", "");
}

TEST(Failure, OfTheSystemThatIsNotCaughtIsPassedOnAsItCame) {
    const auto turn =
        given(started(), activity("A")).when(call_a, failure(2, infrastructure("disk full")));
    turn.fails("infrastructure:op: disk full");
    EXPECT_EQ(category(*turn.result().details), "infrastructure");

    const auto other =
        given(started(), activity("A"))
            .when(call_a,
                  failure(2, details::Configuration{.has_message = true, .message = "mismatch"}));
    other.fails("nondeterministic: mismatch");
    EXPECT_EQ(category(*other.result().details), "configuration");
}

TEST(Failure, OfTheSystemCanBeCaught) {
    given(started(), activity("A"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                const auto result = co_await ctx.call_raw("A", "").as_result();
                co_return result.error().kind;
            },
            failure(2, infrastructure("disk full")))
        .completes("Infrastructure");
}

TEST(Failure, OfAChildIsThrownInTheParent) {
    const Code code = [](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_child_raw("C", "");
    };
    given(started(), child("C", "sub::1_2"))
        .when(code, child_fails(2, application("child broke")))
        .fails("child broke");
    const auto turn = given(started(), child("C", "sub::1_2"))
                          .when(code, child_fails(2, infrastructure("disk full")));
    turn.fails("infrastructure:op: disk full");
    EXPECT_EQ(category(*turn.result().details), "infrastructure");
}

TEST(Failure, AnUncaughtExceptionIsAPanicWithItsText) {
    const auto turn = fresh([](Context, std::string) -> Task<std::string> {
        throw std::runtime_error{"something is wrong"};
        co_return "";
    });
    turn.fails("orchestration panicked: something is wrong");
    EXPECT_EQ(std::get<details::Application>(*turn.result().details).kind,
              details::ApplicationKind::panicked);

    fresh([](Context, std::string) -> Task<std::string> {
        throw 42;
        co_return "";
    }).fails("orchestration panicked: an exception that is no std::exception");
}

TEST(Failure, AnExceptionAfterAReplayedStepIsAPanicToo) {
    given(started(), activity("A"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                const auto result = co_await ctx.call_raw("A", "");
                throw std::runtime_error{"after " + result};
            },
            completion(2, "A"))
        .fails("orchestration panicked: after A");
}

// ---- Odds and ends

TEST(Handler, IsInvokedOnceHoweverManyMessagesCome) {
    static int invoked;
    invoked = 0;
    given(started(), activity("A"))
        .without_replay_check()
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                ++invoked;
                co_await ctx.call_raw("A", "");
                co_return co_await ctx.wait_for_raw("E");
            },
            completion(2, ""),
            raise("E", "x"))
        .completes("x");
    EXPECT_EQ(invoked, 1);
}

TEST(Handler, LargeResultsComeBackUnchanged) {
    const std::string large(1'000'000, 'r');
    given(started(), activity("A")).when(call_a, completion(2, large)).completes(large);
}

TEST(Handler, EmptyInputsAreInputs) {
    given(started(""), activity("A", ""))
        .when(
            [](Context ctx, std::string input) -> Task<std::string> {
                co_return "[" + co_await ctx.call_raw("A", input) + "]";
            },
            completion(2, ""))
        .completes("[]");
}

} // namespace

} // namespace durable::replay_test::step_test
