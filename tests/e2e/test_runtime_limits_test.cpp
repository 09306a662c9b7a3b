// No activity sleeps beyond the limit of the call that runs it, and a TestRuntime that is destroyed
// by the code it runs ends when that code has returned.

#include <durable/activity_context.hpp>
#include <durable/client.hpp>
#include <durable/context.hpp>
#include <durable/registry.hpp>
#include <durable/test_runtime.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace durable::e2e::test_runtime_limits_test {
namespace {

using namespace std::chrono_literals;
using Text = std::string;

constexpr Activity<Text(Text)> watch{"Watch"};
constexpr Activity<Text(Text)> quick{"Quick"};
constexpr Orchestration<Text(Text)> root{"Root"};
constexpr Orchestration<Text(Text)> other{"Other"};
constexpr Event<Text> go{"Go"};

Task<Text> watch_until_go(Context ctx, Text) {
    const auto first = co_await race{ctx.call(watch, ""), ctx.wait_for(go)};
    co_return first.index() == 0 ? "watched" : "went";
}

Task<Text> call_quick(Context ctx, Text input) {
    co_await ctx.sleep(1h);
    co_return co_await ctx.call(quick, input);
}

// ---- The limit

class SleepBeyondALimit : public ::testing::TestWithParam<bool> {
 protected:
    SleepBeyondALimit() {
        registry.add(root, watch_until_go);
        registry.add(other, call_quick);
        registry.add(quick, [](const Text& input) { return input; });
        registry.add(watch, [this](ActivityContext& ctx, const Text&) {
            attempt = ctx.attempt();
            ++begun;
            if (GetParam()) {
                (void)ctx.sleep(std::chrono::hours::max());
            } else {
                while (ctx.sleep(1h)) {
                }
            }
            return Text{"woken"};
        });
        options.runtime.logger = silent_logger();
    }

    Registry registry;
    TestRuntime::Options options;
    std::uint32_t attempt = 0;
    int begun = 0;
};
INSTANTIATE_TEST_SUITE_P(, SleepBeyondALimit, ::testing::Bool(), [](const auto& info) {
    return info.param ? "ForEver" : "AgainAndAgain";
});

TEST_P(SleepBeyondALimit, EndsAtTheLimitAndFinishNamesTheActivity) {
    TestRuntime test{registry, options};
    const auto start = test.clock().now();
    const auto run = test.client().start(root, "", {.id = "a"}).value();

    const auto result = test.finish(run, 24h);

    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::timed_out);
    EXPECT_EQ(result.error().message,
              "a is not done within 1 days, the limit of this finish(): the activity 'Watch' of a "
              "sleeps beyond it");
    EXPECT_EQ(test.clock().now() - start, 24h);
}

TEST_P(SleepBeyondALimit, LeavesEverythingAsItWas) {
    TestRuntime test{registry, options};
    const auto run = test.client().start(root, "", {.id = "a"}).value();
    ASSERT_FALSE(test.finish(run, 24h));

    ASSERT_TRUE(test.client().raise("a", go, ""));

    EXPECT_EQ(test.finish(run, 24h).value(), "went");
    const auto next = test.client().start(other, "x", {.id = "b"}).value();
    EXPECT_EQ(test.finish(next, 24h).value(), "x");
}

TEST_P(SleepBeyondALimit, RunsAgainInTheNextCallAsTheSameAttempt) {
    TestRuntime test{registry, options};
    const auto run = test.client().start(root, "", {.id = "a"}).value();

    ASSERT_FALSE(test.finish(run, 24h));
    ASSERT_FALSE(test.finish(run, 24h));

    EXPECT_EQ(begun, 2);
    EXPECT_EQ(attempt, 1U);
}

TEST_P(SleepBeyondALimit, EndsAtTheEndOfAnAdvance) {
    TestRuntime test{registry, options};
    const auto start = test.clock().now();
    ASSERT_TRUE(test.client().start(root, "", {.id = "a"}));

    test.advance(90min);

    EXPECT_EQ(test.clock().now() - start, 90min);
    EXPECT_EQ(test.client().status("a")->status, RunStatus::running);
}

TEST_P(SleepBeyondALimit, DoesNotHoldUpTheActivitiesOfOthers) {
    TestRuntime test{registry, options};
    ASSERT_TRUE(test.client().start(root, "", {.id = "a"}));
    const auto run = test.client().start(other, "x", {.id = "b"}).value();

    EXPECT_EQ(test.finish(run, 24h).value(), "x");
}

TEST(SleepForEver, WithoutALimitFailsTheActivityAndTheClockStays) {
    Registry registry;
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const auto done = co_await ctx.call(watch, "").as_result();
        co_return done ? *done : done.error().message;
    });
    registry.add(watch, [](ActivityContext& ctx, const Text&) {
        return Text{ctx.sleep(std::chrono::hours::max()) ? "slept" : "woken"};
    });
    TestRuntime::Options options;
    options.runtime.logger = silent_logger();
    TestRuntime test{registry, options};
    const auto start = test.clock().now();
    const auto run = test.client().start(root, "", {.id = "a"}).value();

    test.run_until_idle();

    EXPECT_EQ(run.wait(0ms).value(), "it sleeps for ever, and nothing is due that could stop it");
    EXPECT_LT(test.clock().now() - start, 24h);
}

// ---- The end

class DestroyedTestRuntime : public ::testing::Test {
 protected:
    // Destroys it from the inside of the code below, once.
    void quit() { test.reset(); }

    Result<Text> finish() {
        test = std::make_unique<TestRuntime>(registry);
        auto* const its = test.get();
        return its->finish(its->client().start(root, "in", {.id = "a"}).value());
    }

    Registry registry;
    std::unique_ptr<TestRuntime> test;
};

TEST_F(DestroyedTestRuntime, ByAnActivityEndsWithTheCall) {
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        co_return co_await ctx.call(quick, input);
    });
    registry.add(quick, [this](ActivityContext& ctx, const Text& input) {
        quit();
        (void)ctx.sleep(1h);
        return input;
    });

    EXPECT_EQ(finish().value(), "in");
    EXPECT_EQ(test, nullptr);
}

std::function<void()>* quit_now = nullptr;

TEST_F(DestroyedTestRuntime, ByAnOrchestrationEndsWithTheCall) {
    std::function<void()> function = [this] { quit(); };
    quit_now = &function;
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        (*quit_now)();
        co_await ctx.sleep(1h);
        co_return input;
    });

    EXPECT_EQ(finish().value(), "in");
    EXPECT_EQ(test, nullptr);
}

TEST_F(DestroyedTestRuntime, ByWhatItForgetsEndsWithTheCall) {
    struct Guard {
        ~Guard() { (*quit_now)(); }
    };
    std::function<void()> function = [this] { quit(); };
    quit_now = &function;
    registry.add(root, [](Context ctx, Text input) -> Task<Text> {
        const auto guard = std::make_unique<Guard>();
        co_await ctx.sleep(1h);
        co_return input;
    });
    test = std::make_unique<TestRuntime>(registry);
    ASSERT_TRUE(test->client().start(root, "in", {.id = "a"}));
    test->run_until_idle();

    test->forget();

    EXPECT_EQ(test, nullptr);
}

} // namespace
} // namespace durable::e2e::test_runtime_limits_test
