// Restarts: nothing is left but the store, and everything goes on where it was.

#include "e2e/e2e.hpp"

namespace durable::e2e::recovery_test {
namespace {

DURABLE_E2E_SUITE(Recovery);

using Text = std::string;

constexpr Activity<Text(Text)> work{"Work"};
constexpr Orchestration<Text(Text)> root{"Root"};
constexpr Orchestration<Text(Text)> child{"Child"};
constexpr Event<Text> go{"Go"};
constexpr Queue<Text> inbox{"Inbox"};

TEST_P(Recovery, EqualCallsAroundARestartGetTheirOwnResults) {
    int runs = 0;
    registry.add(work, [&](const Text&) { return "R" + std::to_string(++runs); });
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const Text first = co_await ctx.call(work, "same");
        co_await ctx.sleep(1s);
        const Text second = co_await ctx.call(work, "same");
        co_return first + "," + second;
    });
    start(root, "", {.id = "a"});
    settle();

    crash();

    EXPECT_EQ(output("a"), "R1,R2");
    EXPECT_EQ(runs, 2);
}

TEST_P(Recovery, EveryKindOfWaitGoesOnAfterARestart) {
    registry.add(work, [](const Text& input) { return input; });
    registry.add(child, [](Context ctx, Text input) -> Task<Text> {
        co_await ctx.sleep(1h);
        co_return input;
    });
    registry.add(root, [](Context ctx, Text kind) -> Task<Text> {
        if (kind == "event") {
            co_return co_await ctx.wait_for(go);
        }
        if (kind == "queue") {
            co_return co_await ctx.dequeue(inbox);
        }
        if (kind == "child") {
            co_return co_await ctx.call(child, kind);
        }
        if (kind == "timer") {
            co_await ctx.sleep(1h);
            co_return kind;
        }
        co_return co_await ctx.call(work, kind);
    });
    options.activity_threads = 0; // before the restart no worker runs
    for (const auto* kind : {"event", "queue", "child", "timer", "activity"}) {
        start(root, kind, {.id = kind});
    }
    settle();

    crash();
    options.activity_threads = RuntimeOptions{}.activity_threads;
    raise("event", go, "event");
    enqueue("queue", inbox, "queue");

    for (const auto* kind : {"event", "queue", "child", "timer", "activity"}) {
        EXPECT_EQ(output(kind), kind);
        EXPECT_EQ(count<history::OrchestrationStarted>(history(kind)), 1u);
    }
}

TEST_P(Recovery, TimesAndIdsAreTheSameAfterARestart) {
    std::vector<Text> inputs;
    registry.add(work, [&](const Text& input) {
        inputs.push_back(input);
        return input;
    });
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const Text stamp = std::to_string(to_epoch_ms(ctx.now())) + "/" + ctx.new_uuid();
        const Text first = co_await ctx.call(work, stamp);
        co_await ctx.sleep(1h);
        const Text second = co_await ctx.call(work, stamp); // compared with the history's input
        const bool same = first == second;
        co_return same ? "same" : "different";
    });
    start(root, "", {.id = "a"});
    settle();

    crash();
    runtime().advance(30min);
    crash();

    EXPECT_EQ(output("a"), "same");
    ASSERT_EQ(inputs.size(), 2u);
    EXPECT_EQ(inputs[0], inputs[1]);
    EXPECT_EQ(count<history::ActivityScheduled>(history("a")), 2u) << "they cost no events";
}

TEST_P(Recovery, ADeadlineThatWasMetWhileNobodyRanIsMet) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const auto answer = co_await ctx.within(24h, ctx.wait_for(go));
        co_return answer.value_or("too late");
    });
    start(root, "", {.id = "met"});
    start(root, "", {.id = "missed"});
    settle();

    crash();
    clock->advance(1h);
    raise("met", go, "in time");
    clock->advance(24h);
    raise("missed", go, "a day later");

    EXPECT_EQ(output("met"), "in time");
    EXPECT_EQ(output("missed"), "too late");
}

TEST_P(Recovery, TheShorterSleepWinsALateRace) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        auto winner = co_await race{ctx.sleep(48h), ctx.sleep(1h)};
        co_return winner.index() == 0 ? "the long one" : "the short one";
    });
    start(root, "", {.id = "a"});
    settle();

    crash();
    clock->advance(100h);

    EXPECT_EQ(output("a"), "the short one");
}

} // namespace
} // namespace durable::e2e::recovery_test
