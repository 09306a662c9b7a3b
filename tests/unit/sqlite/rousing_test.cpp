// Whoever will get what a call makes wakes up while the call is made.

#include "base/stay_awake.hpp"
#include "unit/sqlite/waiters_fixture.hpp"

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace durable::sqlite {
namespace {

using namespace std::chrono_literals;

class SqliteRousing : public SqliteWaitersTest {
 protected:
    SqliteRousing() { store = open(); }

    // On one core nobody is: it would not be awake any sooner.
    void expect_roused(std::uint64_t number) const {
        EXPECT_EQ(store->rousings().made, may_stay_awake() ? number : 0);
    }

    std::jthread engine(std::optional<OrchestrationItem>& turn) {
        return std::jthread{[&](const std::stop_token& stop) {
            turn = store
                       ->fetch_orchestration_item(
                           {.lock_timeout = 60s, .poll_timeout = 60s, .stop = stop})
                       .value();
        }};
    }
    std::jthread worker(std::optional<WorkLease>& lease) {
        return std::jthread{[&](const std::stop_token& stop) {
            lease = store->fetch_work_item({.lock_timeout = 60s, .poll_timeout = 60s, .stop = stop})
                        .value();
        }};
    }
    OrchestrationItem begin(const std::string& instance) {
        EXPECT_TRUE(store->enqueue_for_orchestrator(start(instance), std::nullopt));
        return store->fetch_orchestration_item({.lock_timeout = 60s}).value().value();
    }
};

TEST_F(SqliteRousing, AMessageRousesAnEngineThatWaits) {
    std::optional<OrchestrationItem> turn;
    {
        const auto waits = engine(turn);
        wait_for_sleepers(1);
        ASSERT_TRUE(store->enqueue_for_orchestrator(start("A"), std::nullopt));
        expect_roused(1);
    }
    ASSERT_TRUE(turn);
    EXPECT_EQ(turn->instance, "A");
}

TEST_F(SqliteRousing, WhatIsNotVisibleYetRousesNobody) {
    std::optional<OrchestrationItem> turn;
    auto waits = engine(turn);
    wait_for_sleepers(1);

    ASSERT_TRUE(store->enqueue_for_orchestrator(start("A"), 1h));

    expect_roused(0);
    waits.request_stop();
}

TEST_F(SqliteRousing, ATurnRousesAWorkerForItsActivityAndThatAnEngine) {
    auto commit = end_of(begin("A"), ExecutionStatus::running);
    commit.worker_items = {activity("A", 2)};
    std::optional<WorkLease> lease;
    {
        const auto waits = worker(lease);
        wait_for_sleepers(1);
        ASSERT_TRUE(store->ack_orchestration_item(commit));
        expect_roused(1);
    }
    ASSERT_TRUE(lease);
    std::optional<OrchestrationItem> turn;
    {
        const auto waits = engine(turn);
        wait_for_sleepers(1);
        ASSERT_TRUE(store->ack_work_item(
            lease->lock_token,
            work::ActivityCompleted{
                .instance = "A", .execution_id = 1, .id = 2, .result = "\"done\""}));
        expect_roused(2);
    }
    EXPECT_TRUE(turn);
}

TEST_F(SqliteRousing, TheEndOfAnInstanceRousesWhoWaitsForThatOne) {
    const auto turn = begin("A");
    const auto state = store->watch_instance({.instance = "A", .stop = {}}).value();
    std::optional<InstanceState> seen;
    {
        std::jthread other{[&](const std::stop_token& stop) {
            (void)store->watch_instance(
                {.instance = "B", .timeout = 60s, .stop = stop, .ended_only = true});
        }};
        const std::jthread waits{[&] {
            seen = store
                       ->watch_instance({.instance = "A",
                                         .seen_revision = state.revision,
                                         .timeout = 60s,
                                         .stop = {},
                                         .ended_only = true})
                       .value();
        }};
        wait_for_sleepers(2);
        ASSERT_TRUE(store->ack_orchestration_item(end_of(turn, ExecutionStatus::completed)));
        expect_roused(1);
        other.request_stop();
    }
    EXPECT_EQ(seen->status, ExecutionStatus::completed);
}

TEST_F(SqliteRousing, TheNextExecutionOfAnInstanceDoesNotRouseWhoWaitsForItsEnd) {
    const auto turn = begin("A");
    std::jthread waits{[&](const std::stop_token& stop) {
        (void)store->watch_instance(
            {.instance = "A", .timeout = 60s, .stop = stop, .ended_only = true});
    }};
    wait_for_sleepers(1);

    ASSERT_TRUE(store->ack_orchestration_item(end_of(turn, ExecutionStatus::continued_as_new)));

    expect_roused(0);
    waits.request_stop();
}

TEST_F(SqliteRousing, OneOfManyWhoWaitForAnEndIsRoused) {
    const auto turn = begin("A");
    std::vector<std::jthread> waiting;
    for (int i = 0; i < 5; ++i) {
        waiting.emplace_back([&] {
            const auto seen = store->watch_instance(
                {.instance = "A", .timeout = 60s, .stop = {}, .ended_only = true});
            EXPECT_EQ(seen.value().status, ExecutionStatus::completed);
        });
    }
    wait_for_sleepers(5);

    ASSERT_TRUE(store->ack_orchestration_item(end_of(turn, ExecutionStatus::completed)));

    waiting.clear();
    expect_roused(1);
}

TEST_F(SqliteRousing, AMessageForAnotherInstanceRousesAnEngine) {
    auto commit = end_of(begin("A"), ExecutionStatus::running);
    commit.orchestrator_items = {start("B")};
    std::optional<OrchestrationItem> turn;
    {
        const auto waits = engine(turn);
        wait_for_sleepers(1);
        ASSERT_TRUE(store->ack_orchestration_item(commit));
        expect_roused(1);
    }
    EXPECT_EQ(turn->instance, "B");
}

// Where others call, whoever is woken in time comes too early for its core.
TEST_F(SqliteRousing, NobodyIsRousedWhileATransactionIsMade) {
    std::optional<OrchestrationItem> turn;
    {
        const auto waits = engine(turn);
        wait_for_sleepers(1);
        std::vector<std::jthread> callers;
        call_together(
            callers,
            [&] { EXPECT_TRUE(store->enqueue_for_worker(activity("W", 1))); },
            [&] { EXPECT_TRUE(store->enqueue_for_orchestrator(start("A"), std::nullopt)); });
        callers.clear();
        expect_roused(0);
    }
    EXPECT_EQ(turn->instance, "A");
}

} // namespace
} // namespace durable::sqlite
