// Cancelling from outside, by scope, and down the tree.

#include "e2e/e2e.hpp"

namespace durable::e2e::cancellation_test {
namespace {

DURABLE_E2E_SUITE(Cancellation);

using Text = std::string;

constexpr Activity<Text(Text)> work{"Work"};
constexpr Activity<Text(Text)> undo{"Undo"};
constexpr Orchestration<Text(Text)> child{"Child"};
constexpr Orchestration<Text(Text)> root{"Root"};
constexpr Event<Text> go{"Go"};

Task<Text> wait_for_go(Context ctx, Text) {
    co_return co_await ctx.wait_for(go);
}

Task<Text> wait_for_child(Context ctx, Text input) {
    const auto answer = co_await ctx.call(child, input, {.id = "child"}).as_result();
    co_return answer ? "child: " + *answer : "child failed: " + answer.error().message;
}

bool cancelled_with(const OrchestrationStatus& status, const Text& reason) {
    const auto* error =
        status.failure ? std::get_if<details::Application>(&*status.failure) : nullptr;
    return error != nullptr && error->kind == details::ApplicationKind::cancelled &&
           error->reason == reason;
}

TEST_P(Cancellation, EndsAnInstanceThatWaits) {
    registry.add(root, wait_for_go);
    start(root, "", {.id = "a"});
    settle();

    ASSERT_TRUE(client.cancel("a", "not needed"));

    EXPECT_TRUE(cancelled_with(finish("a"), "not needed"));
    EXPECT_EQ(failure("a"), "canceled: not needed");
    EXPECT_EQ(count<history::OrchestrationCancelRequested>(history("a")), 1u);
}

TEST_P(Cancellation, CascadesToChildren) {
    registry.add(root, wait_for_child);
    registry.add(child, wait_for_go);
    start(root, "", {.id = "a"});
    settle();

    ASSERT_TRUE(client.cancel("a", "enough"));

    EXPECT_EQ(failure("a"), "canceled: enough");
    EXPECT_EQ(finish("child").status, RunStatus::failed);
    EXPECT_EQ(count<history::OrchestrationCancelRequested>(history("child")), 1u);
}

TEST_P(Cancellation, OfAChildIsAFailureThatItsParentCanCatch) {
    registry.add(root, wait_for_child);
    registry.add(child, wait_for_go);
    start(root, "", {.id = "a"});
    settle();

    ASSERT_TRUE(client.cancel("child", "by hand"));

    EXPECT_EQ(output("a"), "child failed: canceled: by hand");
}

TEST_P(Cancellation, OfAnInstanceThatHasEndedChangesNothing) {
    registry.add(root, [](Context, Text) -> Task<Text> { co_return "done"; });
    start(root, "", {.id = "a"});
    EXPECT_EQ(output("a"), "done");
    const auto before = history("a");

    ASSERT_TRUE(client.cancel("a", "late"));
    settle();

    EXPECT_EQ(output("a"), "done");
    EXPECT_EQ(history("a"), before);
}

TEST_P(Cancellation, IsIdempotentAndKeepsTheFirstReason) {
    registry.add(root, wait_for_go);
    start(root, "", {.id = "a"});
    settle();

    ASSERT_TRUE(client.cancel("a", "first"));
    ASSERT_TRUE(client.cancel("a", "second"));
    ASSERT_TRUE(client.cancel("a", "third"));

    EXPECT_EQ(failure("a"), "canceled: first");
    EXPECT_EQ(count<history::OrchestrationCancelRequested>(history("a")), 1u);
}

TEST_P(Cancellation, BeforeTheFirstTurnWins) {
    registry.add(root, [](Context, Text) -> Task<Text> { co_return "done"; });
    start(root, "", {.id = "a"});

    ASSERT_TRUE(client.cancel("a", "early"));

    EXPECT_EQ(failure("a"), "canceled: early");
}

TEST_P(Cancellation, T22_OfAnUnknownInstanceHurtsNobody) {
    registry.add(root, [](Context, Text) -> Task<Text> { co_return "done"; });
    EXPECT_EQ(client.cancel("no-such-instance", "typo").error().code, ErrorCode::not_found);
    ASSERT_TRUE(store->enqueue_for_orchestrator(
        work::CancelInstance{.instance = "no-such-instance", .reason = "by hand"}, std::nullopt));
    ASSERT_TRUE(client.raise("no-such-instance", go, "typo"));

    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "done");
    EXPECT_EQ(status("no-such-instance"), RunStatus::not_found);
}

TEST_P(Cancellation, ReachesTheRunningExecutionAfterContinueAsNew) {
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        if (input == "first") {
            co_return co_await ctx.continue_as_new(root, "second");
        }
        co_return co_await ctx.wait_for(go);
    });
    start(root, "first", {.id = "a"});
    settle();

    ASSERT_TRUE(client.cancel("a", "now"));

    EXPECT_EQ(failure("a"), "canceled: now");
    EXPECT_EQ(finish("a").execution_id, 2u);
}

TEST_P(Cancellation, DroppingAnActivityBeforeItRunsMeansItNeverRuns) {
    int runs = 0;
    registry.add(work, [&](const Text& input) {
        ++runs;
        return input;
    });
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        {
            const auto dropped = ctx.call(work, "never");
        }
        co_return "done";
    });

    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "done");
    EXPECT_EQ(runs, 0);
    EXPECT_EQ(count<history::ActivityCancelRequested>(history("a")), 1u);
    EXPECT_EQ(management().queue_depths().value().worker_queue, 0u);
}

TEST_P(Cancellation, TheLoserOfARaceIsCancelled) {
    int runs = 0;
    options.worker_tag_filter = TagFilter::default_only();
    registry.add(work, [&](const Text& input) {
        ++runs;
        return input;
    });
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        auto slow = ctx.call(work, "slow", {.tag = "nobody-serves-this"});
        const auto first = co_await race{std::move(slow), ctx.sleep(1s)};
        co_return first.index() == 0 ? "work" : "timer";
    });

    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "timer");
    EXPECT_EQ(runs, 0);
    EXPECT_EQ(management().queue_depths().value().worker_queue, 0u);
}

TEST_P(Cancellation, ALosingChildIsCancelled) {
    registry.add(child, wait_for_go);
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        auto slow = ctx.call(child, "", {.id = "child"});
        const auto first = co_await race{std::move(slow), ctx.sleep(1s)};
        co_return first.index() == 0 ? "child" : "timer";
    });

    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "timer");
    EXPECT_EQ(finish("child").status, RunStatus::failed);
}

TEST_P(Cancellation, AnActivityOfACancelledInstanceIsTakenOffTheQueue) {
    int runs = 0;
    registry.add(work, [&](const Text& input) {
        ++runs;
        return input;
    });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        co_return co_await ctx.call(work, input);
    });
    start(root, "", {.id = "a"});
    ASSERT_TRUE(runtime().run_turn());
    ASSERT_TRUE(client.cancel("a", "stop"));
    ASSERT_TRUE(runtime().run_turn());

    settle();

    EXPECT_EQ(runs, 0);
    EXPECT_EQ(failure("a"), "canceled: stop");
}

TEST_P(Cancellation, CompensationsRunBeforeTheEnd) {
    std::vector<Text> undone;
    registry.add(undo, [&](const Text& what) {
        undone.push_back(what);
        return what;
    });
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        ctx.on_failure(undo, "flight");
        ctx.on_failure(undo, "hotel");
        co_return co_await ctx.wait_for(go);
    });
    start(root, "", {.id = "a"});
    settle();

    ASSERT_TRUE(client.cancel("a", "changed my mind"));

    EXPECT_EQ(failure("a"), "canceled: changed my mind");
    EXPECT_EQ(undone, (std::vector<Text>{"hotel", "flight"}));
}

TEST_P(Cancellation, T30_ChildrenOfAFailedParentAreCancelled) {
    registry.add(child, wait_for_go);
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const auto running = ctx.call(child, "", {.id = "child"});
        co_await ctx.sleep(1s);
        throw std::runtime_error{"boom"};
    });

    start(root, "", {.id = "a"});

    EXPECT_NE(failure("a").find("boom"), Text::npos);
    EXPECT_EQ(finish("child").status, RunStatus::failed);
}

TEST_P(Cancellation, ReachesEveryChild) {
    registry.add(child, wait_for_go);
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        std::vector<Operation<Text>> children;
        for (int i = 0; i < 5; ++i) {
            children.push_back(ctx.call(child, std::to_string(i)));
        }
        co_await all{std::move(children)};
        co_return "";
    });
    start(root, "", {.id = "a"});
    settle();
    const auto children = management().children("a").value();
    ASSERT_EQ(children.size(), 5u);

    ASSERT_TRUE(client.cancel("a", "all of you"));

    EXPECT_EQ(failure("a"), "canceled: all of you");
    for (const auto& id : children) {
        EXPECT_EQ(failure(id), "canceled: parent canceled");
    }
}

TEST_P(Cancellation, AFailureTakesItsOpenActivitiesAlong) {
    int runs = 0;
    registry.add(work, [&](const Text& input) {
        ++runs;
        return input;
    });
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const auto slow = ctx.call(work, "slow", {.tag = "nobody-serves-this"});
        co_await ctx.sleep(1s);
        throw std::runtime_error{"boom"};
    });

    start(root, "", {.id = "a"});

    EXPECT_NE(failure("a").find("boom"), Text::npos);
    EXPECT_EQ(count<history::ActivityCancelRequested>(history("a")), 1u);
    EXPECT_EQ(count<history::OrchestrationFailed>(history("a")), 1u);
    EXPECT_EQ(management().queue_depths().value().worker_queue, 0u);
    EXPECT_EQ(runs, 0);
}

TEST_P(Cancellation, AResultThatComesAfterTheEndIsDropped) {
    TestRuntime* test = nullptr;
    registry.add(work, [&](ActivityContext& ctx, const Text& input) {
        EXPECT_TRUE(ctx.client().cancel("a", "while it runs"));
        EXPECT_TRUE(test->run_turn());
        return input;
    });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        co_return co_await ctx.call(work, input);
    });
    test = &runtime();

    start(root, "late", {.id = "a"});

    EXPECT_EQ(failure("a"), "canceled: while it runs");
    settle();
    EXPECT_EQ(count<history::ActivityCompleted>(history("a")), 0u);
    EXPECT_EQ(management().queue_depths().value().orchestrator_queue, 0u);
}

TEST_P(Cancellation, ADroppedChildIsCancelled) {
    registry.add(child, wait_for_go);
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        auto by_hand = ctx.call(child, "", {.id = "by-hand"});
        {
            const auto by_scope = ctx.call(child, "", {.id = "by-scope"});
            co_await ctx.sleep(1s);
        }
        by_hand.cancel();
        co_await ctx.sleep(1s);
        co_return "done";
    });

    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "done");
    EXPECT_EQ(finish("by-hand").status, RunStatus::failed);
    EXPECT_EQ(finish("by-scope").status, RunStatus::failed);
    EXPECT_EQ(count<history::SubOrchestrationCancelRequested>(history("a")), 2u);
}

TEST_P(Cancellation, AChildThatIsCancelledFromTwoSidesEndsOnce) {
    registry.add(child, wait_for_go);
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const auto first = co_await race{ctx.call(child, "", {.id = "child"}), ctx.wait_for(go)};
        co_return std::to_string(first.index());
    });
    start(root, "", {.id = "a"});
    settle();

    ASSERT_TRUE(client.cancel("child", "by hand"));
    raise("a", go, "");

    EXPECT_EQ(output("a"), "1");
    EXPECT_NE(failure("child").find("canceled"), Text::npos);
    EXPECT_EQ(count<history::OrchestrationCancelRequested>(history("child")), 1u);
    EXPECT_EQ(count<history::OrchestrationFailed>(history("child")), 1u);
}

} // namespace
} // namespace durable::e2e::cancellation_test
