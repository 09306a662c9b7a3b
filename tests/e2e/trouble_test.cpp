// Poison, missing handlers, refused commits, histories that do not fit: nothing is lost, nothing
// loops for ever, and the client or the log says what happened.

#include "e2e/e2e.hpp"

namespace durable::e2e::trouble_test {
namespace {

DURABLE_E2E_SUITE(Trouble);

using Text = std::string;

constexpr Activity<Text(Text)> work{"Work"};
constexpr Activity<Text(Text)> other_work{"OtherWork"};
constexpr Orchestration<Text(Text)> root{"Root"};
constexpr Orchestration<Text(Text)> child{"Child"};
constexpr Event<Text> go{"Go"};

Task<Text> call_work(Context ctx, Text input) {
    co_return co_await ctx.call(work, input);
}

Task<Text> wait_then_work(Context ctx, Text input) {
    co_await ctx.wait_for(go);
    co_return co_await ctx.call(work, input);
}

Task<Text> wait_then_other_work(Context ctx, Text input) {
    co_await ctx.wait_for(go);
    co_return co_await ctx.call(other_work, input);
}

Task<Text> ask_child(Context ctx, Text input) {
    const auto answer = co_await ctx.call(child, input, {.id = "child"}).as_result();
    co_return answer ? *answer : answer.error().kind + ": " + answer.error().message;
}

const details::Poison* poison_of(const OrchestrationStatus& status) {
    return status.failure ? std::get_if<details::Poison>(&*status.failure) : nullptr;
}

// ---- Poison

TEST_P(Trouble, AMessageThatWasTriedTooOftenFailsItsInstance) {
    int turns = 0;
    static int* counter = nullptr;
    counter = &turns;
    registry.add(root, [](Context, Text) -> Task<Text> {
        ++*counter;
        co_return "never";
    });
    store->more_turn_attempts = 10; // the 11th attempt of 10
    start(root, "in", {.id = "a"});

    const auto status = finish("a");

    const auto* poison = poison_of(status);
    ASSERT_NE(poison, nullptr) << failure_of(status);
    EXPECT_EQ(poison->attempt_count, 11u);
    EXPECT_EQ(poison->max_attempts, 10u);
    EXPECT_EQ(turns, 0);
    EXPECT_EQ(find<history::OrchestrationStarted>(history("a"))->name, "Root");
    EXPECT_EQ(metric("durable_orchestration_poison_total"), 1);
}

TEST_P(Trouble, TheLastAttemptIsStillMade) {
    registry.add(root, [](Context, Text) -> Task<Text> { co_return "just in time"; });
    store->more_turn_attempts = 9;

    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "just in time");
}

TEST_P(Trouble, MaxAttemptsIsAnOption) {
    registry.add(root, [](Context, Text) -> Task<Text> { co_return ""; });
    options.max_attempts = 3;
    store->more_turn_attempts = 3;

    start(root, "", {.id = "a"});

    EXPECT_EQ(failure("a"), "poison: orchestration a exceeded 3 attempts");
}

TEST_P(Trouble, APoisonedActivityFailsItsOrchestration) {
    int runs = 0;
    registry.add(work, [&](const Text& input) {
        ++runs;
        return input;
    });
    registry.add(root, call_work);
    store->more_work_attempts = 10;

    start(root, "x", {.id = "a"});

    EXPECT_NE(failure("a").find("poison: activity Work#2 exceeded 10 attempts"), Text::npos);
    EXPECT_EQ(runs, 0);
    EXPECT_EQ(metric("durable_activity_poison_total"), 1);
}

TEST_P(Trouble, APoisonedChildIsAFailureOfItsParentsCall) {
    registry.add(root, ask_child);
    registry.add(child, wait_then_work);
    start(root, "", {.id = "a"});
    settle();
    store->more_turn_attempts = 10;
    raise("child", go, "");
    ASSERT_TRUE(runtime().run_turn());
    store->more_turn_attempts = 0;

    EXPECT_NE(output("a").find("poison: orchestration child"), Text::npos);
}

TEST_P(Trouble, OnePoisonedActivityAmongManyIsCaughtLikeAnyFailure) {
    registry.add(work, [](const Text& input) { return input; });
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const Text one = co_await ctx.call(work, "one");
        const auto two = co_await ctx.call(work, "two").as_result();
        const Text three = co_await ctx.call(work, "three");
        const Text kind = two ? *two : two.error().kind;
        co_return one + "," + kind + "," + three;
    });
    start(root, "", {.id = "a"});
    ASSERT_TRUE(runtime().run_turn());
    ASSERT_TRUE(runtime().run_activity());
    ASSERT_TRUE(runtime().run_turn());
    store->more_work_attempts = 10;
    ASSERT_TRUE(runtime().run_activity());
    store->more_work_attempts = 0;

    EXPECT_EQ(output("a"), "one,Poison,three");
}

TEST_P(Trouble, PoisonOfAnActivityReachesTheTopOfTheTree) {
    registry.add(work, [](const Text& input) { return input; });
    registry.add(child, call_work);
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        co_return co_await ctx.call(child, input);
    });
    store->more_work_attempts = 10;

    start(root, "x", {.id = "a"});

    EXPECT_NE(failure("a").find("poison: activity Work#2 exceeded 10 attempts"), Text::npos);
    EXPECT_NE(poison_of(finish("a")), nullptr);
}

TEST_P(Trouble, T30_APoisonedParentTakesItsChildrenAndActivitiesAlong) {
    int runs = 0;
    registry.add(work, [&](const Text& input) {
        ++runs;
        return input;
    });
    registry.add(child, wait_then_work);
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const auto activity = ctx.call(work, "", {.tag = "elsewhere"});
        const auto below = ctx.call(child, "", {.id = "child"});
        co_return co_await ctx.wait_for(go);
    });
    start(root, "", {.id = "a"});
    settle();
    store->more_turn_attempts = 10;
    raise("a", go, "");
    ASSERT_TRUE(runtime().run_turn());
    store->more_turn_attempts = 0;

    EXPECT_NE(poison_of(finish("a")), nullptr);
    EXPECT_EQ(finish("child").status, RunStatus::failed);
    EXPECT_EQ(management().queue_depths().value().worker_queue, 0u);
}

TEST_P(Trouble, T31_ThePoisonOfASuccessorIsRecordedInIt) {
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        if (input == "1") {
            co_return co_await ctx.continue_as_new(root, "2");
        }
        co_return "never";
    });
    start(root, "1", {.id = "a"});
    ASSERT_TRUE(runtime().run_turn());
    store->more_turn_attempts = 10;
    ASSERT_TRUE(runtime().run_turn());
    store->more_turn_attempts = 0;

    const auto status = finish("a");

    EXPECT_NE(poison_of(status), nullptr);
    EXPECT_EQ(status.execution_id, 2u);
    EXPECT_TRUE(
        std::holds_alternative<history::OrchestrationContinuedAsNew>(history("a", 1).back().kind));
    EXPECT_EQ(find<history::OrchestrationStarted>(history("a", 2))->input, "2");
}

TEST_P(Trouble, AHistoryThatCannotBeReadIsTriedAgainAndThenGivenUp) {
    registry.add(root, wait_then_work);
    start(root, "", {.id = "a"});
    settle();
    store->unreadable_history = true;
    raise("a", go, "");

    runtime().advance(1min);

    EXPECT_EQ(client.status("a").value().status, RunStatus::failed);
    EXPECT_EQ(log->with("the history cannot be read").size(), 10u);
}

// ---- Handlers that are not here

TEST_P(Trouble, AnUnknownOrchestrationWaitsForItsCode) {
    start(root, "", {.id = "a"});

    runtime().advance(24h);

    EXPECT_EQ(status("a"), RunStatus::pending);
    EXPECT_EQ(metric("durable_orchestration_poison_total"), 0);
    EXPECT_TRUE(runtime().parked().empty()); // nothing was handed to it
}

TEST_P(Trouble, AnUnknownVersionIsNotReplacedByAnother) {
    registry.add(root, "1.0.0", [](Context, Text) -> Task<Text> { co_return "wrong"; });
    start(root, "", {.id = "a", .version = "9.9.9"});

    runtime().advance(24h);

    EXPECT_EQ(status("a"), RunStatus::pending);
}

TEST_P(Trouble, ATestIsToldWhichOrchestrationIsMissing) {
    start(root, "", {.id = "a", .version = "9.9.9"});

    const auto status = runtime().finish("a");

    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::orchestration_failed);
    EXPECT_EQ(status.error().message,
              "a needs the orchestration Root 9.9.9, which is not in the registry of this "
              "TestRuntime");
}

TEST_P(Trouble, ATestIsToldWhichActivityIsMissing) {
    registry.add(root, ask_child);
    registry.add(child, call_work);
    start(root, "", {.id = "a"});

    const auto status = runtime().finish("a");

    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message,
              "child needs the activity Work, which is not in the registry of this TestRuntime");
}

TEST_P(Trouble, AHandlerThatArrivesIsUsedAtOnce) {
    start(root, "", {.id = "a"});
    runtime().advance(24h);

    crash();
    registry.add(root, [](Context, Text) -> Task<Text> { co_return "deployed"; });
    settle();

    EXPECT_EQ(client.status("a").value().output, "deployed");
}

TEST_P(Trouble, AnUnknownActivityWaitsForItsCode) {
    registry.add(root, call_work);
    start(root, "x", {.id = "a"});
    runtime().advance(24h);
    EXPECT_EQ(status("a"), RunStatus::running);
    EXPECT_EQ(metric("durable_activity_configuration_errors_total"), 0);

    crash();
    std::vector<std::uint32_t> attempts;
    registry.add(work, [&](ActivityContext& ctx, const Text& input) {
        attempts.push_back(ctx.attempt());
        return input;
    });
    settle();

    EXPECT_EQ(client.status("a").value().output, "x");
    EXPECT_EQ(attempts, (std::vector<std::uint32_t>{1}));
}

TEST_P(Trouble, AnInstancePoisonedBeforeItBeganCanBeDeleted) {
    registry.add(root, call_work);
    store->more_turn_attempts = 10;
    start(root, "", {.id = "a"});
    ASSERT_NE(poison_of(finish("a")), nullptr);

    EXPECT_TRUE(management().delete_instance("a"));

    EXPECT_EQ(status("a"), RunStatus::not_found);
}

// ---- Commits that do not go through

TEST_P(Trouble, T21_ATransientErrorAtTheCommitIsRetried) {
    registry.add(root, [](Context, Text) -> Task<Text> { co_return "done"; });
    store->fail_next_turn_ack({.code = ErrorCode::unavailable}, 3);

    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "done");
}

TEST_P(Trouble, T28_APermanentErrorAtTheCommitNeverFailsTheInstance) {
    registry.add(root, [](Context, Text) -> Task<Text> { co_return "done"; });
    store->fail_next_turn_ack({.code = ErrorCode::storage_failed}, 3);

    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "done"); // after three backoffs
    EXPECT_EQ(metric("durable_orchestration_infrastructure_errors_total"), 3);
}

TEST_P(Trouble, T21_ExhaustedRetriesGiveTheTurnBack) {
    registry.add(root, [](Context, Text) -> Task<Text> { co_return "done"; });
    store->fail_next_turn_ack({.code = ErrorCode::unavailable}, 6);

    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "done");
    EXPECT_EQ(metric("durable_turns_discarded_total", {"reason=unavailable"}), 1);
}

TEST_P(Trouble, ALostLeaseDiscardsTheTurnAndNothingHappensTwice) {
    int runs = 0;
    registry.add(work, [&](const Text& input) {
        ++runs;
        return input;
    });
    registry.add(root, call_work);
    store->fail_next_turn_ack({.code = ErrorCode::lock_lost});
    start(root, "x", {.id = "a"});
    settle();
    clock->advance(5s); // the lease that was never given back

    EXPECT_EQ(output("a"), "x");
    EXPECT_EQ(runs, 1);
}

TEST_P(Trouble, ACommitThatHappenedButSaidOtherwiseIsNotRepeated) {
    int runs = 0;
    registry.add(work, [&](const Text& input) {
        ++runs;
        return input;
    });
    registry.add(root, call_work);
    store->fail_next_turn_ack({.code = ErrorCode::unavailable, .after_the_deed = true});

    start(root, "x", {.id = "a"});

    EXPECT_EQ(output("a"), "x");
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(count<history::ActivityScheduled>(history("a")), 1u);
}

TEST_P(Trouble, AFailedAckOfAResultIsRetriedWithoutRunningTheActivityAgain) {
    int runs = 0;
    registry.add(work, [&](const Text& input) {
        ++runs;
        return input;
    });
    registry.add(root, call_work);
    store->fail_next_work_ack({.code = ErrorCode::unavailable}, 12);

    start(root, "x", {.id = "a"});

    EXPECT_EQ(output("a"), "x");
    EXPECT_EQ(runs, 1);
}

TEST_P(Trouble, AResultThatCannotBeStoredFailsTheActivity) {
    registry.add(work, [](const Text&) { return Text{"\xff\xfe not UTF-8"}; });
    registry.add(root, call_work);

    start(root, "x", {.id = "a"});

    EXPECT_NE(failure("a").find("the result cannot be stored"), Text::npos);
}

TEST_P(Trouble, FetchErrorsAreSurvived) {
    registry.add(work, [](const Text& input) { return input; });
    registry.add(root, call_work);
    store->fail_next_turn_fetch({.code = ErrorCode::unavailable});
    store->fail_next_work_fetch({.code = ErrorCode::corrupt});
    start(root, "x", {.id = "a"});

    settle();
    settle();
    settle();

    EXPECT_EQ(output("a"), "x");
}

TEST_P(Trouble, AStoreThatForgetsTheCacheChangesNothing) {
    registry.add(work, [](const Text& input) { return input + "!"; });
    registry.add(root, wait_then_work);
    store->ignore_cache = true;
    start(root, "x", {.id = "a"});
    settle();

    raise("a", go, "");

    EXPECT_EQ(output("a"), "x!");
}

// ---- Code that does not fit its history

TEST_P(Trouble, NondeterminismParksTheInstanceUntilTheCodeFitsAgain) {
    registry.add(work, [](const Text& input) { return input + "!"; });
    registry.add(other_work, [](const Text& input) { return input + "?"; });
    registry.add(root, wait_then_work);
    start(root, "x", {.id = "a"});
    settle();
    raise("a", go, "");
    ASSERT_TRUE(runtime().run_turn()); // schedules Work
    crash();

    registry = {};
    registry.add(work, [](const Text& input) { return input + "!"; });
    registry.add(root, wait_then_other_work); // a bad deployment
    runtime().advance(10min);
    EXPECT_EQ(status("a"), RunStatus::running);
    ASSERT_EQ(runtime().parked().size(), 1u);
    const auto parked = runtime().parked().front();
    EXPECT_EQ(parked.instance, "a");
    EXPECT_GT(parked.attempts, 10u); // more often than max_attempts, and still alive
    EXPECT_NE(parked.report.find("\"Work\""), Text::npos) << parked.report;
    EXPECT_NE(parked.report.find("\"OtherWork\""), Text::npos) << parked.report;
    crash();

    registry = {};
    registry.add(root, wait_then_work); // rolled back
    runtime().advance(1min);

    EXPECT_EQ(output("a"), "x!");
    EXPECT_TRUE(runtime().parked().empty());
}

TEST_P(Trouble, NondeterminismFailsTheInstanceWhenThePolicySaysSo) {
    registry.add(work, [](const Text& input) { return input; });
    registry.add(root, wait_then_work);
    start(root, "x", {.id = "a"});
    settle();
    raise("a", go, "");
    ASSERT_TRUE(runtime().run_turn());
    crash();

    registry = {};
    registry.add(work, [](const Text& input) { return input; });
    registry.add(root, wait_then_other_work);
    options.nondeterminism = NondeterminismPolicy::fail;

    EXPECT_NE(failure("a").find("nondeterministic: "), Text::npos);
    EXPECT_EQ(management().queue_depths().value().worker_queue, 0u);
    EXPECT_EQ(metric("durable_orchestration_configuration_errors_total", {"kind=nondeterminism"}),
              1);
}

TEST_P(Trouble, AParkedInstanceCanBeCancelled) {
    registry.add(root, wait_then_work);
    start(root, "x", {.id = "a"});
    settle();
    raise("a", go, "");
    ASSERT_TRUE(runtime().run_turn());
    crash();
    registry = {};
    registry.add(root, wait_then_other_work);
    registry.add(work, [](const Text& input) { return input; });
    settle();
    ASSERT_EQ(runtime().parked().size(), 1u);

    ASSERT_TRUE(client.cancel("a", "the code is gone"));
    runtime().advance(1min);

    EXPECT_EQ(failure("a"), "canceled: the code is gone");
    EXPECT_TRUE(runtime().parked().empty());
}

} // namespace
} // namespace durable::e2e::trouble_test
