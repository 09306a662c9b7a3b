// A waiting fetch gets the work that another caller's transaction makes, in that same transaction.

#include "base/stopwatch.hpp"
#include "unit/memory/observed_clock.hpp"
#include "unit/sqlite/waiters_fixture.hpp"

#include <atomic>
#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace durable::sqlite {
namespace {

using namespace std::chrono_literals;
using Rows = std::vector<std::string>;

class SqliteHandOver : public SqliteWaitersTest {
 protected:
    SqliteHandOver() { store = open({.clock = observed}); }

    Rows pending() {
        return Outsider{path}.query(
            "SELECT queue, instance_id, state, attempts FROM durable_pending ORDER BY seq");
    }

    // The views compare with the machine's time.
    std::shared_ptr<ObservedClock> observed =
        std::make_shared<ObservedClock>(system_clock()->now());
};

TEST_F(SqliteHandOver, AMessageIsLeasedToTheEngineThatWaits) {
    std::optional<OrchestrationItem> turn;
    std::uint64_t looked = 0;
    {
        const std::jthread engine{[&] {
            turn =
                store->fetch_orchestration_item({.lock_timeout = 60s, .poll_timeout = 60s}).value();
        }};
        wait_for_sleepers(1);
        looked = store->transactions();
        ASSERT_TRUE(store->enqueue_for_orchestrator(start("A"), std::nullopt));
    }
    EXPECT_EQ(store->transactions(), looked + 1) << "the engine needs none of its own";
    EXPECT_EQ(pending(), Rows{"orchestrator|A|running|1"});
    ASSERT_TRUE(turn);
    EXPECT_EQ(turn->instance, "A");
    EXPECT_TRUE(store->ack_orchestration_item(end_of(*turn, ExecutionStatus::running)));
}

TEST_F(SqliteHandOver, AnActivityIsLeasedToTheWorkerThatWaits) {
    ASSERT_TRUE(store->enqueue_for_orchestrator(start("A"), std::nullopt));
    const auto turn = store->fetch_orchestration_item({.lock_timeout = 60s}).value().value();
    auto commit = end_of(turn, ExecutionStatus::running);
    commit.worker_items = {activity("A", 2), activity("A", 3)};
    std::optional<WorkLease> lease;
    std::uint64_t looked = 0;
    {
        const std::jthread worker{[&] {
            lease = store->fetch_work_item({.lock_timeout = 60s, .poll_timeout = 60s}).value();
        }};
        wait_for_sleepers(1);
        looked = store->transactions();
        ASSERT_TRUE(store->ack_orchestration_item(commit));
    }
    EXPECT_EQ(store->transactions(), looked + 1) << "the worker needs none of its own";
    EXPECT_EQ(pending(), (Rows{"worker|A|running|1", "worker|A|ready|0"}));
    ASSERT_TRUE(lease);
    EXPECT_EQ(lease->item.id, 2U);
    EXPECT_TRUE(store->ack_work_item(lease->lock_token, std::nullopt));
}

TEST_F(SqliteHandOver, WhatNobodyWaitingMayTakeStays) {
    std::optional<WorkLease> lease;
    {
        std::jthread worker{[&](const std::stop_token& stop) {
            lease = store
                        ->fetch_work_item({.lock_timeout = 60s,
                                           .poll_timeout = 60s,
                                           .tags = TagFilter::tags({"gpu"}).value(),
                                           .stop = stop})
                        .value();
        }};
        wait_for_sleepers(1);
        ASSERT_TRUE(store->enqueue_for_worker(activity("A", 1)));
        EXPECT_EQ(pending(), Rows{"worker|A|ready|0"});
        worker.request_stop();
    }
    EXPECT_FALSE(lease);
    EXPECT_EQ(pending(), Rows{"worker|A|ready|0"});
}

// In real time: moving a manual clock wakes all sleepers.
TEST_F(SqliteHandOver, EverybodyMayHaveOfAllThatASessionLeavesWhenItEnds) {
    constexpr std::size_t workers = 150;
    store = nullptr;
    store = open({.clock = system_clock()});
    for (std::uint64_t id = 1; id <= workers + 1; ++id) {
        auto item = std::get<work::ActivityExecute>(activity("A", id));
        item.session_id = "S";
        ASSERT_TRUE(store->enqueue_for_worker(item));
    }
    std::stop_source over;
    const auto fetch = [&](const std::string& owner, Duration session, Duration poll) {
        return store
            ->fetch_work_item({.lock_timeout = 60s,
                               .poll_timeout = poll,
                               .session = SessionClaim{.owner_id = owner, .lock_timeout = session},
                               .stop = over.get_token()})
            .value();
    };
    ASSERT_TRUE(fetch("one that ends", 1s, 0s));

    std::vector<std::jthread> waiting;
    std::atomic<std::size_t> got = 0;
    for (std::size_t worker = 0; worker < workers; ++worker) {
        waiting.emplace_back([&] { got += fetch("another", 60s, 1h) ? 1U : 0U; });
    }
    for (const Stopwatch watch; got < workers && watch.elapsed() < 20s;) {
        std::this_thread::yield();
    }
    over.request_stop(); // without a last look
    waiting.clear();

    EXPECT_EQ(got, workers);
}

TEST_F(SqliteHandOver, AFetchLikeOneThatSleepsNeedNotLook) {
    std::vector<std::jthread> workers;
    const auto fetch = [&](const std::stop_token& stop) {
        EXPECT_FALSE(
            store->fetch_work_item({.lock_timeout = 60s, .poll_timeout = 60s, .stop = stop})
                .value());
    };
    workers.emplace_back(fetch);
    wait_for_sleepers(1);
    const auto looked = store->transactions();

    workers.emplace_back(fetch);
    wait_for_sleepers(2);

    EXPECT_EQ(store->transactions(), looked);
}

TEST_F(SqliteHandOver, AFetchUnlikeThoseThatSleepLooks) {
    const std::jthread worker{[&](const std::stop_token& stop) {
        EXPECT_FALSE(store
                         ->fetch_work_item({.lock_timeout = 60s,
                                            .poll_timeout = 60s,
                                            .tags = TagFilter::tags({"gpu"}).value(),
                                            .stop = stop})
                         .value());
    }};
    wait_for_sleepers(1);
    ASSERT_TRUE(store->enqueue_for_worker(activity("A", 1)));

    EXPECT_TRUE(store->fetch_work_item({.lock_timeout = 60s, .poll_timeout = 60s}).value());
}

// A refused call undoes its whole transaction, which is run again without it: also what others were
// handed in it, though they had not looked yet.
TEST_F(SqliteHandOver, WhatWasHandedOverInATransactionThatIsRunAgainIsHandedOverOnce) {
    ASSERT_TRUE(store->append_with_execution("R", 1, {started()}));
    std::optional<OrchestrationItem> turn;
    std::vector<std::jthread> callers;
    call_together(
        callers,
        [&] { EXPECT_TRUE(store->enqueue_for_worker(activity("A", 1))); },
        [&] { EXPECT_TRUE(store->enqueue_for_orchestrator(start("A"), std::nullopt)); },
        [&] {
            turn =
                store->fetch_orchestration_item({.lock_timeout = 60s, .poll_timeout = 60s}).value();
        },
        [&] {
            auto fresh = started();
            fresh.event_id = 2;
            EXPECT_FALSE(store->append_with_execution("R", 1, {fresh, started()}));
        });
    callers.clear();

    ASSERT_TRUE(turn);
    EXPECT_EQ(turn->instance, "A");
    EXPECT_TRUE(store->ack_orchestration_item(end_of(*turn, ExecutionStatus::running)));
    EXPECT_EQ(store->read("R").value().size(), 1U);
    EXPECT_EQ(store->get_queue_depths().value().orchestrator_queue, 0U);
}

TEST_F(SqliteHandOver, WhatIsOlderIsTakenBeforeWhatTheSameTransactionMakes) {
    ASSERT_TRUE(store->enqueue_for_worker(activity("A", 1)));
    ASSERT_TRUE(store->enqueue_for_orchestrator(start("A"), std::nullopt));
    std::optional<WorkLease> lease;
    std::optional<OrchestrationItem> turn;
    {
        std::vector<std::jthread> callers;
        call_together(
            callers,
            [&] { (void)store->renew_session_lock({"nobody"}, 1s, 1s); },
            [&] { EXPECT_TRUE(store->enqueue_for_worker(activity("A", 2))); },
            [&] { EXPECT_TRUE(store->enqueue_for_orchestrator(start("B"), std::nullopt)); },
            [&] { lease = store->fetch_work_item({.lock_timeout = 60s}).value(); },
            [&] { turn = store->fetch_orchestration_item({.lock_timeout = 60s}).value(); });
    }
    ASSERT_TRUE(lease && turn);
    EXPECT_EQ(lease->item.id, 1U);
    EXPECT_EQ(turn->instance, "A");
}

// No waiter sleeps while there is work for it, also when the waiter that was called got other work.
TEST_F(SqliteHandOver, EverythingIsTakenWhileManyMakeAndManyTake) {
    constexpr int makers = 3;
    constexpr int takers = 4;
    constexpr int each = 1500;
    std::atomic<int> taken = 0;
    std::stop_source over;
    {
        std::vector<std::jthread> threads;
        for (int taker = 0; taker < takers; ++taker) {
            threads.emplace_back([&] {
                while (const auto lease = store
                                              ->fetch_work_item({.lock_timeout = 60s,
                                                                 .poll_timeout = 60s,
                                                                 .stop = over.get_token()})
                                              .value()) {
                    EXPECT_TRUE(store->ack_work_item(lease->lock_token, std::nullopt));
                    if (++taken == makers * each) {
                        over.request_stop();
                    }
                }
            });
        }
        for (int maker = 0; maker < makers; ++maker) {
            threads.emplace_back([&, maker] {
                for (int number = 0; number < each; ++number) {
                    EXPECT_TRUE(store->enqueue_for_worker(
                        activity("A", static_cast<std::uint64_t>(maker * each + number))));
                }
            });
        }
    }
    EXPECT_EQ(taken, makers * each);
}

// The one whose time is up may be gone while others are still being woken by the same clock.
TEST_F(SqliteHandOver, ThoseWhoseTimeIsUpLeaveWhileTheClockWakesThem) {
    constexpr int rounds = 300;
    for (int round = 0; round < rounds; ++round) {
        const auto fetch = [&] {
            EXPECT_FALSE(store->fetch_work_item({.lock_timeout = 60s, .poll_timeout = 1s}).value());
        };
        const std::jthread one{fetch};
        const std::jthread two{fetch};
        wait_for_sleepers(2);
        observed->advance(2s);
    }
}

TEST_F(SqliteHandOver, WhoWaitsForTheEndSleepsThroughTurns) {
    make_running(*store, "A");
    const auto seen = store->watch_instance({.instance = "A"}).value().revision;
    std::optional<InstanceState> state;
    {
        const std::jthread watcher{[&] {
            state = store
                        ->watch_instance({.instance = "A",
                                          .seen_revision = seen,
                                          .timeout = 60s,
                                          .ended_only = true})
                        .value();
        }};
        observed->await_sleeps(1);
        constexpr int turns = 20; // one that woke it would be too short for it to sleep again
        for (int left = turns; left >= 0; --left) {
            const auto status = left == 0 ? ExecutionStatus::completed : ExecutionStatus::running;
            ASSERT_TRUE(store->enqueue_for_orchestrator(
                work::ExternalRaised{.instance = "A", .name = "go", .data = "1"}, std::nullopt));
            const auto turn =
                store->fetch_orchestration_item({.lock_timeout = 60s}).value().value();
            auto commit = end_of(turn, status);
            commit.history_delta = {};
            ASSERT_TRUE(store->ack_orchestration_item(commit));
        }
    }
    ASSERT_TRUE(state);
    EXPECT_EQ(state->status, ExecutionStatus::completed);
    EXPECT_EQ(observed->sleeps(), 1) << "it was woken once";
}

TEST_F(SqliteHandOver, WhoWaitsForTheEndHearsOfADeletion) {
    make_running(*store, "A");
    std::optional<InstanceState> state;
    {
        const std::jthread watcher{[&] {
            state = store->watch_instance({.instance = "A", .timeout = 60s, .ended_only = true})
                        .value();
        }};
        wait_for_sleepers(1);
        ASSERT_TRUE(store->delete_instance("A", true));
    }
    ASSERT_TRUE(state);
    EXPECT_FALSE(state->exists);
}

} // namespace
} // namespace durable::sqlite
