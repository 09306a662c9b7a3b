// Sessions: activities that belong together go to one node, for as long as it lives.

#include "e2e/e2e.hpp"

#include <map>

namespace durable::e2e::sessions_test {
namespace {

DURABLE_E2E_SUITE(Sessions);

using Text = std::string;

constexpr Activity<Text(Text)> work{"Work"};
constexpr Orchestration<Text(Text)> root{"Root"};
constexpr Orchestration<Text(int)> counter{"Counter"};
constexpr Event<Text> go{"Go"};

TEST_P(Sessions, AndOrdinaryWorkMix) {
    std::vector<Text> seen;
    registry.add(work, [&](ActivityContext& ctx, const Text& input) {
        seen.push_back(input + "@" + ctx.info().session.value_or("none"));
        return input;
    });
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        auto a1 = ctx.call(work, "a1", {.session = "a"});
        auto plain = ctx.call(work, "p");
        auto b1 = ctx.call(work, "b1", {.session = "b"});
        auto a2 = ctx.call(work, "a2", {.session = "a"});
        auto [one, two, three, four] = co_await all{a1, plain, b1, a2};
        co_return one + two + three + four;
    });

    start(root, "", {.id = "x"});

    EXPECT_EQ(output("x"), "a1pb1a2");
    EXPECT_EQ(seen, (std::vector<Text>{"a1@a", "p@none", "b1@b", "a2@a"}));
}

TEST_P(Sessions, ActivitiesOfOneMayRunSideBySide) {
    TestRuntime* test = nullptr;
    int running = 0;
    int most = 0;
    registry.add(work, [&](const Text& input) {
        most = std::max(most, ++running);
        if (input == "1") {
            EXPECT_TRUE(test->run_activity()); // the owner's next thread
        }
        --running;
        return input;
    });
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        auto one = ctx.call(work, "1", {.session = "s"});
        auto two = ctx.call(work, "2", {.session = "s"});
        auto [a, b] = co_await all{one, two};
        co_return a + b;
    });
    test = &runtime();

    start(root, "", {.id = "x"});

    EXPECT_EQ(output("x"), "12");
    EXPECT_EQ(most, 2);
}

TEST_P(Sessions, SurviveContinueAsNewAndUpgrades) {
    std::vector<Text> seen;
    registry.add(work, [&](ActivityContext& ctx, const Text& input) {
        seen.push_back(ctx.info().session.value_or("none") + " " +
                       ctx.info().orchestration_version);
        return input;
    });
    registry.add(counter, "1.0.0", [](Context ctx, int n) -> Task<Text> {
        co_await ctx.call(work, "x", {.session = "s"});
        co_return co_await ctx.continue_as_new(counter, n + 1);
    });
    registry.add(counter, "2.0.0", [](Context ctx, int) -> Task<Text> {
        co_return co_await ctx.call(work, "x", {.session = "s"});
    });

    start(counter, 1, {.id = "x", .version = "1.0.0"});

    EXPECT_EQ(output("x"), "x");
    EXPECT_EQ(seen, (std::vector<Text>{"s 1.0.0", "s 2.0.0"}));
}

// Four conversations, two nodes: whatever has begun on a node stays there, over waits and
// continue-as-new, so that its state in memory is found again.
TEST_P(Sessions, OfTwoNodesStayWhereTheyAre) {
    std::map<Text, std::vector<Text>> nodes; // by session
    const auto remember = [&](const Text& node) {
        return [&nodes, node](ActivityContext& ctx, const Text& input) {
            nodes[ctx.info().session.value()].push_back(node);
            return input;
        };
    };
    const auto talk = [](Context ctx, int turn) -> Task<Text> {
        const Text session = "session of " + ctx.instance();
        co_await ctx.call(work, "x", {.session = session});
        co_await ctx.wait_for(go);
        co_await ctx.call(work, "x", {.session = session});
        if (turn == 2) {
            co_return "over";
        }
        co_return co_await ctx.continue_as_new(counter, turn + 1);
    };
    registry.add(counter, talk).add(work, remember("one"));
    Registry other;
    other.add(counter, talk).add(work, remember("two"));
    RuntimeOptions other_options;
    other_options.worker_node_id = "node-two";
    options.worker_node_id = "node-one";
    TestRuntime two{other, {.runtime = other_options, .clock = clock, .provider = store}};
    const std::vector<Text> ids{"c1", "c2", "c3", "c4"};
    for (const auto& id : ids) {
        start(counter, 1, {.id = id});
    }
    while (runtime().run_turn()) {
    }
    for (int i = 0; i < 2; ++i) {
        EXPECT_TRUE(runtime().run_activity());
        EXPECT_TRUE(two.run_activity());
    }

    for (int round = 0; round < 20; ++round) {
        for (const auto& id : ids) {
            raise(id, go, "");
        }
        settle();
        EXPECT_TRUE(two.run_until_idle());
    }

    for (const auto& id : ids) {
        EXPECT_EQ(output(id), "over");
        const auto& visited = nodes["session of " + id];
        EXPECT_EQ(visited, std::vector<Text>(4, visited.at(0)));
    }
    EXPECT_NE(nodes["session of c1"].at(0), nodes["session of c2"].at(0));
}

} // namespace
} // namespace durable::e2e::sessions_test
