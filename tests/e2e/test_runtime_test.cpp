// TestRuntime says promptly why an orchestration does not end, and the mistakes that only a running
// node can meet have a defined outcome.

#include "e2e/e2e.hpp"

#include <optional>
#include <stdexcept>

namespace durable::e2e::test_runtime_test {
namespace {

DURABLE_E2E_SUITE(Testing);

using Text = std::string;

constexpr Activity<Text(Text)> work{"Work"};
constexpr Activity<Text(Text)> other_work{"OtherWork"};
constexpr Orchestration<Text(Text)> root{"Root"};
constexpr Orchestration<Text(Text)> child{"Child"};
constexpr Orchestration<int(int)> counter{"Counter"};
constexpr Event<Text> go{"Go"};

Task<Text> wait_then_work(Context ctx, Text input) {
    co_await ctx.wait_for(go);
    co_return co_await ctx.call(work, input);
}

Task<Text> wait_then_other_work(Context ctx, Text input) {
    co_await ctx.wait_for(go);
    co_return co_await ctx.call(other_work, input);
}

Task<Text> call_child(Context ctx, Text input) {
    co_return co_await ctx.call(child, input, {.id = "c"});
}

Task<int> count_for_ever(Context ctx, int n) {
    co_return co_await ctx.continue_as_new(counter, n + 1);
}

class Differing : public Testing {
 protected:
    // An instance that has gone on with the old code, and a registry with the new one.
    void deploy_other_code(const Orchestration<Text(Text)>& which) {
        registry.add(work, [](const Text& input) { return input; });
        registry.add(which, wait_then_work);
    }
    void differ(const Orchestration<Text(Text)>& which, const std::string& id) {
        settle();
        raise(id, go, "");
        ASSERT_TRUE(runtime().run_turn());
        crash();
        registry = {};
        registry.add(which, wait_then_other_work);
        registry.add(work, [](const Text& input) { return input; });
    }
};
INSTANTIATE_TEST_SUITE_P(,
                         Differing,
                         ::testing::Values(Frames::kept, Frames::evicted),
                         frames_name);

TEST_P(Differing, CodeIsReportedByFinishAfterASecondLook) {
    deploy_other_code(root);
    start(root, "x", {.id = "a"});
    differ(root, "a");
    const auto begun = clock->now();

    const auto status = runtime().finish("a");

    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::orchestration_failed);
    EXPECT_NE(status.error().message.find("error E2001 in Root 1.0.0, instance a"), Text::npos)
        << status.error().text();
    EXPECT_LE(clock->now() - begun, 1s);
    EXPECT_EQ(runtime().parked().at(0).attempts, 2u);
}

TEST_P(Differing, CodeOfAChildIsReportedToWhoWaitsForTheParent) {
    deploy_other_code(child);
    registry.add(root, call_child);
    start(root, "x", {.id = "a"});
    differ(child, "c");
    registry.add(root, call_child);

    const auto status = runtime().finish("a");

    ASSERT_FALSE(status);
    EXPECT_NE(status.error().message.find("E2001 in Child 1.0.0, instance c"), Text::npos)
        << status.error().text();
}

TEST_P(Differing, CodeIsNoObstacleToACancellation) {
    deploy_other_code(root);
    start(root, "x", {.id = "a"});
    differ(root, "a");
    settle();
    ASSERT_EQ(runtime().parked().size(), 1u);
    ASSERT_TRUE(client.cancel("a", "the code is gone"));

    EXPECT_EQ(failure("a"), "canceled: the code is gone");
}

TEST_P(Differing, CodeOfAnotherInstanceDoesNotDisturb) {
    deploy_other_code(root);
    registry.add(child, [](Context ctx, Text) -> Task<Text> {
        co_await ctx.sleep(1h);
        co_return "done";
    });
    start(root, "x", {.id = "a"});
    start(child, "x", {.id = "b"});
    differ(root, "a");
    registry.add(child, [](Context ctx, Text) -> Task<Text> {
        co_await ctx.sleep(1h);
        co_return "done";
    });

    EXPECT_EQ(output("b"), "done");
}

TEST_P(Testing, AnEndlessChainOfExecutionsIsGivenUpAfterManySteps) {
    registry.add(counter, count_for_ever);
    TestRuntime limited{registry,
                        {.runtime = {}, .clock = clock, .provider = store, .max_steps = 100}};
    ASSERT_TRUE(client.start(counter, 1, {.id = "a"}));

    EXPECT_FALSE(limited.run_until_idle());
    const auto status = limited.finish("a");
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::timed_out);
    EXPECT_NE(status.error().message.find("a does not come to rest: 100 turns"), Text::npos)
        << status.error().text();
    EXPECT_THROW(limited.advance(1h), std::runtime_error);
}

TEST_P(Testing, AnInstanceThatWasNeverStartedIsNotFound) {
    const auto status = runtime().finish("nobody");

    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::not_found);
    EXPECT_EQ(status.error().text(), "finish: there is no instance nobody");
}

TEST_P(Testing, AStartThatIsDelayedIsWaitedFor) {
    registry.add(root, [](Context, Text input) -> Task<Text> { co_return input; });
    const auto run = runtime().client().start(root, "later", {.id = "a", .delay = 1h}).value();

    EXPECT_EQ(runtime().finish(run).value(), "later");
}

// ---- What only a node can meet

TEST_P(Testing, AKindOfFailureArrivesWhateverBytesItsMessageHas) {
    registry.add(work, [](const Text&) -> Text {
        throw OperationFailed{{.kind = "Declined", .message = "caf\xe9", .retryable = true}};
    });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        const auto answer = co_await ctx.call(work, input).as_result();
        const auto& failure = answer.error();
        co_return failure.kind + ": " + failure.message + (failure.retryable ? " again" : "");
    });
    start(root, "x", {.id = "a"});

    EXPECT_EQ(output("a"), "Declined: caf\\xe9 again");
}

TEST_P(Testing, AContextInAnActivityIsAFailureOfTheActivity) {
    static std::optional<Context> escaped;
    registry.add(work, [](const Text&) { return escaped->new_uuid(); });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        escaped = ctx;
        co_return co_await ctx.call(work, input);
    });
    start(root, "x", {.id = "a"});

    EXPECT_EQ(failure("a"),
              "activity 'Work' failed: a durable::Context is used outside of its orchestration: on "
              "another thread, or after the end");
    escaped.reset();
}

TEST_P(Testing, TheOwnKeysOfAnInstanceAreReadFromTheStoreAsTheyWereBeforeTheTurn) {
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        ctx.kv().set("key", "old");
        co_await ctx.sleep(1s);
        ctx.kv().set("key", "new");
        const auto stored = co_await ctx.kv().of("a", "key");
        co_return *stored + " " + *ctx.kv().get("key");
    });
    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "old new");
}

} // namespace
} // namespace durable::e2e::test_runtime_test
