// The patterns that people write first.

#include "e2e/e2e.hpp"

namespace durable::e2e::samples_test {
namespace {

DURABLE_E2E_SUITE(Samples);

using Text = std::string;

constexpr Activity<Text(Text)> greet{"Greet"};
constexpr Activity<Text(Text)> append_x{"AppendX"};
constexpr Activity<bool()> flag{"Flag"};
constexpr Activity<int(int)> twice{"Twice"};
constexpr Orchestration<Text(Text)> hello{"Hello"};
constexpr Orchestration<int(int)> child{"Child"};
constexpr Orchestration<int(int)> middle{"Middle"};
constexpr Orchestration<int(int)> root{"Root"};
constexpr Event<Text> go{"Go"};

Task<Text> say_hello(Context ctx, Text name) {
    co_return co_await ctx.call(greet, name);
}

TEST_P(Samples, HelloWorld) {
    registry.add(greet, [](const Text& name) { return "Hello, " + name + "!"; });
    registry.add(hello, say_hello);

    start(hello, "world", {.id = "hello-1"});

    EXPECT_EQ(output("hello-1"), "Hello, world!");
}

TEST_P(Samples, ABranchFollowsAnActivity) {
    registry.add(flag, [] { return true; });
    registry.add(greet, [](const Text& name) { return "yes " + name; });
    registry.add(hello, [](Context ctx, Text name) -> Task<Text> {
        const bool chosen = co_await ctx.call(flag);
        if (!chosen) {
            co_return "no";
        }
        co_return co_await ctx.call(greet, name);
    });

    start(hello, "ana", {.id = "branch"});

    EXPECT_EQ(output("branch"), "yes ana");
}

TEST_P(Samples, ALoopAccumulates) {
    registry.add(append_x, [](const Text& text) { return text + "x"; });
    registry.add(hello, [](Context ctx, Text text) -> Task<Text> {
        for (int i = 0; i < 3; ++i) {
            text = co_await ctx.call(append_x, text);
        }
        co_return text;
    });

    start(hello, "start", {.id = "loop"});

    EXPECT_EQ(output("loop"), "startxxx");
}

TEST_P(Samples, FanOutAndFanInKeepTheOrder) {
    registry.add(twice, [](int n) { return 2 * n; });
    registry.add(root, [](Context ctx, int n) -> Task<int> {
        std::vector<Operation<int>> parts;
        for (int i = 1; i <= n; ++i) {
            parts.push_back(ctx.call(twice, i));
        }
        const auto results = co_await all{std::move(parts)};
        int sum = 0;
        for (const int result : results) {
            sum = 10 * sum + result;
        }
        co_return sum;
    });

    start(root, 4, {.id = "fan"});

    EXPECT_EQ(output("fan"), "2468");
}

TEST_P(Samples, ATimerBeatsASlowEvent) {
    registry.add(hello, [](Context ctx, Text) -> Task<Text> {
        const auto answer = co_await ctx.within(100ms, ctx.wait_for(go));
        co_return answer ? *answer : "timeout";
    });

    start(hello, "", {.id = "slow"});

    EXPECT_EQ(output("slow"), "timeout");
}

TEST_P(Samples, AnEventBeatsASlowTimer) {
    registry.add(hello, [](Context ctx, Text) -> Task<Text> {
        const auto answer = co_await ctx.within(24h, ctx.wait_for(go));
        co_return answer ? *answer : "timeout";
    });

    start(hello, "", {.id = "fast"});
    settle();
    raise("fast", go, "went");
    settle();

    EXPECT_EQ(output("fast"), "went");
}

TEST_P(Samples, AnActivityRacesAnEvent) {
    registry.add(greet, [](const Text& name) { return "Hello, " + name; });
    registry.add(hello, [](Context ctx, Text name) -> Task<Text> {
        auto first = co_await race{ctx.call(greet, name), ctx.wait_for(go)};
        const auto index = first.index();
        co_return index == 0 ? std::get<0>(first) : std::get<1>(first);
    });
    start(hello, "ana", {.id = "activity"});
    EXPECT_EQ(output("activity"), "Hello, ana");

    start(hello, "ana", {.id = "event"});
    ASSERT_TRUE(runtime().run_turn());
    raise("event", go, "went");
    ASSERT_TRUE(runtime().run_turn());

    EXPECT_EQ(output("event"), "went");
}

TEST_P(Samples, AnActivityAnEventAndATimerAreJoined) {
    registry.add(greet, [](const Text& name) { return "Hello, " + name; });
    registry.add(hello, [](Context ctx, Text name) -> Task<Text> {
        auto [greeting, event, none] =
            co_await all{ctx.call(greet, name), ctx.wait_for(go), ctx.sleep(1s)};
        static_cast<void>(none);
        co_return greeting + ", " + event;
    });
    start(hello, "ana", {.id = "a"});
    start(hello, "bob", {.id = "b"});
    settle();
    raise("b", go, "second");
    raise("a", go, "first");

    EXPECT_EQ(output("a"), "Hello, ana, first");
    EXPECT_EQ(output("b"), "Hello, bob, second");
    EXPECT_EQ(history("a").size(), history("b").size());
}

TEST_P(Samples, ChildrenOfChildrenAnswerTheirParents) {
    registry.add(child, [](Context, int n) -> Task<int> { co_return n + 1; });
    registry.add(middle, [](Context ctx, int n) -> Task<int> {
        const int below = co_await ctx.call(child, n);
        co_return below * 10;
    });
    registry.add(root, [](Context ctx, int n) -> Task<int> {
        const int below = co_await ctx.call(middle, n);
        co_return below + 5;
    });

    start(root, 1, {.id = "tree"});

    EXPECT_EQ(output("tree"), "25");
    EXPECT_EQ(management().instance_tree("tree").value().size(), 3u);
}

TEST_P(Samples, ManyChildrenAreJoined) {
    registry.add(child, [](Context, int n) -> Task<int> { co_return n; });
    registry.add(root, [](Context ctx, int n) -> Task<int> {
        std::vector<Operation<int>> children;
        for (int i = 1; i <= n; ++i) {
            children.push_back(ctx.call(child, i));
        }
        const auto results = co_await all{std::move(children)};
        int sum = 0;
        for (const int result : results) {
            sum += result;
        }
        co_return sum;
    });

    start(root, 64, {.id = "many"}); // T-01: more than 30

    EXPECT_EQ(output("many"), std::to_string(64 * 65 / 2));
}

TEST_P(Samples, ADetachedOrchestrationRunsOnItsOwn) {
    registry.add(child, [](Context ctx, int n) -> Task<int> {
        co_await ctx.sleep(1h);
        co_return n;
    });
    registry.add(root, [](Context ctx, int n) -> Task<int> {
        ctx.start_detached(child, n, {.id = "alone"});
        co_return 0;
    });

    start(root, 7, {.id = "starter"});

    EXPECT_EQ(output("starter"), "0");
    EXPECT_EQ(status("alone"), RunStatus::running);
    EXPECT_EQ(output("alone"), "7");
    EXPECT_EQ(management().parent("alone").value(), std::nullopt);
}

TEST_P(Samples, ContinueAsNewRollsItsInput) {
    registry.add(root, [](Context ctx, int n) -> Task<int> {
        if (n >= 3) {
            co_return n;
        }
        co_return co_await ctx.continue_as_new(root, n + 1);
    });

    start(root, 0, {.id = "rolling"});

    EXPECT_EQ(output("rolling"), "3");
    EXPECT_EQ(management().executions("rolling").value(), (std::vector<std::uint64_t>{1, 2, 3, 4}));
}

TEST_P(Samples, AnActivityMayPruneItsOwnOrchestration) {
    constexpr Activity<int()> prune{"Prune"};
    registry.add(prune, [](ActivityContext& ctx) {
        const auto management = ctx.client().management().value();
        const auto pruned = management.prune(ctx.instance(), {.keep_last = 1}).value();
        return static_cast<int>(pruned.executions_deleted);
    });
    registry.add(root, [](Context ctx, int n) -> Task<int> {
        co_await ctx.call(Activity<int()>{"Prune"});
        if (n == 5) {
            co_return n;
        }
        co_return co_await ctx.continue_as_new(root, n + 1);
    });

    start(root, 0, {.id = "eternal"});

    EXPECT_EQ(output("eternal"), "5");
    EXPECT_EQ(management().executions("eternal").value().size(), 1u);
}

TEST_P(Samples, ContextKnowsWhoItIs) {
    registry.add(hello, "1.2.3", [](Context ctx, Text) -> Task<Text> {
        co_return ctx.instance() + '/' + std::to_string(ctx.execution_id()) + ' ' +
            ctx.orchestration() + ' ' + ctx.version();
    });

    start(hello, "", {.id = "me"});

    EXPECT_EQ(output("me"), "me/1 Hello 1.2.3");
}

TEST_P(Samples, AnActivityKnowsWhoItWorksFor) {
    ActivityInfo seen;
    registry.add(greet, [&](ActivityContext& ctx, const Text&) {
        seen = ctx.info();
        return ctx.idempotency_key();
    });
    registry.add(hello, "1.2.3", say_hello);

    start(hello, "x", {.id = "boss"});

    EXPECT_EQ(output("boss"), "boss/1/2");
    EXPECT_EQ(seen.instance, "boss");
    EXPECT_EQ(seen.execution_id, 1u);
    EXPECT_EQ(seen.orchestration, "Hello");
    EXPECT_EQ(seen.orchestration_version, "1.2.3");
    EXPECT_EQ(seen.name, "Greet");
    EXPECT_EQ(seen.id, 2u);
    EXPECT_EQ(seen.attempt, 1u);
    EXPECT_EQ(seen.worker_id, "test-activities");
    EXPECT_EQ(seen.session, std::nullopt);
    EXPECT_EQ(seen.tag, std::nullopt);
}

} // namespace
} // namespace durable::e2e::samples_test
