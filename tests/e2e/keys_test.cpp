// The key-value store of an instance over turns, executions, tasks and other instances.

#include "e2e/e2e.hpp"

namespace durable::e2e::keys_test {
namespace {

DURABLE_E2E_SUITE(Keys);

using Text = std::string;
using Map = std::map<Text, Text>;

constexpr Orchestration<Text(Text)> root{"Root"};
constexpr Orchestration<Text(Text)> child{"Child"};
constexpr Orchestration<Text(int)> counter{"Counter"};
constexpr Event<Text> go{"Go"};

TEST_P(Keys, ClearingAllLeavesNothingAndMakesRoom) {
    options.limits.kv_keys = 3;
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        for (const auto* key : {"a", "b", "c"}) {
            ctx.kv().set(key, "old");
        }
        co_await ctx.wait_for(go);
        ctx.kv().clear_all();
        co_await ctx.wait_for(go);
        for (const auto* key : {"d", "e", "f"}) {
            ctx.kv().set(key, "new");
        }
        co_return "fits again";
    });
    start(root, "", {.id = "x"});
    settle();
    raise("x", go, "");
    settle();
    EXPECT_EQ(client.kv_all("x").value(), Map{});

    raise("x", go, "");

    EXPECT_EQ(output("x"), "fits again");
    EXPECT_EQ(client.kv_all("x").value(), (Map{{"d", "new"}, {"e", "new"}, {"f", "new"}}));
}

Task<Text> note(Context ctx, Text key, Duration pause) {
    ctx.kv().set("begun " + key, "yes");
    co_await ctx.sleep(pause);
    ctx.kv().set(key, "done");
    co_return key;
}

TEST_P(Keys, TasksThatRaceOrJoinMaySetThem) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        co_await all{note(ctx, "one", 2s), note(ctx, "two", 1s)};
        co_await race{note(ctx, "slow", 1h), note(ctx, "fast", 1s)};
        co_return "";
    });

    start(root, "", {.id = "x"});

    EXPECT_EQ(output("x"), "");
    EXPECT_EQ(client.kv_all("x").value(),
              (Map{{"begun fast", "yes"},
                   {"begun one", "yes"},
                   {"begun slow", "yes"},
                   {"begun two", "yes"},
                   {"fast", "done"},
                   {"one", "done"},
                   {"two", "done"}}));
}

TEST_P(Keys, SurviveThePruningOfExecutions) {
    registry.add(counter, [](Context ctx, int n) -> Task<Text> {
        ctx.kv().set("execution " + std::to_string(n), "was here");
        if (n == 3) {
            co_return "";
        }
        co_return co_await ctx.continue_as_new(counter, n + 1);
    });
    start(counter, 1, {.id = "x"});
    start(counter, 1, {.id = "y"});
    EXPECT_EQ(output("x"), "");
    EXPECT_EQ(output("y"), "");

    EXPECT_EQ(management().prune("x", {.keep_last = 1}).value().executions_deleted, 2u);
    EXPECT_EQ(management().prune_bulk({}, {.keep_last = 1}).value().executions_deleted, 2u);

    EXPECT_EQ(client.kv_all("x").value().size(), 3u);
    EXPECT_EQ(client.kv_all("y").value().size(), 3u);
}

TEST_P(Keys, OfEarlierExecutionsCanBeCleared) {
    registry.add(counter, [](Context ctx, int n) -> Task<Text> {
        if (n == 1) {
            ctx.kv().set("keep", "1");
            ctx.kv().set("drop", "1");
            co_return co_await ctx.continue_as_new(counter, 2);
        }
        ctx.kv().clear("drop");
        co_await ctx.sleep(1s);
        const bool gone = !ctx.kv().get("drop");
        co_return gone ? "gone" : "still there";
    });

    start(counter, 1, {.id = "x"});

    EXPECT_EQ(output("x"), "gone");
    EXPECT_EQ(client.kv_all("x").value(), (Map{{"keep", "1"}}));
}

TEST_P(Keys, OfAnotherInstanceAreReadAnewEachTime) {
    registry.add(child, [](Context ctx, Text) -> Task<Text> {
        ctx.kv().set("n", 1);
        co_await ctx.wait_for(go);
        ctx.kv().set("n", 2);
        co_return "";
    });
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const auto before = co_await ctx.kv().of<int>("source", "n");
        co_await ctx.wait_for(go);
        const auto after = co_await ctx.kv().of<int>("source", "n");
        co_return std::to_string(before.value_or(-1)) + "," + std::to_string(after.value_or(-1));
    });
    start(child, "", {.id = "source"});
    settle();
    start(root, "", {.id = "reader"});
    settle();
    raise("source", go, "");
    settle();

    raise("reader", go, "");

    EXPECT_EQ(output("reader"), "1,2"); // what was read stays what it was, whatever is replayed
}

TEST_P(Keys, OfItselfCanBeReadAsThoseOfAnother) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        ctx.kv().set("mine", "yes");
        co_await ctx.sleep(1s);
        const auto read = co_await ctx.kv().of(ctx.instance(), "mine");
        co_return read.value_or("no");
    });

    start(root, "", {.id = "x"});

    EXPECT_EQ(output("x"), "yes");
}

TEST_P(Keys, OfParentAndChildAreTwoStores) {
    registry.add(child, [](Context ctx, Text) -> Task<Text> {
        const Text seen = ctx.kv().get("who").value_or("nobody");
        ctx.kv().set("who", "child");
        co_return seen;
    });
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        ctx.kv().set("who", "parent");
        const Text seen = co_await ctx.call(child, "");
        co_return seen + "," + ctx.kv().get("who").value_or("nobody");
    });
    start(root, "", {.id = "p"});
    EXPECT_EQ(output("p"), "nobody,parent");
    const auto child_id = management().children("p").value().at(0);
    EXPECT_EQ(client.kv(child_id, "who").value(), "child");

    ASSERT_TRUE(management().delete_instance("p"));

    EXPECT_EQ(client.kv(child_id, "who").value(), std::nullopt);
}

TEST_P(Keys, PruningGoesByAge) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const auto empty = ctx.kv().prune(Instant::max());
        ctx.kv().set("old", "x");
        co_await ctx.sleep(1h);
        ctx.kv().set("young", "x");
        const auto of_the_epoch = ctx.kv().prune(from_epoch_ms(0));
        const auto before_now = ctx.kv().prune(ctx.now()); // "young" is of this very moment
        co_await ctx.sleep(1s);
        ctx.kv().set("newest", "x");
        const auto all_of_them = ctx.kv().prune(Instant::max());
        co_return std::to_string(empty) + std::to_string(of_the_epoch) +
            std::to_string(before_now) + std::to_string(all_of_them);
    });

    start(root, "", {.id = "x"});

    EXPECT_EQ(output("x"), "0012");
    EXPECT_EQ(client.kv_all("x").value(), Map{});
}

} // namespace
} // namespace durable::e2e::keys_test
