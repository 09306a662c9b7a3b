// What others can see of an instance: custom status and key-value store, and their limits.

#include "e2e/e2e.hpp"

namespace durable::e2e::state_test {
namespace {

DURABLE_E2E_SUITE(State);

using Text = std::string;

constexpr Activity<Text(Text)> work{"Work"};
constexpr Orchestration<Text(Text)> root{"Root"};
constexpr Orchestration<Text(int)> counter{"Counter"};
constexpr Event<Text> go{"Go"};

std::optional<Text> custom_status(const OrchestrationStatus& status) {
    return status.custom_status;
}

// ---- Custom status

TEST_P(State, TheLastStatusOfATurnIsSeen) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        ctx.set_status("one");
        ctx.set_status("two");
        co_return "done";
    });
    start(root, "", {.id = "a"});

    const auto ended = finish("a");

    EXPECT_EQ(custom_status(ended), "two");
    EXPECT_EQ(ended.custom_status_version, 1u);
}

TEST_P(State, AStatusThatWasNeverSetHasVersionZero) {
    registry.add(root, [](Context, Text) -> Task<Text> { co_return "done"; });
    start(root, "", {.id = "a"});

    EXPECT_EQ(custom_status(finish("a")), std::nullopt);
    EXPECT_EQ(finish("a").custom_status_version, 0u);
}

TEST_P(State, AStatusStaysUntilItIsClearedOrReplaced) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        ctx.set_status("waiting");
        co_await ctx.wait_for(go);
        const Text before = ctx.status().value_or("none");
        ctx.clear_status();
        co_await ctx.wait_for(go);
        co_return before + "," + ctx.status().value_or("none");
    });
    start(root, "", {.id = "a"});
    settle();
    EXPECT_EQ(custom_status(client.status("a").value()), "waiting");
    raise("a", go, "");
    settle();
    EXPECT_EQ(custom_status(client.status("a").value()), std::nullopt);
    EXPECT_EQ(client.status("a").value().custom_status_version, 2u);

    raise("a", go, "");

    EXPECT_EQ(output("a"), "waiting,none");
}

TEST_P(State, AStatusCrossesContinueAsNewAndStaysAfterAFailure) {
    registry.add(counter, [](Context ctx, int n) -> Task<Text> {
        if (n == 1) {
            ctx.set_status("from one");
            co_return co_await ctx.continue_as_new(counter, 2);
        }
        throw std::runtime_error{ctx.status().value_or("lost")};
    });

    start(counter, 1, {.id = "a"});

    EXPECT_NE(failure("a").find("from one"), Text::npos);
    EXPECT_EQ(custom_status(finish("a")), "from one");
}

TEST_P(State, AClearedStatusStaysClearedAcrossContinueAsNew) {
    registry.add(counter, [](Context ctx, int n) -> Task<Text> {
        if (n == 1) {
            ctx.set_status("set");
            co_await ctx.sleep(1s);
            ctx.clear_status();
            co_return co_await ctx.continue_as_new(counter, 2);
        }
        co_return ctx.status().value_or("none");
    });

    start(counter, 1, {.id = "a"});

    EXPECT_EQ(output("a"), "none");
    EXPECT_EQ(custom_status(finish("a")), std::nullopt);
    EXPECT_EQ(finish("a").custom_status_version, 2u);
}

TEST_P(State, AStatusOfExactlyTheLimitIsFine) {
    options.limits.custom_status_bytes = 8;
    registry.add(root, [](Context ctx, Text status) -> Task<Text> {
        ctx.set_status(status);
        co_return "done";
    });

    start(root, "12345678", {.id = "fits"});
    start(root, "123456789", {.id = "over"});

    EXPECT_EQ(output("fits"), "done");
    EXPECT_NE(failure("over").find("exceeds limit"), Text::npos);
    EXPECT_EQ(count<history::CustomStatusUpdated>(history("over")), 0u);
}

TEST_P(State, T19_AChildThatFailsAtALimitTellsItsParent) {
    options.limits.kv_value_bytes = 4;
    registry.add(counter, [](Context ctx, int) -> Task<Text> {
        ctx.kv().set("key", "too long");
        co_return "";
    });
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const auto answer = co_await ctx.call(counter, 1).as_result();
        co_return answer ? "fine" : answer.error().message;
    });

    start(root, "", {.id = "a"});

    EXPECT_NE(output("a").find("exceeds limit"), Text::npos);
}

// ---- Key-value store

TEST_P(State, ClientsSeeWhatWasSetAtOnce) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        ctx.kv().set("a", "1");
        ctx.kv().set("b", "2");
        co_await ctx.wait_for(go);
        ctx.kv().clear("a");
        ctx.kv().set("b", "3");
        co_return "done";
    });
    start(root, "", {.id = "x"});
    settle();
    EXPECT_EQ(client.kv("x", "a").value(), "1");
    EXPECT_EQ(client.kv_all("x").value(), (std::map<Text, Text>{{"a", "1"}, {"b", "2"}}));

    raise("x", go, "");

    EXPECT_EQ(output("x"), "done");
    EXPECT_EQ(client.kv_all("x").value(), (std::map<Text, Text>{{"b", "3"}}));
    EXPECT_EQ(client.kv("x", "a").value(), std::nullopt);
    EXPECT_EQ(client.kv("nobody", "a").value(), std::nullopt);
}

TEST_P(State, ReadModifyWriteCountsEveryTurnOnce) {
    registry.add(work, [](const Text& input) { return input; });
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        for (int i = 0; i < 5; ++i) {
            const int n = ctx.kv().get<int>("n").value_or(0);
            ctx.kv().set("n", n + 1);
            co_await ctx.call(work, "x");
        }
        co_return std::to_string(ctx.kv().get<int>("n").value_or(-1));
    });

    start(root, "", {.id = "x"});

    EXPECT_EQ(output("x"), "5");
    EXPECT_EQ(client.kv<int>("x", "n").value(), 5);
}

TEST_P(State, KeysCrossContinueAsNewAndFailure) {
    registry.add(counter, [](Context ctx, int n) -> Task<Text> {
        const int sum = ctx.kv().get<int>("sum").value_or(0) + n;
        ctx.kv().set("sum", sum);
        if (n < 3) {
            co_return co_await ctx.continue_as_new(counter, n + 1);
        }
        throw std::runtime_error{"end"};
    });

    start(counter, 1, {.id = "x"});

    EXPECT_NE(failure("x").find("end"), Text::npos);
    EXPECT_EQ(client.kv<int>("x", "sum").value(), 6);
}

TEST_P(State, KeysOfDeletedInstancesAreGone) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        ctx.kv().set("k", "v");
        co_return "";
    });
    start(root, "", {.id = "x"});
    settle();

    ASSERT_TRUE(management().delete_instance("x"));

    EXPECT_EQ(client.kv("x", "k").value(), std::nullopt);
}

TEST_P(State, T11_TheKeyLimitCountsTheWholeExecution) {
    options.limits.kv_keys = 3;
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        for (int i = 0; i < 4; ++i) {
            ctx.kv().set("key-" + std::to_string(i), "v");
            co_await ctx.sleep(1s); // every key in its own turn
        }
        co_return "too many";
    });

    start(root, "", {.id = "x"});

    EXPECT_NE(failure("x").find("exceeds limit"), Text::npos);
}

TEST_P(State, T09_PrunedKeysReplayInTheSameOrder) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        for (const auto* key : {"d", "b", "a", "c"}) {
            ctx.kv().set(key, "old");
        }
        co_await ctx.sleep(1h);
        ctx.kv().set("e", "new");
        const auto pruned = ctx.kv().prune(ctx.now());
        co_await ctx.sleep(1h);
        co_return std::to_string(pruned) + " of " + std::to_string(ctx.kv().all().size());
    });

    start(root, "", {.id = "x"});

    EXPECT_EQ(output("x"), "4 of 1");
}

TEST_P(State, T08_AnotherInstancesKeyIsReadWithoutAWorker) {
    options.activity_threads = 0;
    registry.add(counter, [](Context ctx, int n) -> Task<Text> {
        ctx.kv().set("n", n);
        co_return co_await ctx.wait_for(go);
    });
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const auto n = co_await ctx.kv().of<int>("source", "n");
        const auto none = co_await ctx.kv().of("source", "missing");
        const auto nobody = co_await ctx.kv().of("nobody", "n");
        co_return std::to_string(n.value_or(-1)) + (none ? " some" : " none") +
            (nobody ? " some" : " none");
    });
    start(counter, 42, {.id = "source"});
    settle();

    start(root, "", {.id = "reader"});

    EXPECT_EQ(output("reader"), "42 none none");
}

TEST_P(State, AReadOfAnotherInstanceSurvivesAStorageError) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const auto value = co_await ctx.kv().of("nobody", "n");
        co_return value ? "some" : "none";
    });
    store->fail_next_kv_read({.code = ErrorCode::unavailable}, 3);

    start(root, "", {.id = "reader"});

    EXPECT_EQ(output("reader"), "none");
}

} // namespace
} // namespace durable::e2e::state_test
