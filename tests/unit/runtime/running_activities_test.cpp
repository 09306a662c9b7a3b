#include "runtime/running_activities.hpp"
#include "runtime/session_slots.hpp"

#include <durable/testing.hpp>

#include <future>

#include <gtest/gtest.h>

namespace durable::runtime {
namespace {

using namespace std::chrono_literals;

const ActivityId first{.instance = "a", .execution_id = 1, .activity_id = 2};
const ActivityId second{.instance = "a", .execution_id = 1, .activity_id = 3};

class Running : public testing::Test {
 protected:
    RunningActivities::Ticket
    begin(const ActivityId& id, const std::stop_source& by, std::uint64_t life = 7) {
        return running.begin(
            {.id = id, .incarnation = life, .name = "Work", .lock_token = "token", .stop = by});
    }

    // An attempt of the call whose first one is `first`.
    RunningActivities::Ticket begin_attempt(const ActivityId& id, const std::stop_source& by) {
        return running.begin(
            {.id = id, .call = first, .name = "Work", .lock_token = "token", .stop = by});
    }

    ManualClock clock;
    Agenda agenda{clock};
    RunningActivities running{clock, agenda, 10s};
    std::stop_source stop;
};

TEST_F(Running, ACancellationReachesItsActivityAndNoOther) {
    const std::stop_source other;
    const auto ticket = begin(first, stop);
    const auto other_ticket = begin(second, other);

    running.cancel(std::vector{first}, 7);

    EXPECT_TRUE(stop.stop_requested());
    EXPECT_FALSE(other.stop_requested());
    EXPECT_EQ(running.end(ticket).reason, StopReason::cancelled);
    EXPECT_EQ(running.end(other_ticket).reason, StopReason::none);
}

TEST_F(Running, ACancellationThatComesBeforeTheActivityBeginsIsNotMissed) {
    running.cancel(std::vector{first}, 7);

    const auto ticket = begin(first, stop);

    EXPECT_TRUE(stop.stop_requested());
    EXPECT_EQ(running.end(ticket).reason, StopReason::cancelled);
}

// U8
TEST_F(Running, AnAttemptWaitsUntilTheLastOneOfItsCallHasEnded) {
    const auto last = begin_attempt(first, stop);
    const std::stop_source by;
    const auto next = begin_attempt(second, by);
    EXPECT_TRUE(running.runs(first));

    auto begins = std::async(std::launch::async,
                             [&] { return running.await_last_attempt(next, by.get_token()); });
    static_cast<void>(running.end(last));

    EXPECT_TRUE(begins.get());
    static_cast<void>(running.end(next));
    EXPECT_FALSE(running.runs(first));
}

TEST_F(Running, AnAttemptThatIsAskedToStopWhileItWaitsDoesNotBegin) {
    const auto last = begin_attempt(first, stop);
    std::stop_source by;
    const auto next = begin_attempt(second, by);

    auto begins = std::async(std::launch::async,
                             [&] { return running.await_last_attempt(next, by.get_token()); });
    running.cancel(std::vector{second}, 0);

    EXPECT_FALSE(begins.get());
    static_cast<void>(running.end(last));
}

TEST_F(Running, AnAttemptWaitsForTheGracePeriodAndNotForZombies) {
    static_cast<void>(begin_attempt(first, stop));
    const std::stop_source by;
    const auto next = begin_attempt(second, by);

    auto begins = std::async(std::launch::async,
                             [&] { return running.await_last_attempt(next, by.get_token()); });
    while (begins.wait_for(0s) != std::future_status::ready) {
        clock.advance(10s);
    }
    EXPECT_TRUE(begins.get());

    running.cancel(std::vector{first}, 0);
    clock.advance(10s);
    static_cast<void>(running.take_overdue());
    EXPECT_TRUE(running.await_last_attempt(next, by.get_token()));
}

// The id was deleted and used again: the same numbers, another activity.
TEST_F(Running, ACancellationDoesNotReachAnotherLifeOfTheInstance) {
    const auto running_on = begin(first, stop, 8);
    running.cancel(std::vector{first}, 7);
    const std::stop_source late;
    const auto begun_later = begin(first, late, 8);

    EXPECT_FALSE(stop.stop_requested());
    EXPECT_FALSE(late.stop_requested());
    EXPECT_EQ(running.end(running_on).reason, StopReason::none);
    EXPECT_EQ(running.end(begun_later).reason, StopReason::none);
}

// Queued by a version that did not know incarnations.
TEST_F(Running, ACancellationReachesAnActivityOfUnknownLife) {
    static_cast<void>(begin(first, stop, 0));

    running.cancel(std::vector{first}, 7);

    EXPECT_TRUE(stop.stop_requested());
}

TEST_F(Running, AnActivityThatIgnoresTheRequestBecomesAZombieAfterTheGracePeriod) {
    const auto ticket = begin(first, stop);
    running.cancel(std::vector{first}, 7);

    clock.advance(9999ms);
    EXPECT_TRUE(running.take_overdue().zombies.empty());
    clock.advance(1ms);
    EXPECT_EQ(running.take_overdue().zombies.size(), 1u);
    EXPECT_TRUE(running.take_overdue().zombies.empty()); // told once

    EXPECT_EQ(running.zombies(), 1u);
    EXPECT_EQ(running.size(), 0u);
    EXPECT_TRUE(running.end(ticket).zombie);
    EXPECT_EQ(running.zombies(), 0u);
}

TEST_F(Running, TheGracePeriodOfALostLeaseBeginsWhenItIsNoticed) {
    static_cast<void>(begin(first, stop));
    stop.request_stop(); // as the lease keeper does

    EXPECT_EQ(running.take_overdue().next, clock.steady() + 10s);
    clock.advance(10s);

    EXPECT_EQ(running.take_overdue().zombies.size(), 1u);
}

TEST_F(Running, AZombieAndItsSuccessorAreToldApart) {
    const auto zombie = begin(first, stop);
    running.cancel(std::vector{first}, 7);
    clock.advance(10s);
    static_cast<void>(running.take_overdue());
    const std::stop_source fresh;

    const auto successor = begin(first, fresh);

    EXPECT_FALSE(fresh.stop_requested());
    EXPECT_TRUE(running.end(zombie).zombie);
    EXPECT_FALSE(running.end(successor).zombie);
}

TEST_F(Running, AShutdownStopsWhatRunsAndWhatComesAfter) {
    const auto ticket = begin(first, stop);
    running.stop_all();
    const std::stop_source late;
    const auto late_ticket = begin(second, late);

    EXPECT_TRUE(stop.stop_requested());
    EXPECT_TRUE(late.stop_requested());
    EXPECT_EQ(running.end(ticket).reason, StopReason::shutdown);
    EXPECT_EQ(running.end(late_ticket).reason, StopReason::shutdown);
}

// The report of a shutdown counts what it gave up itself.
TEST_F(Running, WhatAShutdownGivesUpIsToldApartFromEarlierZombies) {
    const auto zombie = begin(first, stop);
    stop.request_stop(); // its lease was lost
    static_cast<void>(running.take_overdue());
    clock.advance(10s);
    ASSERT_EQ(running.take_overdue().zombies.size(), 1u);
    const std::stop_source other;
    const auto given_up = begin(second, other);

    running.stop_all();
    EXPECT_EQ(running.take_all().size(), 1u);

    const auto earlier = running.end(zombie);
    EXPECT_TRUE(earlier.zombie);
    EXPECT_NE(earlier.reason, StopReason::shutdown);
    const auto now = running.end(given_up);
    EXPECT_TRUE(now.zombie);
    EXPECT_EQ(now.reason, StopReason::shutdown);
}

TEST(SessionSlots, ASessionThatRunsHereMayAlwaysRunMore) {
    SessionSlots slots{1};

    EXPECT_TRUE(slots.enter("a"));
    EXPECT_FALSE(slots.may_claim());
    EXPECT_TRUE(slots.enter("a"));
    EXPECT_FALSE(slots.enter("b"));
    slots.leave("a");
    EXPECT_FALSE(slots.enter("b"));
    slots.leave("a");

    EXPECT_TRUE(slots.may_claim());
    EXPECT_TRUE(slots.enter("b"));
}

} // namespace
} // namespace durable::runtime
