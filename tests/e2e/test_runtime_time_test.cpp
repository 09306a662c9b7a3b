// Under TestRuntime nothing happens but in its own calls, and no call of a test hangs: waits of a
// client answer at once, time jumps, and an activity that sleeps hears that it shall stop.

#include <durable/activity_context.hpp>
#include <durable/client.hpp>
#include <durable/context.hpp>
#include <durable/registry.hpp>
#include <durable/test_runtime.hpp>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace durable::e2e::test_runtime_time_test {
namespace {

using namespace std::chrono_literals;
using Text = std::string;

constexpr Activity<Text(Text)> work{"Work"};
constexpr Orchestration<Text(Text)> root{"Root"};
constexpr Orchestration<Text(Text)> other{"Other"};
constexpr Event<Text> go{"Go"};

constexpr auto century = std::chrono::hours{24 * 365 * 100};

Task<Text> wait_for_go(Context ctx, Text) {
    ctx.kv().set("key", "value");
    ctx.set_status("waiting");
    co_return co_await ctx.wait_for(go);
}

Task<Text> call_work_for_an_hour(Context ctx, Text input) {
    const auto done = co_await ctx.call(work, input, {.timeout = 1h}).as_result();
    co_return done ? *done : done.error().kind;
}

Task<Text> call_work(Context ctx, Text input) {
    co_return co_await ctx.call(work, input);
}

TestRuntime::Options quiet(std::size_t max_steps = 10'000) {
    TestRuntime::Options options;
    options.runtime.logger = silent_logger();
    options.max_steps = max_steps;
    return options;
}

// Real time: what a person waits for.
class Stopwatch {
 public:
    [[nodiscard]] bool below(std::chrono::milliseconds limit) const {
        return system_clock()->steady() - begun_ < limit;
    }

 private:
    SteadyInstant begun_ = system_clock()->steady();
};

// ---- Waits of a client

class ClientOfATestRuntime : public ::testing::Test {
 protected:
    ClientOfATestRuntime() { registry.add(root, wait_for_go); }

    static void expect_refused(const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::timed_out);
        EXPECT_EQ(error.message,
                  "nothing happens under TestRuntime while a client waits for a: call finish(), "
                  "run_until_idle() or advance() first");
    }

    Registry registry;
};

TEST_F(ClientOfATestRuntime, DoesNotWaitForAnEndThatNobodyBringsAbout) {
    TestRuntime test{registry};
    const auto run = test.client().start(root, "", {.id = "a"}).value();

    expect_refused(run.wait(10ms).error());
    test.run_until_idle();
    expect_refused(run.wait(10ms).error());
    expect_refused(test.client().wait("a", std::chrono::hours::max()).error());
}

TEST_F(ClientOfATestRuntime, DoesNotWaitForAStatusOrAKeyEither) {
    TestRuntime test{registry};
    ASSERT_TRUE(test.client().start(root, "", {.id = "a"}));

    expect_refused(test.client().wait_for_status_change("a", 0, 1s).error());
    expect_refused(test.client().wait_for_kv("a", "key", 1s).error());
    test.run_until_idle();
    expect_refused(test.client().wait_for_status_change("a", 1, 1s).error());
    expect_refused(test.client().wait_for_kv("a", "another", 1s).error());
}

TEST_F(ClientOfATestRuntime, AnswersWhatIsThere) {
    TestRuntime test{registry};
    const auto run = test.client().start(root, "", {.id = "a"}).value();
    test.run_until_idle();

    EXPECT_EQ(test.client().wait_for_status_change("a", 0, 1s)->custom_status, "waiting");
    EXPECT_EQ(test.client().wait_for_kv("a", "key", 1s).value(), "value");
    ASSERT_TRUE(test.client().raise("a", go, "gone"));
    test.run_until_idle();
    EXPECT_EQ(run.wait(1s).value(), "gone");
    EXPECT_EQ(test.client().wait_for_kv("a", "another", 1s).error().code, ErrorCode::not_found);
}

TEST_F(ClientOfATestRuntime, DoesNotWaitInsideOfAnActivity) {
    registry.add(work, [](ActivityContext& ctx, const Text& id) {
        return ctx.client().wait(id, 1s).error().message;
    });
    registry.add(other, call_work);
    TestRuntime test{registry};
    ASSERT_TRUE(test.client().start(root, "", {.id = "a"}));
    const auto run = test.client().start(other, "a", {.id = "b"}).value();

    const auto message = test.finish(run);

    EXPECT_EQ(message.value().substr(0, 33), "nothing happens under TestRuntime");
}

// ---- Activities that sleep

class SleepingActivity : public ::testing::Test {
 protected:
    void bind(std::function<Text(ActivityContext&, const Text&)> activity) {
        registry.add(work, std::move(activity));
        registry.add(root, call_work_for_an_hour);
    }

    Registry registry;
};

TEST_F(SleepingActivity, HearsThatItsTimeIsOver) {
    bind([](ActivityContext& ctx, const Text&) {
        while (ctx.sleep(1min)) {
        }
        return Text{"too late"};
    });
    TestRuntime test{registry, quiet()};
    const auto begun = test.clock().now();
    const auto run = test.client().start(root, "", {.id = "a"}).value();

    EXPECT_EQ(test.finish(run).value(), "TimedOut");
    EXPECT_EQ(test.clock().now() - begun, 1h);
}

TEST_F(SleepingActivity, IsWokenInTheMiddleOfALongSleep) {
    bind([](ActivityContext& ctx, const Text&) {
        return Text{ctx.sleep(std::chrono::hours::max()) ? "slept" : "woken"};
    });
    TestRuntime test{registry, quiet()};
    const auto begun = test.clock().now();
    const auto run = test.client().start(root, "", {.id = "a"}).value();

    EXPECT_EQ(test.finish(run).value(), "TimedOut");
    EXPECT_EQ(test.clock().now() - begun, 1h);
}

TEST_F(SleepingActivity, HearsOfACancellationByAnotherOrchestration) {
    registry.add(work, [](ActivityContext& ctx, const Text&) {
        return Text{ctx.sleep(10h) ? "slept" : "woken"};
    });
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        const auto slept = co_await ctx.within(2h, ctx.call(work, ""));
        co_return slept.value_or("given up");
    });
    TestRuntime test{registry, quiet()};
    const auto begun = test.clock().now();
    const auto run = test.client().start(root, "", {.id = "a"}).value();

    EXPECT_EQ(test.finish(run).value(), "given up");
    EXPECT_EQ(test.clock().now() - begun, 2h);
}

TEST_F(SleepingActivity, ThatIsNotStoppedSleepsToTheEnd) {
    bind([](ActivityContext& ctx, const Text&) {
        return Text{ctx.sleep(59min) ? "slept" : "woken"};
    });
    TestRuntime test{registry, quiet()};
    const auto run = test.client().start(root, "", {.id = "a"}).value();

    EXPECT_EQ(test.finish(run).value(), "slept");
}

TEST_F(SleepingActivity, OfACenturyKeepsItsLeaseAndTakesNoTime) {
    registry.add(work, [](ActivityContext& ctx, const Text&) {
        return Text{ctx.sleep(century) ? "slept " : "woken "} + std::to_string(ctx.attempt());
    });
    registry.add(root, call_work);
    TestRuntime test{registry, quiet()};
    const auto run = test.client().start(root, "", {.id = "a"}).value();
    const Stopwatch watch;

    EXPECT_EQ(test.finish(run, std::chrono::hours::max()).value(), "slept 1");
    EXPECT_TRUE(watch.below(1s));
}

TEST_F(SleepingActivity, OfACenturyInASessionTakesNoTimeEither) {
    registry.add(work, [](ActivityContext& ctx, const Text&) {
        return Text{ctx.sleep(century) ? "slept " : "woken "} + std::to_string(ctx.attempt());
    });
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        co_return co_await ctx.call(work, "", {.session = "s"});
    });
    TestRuntime test{registry, quiet()};
    const auto run = test.client().start(root, "", {.id = "a"}).value();
    const Stopwatch watch;

    EXPECT_EQ(test.finish(run, std::chrono::hours::max()).value(), "slept 1");
    EXPECT_TRUE(watch.below(3s));
}

// What it waits for is another activity, and those run one after the other.
TEST_F(SleepingActivity, ThatWaitsForNothingThatCanComeFails) {
    registry.add(work, [](ActivityContext& ctx, const Text&) {
        while (ctx.sleep(1s)) {
        }
        return Text{};
    });
    registry.add(root, call_work);
    TestRuntime test{registry, quiet(100)};
    const auto run = test.client().start(root, "", {.id = "a"}).value();

    const auto result = test.finish(run);

    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message,
              "activity 'Work' failed: it still sleeps after 100 steps "
              "(TestRuntime::Options::max_steps). Activities run one after the other under "
              "TestRuntime: one that waits for another "
              "waits for ever");
}

TEST_F(SleepingActivity, BesideAnOrchestrationThatNeverRestsFails) {
    registry.add(work, [](ActivityContext& ctx, const Text&) {
        return Text{ctx.sleep(std::chrono::hours::max()) ? "slept" : "woken"};
    });
    registry.add(root, call_work);
    registry.add(other, [](Context ctx, Text) -> Task<Text> {
        co_await ctx.sleep(1min);
        co_return co_await ctx.continue_as_new(other, "");
    });
    TestRuntime test{registry, quiet(100)};
    ASSERT_TRUE(test.client().start(other, "", {.id = "b"}));
    const auto run = test.client().start(root, "", {.id = "a"}).value();

    const auto result = test.finish(run);

    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().activity, "Work");
}

// ---- Time

TEST(TimeOfATestRuntime, JumpsWhenNothingIsDue) {
    for (const Timespan by : {Timespan{century}, Timespan{std::chrono::hours::max()}}) {
        TestRuntime test{Registry{}};
        const auto until = add_saturating(test.clock().now(), by);
        const Stopwatch watch;

        test.advance(by);

        EXPECT_EQ(test.clock().now(), until);
        EXPECT_TRUE(watch.below(500ms));
    }
}

TEST(TimeOfATestRuntime, JumpsToATimerOfACentury) {
    Registry registry;
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        co_await ctx.sleep(century);
        co_return "done";
    });
    TestRuntime test{registry};
    const auto run = test.client().start(root, "", {.id = "a"}).value();
    const Stopwatch watch;

    EXPECT_EQ(test.finish(run, std::chrono::hours::max()).value(), "done");
    EXPECT_TRUE(watch.below(500ms));
}

TEST(TimeOfATestRuntime, DoesNotGoBack) {
    TestRuntime test{Registry{}};

    EXPECT_THROW(test.advance(-1ms), std::invalid_argument);
    EXPECT_EQ(test.finish("a", -1ms).error().code, ErrorCode::invalid_argument);
}

TEST(TimeOfATestRuntime, ThatIsOverIsToldWithTheLimitAndWithWhatIsDueNext) {
    Registry registry;
    registry.add(root, [](Context ctx, Text) -> Task<Text> {
        co_await ctx.sleep(24h * 400);
        co_return "done";
    });
    TestRuntime test{registry};
    const auto run = test.client().start(root, "", {.id = "a"}).value();

    const auto result = test.finish(run);

    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message,
              "a is not done within 365 days, the limit of this finish(): the next moment at which "
              "something is due is 2026-11-13T08:53:20.000Z, in 400 days");
    EXPECT_EQ(test.finish(run, 24h * 500).value(), "done");
}

} // namespace
} // namespace durable::e2e::test_runtime_time_test
