// The real thing: threads, wake-ups, shutdown, activities that do or do not stop. Waiting is for
// conditions, never for time.

#include "e2e/e2e.hpp"

#include <atomic>
#include <latch>
#include <thread>

namespace durable::e2e::threads_test {
namespace {

using Text = std::string;

constexpr Activity<Text(Text)> work{"Work"};
constexpr Orchestration<Text(Text)> root{"Root"};
constexpr Orchestration<int(int)> fan{"Fan"};
constexpr Activity<int(int)> square{"Square"};
constexpr Event<Text> go{"Go"};

Task<Text> call_work(Context ctx, Text input) {
    co_return co_await ctx.call(work, input);
}

Task<int> add_squares(Context ctx, int n) {
    std::vector<Operation<int>> parts;
    for (int i = 1; i <= n; ++i) {
        parts.push_back(ctx.call(square, i));
    }
    const auto results = co_await all{std::move(parts)};
    int sum = 0;
    for (const int result : results) {
        sum += result;
    }
    co_return sum;
}

class Threads : public ::testing::TestWithParam<Frames> {
 protected:
    Threads() {
        options.logger = log;
        options.evict_always = GetParam() == Frames::evicted;
    }

    // Waits for a condition that another thread will bring about.
    static void wait_until(const auto& condition) {
        while (!condition()) {
            std::this_thread::yield();
        }
    }

    std::shared_ptr<RecordingLogger> log = std::make_shared<RecordingLogger>();
    std::shared_ptr<FaultyProvider> store = std::make_shared<FaultyProvider>(make_store());
    Client client{store};
    Registry registry;
    RuntimeOptions options;
};

INSTANTIATE_TEST_SUITE_P(, Threads, ::testing::Values(Frames::kept, Frames::evicted), frames_name);

TEST_P(Threads, HelloWorldAsShown) {
    registry.add(work, [](const Text& name) { return "Hello, " + name + "!"; });
    registry.add(root, call_work);
    const auto runtime = Runtime::start(store, registry, options);

    const auto run = client.start(root, "world", {.id = "greeting-1"}).value();

    EXPECT_EQ(run.wait(60s).value(), "Hello, world!");
}

TEST_P(Threads, ManyInstancesFinish) {
    registry.add(square, [](int n) { return n * n; });
    registry.add(fan, add_squares);
    options.orchestration_threads = 4;
    options.activity_threads = 8;
    const auto runtime = Runtime::start(store, registry, options);

    std::vector<durable::Run<int>> runs;
    for (int i = 0; i < 50; ++i) {
        runs.push_back(client.start(fan, 10).value());
    }

    for (const auto& run : runs) {
        EXPECT_EQ(run.wait(60s).value(), 385);
    }
}

TEST_P(Threads, ShortActivitiesRunWhereTheyWereScheduled) {
    registry.add(square, [](int n) { return n * n; });
    registry.mark_short(square);
    registry.add(fan, add_squares);
    const auto runtime = Runtime::start(store, registry, options);

    EXPECT_EQ(client.start(fan, 20).value().wait(60s).value(), 2870);
}

TEST_P(Threads, ActivitiesThatBlockGetMoreThreads) {
    std::latch all_there{8};
    registry.add(square, [&](int n) {
        all_there.arrive_and_wait(); // needs eight at once
        return n;
    });
    registry.add(fan, add_squares);
    options.activity_threads = 8;
    const auto runtime = Runtime::start(store, registry, options);

    EXPECT_EQ(client.start(fan, 8).value().wait(60s).value(), 36);
}

// U11: activities wait for the network more than for a core, on every store.
TEST_P(Threads, TwentyActivitiesRunAtOnceUnlessToldOtherwise) {
    // Shared: threads that wait in vain outlive a test that fails.
    const auto all_there = std::make_shared<std::latch>(20);
    registry.add(square, [all_there](int n) {
        all_there->arrive_and_wait();
        return n;
    });
    registry.add(fan, add_squares);
    const auto runtime = Runtime::start(store, registry, options);

    EXPECT_EQ(client.start(fan, 20).value().wait(60s).value_or(0), 210);
}

TEST_P(Threads, OfABurstEndUntilOneIsLeftThatWaits) {
    std::latch all_there{8};
    registry.add(square, [&](int n) {
        all_there.arrive_and_wait(); // needs eight at once, the first time
        return n;
    });
    registry.add(fan, add_squares);
    registry.add(work, [](const Text& input) { return input; });
    registry.add(root, call_work);
    const auto metrics = std::make_shared<MetricsRecorder>();
    options.metrics = metrics;
    options.gauge_poll_interval = 1ms;
    options.long_poll_timeout = 1ms;
    options.min_poll_interval = 0ms;
    const auto runtime = Runtime::start(store, registry, options);
    EXPECT_EQ(client.start(fan, 8).value().wait(60s).value(), 36);

    wait_until([&] { return metrics->value("durable_activity_threads", {}) == 1; });

    EXPECT_EQ(client.start(root, "x").value().wait(60s).value(), "x"); // and it still works
}

TEST_P(Threads, ACancellationReachesARunningActivityAtOnce) {
    std::latch started{1};
    std::atomic<bool> told = false;
    registry.add(work, [&](ActivityContext& ctx, const Text& input) {
        started.count_down();
        told = !ctx.sleep(24h); // a day, or a word
        return input;
    });
    registry.add(root, call_work);
    const auto runtime = Runtime::start(store, registry, options);
    const auto run = client.start(root, "", {.id = "a"}).value();
    started.wait();

    ASSERT_TRUE(run.cancel("enough"));

    EXPECT_EQ(run.wait(60s).error().message, "canceled: enough");
    wait_until([&] { return told.load(); });
}

TEST_P(Threads, ADroppedActivityIsToldWhileItsOrchestrationGoesOn) {
    std::latch started{1};
    std::atomic<bool> told = false;
    registry.add(work, [&](ActivityContext& ctx, const Text& input) {
        started.count_down();
        told = !ctx.sleep(24h);
        return input;
    });
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        const auto first = co_await race{ctx.call(work, input), ctx.wait_for(go)};
        co_return first.index() == 0 ? "work" : "event";
    });
    const auto runtime = Runtime::start(store, registry, options);
    const auto run = client.start(root, "", {.id = "a"}).value();
    started.wait();

    ASSERT_TRUE(client.raise("a", go, ""));

    EXPECT_EQ(run.wait(60s).value(), "event");
    wait_until([&] { return told.load(); });
}

TEST_P(Threads, AnActivityThatDoesNotStopIsGivenUpAndReplaced) {
    std::latch started{1};
    // Shared: the thread that was given up may still look at it when this test has ended.
    const auto release = std::make_shared<std::atomic<bool>>(false);
    registry.add(work, [&started, release](const Text& input) {
        if (input == "stubborn") {
            started.count_down();
            wait_until([release] { return release->load(); });
        }
        return input;
    });
    registry.add(root, call_work);
    options.activity_threads = 1;
    options.activity_cancellation_grace_period = 1ms;
    auto runtime = Runtime::start(store, registry, options);
    const auto stubborn = client.start(root, "stubborn").value();
    started.wait();
    ASSERT_TRUE(stubborn.cancel("stop"));

    // Its only thread is lost, and yet:
    EXPECT_EQ(client.start(root, "next").value().wait(60s).value(), "next");

    *release = true;
    EXPECT_EQ(log->with("ignores the request to stop").size(), 1u);
}

TEST_P(Threads, AStartSaysWhichHistoriesItReplays) {
    options.supported_replay_versions = VersionRange{.min = {1, 2, 3}, .max = {4, 5, 6}};

    const auto runtime = Runtime::start(store, registry, options);

    ASSERT_EQ(log->with("runtime started").size(), 1u);
    const auto fields = log->with("runtime started").front().fields;
    EXPECT_NE(fields.find("replays_from=1.2.3 replays_to=4.5.6"), Text::npos) << fields;
}

TEST_P(Threads, OneThreadOfEachKindIsEnough) {
    options.orchestration_threads = 1;
    options.activity_threads = 1;
    registry.add(square, [](int n) { return n * n; });
    registry.add(fan, add_squares);
    const auto runtime = Runtime::start(store, registry, options);

    const auto one = client.start(fan, 3).value();
    const auto two = client.start(fan, 4).value();

    EXPECT_EQ(one.wait(60s).value(), 14);
    EXPECT_EQ(two.wait(60s).value(), 30);
}

// The turn takes as long as it takes to renew its lease twice: it is committed all the same.
TEST_P(Threads, ALongTurnKeepsItsLease) {
    options.orchestrator_lock_timeout = 500ms;
    static FaultyProvider* watched;
    watched = store.get();
    registry.add(root, [](Context, Text) -> Task<Text> {
        const int before = watched->turn_renewals.load();
        wait_until([&] { return watched->turn_renewals.load() >= before + 2; });
        co_return "slow but sure";
    });
    const auto runtime = Runtime::start(store, registry, options);

    EXPECT_EQ(client.start(root, "").value().wait(60s).value(), "slow but sure");
}

TEST_P(Threads, ManyInstancesWriteAndReadKeysAtOnce) {
    constexpr Orchestration<int(int)> writer{"Writer"};
    constexpr Orchestration<int(Text)> reader{"Reader"};
    registry.add(writer, [](Context ctx, int n) -> Task<int> {
        for (int i = 0; i < 10; ++i) {
            ctx.kv().set("n", n * 10 + i);
            co_await ctx.sleep(0s);
        }
        co_return n;
    });
    registry.add(reader, [](Context ctx, Text id) -> Task<int> {
        const auto value = co_await ctx.kv().of<int>(id, "n");
        co_return value.value_or(-1);
    });
    const auto runtime = Runtime::start(store, registry, options);
    std::vector<durable::Run<int>> writers;
    for (int i = 0; i < 10; ++i) {
        writers.push_back(client.start(writer, i, {.id = "w" + std::to_string(i)}).value());
    }

    for (int i = 0; i < 10; ++i) {
        const auto id = "w" + std::to_string(i);
        const int seen = client.start(reader, id).value().wait(60s).value();
        EXPECT_TRUE(seen == -1 || seen / 10 == i) << seen;
        EXPECT_EQ(writers[static_cast<std::size_t>(i)].wait(60s).value(), i);
        EXPECT_EQ(client.start(reader, id).value().wait(60s).value(), i * 10 + 9);
    }
}

TEST_P(Threads, ManyChainsOfExecutionsRunAtOnce) {
    constexpr Orchestration<int(int)> chain{"Chain"};
    registry.add(square, [](int n) { return n; });
    registry.add(chain, [](Context ctx, int n) -> Task<int> {
        auto [a, b] = co_await all{ctx.call(square, n), ctx.call(square, 1)};
        if (n == 5) {
            co_return a;
        }
        co_return co_await ctx.continue_as_new(Orchestration<int(int)>{"Chain"}, a + b);
    });
    const auto runtime = Runtime::start(store, registry, options);
    std::vector<durable::Run<int>> runs;
    for (int i = 0; i < 5; ++i) {
        runs.push_back(client.start(chain, 0).value());
    }

    for (const auto& run : runs) {
        EXPECT_EQ(run.wait(60s).value(), 5);
        EXPECT_EQ(client.status(run.id()).value().execution_id, 6u);
    }
}

TEST_P(Threads, AShutdownWithoutWorkIsClean) {
    auto runtime = Runtime::start(store, registry, options);

    const auto report = runtime.shutdown(60s);

    EXPECT_TRUE(report.clean());
    EXPECT_TRUE(report.in_time);
    EXPECT_EQ(report.drained, 0u);
}

TEST_P(Threads, AShutdownLetsActivitiesFinish) {
    std::latch started{1};
    std::atomic<bool> release = false;
    registry.add(work, [&](const Text& input) {
        started.count_down();
        wait_until([&] { return release.load(); });
        return input;
    });
    registry.add(root, call_work);
    auto runtime = Runtime::start(store, registry, options);
    ASSERT_TRUE(client.start(root, "x", {.id = "a"}));
    started.wait();

    const std::jthread helper{[&] {
        wait_until([&] { return !log->with("runtime stops").empty(); });
        release = true;
    }};
    const auto report = runtime.shutdown(60s);

    EXPECT_EQ(report.drained, 1u);
    EXPECT_TRUE(report.clean());
    EXPECT_EQ(client.management().value().queue_depths().value().worker_queue, 0u);
}

TEST_P(Threads, T26_AShutdownInterruptsActivitiesAndGivesThemBackUncounted) {
    std::latch started{1};
    registry.add(work, [&](ActivityContext& ctx, const Text& input) {
        started.count_down();
        if (!ctx.sleep(24h)) {
            throw std::runtime_error{"interrupted"};
        }
        return input;
    });
    registry.add(root, call_work);
    auto runtime = Runtime::start(store, registry, options);
    ASSERT_TRUE(client.start(root, "x", {.id = "a"}));
    started.wait();

    const auto report = runtime.shutdown(2ms);

    EXPECT_EQ(report.forced + report.leaked, 1u)
        << "drained " << report.drained << ", in time " << report.in_time;
    wait_until([&] { // at the latest when the thread that was left behind has come to its senses
        return client.management().value().queue_depths().value().worker_queue == 1;
    });
    const auto again = store->fetch_work_item({.lock_timeout = 1s}).value();
    EXPECT_EQ(again.value().attempt_count, 1u);
}

// No thread is left that would take work: new work is for other runtimes.
TEST_P(Threads, T26_NothingIsFetchedAfterAShutdown) {
    registry.add(work, [](const Text& input) { return input; });
    registry.add(root, call_work);
    auto runtime = Runtime::start(store, registry, options);
    EXPECT_EQ(client.start(root, "before").value().wait(60s).value(), "before");

    EXPECT_TRUE(runtime.shutdown(60s).clean());
    const auto fetches = store->turn_fetches.load() + store->work_fetches.load();
    ASSERT_TRUE(client.start(root, "after", {.id = "after"}));

    EXPECT_EQ(client.status("after").value().status, RunStatus::pending);
    EXPECT_EQ(client.management().value().queue_depths().value().orchestrator_queue, 1u);
    EXPECT_EQ(store->turn_fetches.load() + store->work_fetches.load(), fetches);
}

TEST_P(Threads, AShutdownLeavesAStuckActivityBehindAndSaysSo) {
    std::latch started{1};
    static std::atomic<bool> release; // outlives the test, like the thread
    release = false;
    registry.add(work, [&started](const Text& input) {
        started.count_down();
        wait_until([] { return release.load(); });
        return input;
    });
    registry.add(root, call_work);
    auto runtime = Runtime::start(store, registry, options);
    ASSERT_TRUE(client.start(root, "x", {.id = "a"}));
    started.wait();

    const auto report = runtime.shutdown(2ms);

    EXPECT_EQ(report.leaked, 1u);
    EXPECT_FALSE(report.in_time);
    const auto given_back = store->fetch_work_item({.lock_timeout = 1s}).value();
    EXPECT_EQ(given_back.value().attempt_count, 1u);
    release = true;
}

TEST_P(Threads, ASecondShutdownReturnsTheFirstReport) {
    auto runtime = Runtime::start(store, registry, options);

    const auto first = runtime.shutdown(60s);
    const auto second = runtime.shutdown(0s);

    EXPECT_EQ(first.in_time, second.in_time);
    EXPECT_EQ(first.leaked, second.leaked);
}

TEST_P(Threads, AfterAShutdownAnotherRuntimeGoesOn) {
    registry.add(work, [](const Text& input) { return input; });
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const Text event = co_await ctx.wait_for(go);
        co_return co_await ctx.call(work, event);
    });
    {
        const auto runtime = Runtime::start(store, registry, options);
        const auto run = client.start(root, "", {.id = "a"}).value();
        wait_until([&] { return run.status().value().status == RunStatus::running; });
    }
    const auto runtime = Runtime::start(store, registry, options);

    ASSERT_TRUE(client.raise("a", go, "later"));

    EXPECT_EQ(client.wait("a", 60s).value().output, "later");
}

TEST_P(Threads, TwoRuntimesShareOneStore) {
    registry.add(square, [](int n) { return n * n; });
    registry.add(fan, add_squares);
    const auto one = Runtime::start(store, registry, options);
    const auto two = Runtime::start(store, registry, options);

    std::vector<durable::Run<int>> runs;
    for (int i = 0; i < 20; ++i) {
        runs.push_back(client.start(fan, 10).value());
    }

    for (const auto& run : runs) {
        EXPECT_EQ(run.wait(60s).value(), 385);
    }
}

// The values of an execution go on in the next one, also if one runtime ends the first, begins the
// second, and another one still holds a frame of the first.
TEST_P(Threads, ValuesOutliveExecutionsThatTwoRuntimesShare) {
    constexpr int executions = 40;
    registry.add(square, [](int n) { return n * n; });
    registry.add(fan, [](Context ctx, int left) -> Task<int> {
        const auto seen = ctx.kv().get<int>("seen").value_or(0) + 1;
        for (int i = 0; i < 5; ++i) {
            co_await ctx.call(square, i);
        }
        ctx.kv().set("seen", seen);
        if (left > 1) {
            co_return co_await ctx.continue_as_new(fan, left - 1);
        }
        co_return seen;
    });
    options.orchestration_threads = 1;
    options.activity_threads = 1;
    const auto one = Runtime::start(store, registry, options);
    const auto two = Runtime::start(store, registry, options);

    const auto run = client.start(fan, executions).value();

    EXPECT_EQ(run.wait(60s).value(), executions);
}

TEST_P(Threads, BadOptionsAndBadRegistriesAreRefused) {
    EXPECT_THROW(static_cast<void>(Runtime::start(store, registry, {.max_attempts = 0})),
                 std::invalid_argument);
    registry.add(root, call_work);
    registry.add(root, call_work); // twice

    const auto started = Runtime::try_start(store, registry, options);

    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().code, ErrorCode::invalid_argument);
    EXPECT_FALSE(Runtime::try_start(nullptr, {}, options));
}

TEST_P(Threads, ARuntimeThatWasMovedFromSaysSo) {
    auto first = Runtime::start(store, registry, options);
    auto second = std::move(first);

    // NOLINTBEGIN(bugprone-use-after-move): that is the mistake
    EXPECT_THROW(first.shutdown(1s), std::logic_error);
    EXPECT_THROW(static_cast<void>(first.parked()), std::logic_error);
    EXPECT_THROW(static_cast<void>(first.id()), std::logic_error);
    // NOLINTEND(bugprone-use-after-move)
    EXPECT_FALSE(second.id().empty());
}

} // namespace
} // namespace durable::e2e::threads_test
