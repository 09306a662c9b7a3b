// Calls with retries and time limits: every attempt, pause and limit is an ordinary step.

#include "replay/fixture.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace durable::replay_test::retry_test {

namespace {

constexpr RetryPolicy three_times{
    .max_attempts = 3, .backoff = Backoff::fixed, .first_delay = std::chrono::seconds{5}};

Task<std::string> call_three_times(Context ctx, std::string) {
    co_return co_await ctx.call_raw("A", "in", {.retry = three_times});
}

TEST(Retry, SchedulesOneAttemptWhenTheCallIsMade) {
    fresh(call_three_times).runs_on().gives_to_workers({"ActivityExecute#2 A(in)"}).sends({});
}

TEST(Retry, TheFirstSuccessIsTheResult) {
    given(started(), activity("A", "in"))
        .when(call_three_times, completion(2, "ok"))
        .completes("ok")
        .then({"3 ActivityCompleted <-2 ok", "4 OrchestrationCompleted ok"});
}

TEST(Retry, PausesAfterAFailureAndTriesAgain) {
    const auto turn = given(started(), activity("A", "in"))
                          .when(call_three_times,
                                failure(2, application("once")),
                                timer_fires(4),
                                completion(6, "ok"));

    turn.completes("ok").then({"3 ActivityFailed <-2 once",
                               "4 TimerCreated",
                               "5 TimerFired <-4",
                               "6 ActivityScheduled A(in)",
                               "7 ActivityCompleted <-6 ok",
                               "8 OrchestrationCompleted ok"});
    EXPECT_EQ(turn.result().log.at(0).message,
              "Activity 'A' attempt 1/3 failed: once. Retrying...");
}

const work::ActivityExecute& worker_item(const Then& turn, std::size_t index) {
    return std::get<work::ActivityExecute>(turn.result().commit.worker_items.at(index));
}

TEST(Retry, EveryAttemptNamesTheFirstOfItsCall) {
    const auto begun = fresh(call_three_times);
    EXPECT_EQ(worker_item(begun, 0).call_id, std::nullopt); // it is the first
    EXPECT_EQ(worker_item(begun, 0).call_attempt, std::nullopt);

    const auto turn = given(started(), activity("A", "in"))
                          .when(call_three_times,
                                failure(2, application("first")),
                                timer_fires(4),
                                failure(6, application("second")),
                                timer_fires(8));

    turn.runs_on().gives_to_workers({"ActivityExecute#6 A(in)", "ActivityExecute#10 A(in)"});
    EXPECT_EQ(worker_item(turn, 0).call_id, 2u);
    EXPECT_EQ(worker_item(turn, 0).call_attempt, 2u);
    EXPECT_EQ(worker_item(turn, 1).call_id, 2u);
    EXPECT_EQ(worker_item(turn, 1).call_attempt, 3u);
}

TEST(Retry, AnAttemptAfterAReplayStillNamesTheFirst) {
    const auto turn = given(started(),
                            activity("A", "in"),
                            failed(2, "first"),
                            timer(),
                            fired(4),
                            activity("A", "in"),
                            failed(6, "second"),
                            timer())
                          .when(call_three_times, timer_fires(8));

    turn.runs_on().gives_to_workers({"ActivityExecute#10 A(in)"});
    EXPECT_EQ(worker_item(turn, 0).call_id, 2u);
    EXPECT_EQ(worker_item(turn, 0).call_attempt, 3u);
}

TEST(Retry, GivesUpWithTheLastFailure) {
    given(started(), activity("A", "in"))
        .when(call_three_times,
              failure(2, application("first")),
              timer_fires(4),
              failure(6, application("second")),
              timer_fires(8),
              failure(10, application("third")))
        .fails("third");
}

TEST(Retry, WithoutBackoffNeedsNoTimers) {
    given(started(), activity("A"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_return co_await ctx.call_raw(
                    "A", "", {.retry = {.max_attempts = 2, .backoff = Backoff::none}});
            },
            failure(2, application("once")),
            completion(4, "ok"))
        .completes("ok")
        .sends({});
}

TEST(Retry, OnlyRetryableStopsAtAFailureThatIsNot) {
    const Code code = [](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_raw(
            "A",
            "",
            {.retry = {.max_attempts = 5, .backoff = Backoff::none, .only_retryable = true}});
    };
    given(started(), activity("A")).when(code, failure(2, application("final"))).fails("final");
    given(started(), activity("A"))
        .when(code, failure(2, details::Application{.message = "busy", .retryable = true}))
        .runs_on()
        .gives_to_workers({"ActivityExecute#4 A()"});
}

// U5
TEST(Retry, APermanentFailureEndsTheCall) {
    const Code code = [](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_raw(
            "A", "", {.retry = {.max_attempts = 5, .backoff = Backoff::none}});
    };
    const details::Application declined{.message = "declined", .permanent = true};
    given(started(), activity("A")).when(code, failure(2, declined)).fails("declined");
    given(started(), activity("A"))
        .when(code, failure(2, details::Poison{.message = "kills", .permanent = true}))
        .then({"3 ActivityFailed <-2 poison: orchestration  exceeded 0 attempts",
               "4 OrchestrationFailed poison: orchestration  exceeded 0 attempts"});
}

TEST(Retry, APolicyMayAskForAnotherAttemptAfterAPermanentFailure) {
    given(started(), activity("A"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_return co_await ctx.call_raw("A",
                                                "",
                                                {.retry = {.max_attempts = 2,
                                                           .backoff = Backoff::none,
                                                           .retry_permanent = true}});
            },
            failure(2, details::Application{.message = "declined", .permanent = true}))
        .runs_on()
        .gives_to_workers({"ActivityExecute#4 A()"});
}

TEST(Retry, AFailureThatAnOlderVersionRecordedIsRetriedAsItWasThen) {
    given(started(),
          activity("A"),
          failed(2, details::Application{.message = "once", .retryable = false}),
          activity("A"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_return co_await ctx.call_raw(
                    "A", "", {.retry = {.max_attempts = 2, .backoff = Backoff::none}});
            },
            completion(4, "ok"))
        .completes("ok");
}

// An orchestration, and its parents, pass the mark on with the failure.
TEST(Retry, AFailureStaysPermanentOnItsWayUp) {
    const auto turn =
        given(started(), child("C", "c-1"))
            .when(
                [](Context ctx, std::string) -> Task<std::string> {
                    co_return co_await ctx.call_child_raw("C", "", {.id = "c-1"});
                },
                child_fails(2, details::Application{.message = "declined", .permanent = true}));
    EXPECT_TRUE(retryable(turn.result().details.value()).permanent());
}

TEST(Retry, KeepsSessionAndTagOfTheCall) {
    given(started(),
          event(history::ActivityScheduled{
              .name = "A", .input = "", .session_id = "s", .tag = "gpu"}))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_return co_await ctx.call_raw(
                    "A",
                    "",
                    {.retry = {.max_attempts = 2, .backoff = Backoff::none},
                     .tag = "gpu",
                     .session = "s"});
            },
            failure(2, application("once")))
        .then({"3 ActivityFailed <-2 once", "4 ActivityScheduled A() tag=gpu session=s"});
}

TEST(Retry, NeedsAtLeastOneAttempt) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        co_return co_await ctx.call_raw("A", "", {.retry = {.max_attempts = 0}});
    })
        .fails("activity 'A': retry.max_attempts must be at least 1, not 0")
        .gives_to_workers({});
}

TEST(Retry, OfSeveralCallsRunSideBySide) {
    given(started(), activity("A"), activity("B"))
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                auto [a, b] = co_await all{ctx.call_raw("A", "", {.retry = three_times}),
                                           ctx.call_raw("B", "", {.retry = three_times})};
                co_return a + b;
            },
            failure(3, application("once")),
            completion(2, "a"),
            timer_fires(5),
            completion(8, "b"))
        .completes("ab");
}

// ---- Time limits

Task<std::string> call_in_time(Context ctx, std::string) {
    co_return co_await ctx.call_raw("A", "", {.timeout = 30s});
}

TEST(Timeout, TheTimerFollowsTheActivity) {
    fresh(call_in_time)
        .runs_on()
        .then({"1 OrchestrationStarted TestOrch(test-input)",
               "2 ActivityScheduled A()",
               "3 TimerCreated"});
}

TEST(Timeout, T20_AResultInTimeCancelsTheTimer) {
    given(started(), activity("A"), timer())
        .when(call_in_time, completion(2, "ok"))
        .completes("ok")
        .then({"4 ActivityCompleted <-2 ok",
               "5 TimerCancelRequested <-3 dropped_future",
               "6 OrchestrationCompleted ok"})
        .cancels_timers({3});
}

TEST(Timeout, CancelsTheActivityAndFailsTheCall) {
    given(started(), activity("A"), timer())
        .when(call_in_time, timer_fires(3))
        .fails("activity 'A' failed: timeout: activity timed out")
        .cancels_activities({2});
}

TEST(Timeout, HasAKindOfItsOwn) {
    given(started(), activity("A"), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                const auto result = co_await ctx.call_raw("A", "", {.timeout = 30s}).as_result();
                co_return result.error().kind;
            },
            timer_fires(3))
        .completes("TimedOut");
}

TEST(Timeout, OfOneAttemptIsFollowedByTheNext) {
    given(started(), activity("A"), timer())
        .when(
            [](Context ctx, std::string) -> Task<std::string> {
                co_return co_await ctx.call_raw(
                    "A",
                    "",
                    {.retry = {.max_attempts = 2, .backoff = Backoff::none}, .timeout = 30s});
            },
            timer_fires(3))
        .runs_on()
        .then({"4 TimerFired <-3",
               "5 ActivityCancelRequested <-2 dropped_future",
               "6 ActivityScheduled A()",
               "7 TimerCreated"});
}

Task<std::string> call_with_total(Context ctx, std::string) {
    co_return co_await ctx.call_raw("A", "", {.retry = three_times, .total_timeout = 1min});
}

TEST(TotalTimeout, EndsTheAttemptsAndTheirPauses) {
    given(started(), activity("A"), timer())
        .when(call_with_total, failure(2, application("once")), timer_fires(3))
        .fails("activity 'A' failed: timeout: activity timed out")
        .then({"4 ActivityFailed <-2 once",
               "5 TimerCreated",
               "6 TimerFired <-3",
               "7 TimerCancelRequested <-5 dropped_future",
               "8 OrchestrationFailed activity 'A' failed: timeout: activity timed out"});
}

TEST(TotalTimeout, IsCancelledWhenTheCallSucceeds) {
    given(started(), activity("A"), timer())
        .when(call_with_total, completion(2, "ok"))
        .completes("ok")
        .cancels_timers({3});
}

TEST(Timeout, DroppingTheCallCancelsAllItsSteps) {
    fresh([](Context ctx, std::string) -> Task<std::string> {
        ctx.call_raw("A", "", {.timeout = 30s, .total_timeout = 1min}).cancel();
        co_return "done";
    })
        .completes("done")
        .cancels_activities({2})
        .cancels_timers({3, 4});
}

// ---- The arithmetic of delays

TEST(Backoff, NoneIsZero) {
    constexpr RetryPolicy policy{.backoff = Backoff::none, .first_delay = std::chrono::seconds{1}};
    EXPECT_EQ(policy.delay_after(1), 0ms);
    EXPECT_EQ(policy.delay_after(100), 0ms);
}

TEST(Backoff, FixedStaysTheSame) {
    constexpr RetryPolicy policy{.backoff = Backoff::fixed, .first_delay = std::chrono::seconds{5}};
    EXPECT_EQ(policy.delay_after(1), 5s);
    EXPECT_EQ(policy.delay_after(9), 5s);
}

TEST(Backoff, LinearGrowsByTheFirstDelayUpToTheMost) {
    constexpr RetryPolicy policy{.backoff = Backoff::linear,
                                 .first_delay = std::chrono::seconds{2},
                                 .max_delay = std::chrono::seconds{5}};
    EXPECT_EQ(policy.delay_after(1), 2s);
    EXPECT_EQ(policy.delay_after(2), 4s);
    EXPECT_EQ(policy.delay_after(3), 5s);
}

TEST(Backoff, ExponentialMultipliesUpToTheMost) {
    constexpr RetryPolicy policy{};
    EXPECT_EQ(policy.delay_after(1), 100ms);
    EXPECT_EQ(policy.delay_after(2), 200ms);
    EXPECT_EQ(policy.delay_after(3), 400ms);
    EXPECT_EQ(policy.delay_after(20), 30s);
    EXPECT_EQ(policy.delay_after(std::numeric_limits<int>::max()), 30s);
}

TEST(Backoff, OddNumbersAreHarmless) {
    EXPECT_EQ((RetryPolicy{.first_delay = Duration::zero()}.delay_after(5)), 0ms);
    EXPECT_EQ((RetryPolicy{.first_delay = std::chrono::seconds{-5}}.delay_after(1)), 0ms);
    EXPECT_EQ((RetryPolicy{.multiplier = 1.0}.delay_after(7)), 100ms);
    EXPECT_EQ((RetryPolicy{.multiplier = -3.0}.delay_after(2)), 30s);
    EXPECT_EQ((RetryPolicy{}.delay_after(0)), 100ms);
}

} // namespace

} // namespace durable::replay_test::retry_test
