// P11: a waiter returns as soon as its work exists, and no other waiter is woken.

#include "unit/memory/memory_fixture.hpp"

#include <array>
#include <latch>
#include <vector>

namespace durable {
namespace {

class WakeUps : public MemoryTest {};

TEST_F(WakeUps, AMessageWakesOneOfThreeAndTheOthersSleepOn) {
    std::latch served{2};
    std::vector<std::future<Turn>> waiting;
    for (int i = 0; i < 3; ++i) {
        waiting.push_back(std::async(std::launch::async, [this, &served] {
            auto turn = waiting_fetch().get();
            if (turn) {
                served.count_down();
            }
            return turn;
        }));
    }
    clock->await_sleeps(3);

    send(start("a"));
    send(start("b"));
    served.wait();
    clock->advance(0ms); // the third looks once more, finds nothing due and goes back to sleep
    clock->await_sleeps(4);
    stop.request_stop();

    std::size_t turns = 0;
    for (auto& future : waiting) {
        turns += future.get() ? 1U : 0U;
    }
    EXPECT_EQ(turns, 2u);
    EXPECT_EQ(clock->sleeps(), 4);
}

TEST_F(WakeUps, NobodyIsWokenForWorkThatOnlyOthersMayTake) {
    const FetchOrchestration newer{.filter = CapabilityFilter{{{{2, 0, 0}, {2, 9, 9}}}}};
    const FetchOrchestration older{.filter = CapabilityFilter{{{{1, 0, 0}, {1, 9, 9}}}}};
    send(start("a"));
    commit(fetch(), {.metadata = {.pinned_version = Version{1, 2, 3}}});
    auto refused = waiting_fetch(newer);
    clock->await_sleeps(1);
    auto served = waiting_fetch(older);
    clock->await_sleeps(2);

    send(raised("a"));

    EXPECT_EQ(served.get()->instance, "a");
    EXPECT_FALSE(done(refused));
    EXPECT_EQ(clock->sleeps(), 2);
    stop.request_stop();
    EXPECT_FALSE(refused.get());
}

TEST_F(WakeUps, ACommitWakesForTheMessagesAndActivitiesItQueues) {
    send(start("order"));
    const auto turn = fetch();
    auto child = waiting_fetch();
    auto worker = waiting_worker();
    clock->await_sleeps(2);

    commit(turn, {.worker_items = {activity(7)}, .orchestrator_items = {start("child")}});

    EXPECT_EQ(child.get()->instance, "child");
    EXPECT_EQ(worker.get()->item.id, 7u);
    EXPECT_EQ(clock->sleeps(), 2);
}

TEST_F(WakeUps, ACommitWakesForWhatArrivedDuringTheTurn) {
    send(start("a"));
    const auto turn = fetch();
    send(raised("a"));
    auto waiting = waiting_fetch();
    clock->await_sleeps(1);

    commit(turn, {});

    EXPECT_EQ(waiting.get()->messages.size(), 1u);
}

TEST_F(WakeUps, GivingBackWakes) {
    send(start("a"));
    ASSERT_TRUE(provider.enqueue_for_worker(activity(1)));
    const auto turn = fetch();
    const auto lease = fetch_work();
    auto waiting = waiting_fetch();
    auto worker = waiting_worker();
    clock->await_sleeps(2);

    ASSERT_TRUE(provider.abandon_orchestration_item(
        {.lock_token = turn->lock_token, .delay = std::nullopt, .ignore_attempt = false}));
    ASSERT_TRUE(provider.abandon_work_item(lease->lock_token, std::nullopt, false));

    EXPECT_EQ(waiting.get()->attempt_count, 2u);
    EXPECT_EQ(worker.get()->attempt_count, 2u);
}

TEST_F(WakeUps, AnEndedActivityWakesItsOrchestration) {
    run_first_turn("order");
    ASSERT_TRUE(provider.enqueue_for_worker(activity(1)));
    const auto lease = fetch_work();
    auto waiting = waiting_fetch();
    clock->await_sleeps(1);

    ASSERT_TRUE(provider.ack_work_item(lease->lock_token,
                                       work::ActivityCompleted{.instance = "order", .id = 1}));

    EXPECT_EQ(waiting.get()->instance, "order");
}

TEST_F(WakeUps, WhoWaitsForTheEndSleepsThroughTheTurnsBefore) {
    run_first_turn("order");
    auto watching = std::async(std::launch::async, [this] {
        return provider
            .watch_instance({.instance = "order", .timeout = patience, .ended_only = true})
            .value();
    });
    clock->await_sleeps(1);
    for (int turn = 0; turn < 3; ++turn) {
        send(raised("order"));
        commit(fetch(), {});
    }
    EXPECT_FALSE(done(watching));
    send(raised("order"));

    commit(fetch(), {.metadata = {.status = ExecutionStatus::completed}});

    EXPECT_EQ(watching.get().status, ExecutionStatus::completed);
    EXPECT_EQ(clock->sleeps(), 1) << "it was woken once";
}

TEST_F(WakeUps, ATimeThatComesWakes) {
    send(start("delayed"), 10s);
    auto waiting = waiting_fetch();
    clock->await_sleeps(1);

    clock->advance(10s);

    EXPECT_EQ(waiting.get()->instance, "delayed");
}

TEST_F(WakeUps, ALeaseThatEndsWakes) {
    send(start("a"));
    ASSERT_TRUE(provider.enqueue_for_worker(activity(1)));
    ASSERT_TRUE(fetch(30s));
    ASSERT_TRUE(fetch_work({.lock_timeout = 30s}));
    auto waiting = waiting_fetch();
    auto worker = waiting_worker();
    clock->await_sleeps(2);

    clock->advance(30s);

    EXPECT_EQ(waiting.get()->attempt_count, 2u);
    EXPECT_EQ(worker.get()->attempt_count, 2u);
}

TEST_F(WakeUps, ASessionThatEndsWakesAnotherOwner) {
    ASSERT_TRUE(provider.enqueue_for_worker(activity(1, "s")));
    ASSERT_TRUE(provider.enqueue_for_worker(activity(2, "s")));
    ASSERT_TRUE(fetch_work({.lock_timeout = long_lease, .session = SessionClaim{"me", 30s}}));
    auto waiting = waiting_worker({.session = SessionClaim{"you", 30s}});
    clock->await_sleeps(1);

    clock->advance(30s);

    EXPECT_EQ(waiting.get()->item.id, 2u);
}

TEST_F(WakeUps, PatienceEnds) {
    auto waiting = waiting_fetch();
    auto worker = waiting_worker();
    clock->await_sleeps(2);

    clock->advance(patience);

    EXPECT_FALSE(waiting.get());
    EXPECT_FALSE(worker.get());
}

TEST_F(WakeUps, AStopEndsTheWaitWithNothingFetched) {
    auto waiting = waiting_fetch();
    auto worker = waiting_worker();
    clock->await_sleeps(2);

    stop.request_stop();

    EXPECT_FALSE(waiting.get());
    EXPECT_FALSE(worker.get());
    send(start("a"));
    const FetchOrchestration stopped{
        .lock_timeout = 1s, .poll_timeout = patience, .stop = stop.get_token()};
    EXPECT_FALSE(provider.fetch_orchestration_item(stopped).value());
    EXPECT_EQ(fetch()->attempt_count, 1u);
}

// Work falls due before the waiters, which sleep for an hour, would look again: exactly one of them
// is woken, to set its timer to the due time.
TEST_F(WakeUps, OneSleeperWatchesTheTime) {
    std::array waiting{waiting_fetch(), waiting_fetch(), waiting_fetch()};
    clock->await_sleeps(3);

    send(start("a"), 10s);
    clock->await_sleeps(4);
    send(start("b"), 20s); // the waiter that wakes for the first will see this one too
    send(start("c"), 5s);
    clock->await_sleeps(5);
    stop.request_stop();

    for (auto& future : waiting) {
        EXPECT_FALSE(future.get());
    }
    EXPECT_EQ(clock->sleeps(), 5);
}

// Under the machine's clock a waiter really wakes by its own timer when work falls due. Delays pass
// on the wall clock and leases on the steady one; the two tick at different moments, so that 20 ms
// of the one may be 19 of the other.
TEST(RealTime, ADelayedMessageAndAnEndedLeaseComeLongBeforePatienceEnds) {
    memory::MemoryProvider provider{{}};
    const auto& clock = system_clock();
    const FetchOrchestration request{.lock_timeout = 20ms, .poll_timeout = 60s};
    const auto begin = clock->steady();
    const auto sent = clock->now();
    ASSERT_TRUE(provider.enqueue_for_orchestrator(
        work::StartOrchestration{.instance = "a", .orchestration = "Order"}, 20ms));

    const auto first = provider.fetch_orchestration_item(request).value();
    const auto served = clock->now();
    const auto second = provider.fetch_orchestration_item(request).value();
    const auto end = clock->steady();

    ASSERT_TRUE(first && second);
    EXPECT_EQ(second->attempt_count, 2u);
    EXPECT_GE(served - sent, 20ms);
    EXPECT_GE(end - begin, 39ms);
    EXPECT_LT(end - begin, 30s);
}

} // namespace
} // namespace durable
