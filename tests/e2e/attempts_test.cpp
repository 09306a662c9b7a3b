// Attempts of one call: a retry does not begin while the thread of the last attempt is busy.

#include "e2e/e2e.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

namespace durable::e2e::attempts_test {
namespace {

using Text = std::string;

constexpr Activity<Text(Text)> work{"Work"};
constexpr Orchestration<Text(Text)> root{"Root"};

class Attempts : public ::testing::Test {
 protected:
    Attempts() {
        options.logger = log;
        options.activity_threads = 4;
        // The first attempt ignores the request to stop, and ends when it is let go.
        registry.add(work, [this](const Text& input) {
            const auto now = ++at_once;
            most = std::max(most.load(), now);
            if (++runs == 1) {
                wait_until([&] { return release.load(); });
            }
            --at_once;
            return input;
        });
        registry.add(root, [](Context ctx, Text input) -> Task<Text> {
            const RetryPolicy retry{.max_attempts = 10, .backoff = Backoff::none};
            auto call = ctx.call(work, input, {.retry = retry, .timeout = 20ms}).as_result();
            const auto outcome = co_await call;
            co_return outcome ? *outcome : outcome.error().kind;
        });
    }

    // A shutdown does not wait for an attempt that was given up, and that still reads from here.
    void TearDown() override {
        wait_until([&] { return at_once == 0; });
    }

    static void wait_until(const auto& condition) {
        while (!condition()) {
            std::this_thread::yield();
        }
    }

    std::atomic<int> at_once = 0;
    std::atomic<int> most = 0;
    std::atomic<int> runs = 0;
    std::atomic<bool> release = false;
    std::shared_ptr<RecordingLogger> log = std::make_shared<RecordingLogger>();
    std::shared_ptr<Provider> store = make_store();
    Client client{store};
    Registry registry;
    RuntimeOptions options;
};

// U8
TEST_F(Attempts, DoNotOverlapWhileTheLastOneHasItsThread) {
    const auto runtime = Runtime::start(store, registry, options);

    const auto result = client.start(root, "x").value().wait(60s);
    release = true;

    EXPECT_EQ(result.value(), "TimedOut") << "the time of an attempt runs while it waits";
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(most, 1);
}

TEST_F(Attempts, MayOverlapWhereTheOptionsSaySo) {
    options.attempts_wait_for_each_other = false;
    const auto runtime = Runtime::start(store, registry, options);

    const auto result = client.start(root, "x").value().wait(60s);
    release = true;

    EXPECT_EQ(result.value(), "x");
}

TEST_F(Attempts, BeginAfterTheGracePeriodAllTheSame) {
    options.activity_cancellation_grace_period = 1ms;
    const auto runtime = Runtime::start(store, registry, options);

    const auto result = client.start(root, "x").value().wait(60s);
    release = true;

    EXPECT_EQ(result.value(), "x");
}

} // namespace
} // namespace durable::e2e::attempts_test
