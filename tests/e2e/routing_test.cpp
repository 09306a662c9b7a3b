// Which worker gets which activity: tags, sessions; and which runtime replays which history.

#include "e2e/e2e.hpp"

#include <map>

namespace durable::e2e::routing_test {
namespace {

DURABLE_E2E_SUITE(Routing);

using Text = std::string;

constexpr Activity<Text(Text)> work{"Work"};
constexpr Orchestration<Text(Text)> root{"Root"};
constexpr Event<Text> go{"Go"};

// ---- Tags

Task<Text> on_gpu(Context ctx, Text input) {
    co_return co_await ctx.call(work, input, {.tag = "gpu"});
}

TEST_P(Routing, ATaggedActivityWaitsForAWorkerThatServesTheTag) {
    std::optional<Text> tag;
    registry.add(work, [&](ActivityContext& ctx, const Text& input) {
        tag = ctx.info().tag;
        return input;
    });
    registry.add(root, on_gpu);
    start(root, "x", {.id = "a"});
    settle();
    EXPECT_EQ(status("a"), RunStatus::running);
    EXPECT_EQ(find<history::ActivityScheduled>(history("a"))->tag, "gpu");

    crash();
    options.worker_tag_filter = TagFilter::tags({"gpu"}).value();

    EXPECT_EQ(output("a"), "x");
    EXPECT_EQ(tag, "gpu");
}

TEST_P(Routing, ATagNobodyServesLosesAgainstATimer) {
    registry.add(work, [](const Text& input) { return input; });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        const auto result = co_await ctx.within(500ms, ctx.call(work, input, {.tag = "gpu"}));
        co_return result ? *result : "on the CPU then";
    });

    start(root, "x", {.id = "a"});

    EXPECT_EQ(output("a"), "on the CPU then");
}

TEST_P(Routing, ATagOverTheLimitFailsTheOrchestration) {
    registry.add(root, [](Context ctx, Text tag) -> Task<Text> {
        co_return co_await ctx.call(work, "", {.tag = tag});
    });
    registry.add(work, [](const Text& input) { return input; });
    options.worker_tag_filter = TagFilter::any();

    start(root, Text(256, 't'), {.id = "fits"});
    start(root, Text(257, 't'), {.id = "over"});

    EXPECT_EQ(output("fits"), "");
    EXPECT_NE(failure("over").find("exceeds limit"), Text::npos);
}

TEST_P(Routing, TwoRuntimesShareTheWorkByTag) {
    registry.add(root, on_gpu);
    options.activity_threads = 0; // this one orchestrates
    start(root, "x", {.id = "a"});
    settle();
    Registry gpu;
    gpu.add(work, [](const Text& input) { return "gpu:" + input; });
    RuntimeOptions gpu_options;
    gpu_options.orchestration_threads = 0;
    gpu_options.worker_tag_filter = TagFilter::tags({"gpu"}).value();
    TestRuntime worker{gpu, {.runtime = gpu_options, .clock = clock, .provider = store}};

    EXPECT_TRUE(worker.run_until_idle());

    EXPECT_EQ(output("a"), "gpu:x");
}

TEST_P(Routing, TagsAreKeptAcrossContinueAsNewAndNeverMix) {
    std::vector<Text> seen;
    const auto remember = [&](const Text& worker) {
        return [&seen, worker](ActivityContext& ctx, const Text& input) {
            seen.push_back(worker + ":" + ctx.info().tag.value_or("none"));
            return input;
        };
    };
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        auto gpu = ctx.call(work, input, {.tag = "gpu"});
        auto cpu = ctx.call(work, input, {.tag = "cpu"});
        co_await all{gpu, cpu};
        if (input == "second") {
            co_return "done";
        }
        co_return co_await ctx.continue_as_new(root, "second");
    });
    registry.add(work, remember("A"));
    options.worker_tag_filter = TagFilter::tags({"gpu"}).value();
    Registry other;
    other.add(work, remember("B"));
    RuntimeOptions other_options;
    other_options.orchestration_threads = 0;
    other_options.worker_tag_filter = TagFilter::tags({"cpu"}).value();
    TestRuntime worker{other, {.runtime = other_options, .clock = clock, .provider = store}};
    start(root, "first", {.id = "a"});

    for (int i = 0; i < 4; ++i) {
        settle();
        EXPECT_TRUE(worker.run_until_idle());
    }

    EXPECT_EQ(output("a"), "done");
    EXPECT_EQ(seen, (std::vector<Text>{"A:gpu", "B:cpu", "A:gpu", "B:cpu"}));
}

// ---- Sessions

Task<Text> in_session(Context ctx, Text session) {
    const Text one = co_await ctx.call(work, "1", {.session = session});
    co_await ctx.wait_for(go);
    const Text two = co_await ctx.call(work, "2", {.session = session});
    co_return one + two;
}

TEST_P(Routing, TheActivitiesOfASessionGoToItsOwner) {
    std::vector<Text> seen;
    registry.add(work, [&](ActivityContext& ctx, const Text& input) {
        seen.push_back(ctx.info().session.value_or("none"));
        return input;
    });
    registry.add(root, in_session);
    start(root, "s-1", {.id = "a"});
    settle();
    EXPECT_EQ(seen, (std::vector<Text>{"s-1"}));
    TestRuntime other{registry, {.runtime = {}, .clock = clock, .provider = store}};
    raise("a", go, "");
    ASSERT_TRUE(runtime().run_turn());

    EXPECT_FALSE(other.run_activity()) << "the session belongs to another runtime";
    EXPECT_TRUE(runtime().run_activity());

    EXPECT_EQ(output("a"), "12");
}

TEST_P(Routing, ASessionWhoseOwnerDiedMovesOn) {
    registry.add(work, [](const Text& input) { return input; });
    registry.add(root, in_session);
    start(root, "s-1", {.id = "a"});
    settle();
    crash();
    raise("a", go, "");
    settle();
    EXPECT_EQ(status("a"), RunStatus::running); // the new runtime is not the owner yet

    runtime().advance(31s);

    EXPECT_EQ(output("a"), "12");
}

TEST_P(Routing, ANodeWithAStableIdKeepsItsSessionsAcrossARestart) {
    options.worker_node_id = "node-1";
    registry.add(work, [](const Text& input) { return input; });
    registry.add(root, in_session);
    start(root, "s-1", {.id = "a"});
    settle();
    crash();
    raise("a", go, "");
    settle();

    EXPECT_EQ(status("a"), RunStatus::completed); // without waiting for any lease
}

TEST_P(Routing, T23_AWorkerAtItsSessionLimitServesTheSessionsItHolds) {
    options.max_sessions_per_runtime = 1;
    TestRuntime* test = nullptr;
    std::vector<Text> order;
    registry.add(work, [&](ActivityContext&, const Text& input) {
        order.push_back(input);
        if (input == "a1") {
            EXPECT_TRUE(test->run_activity()); // while a1 runs: a2, not b
        }
        return input;
    });
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        auto a1 = ctx.call(work, "a1", {.session = "a"});
        auto b = ctx.call(work, "b", {.session = "b"});
        auto a2 = ctx.call(work, "a2", {.session = "a"});
        co_await all{a1, b, a2};
        co_return "done";
    });
    test = &runtime();

    start(root, "", {.id = "x"});

    EXPECT_EQ(output("x"), "done");
    EXPECT_EQ(order, (std::vector<Text>{"a1", "a2", "b"}));
}

// ---- Versions of the engine

TEST_P(Routing, AHistoryOfALaterEngineIsLeftAlone) {
    options.activity_threads = 0;
    registry.add(root, in_session);
    start(root, "s", {.id = "a"});
    store->change_turn_ack = [](TurnCommit commit) {
        commit.metadata.pinned_version = Version{.major = 99};
        return commit;
    };
    settle();
    store->change_turn_ack = nullptr;
    raise("a", go, "");

    runtime().advance(1h);

    EXPECT_EQ(status("a"), RunStatus::running);
    EXPECT_EQ(management().queue_depths().value().orchestrator_queue, 1u);
}

TEST_P(Routing, AStoreThatIgnoresTheFilterIsCaught) {
    registry.add(root, in_session);
    options.supported_replay_versions = VersionRange{.min = {.major = 50}, .max = {.major = 60}};
    store->ignore_filter = true;
    registry.add(work, [](const Text& input) { return input; });
    start(root, "s", {.id = "a"});
    settle();
    raise("a", go, "");

    runtime().forget();
    settle();

    EXPECT_EQ(log->with("this runtime cannot replay").size(), 1u);
    EXPECT_EQ(log->with("this runtime cannot replay").front().instance, "a");
}

TEST_P(Routing, ANewExecutionIsPinnedToThisEngine) {
    std::optional<Version> pinned;
    store->change_turn_ack = [&](TurnCommit commit) {
        pinned = commit.metadata.pinned_version;
        return commit;
    };
    registry.add(root, [](Context, Text) -> Task<Text> { co_return ""; });

    start(root, "", {.id = "a"});

    EXPECT_EQ(output("a"), "");
    EXPECT_EQ(pinned, engine_version());
}

TEST_P(Routing, AChildIsPinnedOnItsOwn) {
    constexpr Orchestration<Text(Text)> child{"Child"};
    std::map<Text, Version> pinned;
    store->change_turn_ack = [&](TurnCommit commit) {
        if (commit.metadata.pinned_version && commit.metadata.orchestration_name) {
            pinned[*commit.metadata.orchestration_name] = *commit.metadata.pinned_version;
        }
        return commit;
    };
    registry.add(child, [](Context, Text input) -> Task<Text> { co_return input; });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        co_return co_await ctx.call(Orchestration<Text(Text)>{"Child"}, input);
    });

    start(root, "x", {.id = "a"});

    EXPECT_EQ(output("a"), "x");
    EXPECT_EQ(pinned,
              (std::map<Text, Version>{{"Child", engine_version()}, {"Root", engine_version()}}));
}

// Histories of four engines and two runtimes whose ranges overlap.
TEST_P(Routing, EveryRuntimeTakesTheHistoriesOfItsRange) {
    registry.add(root,
                 [](Context ctx, Text) -> Task<Text> { co_return co_await ctx.wait_for(go); });
    Version written;
    store->change_turn_ack = [&](TurnCommit commit) {
        commit.metadata.pinned_version = written;
        for (auto& event : commit.history_delta) {
            event.engine_version = written.text();
        }
        return commit;
    };
    const std::vector<Version> versions{{0, 1, 0}, {1, 9, 9}, {2, 5, 0}, {3, 0, 0}};
    for (const auto& version : versions) {
        written = version;
        start(root, "", {.id = version.text()});
        settle();
    }
    store->change_turn_ack = nullptr;
    for (const auto& version : versions) {
        raise(version.text(), go, "seen");
    }
    const auto seen_by = [&](VersionRange range) {
        RuntimeOptions ranged;
        ranged.supported_replay_versions = range;
        TestRuntime test{registry, {.runtime = ranged, .clock = clock, .provider = store}};
        EXPECT_TRUE(test.run_until_idle());
        std::vector<Text> ended;
        for (const auto& version : versions) {
            if (status(version.text()) == RunStatus::completed) {
                ended.push_back(version.text());
            }
        }
        return ended;
    };

    EXPECT_EQ(seen_by({.min = {2, 0, 0}, .max = {2, 9, 9}}), (std::vector<Text>{"2.5.0"}));
    EXPECT_EQ(seen_by({.min = {0, 0, 0}, .max = {2, 5, 0}}),
              (std::vector<Text>{"0.1.0", "1.9.9", "2.5.0"}));
}

} // namespace
} // namespace durable::e2e::routing_test
