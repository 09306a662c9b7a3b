// race, all, all_settled, within and helper tasks, alone and inside each other.

#include "replay/fixture.hpp"

#include <gtest/gtest.h>

namespace durable::replay_test::composition_test {

namespace {

Task<std::string> activity_or_timeout(Context ctx, std::string) {
    auto first = co_await race{ctx.call_raw("A", ""), ctx.sleep(60s)};
    if (const auto* result = std::get_if<0>(&first)) {
        co_return "activity:" + *result;
    }
    co_return "timeout";
}

Task<std::string> join_two(Context ctx, std::string) {
    auto [a, b] = co_await all{ctx.call_raw("A", ""), ctx.call_raw("B", "")};
    co_return a + "," + b;
}

TEST(Race, IsWonByTheActivityThatCompletesFirst) {
    given(started(), activity("A"), timer())
        .when(activity_or_timeout, completion(2, "activity-result"))
        .completes("activity:activity-result")
        .then({"4 ActivityCompleted <-2 activity-result",
               "5 TimerCancelRequested <-3 dropped_future",
               "6 OrchestrationCompleted activity:activity-result"});
}

TEST(Race, IsWonByTheTimerThatFiresFirst) {
    given(started(), activity("A"), timer())
        .when(activity_or_timeout, timer_fires(3))
        .completes("timeout")
        .cancels_activities({2});
}

TEST(Race, WaitsWhileNothingHasCompleted) {
    given(started(), activity("A"), timer()).when(activity_or_timeout).runs_on().then({});
}

TEST(Race, IsDecidedByTheOrderOfMessagesInABatch) {
    given(started(), activity("A"), timer())
        .when(activity_or_timeout, timer_fires(3), completion(2, "late"))
        .completes("timeout")
        .ignores(1);
}

// B completes before A, both before the race begins: history decides, not the order of operands.
TEST(Race, AmongCompletedOperandsTheEarlierInHistoryWins) {
    given(started(), activity("A"), activity("B"), timer(), completed(3, "b"), completed(2, "a"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto a = ctx.call_raw("A", "");
                auto b = ctx.call_raw("B", "");
                co_await ctx.sleep(1s);
                auto first = co_await race{std::move(a), std::move(b)};
                co_return std::to_string(first.index());
            },
            timer_fires(4))
        .completes("1");
}

TEST(Race, AWinnerThatFailedThrows) {
    given(started(), activity("A"), timer())
        .when(activity_or_timeout, failure(2, application("broken")))
        .fails("broken")
        .cancels_timers({3});
}

TEST(Race, OfARangeTellsTheIndexOfTheWinner) {
    given(started(), activity("Ask", "0"), activity("Ask", "1"), activity("Ask", "2"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                std::vector<Operation<std::string>> asked;
                for (int i = 0; i < 3; ++i) {
                    asked.push_back(ctx.call_raw("Ask", std::to_string(i)));
                }
                auto winner = co_await race{std::move(asked)};
                co_return std::to_string(winner.index) + winner.value;
            },
            completion(3, "!"))
        .completes("1!")
        .cancels_activities({2, 4});
}

TEST(Race, OfNothingIsAMistake) {
    fresh([](Context, std::string) -> Task<std::string> {
        std::vector<Operation<void>> none;
        co_await race{std::move(none)};
        co_return "";
    }).fails("orchestration panicked: a race needs at least one operand");
}

TEST(Race, LeavesABorrowedLoserAlone) {
    given(started(), timer(), activity("A"), completed(3, "a"), activity("B"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto deadline = ctx.sleep(60s);
                auto first = co_await race{ctx.call_raw("A", ""), deadline};
                auto second = co_await race{ctx.call_raw("B", ""), deadline};
                co_return std::to_string(first.index()) + std::to_string(second.index());
            },
            timer_fires(2))
        .completes("01")
        .cancels_timers({});
}

TEST(All, IsDoneWhenEverythingIs) {
    given(started(), activity("A"), activity("B"), completed(2, "result-a"))
        .when(join_two, completion(3, "result-b"))
        .completes("result-a,result-b");
}

TEST(All, WaitsForTheLastOne) {
    given(started(), activity("A"), activity("B"))
        .when(join_two, completion(2, "a"))
        .runs_on()
        .then({"4 ActivityCompleted <-2 a"});
}

TEST(All, SchedulesEverythingAtOnceFromLeftToRight) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        auto [a, b, c] =
            co_await all{ctx.call_raw("A", ""), ctx.call_raw("B", ""), ctx.call_raw("C", "")};
        co_return a + b + c;
    })
        .runs_on()
        .gives_to_workers(
            {"ActivityExecute#2 A()", "ActivityExecute#3 B()", "ActivityExecute#4 C()"});
}

TEST(All, FailsAtTheFirstFailureAndCancelsTheRest) {
    given(started(), activity("A"), activity("B"))
        .when(join_two, failure(3, application("b broke")))
        .fails("b broke")
        .then({"4 ActivityFailed <-3 b broke",
               "5 ActivityCancelRequested <-2 dropped_future",
               "6 OrchestrationFailed b broke"})
        .cancels_activities({2});
}

TEST(All, AFailureThatIsAValueDoesNotEndIt) {
    given(started(), activity("A"), activity("B"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto [a, b] =
                    co_await all{ctx.call_raw("A", "").as_result(), ctx.call_raw("B", "")};
                co_return a.error().message + "," + b;
            },
            failure(2, application("a broke")),
            completion(3, "b"))
        .completes("a broke,b");
}

TEST(All, OfARangeKeepsTheOrderOfTheRange) {
    given(started(), activity("Ask", "0"), activity("Ask", "1"), completed(3, "one"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                std::vector<std::string> inputs{"0", "1"};
                auto asked = inputs | std::views::transform([ctx](const std::string& input) {
                                 return ctx.call_raw("Ask", input);
                             });
                auto answers = co_await all{asked};
                co_return answers.at(0) + "," + answers.at(1);
            },
            completion(2, "zero"))
        .completes("zero,one");
}

TEST(All, OfAnEmptyRangeIsDoneAtOnce) {
    fresh([](Context, std::string) -> Task<std::string> {
        std::vector<Operation<int>> none;
        const auto values = co_await all{std::move(none)};
        co_return std::to_string(values.size());
    }).completes("0");
}

// A join of more than 30 operations hung in the reference.
TEST(All, T01_HasNoLimitOfOperands) {
    const Code many = [](Context ctx, std::string) -> Task<std::string> {
        std::vector<Operation<std::string>> calls;
        for (int i = 0; i < 1024; ++i) {
            calls.push_back(ctx.call_raw("Work", std::to_string(i)));
        }
        const auto results = co_await all{std::move(calls)};
        co_return std::to_string(results.size()) + results.back();
    };
    std::vector<HistoryEvent> history{started()};
    std::vector<WorkItem> messages;
    for (std::uint64_t i = 0; i < 1024; ++i) {
        history.push_back(activity("Work", std::to_string(i)));
        messages.insert(messages.begin(), completion(2 + i, std::to_string(i)));
    }

    Given{history}.run(many, messages).completes("10241023");
}

TEST(AllSettled, HandsOutSuccessesAndFailures) {
    given(started(), activity("A"), activity("B"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto [a, b] = co_await all_settled{ctx.call_raw("A", ""), ctx.call_raw("B", "")};
                co_return a.error().message + "," + b.value();
            },
            failure(2, application("a broke")),
            completion(3, "b"))
        .completes("a broke,b")
        .cancels_activities({});
}

Task<std::string> throwing_helper(Context ctx) {
    co_await ctx.sleep(1s);
    throw std::runtime_error{"bug"};
}

TEST(AllSettled, TurnsExceptionsOfTasksIntoFailures) {
    given(started(), activity("A"), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto [a, b] = co_await all_settled{ctx.call_raw("A", ""), throwing_helper(ctx)};
                co_return a.value() + "," + b.error().kind + ":" + b.error().message;
            },
            completion(2, "a"),
            timer_fires(3))
        .completes("a,Panicked:bug");
}

TEST(Within, GivesTheValueThatCameInTime) {
    const Code code = [](Context ctx, std::string) -> Task<std::string> {
        const auto answer = co_await ctx.within(24h, ctx.wait_for_raw("Approval"));
        co_return answer.value_or("expired");
    };

    given(started(), wait("Approval"), timer())
        .when(code, raise("Approval", "yes"))
        .completes("yes")
        .cancels_timers({3});
    given(started(), wait("Approval"), timer())
        .when(code, timer_fires(3))
        .completes("expired")
        .then({"4 TimerFired <-3",
               "5 ExternalSubscribedCancelled <-2 dropped_future",
               "6 OrchestrationCompleted expired"});
}

TEST(Within, ThrowsTheFailureOfTheWork) {
    given(started(), activity("A"), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                const auto answer = co_await ctx.within(1h, ctx.call_raw("A", ""));
                co_return answer.value_or("expired");
            },
            failure(2, application("broken")))
        .fails("broken")
        .cancels_timers({3});
}

// ---- Tasks

Task<std::string> greet_slowly(Context ctx, std::string name) {
    co_await ctx.sleep(1s);
    co_return co_await ctx.call_raw("Greet", name);
}

TEST(HelperTask, RunsWhereItIsAwaited) {
    given(started(), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                const auto greeting = co_await greet_slowly(ctx, "eve");
                co_return greeting + "!";
            },
            timer_fires(2),
            completion(4, "hi"))
        .completes("hi!");
}

TEST(HelperTask, CombinesWithOperations) {
    given(started(), activity("A"), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto [slow, fast] = co_await all{greet_slowly(ctx, "eve"), ctx.call_raw("A", "")};
                co_return slow + "," + fast;
            },
            completion(2, "a"),
            timer_fires(3),
            completion(6, "hi"))
        .completes("hi,a");
}

TEST(HelperTask, ThatLosesARaceCancelsWhatItWaitsFor) {
    given(started(), activity("A"), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto first = co_await race{greet_slowly(ctx, "eve"), ctx.call_raw("A", "")};
                co_return std::get<1>(first);
            },
            completion(2, "a"))
        .completes("a")
        .cancels_timers({3});
}

TEST(HelperTask, IsLazy) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        auto helper = greet_slowly(ctx, "eve");
        auto [a, b] = co_await all{ctx.call_raw("A", ""), std::move(helper)};
        co_return a + b;
    })
        .then({"1 OrchestrationStarted TestOrch(test-input)",
               "2 ActivityScheduled A()",
               "3 TimerCreated"});
}

TEST(HelperTask, CanBeStartedBesideItsCreator) {
    given(started(), activity("A"), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto helper = greet_slowly(ctx, "eve");
                helper.start();
                const auto a = co_await ctx.call_raw("A", "");
                const auto greeting = co_await helper;
                co_return a + greeting;
            },
            timer_fires(3),
            completion(5, "hi"),
            completion(2, "a"))
        .completes("ahi");
}

Task<int> one(Context) {
    co_return 1;
}

TEST(HelperTask, AHundredThousandThatFinishAtOnceNeedNoStack) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        int total = 0;
        for (int i = 0; i < 100'000; ++i) {
            total += co_await one(ctx);
        }
        co_return std::to_string(total);
    }).completes("100000");
}

TEST(HelperTask, ExceptionsPassThroughItToTheCaller) {
    given(started(), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                std::string caught;
                try {
                    co_await throwing_helper(ctx);
                } catch (const std::runtime_error& error) {
                    caught = error.what();
                }
                co_return "caught " + caught;
            },
            timer_fires(2))
        .completes("caught bug");
}

TEST(Nesting, AnInnerRaceCancelsItsLosersWhileTheOuterJoinWaits) {
    given(started(), activity("A"), activity("B"), activity("C"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto [first, c] = co_await all{race{ctx.call_raw("A", ""), ctx.call_raw("B", "")},
                                               ctx.call_raw("C", "")};
                co_return std::to_string(first.index()) + c;
            },
            completion(3, "b"))
        .runs_on()
        .then({"5 ActivityCompleted <-3 b", "6 ActivityCancelRequested <-2 dropped_future"})
        .cancels_activities({2});
}

TEST(Nesting, AJoinMayRaceWithATimer) {
    given(started(), activity("A"), activity("B"), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto first =
                    co_await race{all{ctx.call_raw("A", ""), ctx.call_raw("B", "")}, ctx.sleep(2s)};
                co_return std::to_string(first.index());
            },
            completion(2, "a"),
            timer_fires(4))
        .completes("1")
        .cancels_activities({3});
}

// ---- Misuse is an exception with a sentence, not undefined behaviour

TEST(Misuse, AwaitingTwice) {
    given(started(), activity("A"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto a = ctx.call_raw("A", "");
                co_await a;
                co_return co_await a;
            },
            completion(2, "x"))
        .fails("orchestration panicked: this operation is awaited a second time: each has one "
               "result, for one waiter");
}

TEST(Misuse, AwaitingWhatWasMovedAway) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        auto a = ctx.call_raw("A", "");
        const auto b = std::move(a);
        co_return co_await a; // NOLINT(bugprone-use-after-move): that is the mistake
    })
        .fails("orchestration panicked: this operation or task is empty: it was moved away or "
               "cancelled");
}

TEST(Misuse, TwoWaitersForOneOperation) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        auto a = ctx.call_raw("A", "");
        auto [x, y] = co_await all{a, a};
        co_return x + y;
    })
        .fails("orchestration panicked: this operation is awaited a second time: each has one "
               "result, for one waiter");
}

TEST(Misuse, StartingATaskOutsideOfAnOrchestration) {
    auto task = []() -> Task<int> { co_return 1; }();
    EXPECT_THROW(task.start(), std::logic_error);
}

} // namespace

} // namespace durable::replay_test::composition_test
