// Nothing that waits in a store ends before its time, though clocks only tell whole milliseconds.

#include "unit/base/running_clock.hpp"

#include <durable/memory.hpp>
#include <durable/provider.hpp>

#include <chrono>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

namespace durable {
namespace {

using namespace std::chrono_literals;

class NeverEarly : public ::testing::Test {
 protected:
    [[nodiscard]] std::chrono::microseconds elapsed() const { return clock_->time() - begun_; }
    void run_until(std::chrono::microseconds after) { clock_->run(after - elapsed()); }

    Result<> start(std::optional<Duration> delay = std::nullopt) {
        return store_->enqueue_for_orchestrator(
            work::StartOrchestration{.instance = "a", .orchestration = "Order", .input = "{}"},
            delay);
    }
    [[nodiscard]] auto fetch_turn() {
        return store_->fetch_orchestration_item({.lock_timeout = 5ms}).value();
    }

    const std::chrono::microseconds begun_ = 900us;
    const std::shared_ptr<RunningClock> clock_ = std::make_shared<RunningClock>(begun_);
    const std::shared_ptr<Provider> store_ = memory::open({.clock = clock_});
};

TEST_F(NeverEarly, ALongPollForTurns) {
    const auto found = store_->fetch_orchestration_item({.lock_timeout = 1s, .poll_timeout = 5ms});

    ASSERT_TRUE(found && !*found);
    EXPECT_GE(elapsed(), 5ms);
}

TEST_F(NeverEarly, ALongPollForActivities) {
    const auto found = store_->fetch_work_item({.lock_timeout = 1s, .poll_timeout = 5ms});

    ASSERT_TRUE(found && !*found);
    EXPECT_GE(elapsed(), 5ms);
}

TEST_F(NeverEarly, AWatchOfAnInstance) {
    const auto seen = store_->watch_instance({.instance = "a", .timeout = 5ms});

    ASSERT_TRUE(seen);
    EXPECT_GE(elapsed(), 5ms);
}

TEST_F(NeverEarly, AMessageWithADelay) {
    ASSERT_TRUE(start(5ms));

    run_until(4900us);

    EXPECT_FALSE(fetch_turn());
    run_until(6ms);
    EXPECT_TRUE(fetch_turn());
}

TEST_F(NeverEarly, ALeaseAndItsRenewal) {
    ASSERT_TRUE(start());
    const auto lease = fetch_turn();
    ASSERT_TRUE(lease);

    run_until(4900us);
    EXPECT_FALSE(fetch_turn());
    ASSERT_TRUE(store_->renew_orchestration_item_lock(lease->lock_token, 5ms));
    run_until(9800us);
    EXPECT_FALSE(fetch_turn());
    run_until(12ms);
    EXPECT_TRUE(fetch_turn());
}

} // namespace
} // namespace durable
