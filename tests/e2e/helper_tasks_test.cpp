// Orchestrations split into helper coroutines, which are joined, raced and nested like operations.

#include "e2e/e2e.hpp"

namespace durable::e2e::helper_tasks_test {
namespace {

DURABLE_E2E_SUITE(HelperTasks);

using Text = std::string;

constexpr Activity<Text(Text)> work{"Work"};
constexpr Orchestration<Text(Text)> root{"Root"};
constexpr Orchestration<Text(Text)> child{"Child"};
constexpr Orchestration<Text(Text)> grandchild{"Grandchild"};
constexpr Event<Text> go{"Go"};

Text shout(const Text& input) {
    return input + "!";
}

Task<Text> twice(Context ctx, Text name, Duration pause) {
    co_await ctx.sleep(pause);
    co_await ctx.sleep(pause);
    co_return name;
}

Task<Text> branch(Context ctx, Text input) {
    const Text answer = co_await ctx.call(work, input);
    if (answer == "left!") {
        co_return co_await ctx.call(work, "went left");
    }
    co_return "went right";
}

Task<Text> loop(Context ctx, int times) {
    Text all;
    for (int i = 0; i < times; ++i) {
        const Text part = co_await ctx.call(work, std::to_string(i));
        all += part;
        co_await ctx.sleep(1s);
    }
    co_return all;
}

Task<Text> ask(Context ctx, Text name) {
    const Text answer = co_await ctx.call(child, name);
    co_return "<" + answer + ">";
}

Task<Text> ask_named(Context ctx, Text id) {
    co_return co_await ctx.call(child, "", {.id = id});
}

TEST_P(HelperTasks, WithBranchesAndLoopsAreJoined) {
    registry.add(work, shout);
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        auto [a, b, c] = co_await all{branch(ctx, "left"), branch(ctx, "right"), loop(ctx, 3)};
        co_return a + "," + b + "," + c;
    });

    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "went left!,went right,0!1!2!");
}

TEST_P(HelperTasks, ManyKeepTheirOrder) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        std::vector<Task<Text>> tasks;
        for (int i = 0; i < 5; ++i) {
            tasks.push_back(twice(ctx, std::to_string(i), (5 - i) * 1s)); // the last ends first
        }
        const auto results = co_await all{std::move(tasks)};
        Text joined;
        for (const auto& result : results) {
            joined += result;
        }
        co_return joined;
    });

    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "01234");
}

TEST_P(HelperTasks, RunOneAfterTheOther) {
    registry.add(work, shout);
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        const Text one = co_await branch(ctx, input);
        const Text two = co_await loop(ctx, 2);
        const Text three = co_await twice(ctx, "end", 1s);
        co_return one + "," + two + "," + three;
    });

    start(root, "left", {.id = "a"});

    EXPECT_EQ(output("a"), "went left!,0!1!,end");
}

TEST_P(HelperTasks, RaceByWhoEndsFirst) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        auto first = co_await race{
            twice(ctx, "slow", 5s), twice(ctx, "fast", 1s), twice(ctx, "slowest", 1h)};
        const auto index = first.index();
        co_return std::to_string(index) + std::get<1>(first);
    });

    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "1fast");
    EXPECT_EQ(management().queue_depths().value().orchestrator_queue, 0u) << "no timer is left";
}

TEST_P(HelperTasks, RaceAgainstASingleOperation) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const auto first = co_await race{twice(ctx, "block", 20s), ctx.sleep(5s)};
        co_return first.index() == 0 ? "block" : "timer";
    });

    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "timer");
}

Task<Text> three_in_a_row(Context ctx) {
    auto [a, b, c] = co_await all{twice(ctx, "a", 1s), twice(ctx, "b", 2s), twice(ctx, "c", 3s)};
    co_return a + b + c;
}

TEST_P(HelperTasks, AJoinOfThemRacesATimeout) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const auto early = co_await ctx.within(1s, three_in_a_row(ctx));
        const auto late = co_await ctx.within(10s, three_in_a_row(ctx));
        co_return early.value_or("too slow") + "," + late.value_or("too slow");
    });

    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "too slow,abc");
}

TEST_P(HelperTasks, AChildInsideOneMayWinTheRace) {
    registry.add(child, [](Context, Text input) -> Task<Text> { co_return input; });
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        auto first = co_await race{ask(ctx, "child"), twice(ctx, "block", 500ms)};
        co_return std::get<0>(first);
    });

    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "<child>");
}

TEST_P(HelperTasks, AChildInsideALoserIsCancelled) {
    registry.add(child,
                 [](Context ctx, Text) -> Task<Text> { co_return co_await ctx.wait_for(go); });
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const auto first =
            co_await race{ask_named(ctx, "one"), ask_named(ctx, "two"), twice(ctx, "block", 1s)};
        co_return std::to_string(first.index());
    });

    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "2");
    for (const auto* id : {"one", "two"}) {
        EXPECT_EQ(finish(id).status, RunStatus::failed);
        EXPECT_NE(failure(id).find("canceled"), Text::npos);
    }
}

TEST_P(HelperTasks, ChildrenInsideThemAreJoined) {
    registry.add(grandchild, [](Context, Text input) -> Task<Text> { co_return "g" + input; });
    registry.add(child, [](Context ctx, Text input) -> Task<Text> {
        const Text below = co_await ctx.call(grandchild, input);
        co_return "c" + below;
    });
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        auto [a, b, c] = co_await all{ask(ctx, "1"), ask(ctx, "2"), ask(ctx, "3")};
        co_return a + b + c;
    });

    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "<cg1><cg2><cg3>");
    EXPECT_EQ(management().instance_tree("a").value().size(), 7u);
}

} // namespace
} // namespace durable::e2e::helper_tasks_test
