#include "observability/forwarding_provider.hpp"
#include "runtime/lease_keeper.hpp"

#include <durable/memory.hpp>
#include <durable/testing.hpp>

#include <gtest/gtest.h>

namespace durable::runtime {
namespace {

using namespace std::chrono_literals;

// Answers renewals as it is told and counts them.
class RenewalCounter final : public ForwardingProvider {
 public:
    RenewalCounter() : ForwardingProvider{memory::open()} {}

    Result<> renew_orchestration_item_lock(const std::string&, Duration) override {
        ++turns;
        return answer;
    }
    Result<> renew_work_item_lock(const std::string& token, Duration extend_for) override {
        ++activities;
        last_token = token;
        last_extension = extend_for;
        return answer;
    }

    Result<std::vector<std::string>>
    renew_leases(const std::vector<LeaseRenewal>& leases) override {
        ++calls;
        return ForwardingProvider::renew_leases(leases);
    }

    int calls = 0;
    int turns = 0;
    int activities = 0;
    std::string last_token;
    Duration last_extension{};
    Result<> answer;
};

class LeaseKeeping : public testing::Test {
 protected:
    void pass(Duration by) {
        clock.advance(by);
        keeper.renew_due();
    }

    ManualClock clock;
    RenewalCounter provider;
    observability::Observer observer{system_clock(), {}};
    Agenda agenda{clock};
    LeaseKeeper keeper{
        {.provider = provider, .clock = clock, .observer = observer, .agenda = agenda},
        {.lock_timeout = 5s, .interval = 2500ms},
        {.lock_timeout = 300ms, .interval = 150ms}};
    LeaseKeeper::Slot turn = keeper.open_slot(LeaseKind::turn);
    LeaseKeeper::Slot activity = keeper.open_slot(LeaseKind::activity);
};

TEST_F(LeaseKeeping, T16_ALeaseOfLessThanASecondIsRenewedInTime) {
    activity.hold("token", std::stop_source{});

    pass(149ms);
    EXPECT_EQ(provider.activities, 0);
    pass(1ms);
    EXPECT_EQ(provider.activities, 1);
    pass(150ms);

    EXPECT_EQ(provider.activities, 2);
    EXPECT_EQ(provider.last_token, "token");
    EXPECT_EQ(provider.last_extension, 300ms);
}

TEST_F(LeaseKeeping, WhatWasReleasedIsNotRenewed) {
    turn.hold("token", std::stop_source{std::nostopstate});
    turn.release();

    pass(1h);

    EXPECT_EQ(provider.turns, 0);
}

TEST_F(LeaseKeeping, ALostLeaseStopsItsActivityOnce) {
    const std::stop_source stop;
    activity.hold("token", stop);
    provider.answer = fail(ErrorCode::lock_lost, "Invalid lock token");

    pass(150ms);
    EXPECT_TRUE(stop.stop_requested());
    EXPECT_TRUE(activity.lost());
    pass(1h);

    EXPECT_EQ(provider.activities, 1);
}

TEST_F(LeaseKeeping, T24_AStorageErrorIsNotTakenForACancellation) {
    const std::stop_source stop;
    activity.hold("token", stop);
    provider.answer = fail(ErrorCode::unavailable, "the database restarts");

    pass(150ms);
    EXPECT_FALSE(stop.stop_requested());
    provider.answer = {};
    pass(38ms); // it is tried again long before the lease ends

    EXPECT_EQ(provider.activities, 2);
    EXPECT_FALSE(stop.stop_requested());
    EXPECT_FALSE(activity.lost());
}

TEST_F(LeaseKeeping, ASlotServesOneLeaseAfterTheOther) {
    const std::stop_source first;
    activity.hold("first", first);
    provider.answer = fail(ErrorCode::lock_lost, "gone");
    pass(150ms);
    activity.release();
    provider.answer = {};

    const std::stop_source second;
    activity.hold("second", second);
    pass(150ms);

    EXPECT_FALSE(activity.lost());
    EXPECT_FALSE(second.stop_requested());
    EXPECT_EQ(provider.last_token, "second");
}

TEST_F(LeaseKeeping, AllThatIsDueIsRenewedInOneCall) {
    auto second = keeper.open_slot(LeaseKind::activity);
    activity.hold("one", std::stop_source{});
    second.hold("two", std::stop_source{});
    turn.hold("turn", std::stop_source{std::nostopstate});

    pass(150ms);
    EXPECT_EQ(provider.calls, 1);
    EXPECT_EQ(provider.activities, 2);
    EXPECT_EQ(provider.turns, 0);
    pass(2350ms);

    EXPECT_EQ(provider.calls, 2);
    EXPECT_EQ(provider.turns, 1);
}

TEST_F(LeaseKeeping, ItTellsWhenToLookAgain) {
    EXPECT_EQ(keeper.renew_due(), SteadyInstant::max());

    turn.hold("turn", std::stop_source{std::nostopstate});
    EXPECT_EQ(keeper.renew_due(), clock.steady() + 2500ms);
    activity.hold("activity", std::stop_source{});

    EXPECT_EQ(keeper.renew_due(), clock.steady() + 150ms);
}

} // namespace
} // namespace durable::runtime
