// Who of the waiting gets called: as many as there is work for, and the right ones.

#include "providers/ledger_store/waiters.hpp"

#include <durable/testing.hpp>

#include <array>
#include <chrono>

#include <gtest/gtest.h>

namespace durable::ledger {
namespace {

using namespace std::chrono_literals;

class CallsTest : public ::testing::Test {
 protected:
    using TurnWaiter = FetchWaiter<FetchOrchestration>;

    TurnWaiter& turn_waiter(std::size_t index, SteadyInstant wakes_at = SteadyInstant{1h}) {
        auto& made = turn_waiters[index];
        made.request = &requests[index];
        made.asleep = &sleepers[index];
        made.wakes_at = wakes_at;
        waiters.turns.add(made);
        return made;
    }
    std::size_t called() const {
        return static_cast<std::size_t>(std::ranges::count_if(
            turn_waiters, [](const TurnWaiter& each) { return each.called.load(); }));
    }

    Mutex mutex;
    ManualClock clock;
    std::array<Sleeper, 3> sleepers{Sleeper{clock, {}}, Sleeper{clock, {}}, Sleeper{clock, {}}};
    std::array<FetchOrchestration, 3> requests;
    std::array<TurnWaiter, 3> turn_waiters;
    SuspectHold suspects;
    Waiters waiters{suspects};
};

TEST_F(CallsTest, OnePieceOfWorkCallsOne) {
    turn_waiter(0);
    turn_waiter(1);
    turn_waiter(2);

    waiters.turn_ready({});
    EXPECT_EQ(called(), 1u);
    waiters.turn_ready({});
    EXPECT_EQ(called(), 2u);
}

TEST_F(CallsTest, WorkBeyondTheWaitingCallsNobodyTwice) {
    turn_waiter(0);
    for (int i = 0; i < 5; ++i) {
        waiters.turn_ready({});
    }
    EXPECT_EQ(called(), 1u);

    waiters.turns.look_again(turn_waiters[0]);
    EXPECT_EQ(called(), 0u);
    EXPECT_EQ(turn_waiters[0].asleep, nullptr);
}

TEST_F(CallsTest, SomebodyWhoIsAwakeAnywayIsCalledFirst) {
    turn_waiter(0);
    turn_waiter(1).asleep = nullptr;
    turn_waiter(2);

    waiters.turn_ready({});

    EXPECT_TRUE(turn_waiters[1].called);
    EXPECT_EQ(called(), 1u);
}

// The calling thread relies on it, whether the called waiter had to be woken or not.
TEST_F(CallsTest, ACallIsKnownUntilTheNextFlush) {
    EXPECT_FALSE(waiters.turns.any_called());
    waiters.turn_ready({});
    EXPECT_FALSE(waiters.turns.any_called()); // there is no waiter
    turn_waiter(0).asleep = nullptr;

    waiters.turn_ready({});
    EXPECT_TRUE(waiters.turns.any_called());
    EXPECT_FALSE(waiters.work.any_called());

    const MutexLock lock{mutex};
    waiters.flush(lock);
    EXPECT_FALSE(waiters.turns.any_called());
}

TEST_F(CallsTest, TheOneWhoWouldWakeUpSoonIsLeftToWatchTheTime) {
    turn_waiter(0, SteadyInstant{2h});
    turn_waiter(1, SteadyInstant{1min});
    turn_waiter(2, SteadyInstant{2h});

    waiters.turn_ready({});
    waiters.turn_ready({});

    EXPECT_FALSE(turn_waiters[1].called);
}

TEST_F(CallsTest, WorkThatAFilterRefusesCallsSomebodyElseOrNobody) {
    requests[0].filter = CapabilityFilter{{{{2, 0, 0}, {2, 9, 9}}}};
    requests[1].filter = CapabilityFilter{{{{1, 0, 0}, {1, 9, 9}}}};
    turn_waiter(0);
    turn_waiter(1);
    const Version one{1, 0, 0};

    waiters.turn_ready({.pinned = &one});
    EXPECT_TRUE(turn_waiters[1].called);
    waiters.turn_ready({.pinned = &one});
    EXPECT_FALSE(turn_waiters[0].called);
    waiters.turn_ready({});
    EXPECT_TRUE(turn_waiters[0].called);
}

TEST_F(CallsTest, ADueTimeIsCoveredByOneSleeper) {
    turn_waiter(0, SteadyInstant{1h});
    turn_waiter(1, SteadyInstant{1h});

    waiters.turns.cover(SteadyInstant{10min});
    EXPECT_TRUE(waiters.turns.covered(SteadyInstant{10min}));
    EXPECT_EQ(std::ranges::count(turn_waiters, SteadyInstant{10min}, &TurnWaiter::wakes_at), 1);

    waiters.turns.cover(SteadyInstant{20min}); // the waiter that wakes at 10 will look
    EXPECT_EQ(std::ranges::count(turn_waiters, SteadyInstant{1h}, &TurnWaiter::wakes_at), 1);
}

TEST_F(CallsTest, WorkOfASessionCallsItsOwnerOnly) {
    const durable::FetchWork mine{.session = SessionClaim{"me", 1s}};
    const durable::FetchWork yours{.session = SessionClaim{"you", 1s}};
    FetchWaiter<durable::FetchWork> me{.request = &mine};
    FetchWaiter<durable::FetchWork> you{.request = &yours};
    waiters.work.add(you);
    waiters.work.add(me);
    WorkShelf shelf;
    Session session{.id = "s", .owner = "me", .slot = 0};
    WorkGroup group;
    group.shelf = &shelf;
    group.session = &session;

    waiters.work_ready(group, 5);

    EXPECT_TRUE(me.called);
    EXPECT_FALSE(you.called);
}

} // namespace
} // namespace durable::ledger
