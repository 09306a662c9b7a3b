// Who an instance is: not its id alone. An id may be taken when a child is called by it, and it may
// name another instance after the first was deleted. What was meant for one reaches no other.

#include "e2e/e2e.hpp"

namespace durable::e2e::lives_test {
namespace {

DURABLE_E2E_SUITE(Lives);

using Text = std::string;

constexpr Orchestration<Text(Text)> order{"Order"};
constexpr Orchestration<Text(Text)> other{"Other"};
constexpr Orchestration<Text(Text)> parent{"Parent"};
constexpr Orchestration<Text(Text)> child{"Child"};
constexpr Activity<Text(Text)> work_on{"Work"};
constexpr Event<Text> paid{"Paid"};

Task<Text> wait_until_paid(Context ctx, Text) {
    co_return co_await ctx.wait_for(paid);
}

// Calls a child by an id that "order-7" has taken, and loses interest before it is answered.
Task<Text> call_a_taken_id(Context ctx, Text how) {
    if (how == "within") {
        auto call = ctx.call(order, "x", {.id = "order-7"});
        const auto got = co_await ctx.within(0ms, std::move(call));
        co_return got ? "got" : "timed out";
    }
    if (how == "race") {
        auto got = co_await race{ctx.call(order, "x", {.id = "order-7"}), ctx.sleep(0ms)};
        co_return got.index() == 0 ? "got" : "timed out";
    }
    auto call = ctx.call(order, "x", {.id = how == "self" ? ctx.instance() : "order-7"});
    if (how == "fail") {
        throw std::runtime_error{"something else went wrong"};
    }
    if (how == "cancelled") {
        co_return co_await ctx.wait_for(paid);
    }
    call.cancel();
    if (how == "self") {
        co_await ctx.sleep(1h);
        co_return "still here";
    }
    if (how == "continue") {
        co_return co_await ctx.continue_as_new(other, "self");
    }
    co_return "dropped";
}

TEST_P(Lives, ADroppedCallOfATakenIdLeavesTheInstanceThatHasItAlone) {
    registry.add(order, wait_until_paid).add(other, call_a_taken_id);
    start(order, "", {.id = "order-7"});
    settle();

    for (const Text how : {"drop", "within", "race", "fail", "cancelled"}) {
        start(other, how, {.id = how});
        if (how == "cancelled") {
            ASSERT_TRUE(client.cancel(how, "enough"));
        }
        settle();
        EXPECT_NE(finish(how).status, RunStatus::running) << how;
        EXPECT_EQ(count<history::OrchestrationCancelRequested>(history("order-7")), 0u) << how;
    }

    raise("order-7", paid, "money");
    EXPECT_EQ(output("order-7"), "money");
}

TEST_P(Lives, ADroppedCallOfItsOwnIdCancelsNothing) {
    registry.add(order, wait_until_paid).add(other, call_a_taken_id);
    start(other, "self", {.id = "x"});

    EXPECT_EQ(output("x"), "still here");
}

TEST_P(Lives, AStrangersCancellationIsCountedAsDropped) {
    registry.add(order, wait_until_paid).add(other, call_a_taken_id);
    start(order, "", {.id = "order-7"});
    settle();
    const auto before = metric("durable_orchestration_dropped_messages_total", {"reason=stale"});

    start(other, "drop", {.id = "other"});
    settle();

    // The second start, and the cancellation.
    EXPECT_EQ(metric("durable_orchestration_dropped_messages_total", {"reason=stale"}), before + 2);
}

TEST_P(Lives, AChildThatContinuedAsNewIsStillItsParentsToCancel) {
    registry.add(child, [](Context ctx, Text input) -> Task<Text> {
        if (input == "first") {
            co_return co_await ctx.continue_as_new(child, "second");
        }
        co_return co_await ctx.wait_for(paid);
    });
    registry.add(parent, [](Context ctx, Text) -> Task<Text> {
        auto call = ctx.call(child, "first", {.id = "child"});
        const auto got = co_await ctx.within(1min, std::move(call));
        co_return got ? "got" : "timed out";
    });
    start(parent, "", {.id = "x"});

    EXPECT_EQ(output("x"), "timed out");
    EXPECT_EQ(failure("child"), "canceled: parent dropped sub-orchestration future");
}

// ---- Deleted, and started again under the same id

Task<Text> ask_child(Context ctx, Text input) {
    if (input == "sleeps") {
        co_await ctx.sleep(1min);
        co_return "slept";
    }
    if (input == "short") {
        co_return co_await ctx.wait_for(paid);
    }
    if (input == "late") {
        co_await ctx.sleep(1ms); // the child's step has another number
    }
    if (input.starts_with("named")) {
        const auto answer = co_await ctx.call(child, input, {.id = "child"}).as_result();
        co_return answer ? *answer : answer.error().message;
    }
    co_return co_await ctx.call(child, input);
}

Task<Text> answer_later(Context ctx, Text input) {
    co_await ctx.sleep(1s);
    co_return "child of " + input;
}

class Reborn : public E2e {
 protected:
    void SetUp() override { registry.add(parent, ask_child).add(child, answer_later); }

    // The first life, as far as so many turns bring it.
    void live(const Text& input, int turns) {
        start(parent, input, {.id = "x"});
        for (int i = 0; i < turns; ++i) {
            (void)runtime().run_turn(); // later ones may need time to pass
        }
        const auto deleted = management().delete_instance("x", true);
        ASSERT_TRUE(deleted) << deleted.error().text();
    }
};
INSTANTIATE_TEST_SUITE_P(, Reborn, ::testing::Values(Frames::kept, Frames::evicted), frames_name);

TEST_P(Reborn, IsAnsweredByItsOwnChildren) {
    for (int turns = 1; turns < 4; ++turns) {
        live("OLD", turns);
        start(parent, "NEW", {.id = "x"});
        EXPECT_EQ(output("x"), "child of NEW") << turns;
        ASSERT_TRUE(management().delete_instance("x"));
    }
}

TEST_P(Reborn, AStartThatIsBeingWorkedOnAnswersNobodyElse) {
    start(parent, "OLD", {.id = "x"});
    ASSERT_TRUE(runtime().run_turn());
    // A worker has the child's start, and the parent goes before the worker is done.
    const auto item = store->fetch_orchestration_item({.lock_timeout = 1min}).value().value();
    const auto* begin = std::get_if<work::StartOrchestration>(&item.messages.front());
    ASSERT_NE(begin, nullptr);
    ASSERT_EQ(begin->parent_instance, "x");
    ASSERT_TRUE(management().delete_instance("x", true));

    const auto late = store->ack_orchestration_item({.lock_token = item.lock_token});
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::lock_lost);

    start(parent, "NEW", {.id = "x"});
    EXPECT_EQ(output("x"), "child of NEW");
}

// The answer of a child that a deletion could not reach: stored by another node, a moment later.
TEST_P(Reborn, LateAnswersToStepsOfAnotherKindOrOfNoneParkNothing) {
    for (const Text input : {"sleeps", "short"}) {
        start(parent, input, {.id = "x"});
        settle();
        for (const std::uint64_t step : {2U, 3U, 99U}) {
            ASSERT_TRUE(store->enqueue_for_orchestrator(
                work::SubOrchCompleted{.parent_instance = "x",
                                       .parent_execution_id = 1,
                                       .parent_id = step,
                                       .result = "of a former life"},
                std::nullopt));
        }
        settle();
        EXPECT_TRUE(runtime().parked().empty()) << input;
        if (input == "short") {
            raise("x", paid, "slept");
        }
        EXPECT_EQ(output("x"), "slept");
        ASSERT_TRUE(management().delete_instance("x"));
    }
}

TEST_P(Reborn, ACallOfAChildThatAFormerLifeLeftIsToldThatItExists) {
    // A child that outlived its parent: its first turn was stored after the parent's deletion, by a
    // store that cannot remove queued starts. Its link names a life that is over.
    ASSERT_TRUE(
        store->enqueue_for_orchestrator(work::StartOrchestration{.instance = "child",
                                                                 .orchestration = "Child",
                                                                 .input = "OLD",
                                                                 .parent_instance = "x",
                                                                 .parent_id = 2,
                                                                 .parent_execution_id = 1,
                                                                 .parent_incarnation = 1'000'000},
                                        std::nullopt));
    runtime().advance(10s);
    ASSERT_EQ(status("child"), RunStatus::completed);

    start(parent, "named", {.id = "x"});

    EXPECT_EQ(output("x"), "instance 'child' already exists");
}

TEST_P(Reborn, AChildOfTheFormerLifeThatHadNotBegunIsGone) {
    live("named OLD", 1);
    runtime().advance(10s);
    EXPECT_EQ(status("child"), RunStatus::not_found);

    start(parent, "named NEW", {.id = "x"});

    EXPECT_EQ(output("x"), "child of named NEW");
}

TEST_P(Reborn, ItsActivitiesAreNotTakenForCancelledOnesOfTheFormerLife) {
    std::vector<bool> stopped;
    registry.add(order, [](Context ctx, Text input) -> Task<Text> {
        if (input == "drops") {
            {
                auto dropped = ctx.call(work_on, input);
            }
            co_return "dropped";
        }
        co_return co_await ctx.call(work_on, input);
    });
    registry.add(work_on, [&stopped](ActivityContext& ctx, const Text& input) {
        stopped.push_back(ctx.stop_requested());
        return input;
    });
    start(order, "drops", {.id = "order"});
    EXPECT_EQ(output("order"), "dropped");
    ASSERT_TRUE(management().delete_instance("order"));
    const auto begun = clock->now();

    start(order, "works", {.id = "order"});

    EXPECT_EQ(output("order"), "works");
    EXPECT_EQ(stopped, std::vector{false});
    EXPECT_EQ(clock->now(), begun); // and no wait for a lease to run out
}

// ---- Cancelled by a client

TEST_P(Reborn, ACancellationOfADeletedInstanceIsRefused) {
    start(parent, "sleeps", {.id = "x"});
    EXPECT_EQ(output("x"), "slept");
    ASSERT_TRUE(management().delete_instance("x"));

    const auto cancelled = client.cancel("x", "clean up");

    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().code, ErrorCode::not_found);
    runtime().advance(30min);
    start(parent, "sleeps", {.id = "x"});
    EXPECT_EQ(output("x"), "slept");
}

// The client has looked, and the instance that it meant is replaced before its message is stored.
TEST_P(Reborn, ACancellationThatIsMeantForTheFormerLifeIsIgnored) {
    start(parent, "sleeps", {.id = "x"});
    settle();
    const auto former = store->watch_instance({.instance = "x"}).value().incarnation;
    ASSERT_NE(former, 0u);
    ASSERT_TRUE(management().delete_instance("x", true));
    start(parent, "sleeps", {.id = "x"});

    ASSERT_TRUE(store->enqueue_for_orchestrator(
        work::CancelInstance{.instance = "x", .reason = "late", .incarnation = former},
        std::nullopt));

    EXPECT_EQ(output("x"), "slept");
}

TEST_P(Reborn, ACancellationMayBeSentAheadOfTheFirstTurn) {
    start(parent, "sleeps", {.id = "at once"});
    start(parent, "sleeps", {.id = "later", .delay = 1h});

    ASSERT_TRUE(client.cancel("at once", "never mind"));
    ASSERT_TRUE(client.cancel("later", "never mind"));

    EXPECT_EQ(failure("at once"), "canceled: never mind");
    runtime().advance(2h);
    EXPECT_EQ(failure("later"), "canceled: never mind");
    EXPECT_EQ(count<history::TimerCreated>(history("later")), 0u); // its code never ran
}

// The child of a call that was given up before the child began: nothing of it is left to meet
// another instance of its id.
TEST_P(Reborn, TheCancellationOfAnUnbegunChildGoesWithIt) {
    registry.add(order, [](Context ctx, Text) -> Task<Text> {
        auto call = ctx.call(child, "x", {.id = "child"});
        co_return co_await ctx.wait_for(paid);
    });
    start(order, "", {.id = "x"});
    ASSERT_TRUE(runtime().run_turn());
    ASSERT_TRUE(client.cancel("x", "stop"));
    // The child's start stands first in the queue: another node takes it, and gives it back later.
    const auto begin = store->fetch_orchestration_item({.lock_timeout = 1min}).value().value();
    ASSERT_EQ(begin.instance, "child");
    ASSERT_TRUE(runtime().run_turn());
    ASSERT_EQ(status("x"), RunStatus::failed);

    ASSERT_TRUE(management().delete_instance("x"));
    start(child, "y", {.id = "child"});

    EXPECT_EQ(output("child"), "child of y");
}

} // namespace
} // namespace durable::e2e::lives_test
