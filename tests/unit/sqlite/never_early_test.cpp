// No lease and no delay ends before its time, though clocks only tell whole milliseconds.

#include "unit/base/running_clock.hpp"
#include "unit/sqlite/sqlite_fixture.hpp"

#include <chrono>
#include <memory>
#include <optional>

namespace durable::sqlite {
namespace {

using namespace std::chrono_literals;

class SqliteNeverEarly : public SqliteTest {
 protected:
    SqliteNeverEarly() : store_{open({.clock = running_})} {}

    void run_until(std::chrono::microseconds after) {
        running_->run(after - (running_->time() - begun_));
    }
    [[nodiscard]] std::optional<OrchestrationItem> fetch_turn() {
        return store_->fetch_orchestration_item({.lock_timeout = 5ms}).value();
    }
    [[nodiscard]] std::optional<WorkLease> fetch_work() {
        return store_->fetch_work_item({.lock_timeout = 5ms}).value();
    }

    const std::chrono::microseconds begun_ = 900us;
    const std::shared_ptr<RunningClock> running_ = std::make_shared<RunningClock>(begun_);
    const std::shared_ptr<SqliteProvider> store_;
};

TEST_F(SqliteNeverEarly, AStartWithADelay) {
    ASSERT_TRUE(store_->start_instance({.instance = "a", .orchestration = "Order", .input = "{}"},
                                       Duration{5}));

    run_until(4900us);
    EXPECT_FALSE(fetch_turn());
    run_until(6ms);
    EXPECT_TRUE(fetch_turn());
}

TEST_F(SqliteNeverEarly, TheLeaseOfATurnAndItsRenewal) {
    ASSERT_TRUE(store_->start_instance({.instance = "a", .orchestration = "Order", .input = "{}"},
                                       std::nullopt));
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

TEST_F(SqliteNeverEarly, TheLeaseOfAnActivityAndADelayAfterIt) {
    ASSERT_TRUE(store_->enqueue_for_worker(
        work::ActivityExecute{.instance = "a", .id = 1, .name = "Charge", .input = "{}"}));
    ASSERT_TRUE(fetch_work());

    run_until(4900us);
    EXPECT_FALSE(fetch_work());
    run_until(6ms);
    const auto second = fetch_work();
    ASSERT_TRUE(second);
    running_->run(900us);
    ASSERT_TRUE(store_->abandon_work_item(second->lock_token, Duration{5}, true));
    running_->run(4900us);
    EXPECT_FALSE(fetch_work());
    running_->run(1100us);
    EXPECT_TRUE(fetch_work());
}

} // namespace
} // namespace durable::sqlite
