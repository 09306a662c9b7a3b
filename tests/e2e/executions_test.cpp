// Continue-as-new, versions, and what crosses from one execution to the next.

#include "e2e/e2e.hpp"

namespace durable::e2e::executions_test {
namespace {

DURABLE_E2E_SUITE(Executions);

using Text = std::string;

constexpr Orchestration<Text(int)> counter{"Counter"};
constexpr Orchestration<Text(Text)> parent{"Parent"};
constexpr Orchestration<Text(Text)> child{"Child"};
constexpr Event<Text> go{"Go"};
constexpr Queue<Text> inbox{"Inbox"};

TEST_P(Executions, EachHasItsOwnHistoryInputAndEnd) {
    registry.add(counter, [](Context ctx, int n) -> Task<Text> {
        if (n == 3) {
            co_return "final";
        }
        co_return co_await ctx.continue_as_new(counter, n + 1);
    });

    start(counter, 1, {.id = "a"});

    EXPECT_EQ(output("a"), "final");
    for (const std::uint64_t execution : {1U, 2U}) {
        const auto events = history("a", execution);
        EXPECT_EQ(find<history::OrchestrationStarted>(events)->input, std::to_string(execution));
        EXPECT_EQ(count<history::OrchestrationContinuedAsNew>(events), 1u);
    }
    EXPECT_EQ(count<history::OrchestrationCompleted>(history("a", 3)), 1u);
    EXPECT_EQ(history("a"), history("a", 3));
}

TEST_P(Executions, AnInstanceBetweenTwoOfThemIsRunning) {
    registry.add(counter, [](Context ctx, int n) -> Task<Text> {
        if (n == 2) {
            co_return "final";
        }
        co_return co_await ctx.continue_as_new(counter, n + 1);
    });
    start(counter, 1, {.id = "a"});

    ASSERT_TRUE(runtime().run_turn());

    EXPECT_EQ(status("a"), RunStatus::running);
    EXPECT_EQ(output("a"), "final");
}

TEST_P(Executions, AnEventReachesTheLatest) {
    registry.add(counter, [](Context ctx, int n) -> Task<Text> {
        if (n == 1) {
            co_return co_await ctx.continue_as_new(counter, 2);
        }
        co_return co_await ctx.wait_for(go);
    });
    start(counter, 1, {.id = "a"});
    settle();

    raise("a", go, "hello");

    EXPECT_EQ(output("a"), "hello");
}

TEST_P(Executions, AnAnswerForAnEarlierOneIsIgnored) {
    registry.add(counter, [](Context ctx, int n) -> Task<Text> {
        if (n == 1) {
            co_return co_await ctx.continue_as_new(counter, 2);
        }
        co_return co_await ctx.wait_for(go);
    });
    start(counter, 1, {.id = "a"});
    settle();
    const work::ActivityCompleted stale{
        .instance = "a", .execution_id = 1, .id = 2, .result = "stale"};
    const work::ActivityCompleted unborn{
        .instance = "a", .execution_id = 999, .id = 2, .result = "unborn"};

    ASSERT_TRUE(store->enqueue_for_orchestrator(stale, {}));
    ASSERT_TRUE(store->enqueue_for_orchestrator(unborn, {}));
    settle();
    raise("a", go, "fine");

    EXPECT_EQ(output("a"), "fine");
    EXPECT_EQ(count<history::ActivityCompleted>(history("a")), 0u);
}

TEST_P(Executions, AMailboxMovesOnUnread) {
    registry.add(counter, [](Context ctx, int n) -> Task<Text> {
        const Text message = co_await ctx.dequeue(inbox);
        if (n == 3) {
            co_return message;
        }
        co_return co_await ctx.continue_as_new(counter, n + 1);
    });
    start(counter, 1, {.id = "a"});
    enqueue("a", inbox, "one");
    enqueue("a", inbox, "two");
    enqueue("a", inbox, "three");

    EXPECT_EQ(output("a"), "three");
}

TEST_P(Executions, T17_MessagesThatMeetAGapAreKept) {
    registry.add(counter, [](Context ctx, int n) -> Task<Text> {
        if (n == 1) {
            co_return co_await ctx.continue_as_new(counter, 2);
        }
        co_return co_await ctx.dequeue(inbox);
    });
    // The store loses the successor's start for a while.
    std::optional<WorkItem> successor;
    start(counter, 1, {.id = "a"});
    const auto hide = [&](TurnCommit commit) {
        std::erase_if(commit.orchestrator_items, [&](const WorkItem& item) {
            if (std::holds_alternative<work::ContinueAsNew>(item)) {
                successor = item;
                return true;
            }
            return false;
        });
        return commit;
    };
    store->change_turn_ack = hide;
    ASSERT_TRUE(runtime().run_turn());
    store->change_turn_ack = nullptr;
    ASSERT_TRUE(successor);
    enqueue("a", inbox, "kept");
    for (int i = 0; i < 20; ++i) { // more often than max_attempts
        runtime().advance(2s);
    }

    ASSERT_TRUE(store->enqueue_for_orchestrator(*successor, {}));
    runtime().advance(2s);

    EXPECT_EQ(output("a"), "kept");
}

TEST_P(Executions, T04_AParentHearsFromAChildThatContinuedAsNew) {
    registry.add(child, [](Context ctx, Text input) -> Task<Text> {
        if (input == "again") {
            co_return "at last";
        }
        co_return co_await ctx.continue_as_new(child, "again");
    });
    registry.add(parent, [](Context ctx, Text) -> Task<Text> {
        co_return co_await ctx.call(child, "first");
    });

    start(parent, "", {.id = "p"});

    EXPECT_EQ(output("p"), "at last");
}

TEST_P(Executions, T04_AParentPastItsFirstExecutionHearsFromItsChildren) {
    registry.add(child, [](Context ctx, Text input) -> Task<Text> {
        co_await ctx.sleep(1h);
        co_return input + "!";
    });
    registry.add(parent, [](Context ctx, Text input) -> Task<Text> {
        if (input == "first") {
            co_return co_await ctx.continue_as_new(parent, "second");
        }
        co_return co_await ctx.call(child, input);
    });
    start(parent, "first", {.id = "p"});
    settle();

    crash(); // whatever was remembered in the process is gone

    EXPECT_EQ(output("p"), "second!");
}

TEST_P(Executions, T05_TheSameChildCallInEveryExecutionGetsItsOwnChild) {
    registry.add(child, [](Context, Text input) -> Task<Text> { co_return "child of " + input; });
    registry.add(parent, [](Context ctx, Text input) -> Task<Text> {
        const Text answer = co_await ctx.call(child, input);
        if (input == "2") {
            co_return answer;
        }
        co_return co_await ctx.continue_as_new(parent, "2");
    });

    start(parent, "1", {.id = "p"});

    EXPECT_EQ(output("p"), "child of 2");
    EXPECT_EQ(management().children("p").value().size(), 2u);
}

TEST_P(Executions, T05_AParentWhoseChildIdIsTakenIsTold) {
    registry.add(child, [](Context, Text) -> Task<Text> { co_return "mine"; });
    registry.add(parent, [](Context ctx, Text) -> Task<Text> {
        const auto answer = co_await ctx.call(child, "", {.id = "taken"}).as_result();
        co_return answer ? *answer : "failed: " + answer.error().message;
    });
    start(child, "", {.id = "taken"});
    EXPECT_EQ(output("taken"), "mine");

    start(parent, "", {.id = "p"});

    EXPECT_NE(output("p").find("failed: "), Text::npos);
    EXPECT_NE(output("p").find("taken"), Text::npos);
}

TEST_P(Executions, T05_AParentWhoseChildIdIsRunningElsewhereIsTold) {
    registry.add(child,
                 [](Context ctx, Text) -> Task<Text> { co_return co_await ctx.wait_for(go); });
    registry.add(parent, [](Context ctx, Text) -> Task<Text> {
        const auto answer = co_await ctx.call(child, "", {.id = "busy"}).as_result();
        co_return answer ? *answer : "failed";
    });
    start(child, "", {.id = "busy"});
    settle();

    start(parent, "", {.id = "p"});

    EXPECT_EQ(output("p"), "failed");
    EXPECT_EQ(status("busy"), RunStatus::running);
}

TEST_P(Executions, T05_AParentWhoseChildIdIsRunningElsewhereIsToldOnce) {
    registry.add(child,
                 [](Context ctx, Text) -> Task<Text> { co_return co_await ctx.wait_for(go); });
    registry.add(parent, [](Context ctx, Text) -> Task<Text> {
        const auto answer = co_await ctx.call(child, "", {.id = "busy"}).as_result();
        co_return answer ? *answer : "failed";
    });
    start(child, "", {.id = "busy"});
    settle();
    start(parent, "", {.id = "p"});

    ASSERT_TRUE(runtime().run_turn()); // of the parent
    ASSERT_TRUE(runtime().run_turn()); // of the instance that has the id

    EXPECT_EQ(management().queue_depths().value().orchestrator_queue, 1u);
    EXPECT_EQ(output("p"), "failed");
}

TEST_P(Executions, T07_ADetachedStartSurvivesContinueAsNew) {
    registry.add(child, [](Context, Text) -> Task<Text> { co_return "started"; });
    registry.add(counter, [](Context ctx, int n) -> Task<Text> {
        if (n == 2) {
            co_return "done";
        }
        ctx.start_detached(child, "", {.id = "alone"});
        co_return co_await ctx.continue_as_new(counter, 2);
    });

    start(counter, 1, {.id = "a"});

    EXPECT_EQ(output("a"), "done");
    EXPECT_EQ(output("alone"), "started");
}

TEST_P(Executions, T18_ASecondStartNeverChangesTheHandler) {
    registry.add(counter, "1.0.0", [](Context ctx, int) -> Task<Text> {
        const Text event = co_await ctx.wait_for(go);
        co_return "one " + event;
    });
    registry.add(counter, "2.0.0", [](Context ctx, int) -> Task<Text> {
        const Text event = co_await ctx.wait_for(go);
        co_return "two " + event;
    });
    registry.add(child, [](Context, Text) -> Task<Text> { co_return "wrong"; });
    start(counter, 1, {.id = "a", .version = "1.0.0"});
    settle();
    const work::StartOrchestration newer{.instance = "a", .orchestration = "Counter", .input = "5"};
    const work::StartOrchestration other{
        .instance = "a", .orchestration = "Child", .input = "x", .version = "1.0.0"};

    ASSERT_TRUE(store->enqueue_for_orchestrator(newer, {}));
    ASSERT_TRUE(store->enqueue_for_orchestrator(other, {}));
    settle();
    raise("a", go, "event");

    EXPECT_EQ(output("a"), "one event");
    EXPECT_EQ(count<history::OrchestrationStarted>(history("a")), 1u);
}

TEST_P(Executions, ASecondStartOfAnEndedInstanceChangesNothing) {
    registry.add(counter, [](Context, int n) -> Task<Text> { co_return std::to_string(n); });
    start(counter, 1, {.id = "a"});
    EXPECT_EQ(output("a"), "1");
    const work::StartOrchestration again{.instance = "a", .orchestration = "Counter", .input = "2"};

    ASSERT_TRUE(store->enqueue_for_orchestrator(again, {}));
    settle();

    EXPECT_EQ(output("a"), "1");
}

TEST_P(Executions, ANewOneGetsTheNewestVersionAndKeepsIt) {
    registry.add(counter, "1.0.0", [](Context ctx, int) -> Task<Text> {
        const Text event = co_await ctx.wait_for(go);
        co_return "one " + event;
    });
    start(counter, 1, {.id = "old"});
    settle();
    crash(); // deploys the next version
    registry.add(counter, "2.0.0", [](Context ctx, int) -> Task<Text> {
        const Text event = co_await ctx.wait_for(go);
        co_return "two " + event;
    });
    start(counter, 1, {.id = "new"});
    settle();

    raise("old", go, "x");
    raise("new", go, "x");

    EXPECT_EQ(output("old"), "one x");
    EXPECT_EQ(output("new"), "two x");
}

TEST_P(Executions, APinnedVersionIsUsedForNewInstances) {
    registry.add(counter, "1.0.0", [](Context, int) -> Task<Text> { co_return "one"; });
    registry.add(counter, "2.0.0", [](Context, int) -> Task<Text> { co_return "two"; });
    registry.pin(counter, "1.0.0");

    start(counter, 1, {.id = "pinned"});
    start(counter, 1, {.id = "exact", .version = "2.0.0"});

    EXPECT_EQ(output("pinned"), "one");
    EXPECT_EQ(output("exact"), "two");
}

TEST_P(Executions, ContinueAsNewMovesToTheNewestVersionOrToTheOneNamed) {
    registry.add(counter, "1.0.0", [](Context ctx, int n) -> Task<Text> {
        if (n == 0) {
            co_return co_await ctx.continue_as_new(counter, 1);
        }
        if (n == 1) {
            co_return co_await ctx.continue_as_new(counter, 2, {.version = "1.0.0"});
        }
        co_return "one at " + std::to_string(n);
    });
    registry.add(counter, "2.0.0", [](Context ctx, int n) -> Task<Text> {
        co_return co_await ctx.continue_as_new(counter, n + 10, {.version = "1.0.0"});
    });

    start(counter, 0, {.id = "a", .version = "1.0.0"}); // 1.0.0 -> 2.0.0 -> 1.0.0

    EXPECT_EQ(output("a"), "one at 11");
}

TEST_P(Executions, AChildGetsTheNewestVersionOrTheOneNamed) {
    registry.add(child, "1.0.0", [](Context, Text) -> Task<Text> { co_return "one"; });
    registry.add(child, "2.0.0", [](Context, Text) -> Task<Text> { co_return "two"; });
    registry.add(parent, [](Context ctx, Text) -> Task<Text> {
        const Text named = co_await ctx.call(child, "", {.version = "1.0.0"});
        const Text newest = co_await ctx.call(child, "");
        ctx.start_detached(child, "", {.id = "alone"});
        ctx.start_detached(child, "", {.id = "alone-1", .version = "1.0.0"});
        co_return named + "," + newest;
    });

    start(parent, "", {.id = "p"});

    EXPECT_EQ(output("p"), "one,two");
    EXPECT_EQ(output("alone"), "two");
    EXPECT_EQ(output("alone-1"), "one");
}

// A batch that brings answers only says neither version nor input: the history does.
TEST_P(Executions, ANewExecutionKeepsItsVersionAndInput) {
    const auto wait_and_tell = [](Context ctx, int n) -> Task<Text> {
        if (n == 1) {
            co_return co_await ctx.continue_as_new(counter, 2, {.version = "1.0.0"});
        }
        const Text event = co_await ctx.wait_for(go);
        co_return ctx.version() + " " + std::to_string(n) + " " + event;
    };
    registry.add(counter, "1.0.0", wait_and_tell);
    start(counter, 1, {.id = "a", .version = "1.0.0"});
    settle();
    crash(); // deploys the next version
    registry.add(counter, "2.0.0", [](Context, int) -> Task<Text> { co_return "wrong"; });

    raise("a", go, "x");

    EXPECT_EQ(output("a"), "1.0.0 2 x");
}

} // namespace
} // namespace durable::e2e::executions_test
