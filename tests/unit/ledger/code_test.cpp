// Work goes to fetches that have its code, and suspects go out one at a time.

#include "unit/ledger/ledger_fixture.hpp"

#include <memory>
#include <set>

namespace durable::ledger {
namespace {

class Code : public LedgerTest {
 protected:
    using Versions = std::set<std::string, std::less<>>;

    static FetchOrchestration having(std::string name,
                                     Versions versions,
                                     std::optional<Duration> cancelled_for = std::nullopt) {
        OrchestrationCode code;
        code.versions.emplace(std::move(name), std::move(versions));
        code.cancelled_for = cancelled_for;
        return {.lock_timeout = 30s, .code = std::make_shared<const OrchestrationCode>(code)};
    }
    static durable::FetchWork able_to(const std::string& activity) {
        return {.lock_timeout = 30s,
                .code = std::make_shared<const std::set<std::string, std::less<>>>(
                    std::set<std::string, std::less<>>{activity})};
    }
    std::string fetched_by(const FetchOrchestration& request) {
        const auto item = fetch(request);
        return item ? item->instance : "";
    }
    std::optional<ErrorCode> send_start(const std::string& id, std::optional<std::string> version) {
        return send(work::StartOrchestration{.instance = id,
                                             .orchestration = "Order",
                                             .input = "{}",
                                             .version = std::move(version)});
    }
};

TEST_F(Code, P14_AnInstanceGoesToItsNameAndVersionOnly) {
    ASSERT_FALSE(send_start("two", "2.0.0"));
    ASSERT_FALSE(send_start("any", std::nullopt));

    EXPECT_EQ(fetched_by(having("Invoice", {"2.0.0"})), "");
    EXPECT_EQ(fetched_by(having("Order", {"1.0.0"})), "any"); // the older one is passed over
    EXPECT_EQ(fetched_by(having("Order", {"1.0.0"})), "");
    const auto item = fetch(having("Order", {"2.0.0"}));
    ASSERT_TRUE(item);
    EXPECT_EQ(item->instance, "two");
    EXPECT_EQ(item->attempt_count, 1u); // nothing was counted before
}

TEST_F(Code, P14_AnExecutionThatRunsNeedsTheVersionOfItsRow) {
    run_first_turn("a"); // 1.0.0
    ASSERT_FALSE(send(raised_item("a")));

    EXPECT_EQ(fetched_by(having("Order", {"2.0.0"})), "");
    EXPECT_EQ(fetched_by(having("Order", {"1.0.0"})), "a");
}

TEST_F(Code, P14_ASuccessorNeedsWhatItsStartNames) {
    run_first_turn("a");
    ASSERT_FALSE(send(raised_item("a")));
    const auto item = fetch();
    ASSERT_FALSE(commit({.lock_token = item->lock_token,
                         .metadata = {.status = ExecutionStatus::continued_as_new},
                         .orchestrator_items = {work::ContinueAsNew{
                             .instance = "a", .orchestration = "Order", .version = "3.0.0"}}}));

    EXPECT_EQ(fetched_by(having("Order", {"1.0.0"})), "");
    EXPECT_EQ(fetched_by(having("Order", {"3.0.0"})), "a");
}

TEST_F(Code, P14_WhatHasEndedNeedsNoCode) {
    run_first_turn("a");
    ASSERT_FALSE(send(raised_item("a")));
    ASSERT_FALSE(commit(
        {.lock_token = fetch()->lock_token, .metadata = {.status = ExecutionStatus::completed}}));
    ASSERT_FALSE(send(raised_item("a", "late")));

    EXPECT_EQ(fetched_by(having("Invoice", {"1.0.0"})), "a");
}

TEST_F(Code, P14_ACancellationThatHasWaitedNeedsNoCode) {
    run_first_turn("a");
    ASSERT_FALSE(send(work::CancelInstance{.instance = "a", .reason = "enough"}));
    const auto patient = having("Invoice", {"1.0.0"}, 30s);

    pass(30s - 1ms);
    EXPECT_EQ(fetched_by(patient), "");
    pass(1ms);
    EXPECT_EQ(fetched_by(having("Invoice", {"1.0.0"})), ""); // it does not ask for them
    EXPECT_EQ(fetched_by(patient), "a");
}

TEST_F(Code, P14_AnActivityGoesToAWorkerThatHasIt) {
    ASSERT_FALSE(queue_work(activity_item("a", 1)));

    EXPECT_EQ(fetched_work(able_to("Ship")), 0u);
    EXPECT_EQ(fetched_work(able_to("Charge")), 1u);
}

class SuspectsTest : public LedgerTest {
 protected:
    static durable::FetchWork alone() { return {.lock_timeout = 30s, .one_suspect = true}; }
    static FetchOrchestration turn_alone() { return {.lock_timeout = 30s, .one_suspect = true}; }
};

TEST_F(SuspectsTest, P16_GoOutOneAtATimeOverBothQueues) {
    ASSERT_FALSE(send(start_item("turn")));
    ASSERT_FALSE(queue_work(activity_item("a", 1)));
    ASSERT_FALSE(queue_work(activity_item("b", 2)));
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(fetch());
        ASSERT_EQ(fetched_work(), 1u);
        ASSERT_EQ(fetched_work(), 2u);
        pass(31s);
    }
    ASSERT_FALSE(queue_work(activity_item("c", 3)));

    const auto first = fetch_work(alone());
    ASSERT_TRUE(first);
    EXPECT_EQ(first->item.id, 1u);
    EXPECT_EQ(fetched_work(alone()), 3u); // no suspect
    EXPECT_EQ(fetched_work(alone()), 0u);
    EXPECT_FALSE(fetch(turn_alone()));

    ASSERT_FALSE(carry_out(finish_work(ledger, first->lock_token, std::nullopt, now)));
    const auto turn = fetch(turn_alone());
    ASSERT_TRUE(turn);
    EXPECT_EQ(fetched_work(alone()), 0u);
    ASSERT_FALSE(commit({.lock_token = turn->lock_token}));
    EXPECT_EQ(fetched_work(alone()), 2u);
}

TEST_F(SuspectsTest, P16_TheHoldEndsWithTheLease) {
    ASSERT_FALSE(queue_work(activity_item("a", 1)));
    ASSERT_FALSE(queue_work(activity_item("b", 2)));
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(fetched_work(), 1u);
        ASSERT_EQ(fetched_work(), 2u);
        pass(31s);
    }
    ASSERT_EQ(fetched_work(alone()), 1u);
    ASSERT_EQ(fetched_work(alone()), 0u);

    pass(30s);

    EXPECT_EQ(fetched_work(alone()), 1u);
    EXPECT_EQ(fetched_work(), 2u); // a fetch that does not ask for it is free
}

} // namespace
} // namespace durable::ledger
