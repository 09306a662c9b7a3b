// Whole programs in small: configuration reload, request and response, a chat, deployments.

#include "e2e/e2e.hpp"

namespace durable::e2e::scenarios_test {
namespace {

DURABLE_E2E_SUITE(Scenarios);

using Text = std::string;

constexpr Activity<Text(Text)> work{"Work"};
constexpr Activity<Text(Text)> fresh_work{"FreshWork"};
constexpr Orchestration<Text(Text)> root{"Root"};
constexpr Orchestration<Text(int)> counter{"Counter"};
constexpr Event<Text> go{"Go"};
constexpr Queue<Text> config{"Config"};
constexpr Queue<Text> inbox{"Inbox"};

// Reads everything that is in the mailbox by now; what comes later is for the next cycle.
TEST_P(Scenarios, AConfigurationIsReloadedFromAMailbox) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        Text seen;
        for (int cycle = 0; cycle < 2; ++cycle) {
            for (bool more = true; more;) {
                const auto version = co_await ctx.within(100ms, ctx.dequeue(config));
                more = version.has_value();
                seen += more ? *version + ";" : "|";
            }
            co_await ctx.sleep(1h);
        }
        co_return seen;
    });
    start(root, "", {.id = "a"});
    enqueue("a", config, "v1");
    enqueue("a", config, "v2");
    settle();
    runtime().advance(1s);
    enqueue("a", config, "v3");

    EXPECT_EQ(output("a"), "v1;v2;|v3;|");
}

TEST_P(Scenarios, RequestsAreAnsweredThroughKeys) {
    registry.add(work, [](const Text& request) { return "answer to " + request; });
    registry.add(counter, [](Context ctx, int left) -> Task<Text> {
        if (left == 0) {
            co_return "closed";
        }
        const Text request = co_await ctx.dequeue(inbox);
        const Text answer = co_await ctx.call(work, request);
        ctx.kv().set("answer-" + request, answer);
        co_return co_await ctx.continue_as_new(counter, left - 1);
    });
    start(counter, 3, {.id = "server"});
    for (const auto* request : {"r1", "r2", "r3"}) {
        enqueue("server", inbox, request);
        settle();
        EXPECT_EQ(client.wait_for_kv("server", Text{"answer-"} + request, 0s).value(),
                  Text{"answer to "} + request);
    }

    EXPECT_EQ(output("server"), "closed");
    EXPECT_EQ(client.kv_all("server").value().size(), 3u);
}

TEST_P(Scenarios, AChatTakesMessagesAndAnswersThroughItsStatus) {
    registry.add(work, [](const Text& message) { return "you said " + message; });
    registry.add(counter, [](Context ctx, int said) -> Task<Text> {
        const Text message = co_await ctx.dequeue(inbox);
        if (message == "bye") {
            co_return std::to_string(said);
        }
        const Text reply = co_await ctx.call(work, message);
        ctx.set_status(reply);
        co_return co_await ctx.continue_as_new(counter, said + 1);
    });
    start(counter, 0, {.id = "chat"});
    std::uint64_t seen = 0;
    for (const auto* message : {"hello", "again"}) {
        enqueue("chat", inbox, message);
        settle();
        const auto changed = client.wait_for_status_change("chat", seen, 0s).value();
        EXPECT_EQ(changed.custom_status, Text{"you said "} + message);
        seen = changed.custom_status_version;
    }

    enqueue("chat", inbox, "bye");

    EXPECT_EQ(output("chat"), "2");
}

TEST_P(Scenarios, MailboxesEventsAndActivitiesMixOverManyTurns) {
    registry.add(work, [](const Text& input) { return input + "!"; });
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        auto message = ctx.dequeue(inbox);
        auto event = ctx.wait_for(go);
        const auto first = co_await race{message, event}; // borrowed: the loser waits on
        const Text winner = first.index() == 0 ? std::get<0>(first) : std::get<1>(first);
        const Text other = co_await message;
        const Text done = co_await ctx.call(work, other + winner);
        const Text last = co_await ctx.dequeue(inbox);
        co_return std::to_string(first.index()) + done + last;
    });
    start(root, "", {.id = "a"});
    settle();
    raise("a", go, "event");
    settle();
    enqueue("a", inbox, "one");
    settle();
    enqueue("a", inbox, "two");

    EXPECT_EQ(output("a"), "1oneevent!two");
}

// ---- Deployments: three nodes, one of which is new

Task<Text> call_fresh_work(Context ctx, Text input) {
    co_return co_await ctx.call(fresh_work, input);
}

TEST_P(Scenarios, ARollingDeploymentFindsTheNodeThatHasTheActivity) {
    registry.add(root, call_fresh_work); // an old node: the activity is not there yet
    Registry upgraded;
    upgraded.add(root, call_fresh_work).add(fresh_work, [](const Text& input) {
        return "new " + input;
    });
    TestRuntime newer{upgraded, {.runtime = {}, .clock = clock, .provider = store}};
    start(root, "x", {.id = "a"});
    settle();
    runtime().advance(5s); // the old node meets it again and again, and leaves it alone
    EXPECT_EQ(status("a"), RunStatus::running);

    clock->advance(60s);
    EXPECT_TRUE(newer.run_until_idle());
    settle();

    EXPECT_EQ(status("a"), RunStatus::completed);
    EXPECT_EQ(output("a"), "new x");
}

TEST_P(Scenarios, ARollingDeploymentFindsTheNodeThatHasTheVersion) {
    registry.add(counter, "1.0.0", [](Context ctx, int n) -> Task<Text> {
        co_return co_await ctx.continue_as_new(counter, n + 1, {.version = "2.0.0"});
    });
    Registry upgraded = registry;
    upgraded.add(counter, "2.0.0", [](Context, int n) -> Task<Text> {
        co_return "two " + std::to_string(n);
    });
    TestRuntime newer{upgraded, {.runtime = {}, .clock = clock, .provider = store}};
    start(counter, 1, {.id = "a", .version = "1.0.0"});
    settle(); // the old node runs version 1 and then has nothing for version 2
    EXPECT_EQ(status("a"), RunStatus::running);

    clock->advance(60s);
    EXPECT_TRUE(newer.run_until_idle());

    EXPECT_EQ(status("a"), RunStatus::completed);
    EXPECT_EQ(client.status("a").value().output, "two 2");
}

} // namespace
} // namespace durable::e2e::scenarios_test
