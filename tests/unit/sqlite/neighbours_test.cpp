// Two providers on one file, as two processes would be: what one commits, the other one notices.

#include "unit/sqlite/sqlite_fixture.hpp"

#include <durable/time.hpp>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

namespace durable::sqlite {
namespace {

using namespace std::chrono_literals;

class SqliteNeighbours : public SqliteTest {
 protected:
    SqliteNeighbours() : here{open_here()}, there{open_here()} {}

    std::shared_ptr<SqliteProvider> open_here() {
        return open({.clock = system_clock()}); // waiting is what is tested
    }

    std::shared_ptr<SqliteProvider> here;
    std::shared_ptr<SqliteProvider> there;
};

// Long limits: how fast it usually is, is measured by the benchmark. Without the wake-up the fetch
// would sleep for its whole minute.
constexpr Duration soon = 20s;

template <class Waiting, class Deed>
void expect_woken(Waiting&& waiting, Deed&& deed) {
    std::atomic<bool> waits = false;
    const auto begin = system_clock()->steady();
    std::jthread waiter{[&] {
        waits = true;
        EXPECT_TRUE(waiting());
    }};
    while (!waits) {
        std::this_thread::yield();
    }
    deed();
    waiter.join();
    EXPECT_LT(system_clock()->steady() - begin, soon);
}

TEST_F(SqliteNeighbours, AStartThereWakesAFetchHere) {
    expect_woken(
        [&] {
            return here
                ->fetch_orchestration_item({.lock_timeout = 1s, .poll_timeout = Duration{60s}})
                .value()
                .has_value();
        },
        [&] { ASSERT_TRUE(there->enqueue_for_orchestrator(start("A"), std::nullopt)); });
}

TEST_F(SqliteNeighbours, AnActivityThereWakesAWorkerHere) {
    expect_woken(
        [&] {
            return here->fetch_work_item({.lock_timeout = 1s, .poll_timeout = Duration{60s}})
                .value()
                .has_value();
        },
        [&] { ASSERT_TRUE(there->enqueue_for_worker(activity("A", 1))); });
}

TEST_F(SqliteNeighbours, ACommitThereWakesAWatchHere) {
    expect_woken(
        [&] { return here->watch_instance({.instance = "A", .timeout = 60s}).value().exists; },
        [&] { make_running(*there, "A"); });
}

TEST_F(SqliteNeighbours, ALeaseThereHoldsHere) {
    ASSERT_TRUE(there->enqueue_for_orchestrator(start("A"), std::nullopt));
    const auto turn = there->fetch_orchestration_item({.lock_timeout = 60s});
    ASSERT_TRUE(turn && *turn);

    EXPECT_FALSE(*here->fetch_orchestration_item({.lock_timeout = 60s}));
    EXPECT_TRUE(here->abandon_orchestration_item((*turn)->lock_token, std::nullopt, false));
    EXPECT_TRUE(*here->fetch_orchestration_item({.lock_timeout = 60s}));
}

TEST_F(SqliteNeighbours, ManyThreadsOfBothTakeEveryActivityOnce) {
    constexpr std::uint64_t activities = 60;
    for (std::uint64_t id = 1; id <= activities; ++id) {
        ASSERT_TRUE((id % 2 == 0 ? here : there)->enqueue_for_worker(activity("A", id)));
    }
    std::mutex mutex;
    std::multiset<std::uint64_t> taken;
    {
        std::vector<std::jthread> workers;
        for (const auto& store : {here, there, here, there}) {
            workers.emplace_back([&, store] {
                while (const auto lease = store->fetch_work_item({.lock_timeout = 60s}).value()) {
                    ASSERT_TRUE(store->ack_work_item(lease->lock_token, std::nullopt));
                    const std::scoped_lock lock{mutex};
                    taken.insert(lease->item.id);
                }
            });
        }
    }
    EXPECT_EQ(taken.size(), activities);
    EXPECT_EQ((std::set<std::uint64_t>{taken.begin(), taken.end()}).size(), activities);
}

} // namespace
} // namespace durable::sqlite
