// Activities and timers as steps: failures, retries, timeouts, recovery.

#include "e2e/e2e.hpp"

namespace durable::e2e::steps_test {
namespace {

DURABLE_E2E_SUITE(Steps);

using Text = std::string;

constexpr Activity<Text(Text)> work{"Work"};
constexpr Activity<Text(Text)> fallback{"Fallback"};
constexpr Orchestration<Text(Text)> root{"Root"};
constexpr Event<Text> go{"Go"};

// ---- Failures

TEST_P(Steps, AnActivitysExceptionFailsTheOrchestrationWithItsNameAndText) {
    registry.add(work, [](const Text&) -> Text { throw std::runtime_error{"no gas"}; });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        co_return co_await ctx.call(work, input);
    });

    start(root, "", {.id = "a"});

    EXPECT_EQ(failure("a"), "activity 'Work' failed: no gas");
    EXPECT_EQ(count<history::ActivityFailed>(history("a")), 1u);
    const auto error = client.attach(root, "a").wait(0s).error();
    EXPECT_EQ(error.code, ErrorCode::orchestration_failed);
    EXPECT_EQ(error.failure_kind, failure_kind::activity_failed);
    EXPECT_EQ(error.activity, "Work");
    EXPECT_EQ(error.message, "activity 'Work' failed: no gas");
}

constexpr Orchestration<Text(Text)> middle{"Middle"};
constexpr Orchestration<Text(Text)> leaf{"Leaf"};

TEST_P(Steps, AnActivitysFailureThatNobodyCatchesReachesTheTopAsItWas) {
    registry.add(work, [](const Text& kind) -> Text {
        throw OperationFailed{{.kind = kind, .message = "no money", .retryable = true}};
    });
    registry.add(leaf, [](Context ctx, Text kind) -> Task<Text> {
        co_return co_await ctx.call(work, kind);
    });
    registry.add(middle, [](Context ctx, Text kind) -> Task<Text> {
        co_return co_await ctx.call(leaf, kind);
    });
    registry.add(root, [](Context ctx, Text kind) -> Task<Text> {
        const auto answer = co_await ctx.call(middle, kind).as_result();
        const auto& failure = answer.error();
        co_return failure.kind + ", " + failure.message + ", " + failure.activity +
            (failure.retryable ? ", retryable" : "");
    });
    start(root, "Declined", {.id = "a"});
    start(root, "ActivityFailed", {.id = "b"}); // what any other exception is
    start(middle, "Declined", {.id = "c"});

    EXPECT_EQ(output("a"), "Declined, no money, Work, retryable");
    EXPECT_EQ(output("b"), "ActivityFailed, no money, Work, retryable");
    EXPECT_EQ(failure("c"), "activity 'Work' failed: no money");
    const auto error = client.attach(middle, "c").wait(0s).error();
    EXPECT_EQ(error.failure_kind, "Declined");
    EXPECT_EQ(error.activity, "Work");
}

// U5: only what the activity says counts; an exception that says nothing is worth another attempt.
TEST_P(Steps, AnActivityThatSaysNotRetryableIsNotRetried) {
    std::atomic<int> runs = 0;
    registry.add(work, [&](const Text& how) -> Text {
        ++runs;
        if (how == "permanent") {
            throw OperationFailed{{.kind = "Declined", .message = "no", .retryable = false}};
        }
        throw OperationFailed{{.kind = "Declined", .message = "no"}};
    });
    registry.add(root, [](Context ctx, Text how) -> Task<Text> {
        const RetryPolicy retry{.max_attempts = 3, .backoff = Backoff::none};
        co_return co_await ctx.call(work, how, {.retry = retry});
    });

    start(root, "permanent", {.id = "a"});
    EXPECT_EQ(failure("a"), "activity 'Work' failed: no");
    EXPECT_EQ(runs, 1);

    start(root, "nothing said", {.id = "b"});
    EXPECT_EQ(failure("b"), "activity 'Work' failed: no");
    EXPECT_EQ(runs, 1 + 3);
}

TEST_P(Steps, AFailureOfTheOrchestrationsOwnNamesNoActivity) {
    registry.add(work, [](const Text&) -> Text { throw std::runtime_error{"no gas"}; });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        const auto result = co_await ctx.call(work, input).as_result();
        throw OperationFailed{{.kind = "Stranded", .message = "with " + result.error().message}};
        co_return "";
    });

    start(root, "", {.id = "a"});

    EXPECT_EQ(failure("a"), "with no gas");
    const auto error = client.attach(root, "a").wait(0s).error();
    EXPECT_EQ(error.failure_kind, "Stranded");
    EXPECT_EQ(error.activity, "");
}

TEST_P(Steps, AFailureAsAValueLeadsToTheFallback) {
    registry.add(work, [](const Text&) -> Text {
        throw OperationFailed{{.kind = "Declined", .message = "no money", .retryable = true}};
    });
    registry.add(fallback, [](const Text& kind) { return "instead of " + kind; });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        const auto paid = co_await ctx.call(work, input).as_result();
        if (paid) {
            co_return "paid";
        }
        const Text kind = paid.error().kind + (paid.error().retryable ? "?" : "!");
        co_return co_await ctx.call(fallback, kind);
    });

    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "instead of Declined?");
}

TEST_P(Steps, AnExceptionCanBeCaughtAfterManySteps) {
    registry.add(work, [](const Text& input) -> Text {
        if (input == "3") {
            throw std::runtime_error{"three"};
        }
        return input;
    });
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        Text caught;
        for (int i = 1; i <= 4; ++i) {
            const auto part = std::to_string(i);
            try {
                co_await ctx.call(work, part);
            } catch (const OperationFailed& error) {
                caught += error.failure().message;
            }
        }
        co_return caught;
    });

    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "three");
}

TEST_P(Steps, AnUncaughtExceptionOfTheOrchestrationIsItsFailure) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        co_await ctx.sleep(1s);
        throw std::logic_error{"cannot be"};
    });

    start(root, "", {.id = "a"});

    EXPECT_EQ(failure("a"), "orchestration panicked: cannot be");
}

TEST_P(Steps, AnInputOfAnotherTypeFailsTheActivityWithASentence) {
    constexpr Activity<int(int)> number{"Number"};
    registry.add(number, [](int n) { return n; });
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        co_return co_await ctx.call_raw("Number", "not a number");
    });

    start(root, "", {.id = "a"});

    EXPECT_NE(failure("a").find("cannot read the payload"), Text::npos);
}

TEST_P(Steps, CompensationsRunInReverseOrderAfterAFailure) {
    std::vector<Text> calls;
    registry.add(work, [&](const Text& what) -> Text {
        calls.push_back(what);
        if (what == "charge") {
            throw std::runtime_error{"declined"};
        }
        return what;
    });
    registry.add(fallback, [&](const Text& what) {
        calls.push_back("undo " + what);
        return what;
    });
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        for (const auto* part : {"flight", "hotel"}) {
            const Text booked = co_await ctx.call(work, part);
            ctx.on_failure(fallback, booked);
        }
        co_return co_await ctx.call(work, "charge");
    });

    start(root, "", {.id = "a"});

    EXPECT_EQ(failure("a"), "activity 'Work' failed: declined");
    EXPECT_EQ(calls, (std::vector<Text>{"flight", "hotel", "charge", "undo hotel", "undo flight"}));
}

TEST_P(Steps, ACompensationThatFailsIsToldInTheFailure) {
    registry.add(work, [](const Text&) -> Text {
        throw OperationFailed{{.kind = "Declined", .message = "no money"}};
    });
    registry.add(fallback, [](const Text&) -> Text { throw std::runtime_error{"nobody answers"}; });
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        ctx.on_failure(fallback, "it");
        co_return co_await ctx.call(work, "charge");
    });

    start(root, "", {.id = "a"});

    EXPECT_EQ(failure("a"),
              "activity 'Work' failed: no money; compensation 'Fallback' failed: nobody answers");
    const auto error = client.attach(root, "a").wait(0s).error();
    EXPECT_EQ(error.failure_kind, "Declined");
    EXPECT_EQ(error.activity, "Work");
}

// ---- Retries

TEST_P(Steps, ARetriedActivitySucceedsInTheEnd) {
    int runs = 0;
    registry.add(work, [&](const Text& input) -> Text {
        if (++runs < 3) {
            throw std::runtime_error{"not yet"};
        }
        return input;
    });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        co_return co_await ctx.call(work, input, {.retry = {.max_attempts = 5}});
    });
    const auto begun = clock->now();

    start(root, "x", {.id = "a"});

    EXPECT_EQ(output("a"), "x");
    EXPECT_EQ(runs, 3);
    EXPECT_EQ(clock->now() - begun, 100ms + 200ms);
    EXPECT_EQ(count<history::ActivityScheduled>(history("a")), 3u);
}

// Calls twice, each with retries: the activity fails twice and then succeeds.
Task<Text> call_twice(Context ctx, Text) {
    const CallOptions three_times{.retry = {.max_attempts = 3}};
    const Text first = co_await ctx.call(work, "1", three_times);
    const Text second = co_await ctx.call(work, "2", three_times);
    co_return first + second;
}

TEST_P(Steps, TheAttemptsOfOneCallShareAnIdempotencyKeyAndTwoCallsNever) {
    std::vector<Text> keys;
    std::vector<std::uint32_t> attempts;
    registry.add(work, [&](ActivityContext& ctx, const Text& input) -> Text {
        keys.push_back(ctx.idempotency_key());
        attempts.push_back(ctx.attempt());
        if (ctx.attempt() < 3) {
            throw std::runtime_error{"not yet"};
        }
        return input;
    });
    registry.add(root, call_twice);

    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "12");
    EXPECT_EQ(attempts, (std::vector<std::uint32_t>{1, 2, 3, 1, 2, 3}));
    EXPECT_EQ(keys, (std::vector<Text>{"a/1/2", "a/1/2", "a/1/2", "a/1/12", "a/1/12", "a/1/12"}));
}

TEST_P(Steps, ARetryThatIsHandedOutAgainKeepsTheKeyAndCountsOn) {
    std::vector<Text> runs;
    registry.add(work, [&](ActivityContext& ctx, const Text& input) -> Text {
        runs.push_back(ctx.idempotency_key() + " #" + std::to_string(ctx.attempt()));
        if (runs.size() == 1) {
            throw std::runtime_error{"not yet"};
        }
        return input;
    });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        co_return co_await ctx.call(
            work, input, {.retry = {.max_attempts = 3, .backoff = Backoff::none}});
    });
    start(root, "x", {.id = "a"});
    ASSERT_TRUE(runtime().run_turn());
    ASSERT_TRUE(runtime().run_activity());
    ASSERT_TRUE(runtime().run_turn());                                  // schedules the retry
    ASSERT_TRUE(store->fetch_work_item({.lock_timeout = 30s}).value()); // whose worker dies
    runtime().advance(30s);

    EXPECT_EQ(output("a"), "x");
    EXPECT_EQ(runs, (std::vector<Text>{"a/1/2 #1", "a/1/2 #3"}));
}

TEST_P(Steps, ExhaustedRetriesGiveTheLastFailure) {
    int runs = 0;
    registry.add(work, [&](const Text&) -> Text {
        throw std::runtime_error{"failure " + std::to_string(++runs)};
    });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        co_return co_await ctx.call(
            work, input, {.retry = {.max_attempts = 3, .backoff = Backoff::none}});
    });

    start(root, "x", {.id = "a"});

    EXPECT_EQ(failure("a"), "activity 'Work' failed: failure 3");
    EXPECT_EQ(count<history::TimerCreated>(history("a")), 0u);
}

TEST_P(Steps, T20_AnAttemptThatEndsInTimeLeavesNoTimerBehind) {
    registry.add(work, [](const Text& input) { return input; });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        const Text result = co_await ctx.call(work, input, {.timeout = 1h});
        const Text event = co_await ctx.wait_for(go);
        co_return result + event;
    });
    start(root, "x", {.id = "a"});
    settle();
    const auto turns = store->turn_acks.load();

    runtime().advance(2h);

    EXPECT_EQ(store->turn_acks.load(), turns) << "a timer nobody waits for has woken the instance";
    raise("a", go, "!");
    EXPECT_EQ(output("a"), "x!");
}

TEST_P(Steps, AnAttemptThatTimesOutIsCancelledAndTriedAgain) {
    int runs = 0;
    registry.add(work, [&](const Text&) -> Text { return std::to_string(++runs); });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        const auto result =
            co_await ctx
                .call(work, input, {.retry = {.max_attempts = 2}, .timeout = 1min, .tag = "nobody"})
                .as_result();
        co_return result ? *result : result.error().kind;
    });

    start(root, "x", {.id = "a"});

    EXPECT_EQ(output("a"), "TimedOut");
    EXPECT_EQ(count<history::ActivityScheduled>(history("a")), 2u);
    EXPECT_EQ(management().queue_depths().value().worker_queue, 0u);
}

// ---- Timers

TEST_P(Steps, ATimerFiresOnTimeAndNotEarlier) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const auto begun = ctx.now();
        co_await ctx.sleep(90min);
        co_return std::to_string((ctx.now() - begun).count());
    });
    start(root, "", {.id = "a"});
    settle();

    runtime().advance(90min - 1ms);
    EXPECT_EQ(status("a"), RunStatus::running);
    runtime().advance(1ms);

    EXPECT_EQ(output("a"), std::to_string(Duration{90min}.count()));
}

TEST_P(Steps, TimersFireInTheOrderOfTheirTimes) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        auto late = ctx.sleep(3s);
        auto early = ctx.sleep(1s);
        auto middle = ctx.sleep(2s);
        Text order;
        const auto first = co_await race{late, early, middle};
        order += std::to_string(first.index());
        co_await middle;
        co_await late;
        co_return order;
    });

    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "1");
}

TEST_P(Steps, AZeroTimerTakesATurnOfItsOwn) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        co_await ctx.sleep(0s);
        co_return "woken";
    });

    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "woken");
    EXPECT_EQ(count<history::TimerFired>(history("a")), 1u);
}

TEST_P(Steps, TimersSurviveACrashBeforeAndAfterTheyFire) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        co_await ctx.sleep(1h);
        co_await ctx.sleep(1h);
        co_await ctx.sleep(1h);
        co_return "three hours";
    });
    const auto begun = clock->now();
    start(root, "", {.id = "a"});
    settle();
    crash();
    clock->advance(30min);
    runtime().advance(30min);
    crash();
    clock->advance(5h); // fires while no runtime is there

    EXPECT_EQ(output("a"), "three hours");
    EXPECT_EQ(clock->now() - begun, 7h); // the third hour begins when the second is noticed
}

// ---- Recovery

TEST_P(Steps, AfterACrashEveryStepHasRunOnce) {
    std::vector<Text> runs;
    const auto deploy = [&] {
        registry = {};
        registry.add(work, [&](const Text& input) {
            runs.push_back(input);
            return input;
        });
        registry.add(root, [](Context ctx, Text) -> Task<Text> {
            const Text one = co_await ctx.call(work, "1");
            co_await ctx.wait_for(go);
            const Text two = co_await ctx.call(work, "2");
            co_return one + two;
        });
    };
    deploy();
    start(root, "", {.id = "a"});
    settle();
    crash();
    deploy();
    raise("a", go, "");
    ASSERT_TRUE(runtime().run_turn());
    crash();
    deploy();

    EXPECT_EQ(output("a"), "12");
    EXPECT_EQ(runs, (std::vector<Text>{"1", "2"}));
}

TEST_P(Steps, AnActivityWhoseWorkerDiedIsRunAgainWithAHigherAttempt) {
    std::vector<std::uint32_t> attempts;
    registry.add(work, [&](ActivityContext& ctx, const Text& input) {
        attempts.push_back(ctx.attempt());
        return input;
    });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        co_return co_await ctx.call(work, input);
    });
    start(root, "x", {.id = "a"});
    ASSERT_TRUE(runtime().run_turn());
    ASSERT_TRUE(store->fetch_work_item({.lock_timeout = 30s}).value()); // and dies
    settle();
    EXPECT_TRUE(attempts.empty());

    runtime().advance(30s);

    EXPECT_EQ(output("a"), "x");
    EXPECT_EQ(attempts, (std::vector<std::uint32_t>{2}));
}

TEST_P(Steps, ATurnWhoseProcessDiedIsRunAgain) {
    registry.add(root, [](Context, Text) -> Task<Text> { co_return "done"; });
    start(root, "", {.id = "a"});
    ASSERT_TRUE(store->fetch_orchestration_item({.lock_timeout = 5s}).value()); // and dies
    settle();
    EXPECT_EQ(status("a"), RunStatus::pending);

    runtime().advance(5s);

    EXPECT_EQ(output("a"), "done");
}

TEST_P(Steps, ALongActivityKeepsItsLease) {
    registry.add(work, [](ActivityContext& ctx, const Text& input) -> Text {
        return ctx.sleep(10min) ? input : "interrupted";
    });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        co_return co_await ctx.call(work, input);
    });

    start(root, "patient", {.id = "a"});

    EXPECT_EQ(output("a"), "patient");
    EXPECT_EQ(store->work_renewals.load(), 1); // for as long as it sleeps: the clock jumps
}

} // namespace
} // namespace durable::e2e::steps_test
