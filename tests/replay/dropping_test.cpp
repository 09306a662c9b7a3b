// Dropping an unfinished operation is a decision: recorded at once, with its consequences.

#include "replay/fixture.hpp"

#include <gtest/gtest.h>

namespace durable::replay_test::dropping_test {

namespace {

using enum replay::NondeterminismKind;

const std::string started_line = "1 OrchestrationStarted TestOrch(test-input)";

Task<std::string> activity_or_timer(Context ctx, std::string) {
    auto first = co_await race{ctx.call_raw("A", ""), ctx.sleep(1s)};
    co_return first.index() == 0 ? "activity_won" : "timer_won";
}

Task<std::string> child_or_timer(Context ctx, std::string) {
    auto first = co_await race{ctx.call_child_raw("C", ""), ctx.sleep(1s)};
    co_return first.index() == 0 ? "child_won" : "timer_won";
}

// After the race something else is awaited, so that the execution lives on.
Task<std::string> activity_or_timer_then_wait(Context ctx, std::string) {
    co_await race{ctx.call_raw("A", ""), ctx.sleep(1s)};
    co_return co_await ctx.call_raw("Next", "");
}

TEST(Dropping, TheActivityThatLostToATimerIsCancelled) {
    given(started(), activity("A"), timer())
        .when(activity_or_timer, timer_fires(3))
        .completes("timer_won")
        .then({"4 TimerFired <-3",
               "5 ActivityCancelRequested <-2 dropped_future",
               "6 OrchestrationCompleted timer_won"})
        .cancels_activities({2})
        .cancels_timers({});
}

TEST(Dropping, T20_TheTimerThatLostIsCancelledAndWakesNobody) {
    given(started(), activity("A"), timer())
        .when(activity_or_timer, completion(2, ""))
        .completes("activity_won")
        .cancels_activities({})
        .cancels_timers({3});
}

TEST(Dropping, AllLosersOfARaceAreCancelledInTheirOrder) {
    given(started(), activity("A"), activity("B"), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto first =
                    co_await race{ctx.call_raw("A", ""), ctx.call_raw("B", ""), ctx.sleep(1s)};
                co_return std::to_string(first.index());
            },
            timer_fires(4))
        .completes("2")
        .cancels_activities({2, 3});
}

TEST(Dropping, ACompletedActivityCancelsNothing) {
    given(started(), activity("A"))
        .when([](Context ctx,
                 std::string) -> Task<std::string> { co_return co_await ctx.call_raw("A", ""); },
              completion(2, "r"))
        .completes("r")
        .cancels_activities({});
}

TEST(Dropping, AnOperationThatIsCompleteButNotLookedAtCancelsNothing) {
    given(started(), activity("A"), timer(), completed(2, "unused"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                const auto unused = ctx.call_raw("A", "");
                co_await ctx.sleep(1s);
                co_return "done";
            },
            timer_fires(3))
        .completes("done")
        .cancels_activities({});
}

TEST(Dropping, AtOnceAfterSchedulingRunsNothing) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        ctx.call_raw("A", "").cancel();
        co_return "done";
    })
        .completes("done")
        .then({started_line,
               "2 ActivityScheduled A()",
               "3 ActivityCancelRequested <-2 dropped_future",
               "4 OrchestrationCompleted done"})
        .gives_to_workers({"ActivityExecute#2 A()"}) // the store takes both: nothing is left
        .cancels_activities({2});
}

TEST(Dropping, ATimerCancelsItsFiring) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        ctx.sleep(1h).cancel();
        co_return "done";
    })
        .completes("done")
        .cancels_timers({2});
}

TEST(Dropping, AWaitIsRecordedAndSendsNothing) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        ctx.wait_for_raw("E").cancel();
        ctx.dequeue_raw("Q").cancel();
        co_return "done";
    })
        .completes("done")
        .then({started_line,
               "2 ExternalSubscribed E",
               "3 ExternalSubscribedCancelled <-2 dropped_future",
               "4 ExternalSubscribedPersistent Q",
               "5 ExternalSubscribedPersistentCancelled <-4 dropped_future",
               "6 OrchestrationCompleted done"})
        .sends({})
        .cancels_activities({});
}

TEST(Dropping, AChildCancelsItsInstance) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        ctx.call_child_raw("C", "x").cancel();
        co_return "done";
    })
        .completes("done")
        .then({started_line,
               "2 SubOrchestrationScheduled C(x) as sub::1_2",
               "3 SubOrchestrationCancelRequested <-2 dropped_future",
               "4 OrchestrationCompleted done"})
        .sends({"StartOrchestration C(x) as test-instance::sub::1_2",
                "CancelInstance test-instance::sub::1_2: parent dropped sub-orchestration future"});
}

TEST(Dropping, TheChildThatLostToATimerIsCancelled) {
    given(started(), child("C", "sub::2"), timer())
        .when(child_or_timer, timer_fires(3))
        .completes("timer_won")
        .sends({"CancelInstance test-instance::sub::2: parent dropped sub-orchestration future"});
}

TEST(Dropping, ACompletedChildIsNotCancelled) {
    given(started(), child("C", "sub::2"), timer())
        .when(child_or_timer, child_answers(2, "x"))
        .completes("child_won")
        .sends({});
}

TEST(Dropping, AChildWithThePolicyAbandonRunsOn) {
    given(started(), child("C", "sub::1_2"), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto job = ctx.call_child_raw("C", "", {.when_dropped = ChildPolicy::abandon});
                co_await race{std::move(job), ctx.sleep(1s)};
                co_return "done";
            },
            timer_fires(3))
        .completes("done")
        .then({"4 TimerFired <-3", "5 OrchestrationCompleted done"})
        .sends({});
}

// ---- The policy of a child changes under a running instance

template <ChildPolicy policy>
Task<std::string> drop_a_child_then_wait(Context ctx, std::string) {
    {
        auto job = ctx.call_child_raw("C", "", {.id = "c", .when_dropped = policy});
        co_await ctx.sleep(1s);
    }
    co_return co_await ctx.wait_for_raw("E");
}

constexpr auto drop_and_cancel = drop_a_child_then_wait<ChildPolicy::cancel>;
constexpr auto drop_and_abandon = drop_a_child_then_wait<ChildPolicy::abandon>;

HistoryEvent abandoned_child(std::string name, std::string instance) {
    auto made = child(std::move(name), std::move(instance));
    std::get<history::SubOrchestrationScheduled>(made.kind).when_dropped = "abandon";
    return made;
}

TEST(Dropping, ThePolicyOfAChildIsRecordedUnlessItIsCancelled) {
    const auto policy = [](const Then& turn) {
        return std::get<history::SubOrchestrationScheduled>(turn.delta().at(1).kind).when_dropped;
    };

    EXPECT_EQ(policy(fresh(drop_and_abandon)), "abandon");
    EXPECT_EQ(policy(fresh(drop_and_cancel)), "");
}

TEST(Dropping, AChildThatWasStartedToBeAbandonedIsNotCancelledByNewerCode) {
    given(started(), abandoned_child("C", "c"), timer(), fired(3), wait("E"))
        .when(drop_and_cancel, raise("E", "x"))
        .completes("x");
    given(started(), abandoned_child("C", "c"), timer())
        .when(drop_and_cancel, timer_fires(3))
        .then({"4 TimerFired <-3", "5 ExternalSubscribed E"})
        .sends({});
}

TEST(Dropping, AChildThatWasCancelledStaysSoForCodeThatAbandonsIt) {
    given(started(), child("C", "c"), timer(), fired(3), child_cancelled(2), wait("E"))
        .when(drop_and_abandon, raise("E", "x"))
        .completes("x");
}

TEST(Dropping, AnAbandonedChildOfAHistoryWithoutPoliciesIsReplayedAsBefore) {
    given(started(), child("C", "c"), timer(), fired(3), wait("E"))
        .when(drop_and_abandon, raise("E", "x"))
        .completes("x");
    given(started(), child("C", "c"), timer(), fired(3), wait("E"))
        .when(drop_and_cancel)
        .is_nondeterministic(different, {"SubOrchestrationCancelRequested of step 2"});
}

TEST(Dropping, BeforeAwaitingSomethingElseIsRecordedInPlace) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        ctx.call_raw("A", "").cancel();
        co_await ctx.sleep(1s);
        co_return "";
    })
        .runs_on()
        .then({started_line,
               "2 ActivityScheduled A()",
               "3 ActivityCancelRequested <-2 dropped_future",
               "4 TimerCreated"});
}

TEST(Dropping, AnAnswerThatComesAfterwardsIsRecordedAndChangesNothing) {
    given(started(), activity("A"), timer(), fired(3), activity_cancelled(2), activity("Next"))
        .when(activity_or_timer_then_wait, completion(2, "late"), completion(2, "again"))
        .runs_on()
        .then({"7 ActivityCompleted <-2 late"})
        .ignores(1);
}

TEST(Dropping, ARecordedLateAnswerIsTolerated) {
    given(started(),
          activity("A"),
          timer(),
          fired(3),
          activity_cancelled(2),
          activity("Next"),
          completed(2, "late"))
        .when(activity_or_timer_then_wait, completion(6, "end"))
        .completes("end");
}

TEST(Dropping, T20_ALateFiringOfACancelledTimerLeavesNoTrace) {
    given(started(), activity("A"), timer(), completed(2, ""), timer_cancelled(3), activity("Next"))
        .when(activity_or_timer_then_wait, timer_fires(3))
        .runs_on()
        .then({})
        .ignores(1);
}

// Nothing of the first firing is recorded, so frames in memory must not remember it either.
TEST(Dropping, ASecondFiringOfACancelledTimerIsIgnoredLikeTheFirst) {
    const auto turn = given(started(),
                            activity("A"),
                            timer(),
                            completed(2, ""),
                            timer_cancelled(3),
                            activity("Next"))
                          .when(activity_or_timer_then_wait, timer_fires(3), timer_fires(3));

    turn.then({}).ignores(2);
    ASSERT_EQ(turn.result().log.size(), 2u);
    EXPECT_EQ(turn.result().log[0].message, turn.result().log[1].message);
}

TEST(Dropping, IsReplayedWithoutRepeatingItsConsequences) {
    given(started(), activity("A"), timer(), fired(3), activity_cancelled(2), activity("Next"))
        .when(activity_or_timer_then_wait)
        .runs_on()
        .then({})
        .cancels_activities({});
    given(started(), child("C", "sub::2"), timer(), fired(3), child_cancelled(2), activity("Next"))
        .when([](Context ctx, std::string) -> Task<std::string> {
            co_await race{ctx.call_child_raw("C", ""), ctx.sleep(1s)};
            co_return co_await ctx.call_raw("Next", "");
        })
        .runs_on()
        .then({})
        .sends({});
}

TEST(Dropping, NewOnesFollowRecordedOnes) {
    given(started(), activity("A"), timer(), fired(3), activity_cancelled(2), activity("Next"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_await race{ctx.call_raw("A", ""), ctx.sleep(1s)};
                co_await ctx.call_raw("Next", "");
                ctx.call_raw("Another", "").cancel();
                co_return "done";
            },
            completion(6, ""))
        .completes("done")
        .cancels_activities({8});
}

TEST(Dropping, ThatTheCodeNoLongerDoesIsFound) {
    given(started(), activity("A"), activity_cancelled(2), completed(2, "r"))
        .when([](Context ctx, std::string) -> Task<std::string> {
            co_return co_await ctx.call_raw("A", "");
        })
        .is_nondeterministic(missing, {"ActivityCancelRequested of step 2"});
    given(started(), activity("A"), timer(), fired(3), activity_cancelled(2), activity("Next"))
        .when([](Context ctx, std::string) -> Task<std::string> {
            auto a = ctx.call_raw("A", "");
            co_await ctx.sleep(1s);
            const auto next = co_await ctx.call_raw("Next", "");
            co_return co_await a;
        })
        .is_nondeterministic(different,
                             {"ActivityCancelRequested of step 2", "ActivityScheduled \"Next\""});
}

TEST(Dropping, OfAnotherStepIsFound) {
    given(started(), activity("A"), activity("A"), activity_cancelled(2), timer())
        .when([](Context ctx, std::string) -> Task<std::string> {
            auto first = ctx.call_raw("A", "");
            ctx.call_raw("A", "").cancel();
            co_await ctx.sleep(1s);
            co_return co_await first;
        })
        .is_nondeterministic(different, {"cancels: step 2 / step 3"});
}

// Every cancellation is written once: a second record of one is damage, not a repetition.
TEST(Dropping, ASecondRecordOfItIsFound) {
    given(started(), activity("A"), timer(), fired(3), activity_cancelled(2), activity_cancelled(2))
        .when(activity_or_timer_then_wait)
        .is_nondeterministic(different, {"ActivityCancelRequested of step 2"});
    given(
        started(), child("C", "sub::2"), timer(), fired(3), child_cancelled(2), child_cancelled(2))
        .when(child_or_timer)
        .is_nondeterministic(different, {"SubOrchestrationCancelRequested of step 2"});
}

// In which order a container destroys its elements is the library's choice.
TEST(Dropping, SeveralInARowAreRecordedInTheOrderOfTheirSteps) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        std::vector<Operation<std::string>> calls;
        for (int i = 0; i < 3; ++i) {
            calls.push_back(ctx.call_raw("A", std::to_string(i)));
        }
        while (!calls.empty()) {
            calls.pop_back(); // backwards
        }
        co_await ctx.sleep(1s);
        co_return "";
    })
        .runs_on()
        .cancels_activities({2, 3, 4});
}

TEST(Dropping, WhatTheCodeHidOutsideOfItsFramesIsCancelledAtTheEnd) {
    static Operation<std::string>* hidden;
    given()
        .without_replay_check() // a global is exactly what replay cannot restore
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                hidden = new Operation<std::string>(ctx.call_raw("A", ""));
                co_return "done";
            },
            start_message())
        .completes("done")
        .then({started_line,
               "2 ActivityScheduled A()",
               "3 ActivityCancelRequested <-2 orchestration_terminal_completed",
               "4 OrchestrationCompleted done"})
        .cancels_activities({2});
    delete hidden; // long after its orchestration: harmless
}

TEST(Dropping, AssigningOverAnOperationCancelsTheOldOne) {
    given(started(), activity("A"), activity("B"), activity_cancelled(2))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto call = ctx.call_raw("A", "");
                call = ctx.call_raw("B", "");
                co_return co_await call;
            },
            completion(3, "b"))
        .completes("b");
}

// A scope guard that talks to the context: evicting the frame runs it, outside of any turn.
struct Talkative {
    explicit Talkative(Context context) : ctx{context} {}
    Talkative(const Talkative&) = delete;
    Talkative& operator=(const Talkative&) = delete;
    ~Talkative() {
        ctx.log(LogLevel::info, "bye");
        ctx.set_status("leaving");
        ctx.kv().set("left", true);
        ctx.call_raw("Farewell", "", {.timeout = 1s}).cancel();
        ctx.start_detached_raw("Other", "");
        static_cast<void>(ctx.patched("x"));
    }

    Context ctx;
};

TEST(Eviction, LetsDestructorsUseTheContextInVain) {
    const Code code = [](Context ctx, std::string) -> Task<std::string> {
        const Talkative guard{ctx};
        co_return co_await ctx.call_raw("A", "");
    };
    auto execution =
        replay::Execution::create({.handler = handler_of(code), .instance = test_instance});
    const std::vector<WorkItem> messages{start_message()};
    const auto result = execution->run(messages, from_epoch_ms(start_ms));

    execution.reset();

    EXPECT_EQ(result.commit.history_delta.size(), 2u);
}

TEST(Dropping, ByADestructorAtTheEndIsRecordedLikeAnythingElse) {
    given(started(), activity("A"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                const Talkative guard{ctx};
                co_return co_await ctx.call_raw("A", "");
            },
            completion(2, "done"))
        .completes("done")
        .then({"3 ActivityCompleted <-2 done",
               "4 CustomStatusUpdated leaving",
               "5 KeyValueSet left=true",
               "6 ActivityScheduled Farewell()",
               "7 TimerCreated",
               "8 ActivityCancelRequested <-6 dropped_future",
               "9 TimerCancelRequested <-7 dropped_future",
               "10 OrchestrationChained Other() as test-instance::detached::1_10",
               "11 PatchMarked x",
               "12 OrchestrationCompleted done"});
}

TEST(Eviction, IsInert) {
    const auto handler = handler_of(activity_or_timer);
    auto execution = replay::Execution::create({.handler = handler, .instance = test_instance});
    const std::vector<WorkItem> messages{start_message()};
    const auto result = execution->run(messages, from_epoch_ms(start_ms));
    const auto before = show(std::span{result.commit.history_delta});

    execution.reset();

    EXPECT_EQ(before, (Lines{started_line, "2 ActivityScheduled A()", "3 TimerCreated"}));
    EXPECT_TRUE(result.commit.cancelled_activities.empty());
}

} // namespace

} // namespace durable::replay_test::dropping_test
