// A TestRuntime on a store that others have used: it finds out what is due, and skips to it.

#include "e2e/e2e.hpp"

namespace durable::e2e::leftovers_test {

namespace {

DURABLE_E2E_SUITE(Leftovers);

using Text = std::string;

constexpr Activity<Text(Text)> work{"Work"};
constexpr Activity<Text(Text)> other_work{"OtherWork"};
constexpr Orchestration<Text(Text)> root{"Root"};
constexpr Orchestration<Text(Text)> other{"Other"};
constexpr Event<Text> go{"Go"};

Task<Text> echo(Context, Text input) {
    co_return input;
}

Task<Text> call_work(Context ctx, Text input) {
    co_await ctx.wait_for(go);
    co_return co_await ctx.call(work, input);
}

Task<Text> call_other_work(Context ctx, Text input) {
    co_await ctx.wait_for(go);
    co_return co_await ctx.call(other_work, input);
}

TEST_P(Leftovers, ADelayedStartIsWaitedFor) {
    registry.add(root, echo);
    ASSERT_TRUE(client.start(root, "later", {.id = "a", .delay = 1h})); // no parent waits for it

    EXPECT_EQ(runtime().next_event(), clock->now() + 1h);
    EXPECT_EQ(output("a"), "later");
}

TEST_P(Leftovers, SeveralDelaysAreFoundOneAfterTheOther) {
    registry.add(root, echo);
    ASSERT_TRUE(client.start(root, "second", {.id = "b", .delay = 48h}));
    ASSERT_TRUE(client.start(root, "first", {.id = "a", .delay = 1h}));

    EXPECT_EQ(output("b"), "second");
    EXPECT_EQ(status("a"), RunStatus::completed);
}

TEST_P(Leftovers, APauseOfAParkedInstanceIsWaitedFor) {
    registry.add(work, [](const Text& input) { return input; }).add(root, call_work);
    start(root, "x", {.id = "a"});
    settle();
    raise("a", go, "");
    ASSERT_TRUE(runtime().run_turn());
    crash();
    registry = {};
    registry.add(work, [](const Text& input) { return input; }).add(root, call_other_work);
    settle();
    ASSERT_EQ(runtime().parked().size(), 1u);
    crash();
    registry = {};
    registry.add(work, [](const Text& input) { return input; }).add(root, call_work);

    EXPECT_TRUE(runtime().next_event().has_value());
    EXPECT_EQ(output("a"), "x");
}

TEST_P(Leftovers, AnInstanceThatHadNoHandlerGoesOnAtOnce) {
    registry.add(other, echo);
    start(root, "x", {.id = "a"});
    settle();
    crash();
    registry.add(root, echo);
    settle();

    EXPECT_EQ(client.status("a").value().output, "x");
}

TEST_P(Leftovers, AnActivityThatHadNoHandlerGoesOnAtOnce) {
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        co_return co_await ctx.call(work, input);
    });
    start(root, "x", {.id = "a"});
    settle();
    crash();
    registry.add(work, [](const Text& input) { return input; });
    settle();

    EXPECT_EQ(client.status("a").value().output, "x");
}

// As after kill -9 in the middle of a turn, or of an activity.
TEST_P(Leftovers, LeasesOfThoseWhoAreGoneAreWaitedFor) {
    registry.add(work, [](const Text& input) { return input; });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        co_return co_await ctx.call(work, input);
    });
    start(root, "x", {.id = "a"});
    ASSERT_TRUE(runtime().run_turn());
    crash();
    ASSERT_TRUE(store->fetch_work_item({.lock_timeout = 30s}).value());

    EXPECT_EQ(runtime().next_event(), clock->now() + 30s);
    EXPECT_EQ(output("a"), "x");
}

TEST_P(Leftovers, NothingIsDueInAStoreThatOnlyWaits) {
    registry.add(root, call_work);
    start(root, "x", {.id = "a"});
    settle();
    crash();

    EXPECT_EQ(runtime().next_event(), std::nullopt);
    const auto status = runtime().finish("a");
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message, "a waits for something from outside");
}

// ---- What a store hands out although this node has no code for it

TEST_P(Leftovers, AnInstanceWithoutAHandlerIsListedWithTheReason) {
    store->ignore_code = true;
    registry.add(other, echo);
    start(root, "x", {.id = "a"});
    settle();

    ASSERT_EQ(runtime().parked().size(), 1u);
    const auto parked = runtime().parked().front();
    EXPECT_EQ(parked.instance, "a");
    EXPECT_EQ(parked.reason, ParkReason::unregistered);
    EXPECT_EQ(parked.orchestration, "Root");
    EXPECT_EQ(parked.report,
              "no orchestration Root is in the registry of this runtime; it is given back "
              "for others");
    EXPECT_EQ(parked.attempts, 1u);
    EXPECT_EQ(parked.next_attempt, clock->now() + 1s);
    EXPECT_EQ(client.status("a").value().parked.value().reason, parked.report);
}

TEST_P(Leftovers, AnInstanceWithoutAHandlerIsNeverPoison) {
    store->ignore_code = true;
    registry.add(other, echo);
    start(root, "x", {.id = "a"});

    runtime().advance(1h);

    EXPECT_EQ(status("a"), RunStatus::pending);
    EXPECT_GT(runtime().parked().at(0).attempts, 20u); // with growing pauses
    EXPECT_LT(runtime().parked().at(0).attempts, 100u);
}

TEST_P(Leftovers, AnActivityWithoutAHandlerIsNeverPoison) {
    store->ignore_code = true;
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        co_return co_await ctx.call(work, input);
    });
    start(root, "x", {.id = "a"});

    runtime().advance(10min);

    EXPECT_EQ(status("a"), RunStatus::running);
    EXPECT_GT(metric("durable_activity_configuration_errors_total"), 10);
    EXPECT_EQ(metric("durable_activity_poison_total"), 0);
}

TEST_P(Leftovers, AnInstanceThatAnotherRuntimeTookIsNoLongerListed) {
    store->ignore_code = true;
    registry.add(other, echo);
    start(root, "x", {.id = "a"});
    settle();
    Registry complete;
    complete.add(root, echo);
    TestRuntime elsewhere{complete, {.runtime = {}, .clock = clock, .provider = store}};
    ASSERT_TRUE(elsewhere.finish("a"));
    clock->advance(2min);

    EXPECT_TRUE(runtime().parked().empty());
}

// ---- A registry with mistakes

TEST_P(Leftovers, AllProblemsOfARegistryAreToldAtOnce) {
    registry.add_raw_activity("bad name", nullptr).add_raw_activity("worse name!", nullptr);
    const auto problems = registry.problems();
    ASSERT_GE(problems.size(), 2u);

    try {
        runtime();
        ADD_FAILURE() << "it starts";
    } catch (const std::invalid_argument& error) {
        for (const auto& problem : problems) {
            EXPECT_NE(Text{error.what()}.find(problem), Text::npos) << error.what();
        }
    }
}

// ---- Time without end

TEST_P(Leftovers, ASleepLongerThanTimeDoesNotEnd) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        auto sleep = ctx.sleep(std::chrono::hours::max());
        co_await sleep;
        co_return "awake";
    });
    start(root, "", {.id = "a"});
    settle();

    EXPECT_EQ(status("a"), RunStatus::running);
    const auto events = history("a");
    const auto* timer = find<history::TimerCreated>(events);
    ASSERT_NE(timer, nullptr);
    EXPECT_GT(timer->fire_at_ms, to_epoch_ms(clock->now()));
    EXPECT_EQ(runtime().finish("a").error().message,
              "a is not done within 365 days, the limit of this finish(): the next moment at which "
              "something is due is after the year 9999");
}

TEST_P(Leftovers, LimitsLongerThanTimeAreNone) {
    registry.add(work, [](const Text& input) { return input; });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        constexpr auto for_ever = std::chrono::hours::max();
        const auto worked = co_await ctx.call(
            work,
            input,
            {.retry = {.max_attempts = 2, .first_delay = for_ever, .max_delay = for_ever},
             .timeout = for_ever,
             .total_timeout = for_ever});
        const auto in_time = co_await ctx.within(for_ever, ctx.call(work, worked));
        co_return in_time.value_or("late");
    });
    start(root, "x", {.id = "a"});

    EXPECT_EQ(output("a"), "x");
    EXPECT_EQ(runtime().client().wait("a", std::chrono::hours::max()).value().output, "x");
}

TEST_P(Leftovers, AStartMayBeDelayedForEver) {
    registry.add(root, echo);
    ASSERT_TRUE(client.start(root, "x", {.id = "a", .delay = std::chrono::hours::max()}));
    settle();

    EXPECT_EQ(status("a"), RunStatus::pending);
}

TEST_P(Leftovers, OptionsOfARuntimeMayBeLongerThanTime) {
    constexpr auto for_ever = std::chrono::hours::max();
    options.long_poll_timeout = for_ever;
    options.orchestrator_lock_timeout = for_ever;
    options.worker_lock_timeout = for_ever;
    options.unregistered_backoff = {.base = 1s, .max = for_ever};
    options.session_idle_timeout = for_ever;
    options.cache_idle_timeout = for_ever;
    options.shutdown_timeout = for_ever;
    options.worker_lock_renewal_buffer = 5s;
    registry.add(root, echo);
    start(root, "x", {.id = "a"});

    EXPECT_EQ(output("a"), "x");
}

} // namespace

} // namespace durable::e2e::leftovers_test
