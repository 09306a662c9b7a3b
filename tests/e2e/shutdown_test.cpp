// What a shutdown leaves to other runtimes: turns that block, sessions, late results.

#include "base/deadline.hpp"
#include "e2e/e2e.hpp"
#include "runtime/node.hpp"
#include "runtime/orchestration_dispatcher.hpp"

#include <atomic>
#include <stop_token>
#include <thread>

namespace durable::e2e::shutdown_test {
namespace {

using Text = std::string;

constexpr Activity<Text(Text)> work{"Work"};
constexpr Orchestration<Text(Text)> root{"Root"};

Task<Text> work_in_session(Context ctx, Text input) {
    co_return co_await ctx.call(work, input, {.session = "s"});
}

class Shutdown : public ::testing::TestWithParam<Frames> {
 protected:
    Shutdown() {
        options.logger = log;
        options.evict_always = GetParam() == Frames::evicted;
    }

    // Waits for a condition that another thread will bring about.
    static void wait_until(const auto& condition) {
        const auto deadline = deadline_after(*system_clock(), 120s);
        while (!condition()) {
            if (system_clock()->steady() > deadline) {
                ADD_FAILURE() << "what the test waits for did not happen";
                return;
            }
            std::this_thread::yield();
        }
    }

    // A runtime has served session "s" and was shut down; now there is more work in it.
    void serve_session_then_shut_down() {
        registry.add(work, [](const Text& input) { return input; });
        registry.add(root, work_in_session);
        auto served = Runtime::start(store, registry, options);
        ASSERT_EQ(client.start(root, "1").value().wait(60s).value(), "1");
        ASSERT_TRUE(served.shutdown(60s).clean());

        RuntimeOptions only_turns;
        only_turns.logger = log;
        only_turns.activity_threads = 0;
        const auto turns = Runtime::start(store, registry, only_turns);
        ASSERT_TRUE(client.start(root, "2"));
        wait_until(
            [&] { return client.management().value().queue_depths().value().worker_queue == 1; });
    }
    bool gets_work(const Text& owner) {
        const auto lease = store->fetch_work_item(
            {.lock_timeout = 30s, .session = SessionClaim{.owner_id = owner, .lock_timeout = 30s}});
        return lease.value().has_value();
    }

    std::shared_ptr<RecordingLogger> log = std::make_shared<RecordingLogger>();
    std::shared_ptr<FaultyProvider> store = std::make_shared<FaultyProvider>(make_store());
    Client client{store};
    Registry registry;
    RuntimeOptions options;
};

INSTANTIATE_TEST_SUITE_P(, Shutdown, ::testing::Values(Frames::kept, Frames::evicted), frames_name);

TEST_P(Shutdown, ATurnThatBlocksIsNoActivityAndIsNamed) {
    static std::atomic<bool> blocks; // they outlive the test, like the thread
    static std::atomic<bool> release;
    blocks = false;
    release = false;
    registry.add(root, [](Context, Text input) -> Task<Text> {
        blocks = true;
        wait_until([] { return release.load(); });
        co_return input;
    });
    auto runtime = Runtime::start(store, registry, options);
    ASSERT_TRUE(client.start(root, "x", {.id = "a"}));
    wait_until([&] { return blocks.load(); });

    const auto report = runtime.shutdown(2ms);

    const auto again = store->fetch_orchestration_item({.lock_timeout = 60s}).value();
    release = true;
    ASSERT_TRUE(again) << "it is given back at once";
    EXPECT_EQ(again->attempt_count, 1u); // uncounted
    EXPECT_EQ(report.leaked, 0u);
    EXPECT_EQ(report.leaked_turns, 1u);
    EXPECT_FALSE(report.in_time);
    EXPECT_FALSE(report.clean());
    const auto said = log->with("an orchestration did not return for the shutdown");
    ASSERT_EQ(said.size(), 1u);
    EXPECT_EQ(said.front().level, LogLevel::error);
    EXPECT_EQ(said.front().instance, "a");
    wait_until([&] { return !log->with("turn discarded: the lease was lost").empty(); });
}

constexpr Activity<Text(Text)> quick{"Quick"};

// R10: it ran on an engine thread, which counts as lost until the activity returns.
TEST_P(Shutdown, WaitsForWorkAfterAShortActivityWasGivenUpAndCameBack) {
    std::atomic<bool> begun = false;
    std::atomic<bool> release = false;
    std::atomic<bool> works = false;
    registry.add(quick, [&](const Text& input) {
        begun = true;
        wait_until([&] { return release.load(); });
        return input;
    });
    registry.mark_short(quick);
    registry.add(work, [&](const Text& input) {
        works = true;
        wait_until([&] { return !log->with("runtime stops").empty(); });
        return input;
    });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        co_return co_await ctx.call(input == "quick" ? quick : work, input);
    });
    options.orchestration_threads = 2;
    options.activity_threads = 2;
    options.activity_cancellation_grace_period = 1ms;
    auto runtime = Runtime::start(store, registry, options);
    const auto given_up = client.start(root, "quick").value();
    wait_until([&] { return begun.load(); }); // an activity that nobody has fetched is only removed
    ASSERT_TRUE(client.cancel(given_up.id(), "too late"));
    ASSERT_FALSE(given_up.wait(60s));
    wait_until([&] { return !log->with("an activity ignores the request to stop").empty(); });
    release = true;
    wait_until([&] { return !log->with("an activity that was given up has returned").empty(); });

    const auto run = client.start(root, "work").value();
    wait_until([&] { return works.load(); });
    const auto report = runtime.shutdown(60s);

    EXPECT_EQ(report.drained, 1u);
    EXPECT_EQ(report.leaked, 0u);
    EXPECT_TRUE(report.in_time);
}

TEST_P(Shutdown, ReleasesTheSessionsOfARuntimeWithoutAName) {
    serve_session_then_shut_down();

    EXPECT_TRUE(gets_work("another"));
}

TEST_P(Shutdown, KeepsTheSessionsOfANamedNodeForItsNextStart) {
    options.worker_node_id = "node-1";
    serve_session_then_shut_down();

    EXPECT_FALSE(gets_work("another")); // not before session_lock_timeout
    EXPECT_TRUE(gets_work("node-1"));
}

// The activity is asked to stop, as by a shutdown whose time is half over, and returns.
TEST_P(Shutdown, AResultThatComesAfterTheRequestToStopIsStored) {
    runtime::Node* node = nullptr;
    registry.add(work, [&](ActivityContext& ctx, const Text& input) {
        node->activities.stop_all();
        return ctx.stop_requested() ? input + " just in time" : "not told";
    });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        co_return co_await ctx.call(work, input);
    });
    runtime::Node made{store, registry, options};
    node = &made;
    runtime::OrchestrationDispatcher turns{made, "turns"};
    runtime::ActivityDispatcher activities{made, "activities"};
    ASSERT_TRUE(client.start(root, "x", {.id = "a"}));
    for (int i = 0; i < 2; ++i) {
        turns.step(Duration::zero(), {});
        activities.step(Duration::zero(), {});
    }

    EXPECT_EQ(client.status("a").value().output, "x just in time");
}

// Another worker may have given the work back for the same shutdown a moment ago.
TEST_P(Shutdown, WhatAFetchBringsAfterTheRequestToStopIsNotBegun) {
    bool begun = false;
    registry.add(work, [&](const Text& input) {
        begun = true;
        return input;
    });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        co_return co_await ctx.call(work, input);
    });
    runtime::Node node{store, registry, options};
    runtime::OrchestrationDispatcher turns{node, "turns"};
    runtime::ActivityDispatcher activities{node, "activities"};
    ASSERT_TRUE(client.start(root, "x", {.id = "a"}));
    turns.step(Duration::zero(), {});
    std::stop_source stop;
    store->after_work_fetch = [&] { stop.request_stop(); };

    activities.step(Duration::zero(), stop.get_token());

    EXPECT_FALSE(begun);
    const auto again = store->fetch_work_item({.lock_timeout = 1s}).value();
    ASSERT_TRUE(again) << "it is given back at once";
    EXPECT_EQ(again->attempt_count, 1u); // uncounted
}

} // namespace
} // namespace durable::e2e::shutdown_test
