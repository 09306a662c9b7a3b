// P16 in this store: what holds suspects back is the lease as the file has it.

#include "unit/sqlite/waiters_fixture.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace durable::sqlite {
namespace {

using namespace std::chrono_literals;

class SqliteSuspects : public SqliteWaitersTest {
 protected:
    SqliteSuspects() { store = open(); }

    // Two activities and two instances that were fetched twice.
    void make_suspects() {
        ASSERT_TRUE(store->enqueue_for_worker(activity("W", 1)));
        ASSERT_TRUE(store->enqueue_for_worker(activity("W", 2)));
        ASSERT_TRUE(store->enqueue_for_orchestrator(start("A"), std::nullopt));
        ASSERT_TRUE(store->enqueue_for_orchestrator(start("B"), std::nullopt));
        for (int round = 0; round < 2; ++round) {
            std::vector<std::string> works;
            std::vector<std::string> turns;
            for (int both = 0; both < 2; ++both) {
                works.push_back(store->fetch_work_item({.lock_timeout = 60s})->value().lock_token);
                turns.push_back(
                    store->fetch_orchestration_item({.lock_timeout = 60s})->value().lock_token);
            }
            for (std::size_t both = 0; both < 2; ++both) {
                ASSERT_TRUE(store->abandon_work_item(works.at(both), std::nullopt, false));
                ASSERT_TRUE(store->abandon_orchestration_item({.lock_token = turns.at(both)}));
            }
        }
    }
    std::optional<OrchestrationItem> turn(SqliteProvider& of, Duration poll = {}) {
        return of
            .fetch_orchestration_item(
                {.lock_timeout = 60s, .poll_timeout = poll, .one_suspect = true})
            .value();
    }
    std::optional<WorkLease> work(SqliteProvider& of, Duration poll = {}) {
        return of.fetch_work_item({.lock_timeout = 60s, .poll_timeout = poll, .one_suspect = true})
            .value();
    }
};

TEST_F(SqliteSuspects, AreGivenOneAtATimeByEachProvider) {
    make_suspects();
    const auto other = open();

    const auto first = turn(*store);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->attempt_count, 3U);
    EXPECT_FALSE(turn(*store));
    EXPECT_FALSE(work(*store));
    EXPECT_TRUE(turn(*other)) << "each provider counts its own";
    EXPECT_FALSE(work(*other));
    EXPECT_TRUE(*store->fetch_work_item({.lock_timeout = 60s}));
}

TEST_F(SqliteSuspects, AreGivenAgainWhenAnotherProcessHasEndedTheHold) {
    make_suspects();
    const auto first = turn(*store);
    ASSERT_TRUE(first);
    const auto other = open();

    ASSERT_TRUE(other->abandon_orchestration_item(
        {.lock_token = first->lock_token, .delay = 1h, .ignore_attempt = false}));

    EXPECT_TRUE(work(*store));
}

TEST_F(SqliteSuspects, WakeAWorkerThatWaitsWhenATurnEndsTheHold) {
    make_suspects();
    const auto held = turn(*store);
    ASSERT_TRUE(held);
    std::optional<WorkLease> lease;
    {
        const std::jthread worker{[&] { lease = work(*store, 60s); }};
        wait_for_sleepers(1);
        ASSERT_TRUE(store->ack_orchestration_item(end_of(*held, ExecutionStatus::running)));
    }
    ASSERT_TRUE(lease);
    EXPECT_EQ(lease->attempt_count, 3U);
}

// In real time: moving a manual clock wakes all sleepers.
TEST_F(SqliteSuspects, WakeAWorkerThatWaitsWhenTheHoldOfATurnExpires) {
    make_suspects();
    store = nullptr;
    store = open({.clock = system_clock()});
    const auto held =
        store->fetch_orchestration_item({.lock_timeout = 200ms, .one_suspect = true}).value();
    ASSERT_TRUE(held);
    EXPECT_EQ(held->attempt_count, 3U);

    EXPECT_FALSE(work(*store));
    EXPECT_TRUE(work(*store, 20s));
}

TEST_F(SqliteSuspects, ARefusedCommitDoesNotEndTheHold) {
    make_suspects();
    const auto held = turn(*store);
    ASSERT_TRUE(held);
    auto commit = end_of(*held, ExecutionStatus::running);
    commit.history_delta.push_back(commit.history_delta.front()); // the same id twice

    ASSERT_FALSE(store->ack_orchestration_item(commit));

    EXPECT_FALSE(turn(*store));
}

TEST_F(SqliteSuspects, AnAttemptThatDoesNotCountMakesNone) {
    ASSERT_TRUE(store->enqueue_for_worker(activity("W", 1)));
    for (int round = 0; round < 4; ++round) {
        const auto lease = store->fetch_work_item({.lock_timeout = 60s}).value();
        ASSERT_TRUE(lease);
        ASSERT_TRUE(store->abandon_work_item(lease->lock_token, std::nullopt, true));
    }
    ASSERT_TRUE(store->enqueue_for_worker(activity("W", 2)));
    EXPECT_TRUE(work(*store));
    EXPECT_TRUE(work(*store)) << "neither is a suspect";
}

TEST_F(SqliteSuspects, OfASessionLeaveTheirGroupAndComeBack) {
    auto item = std::get<work::ActivityExecute>(activity("W", 1));
    item.session_id = "S";
    ASSERT_TRUE(store->enqueue_for_worker(item));
    const auto fetch = [&] {
        return store
            ->fetch_work_item({.lock_timeout = 60s,
                               .session = SessionClaim{.owner_id = "me", .lock_timeout = 600s},
                               .one_suspect = true})
            .value();
    };
    std::optional<WorkLease> lease;
    for (int round = 0; round < 3; ++round) {
        lease = fetch();
        ASSERT_TRUE(lease);
        if (round < 2) {
            ASSERT_TRUE(store->abandon_work_item(lease->lock_token, std::nullopt, false));
        }
    }
    EXPECT_EQ(lease->attempt_count, 3U);
    ASSERT_TRUE(store->ack_work_item(lease->lock_token, std::nullopt));
    EXPECT_EQ(Outsider{path}.query("SELECT count(*) FROM work_groups"),
              std::vector<std::string>{"0"});
}

} // namespace
} // namespace durable::sqlite
