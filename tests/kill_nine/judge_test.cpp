// The judge of the kill -9 loop notices every broken promise: a loop that cannot fail proves
// nothing.

#include "kill_nine/diary.hpp"
#include "kill_nine/judge.hpp"
#include "kill_nine/orders.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace durable::kill_nine {
namespace {

using Lives = std::vector<std::vector<Entry>>;

const Entry ready{"ready", "", ""};
const Entry sends{"sends", "order-1-1", ""};
const Entry started{"started", "order-1-1", ""};
const Entry found{"found", "order-1-1", "running"};
const Entry completed_right{"found", "order-1-1", "completed " + expected_result("order-1-1")};
const Entry ended{"ended", "order-1-1", expected_result("order-1-1")};
const Entry ran{"ran", "order-1-1", "charge"};
const Entry scheduled{"scheduled", "order-1-1", "charge"};
const Entry recorded{"recorded", "order-1-1", "charge"};
const Entry deletes{"deletes", "order-1-1", ""};
const Entry deleted{"deleted", "order-1-1", ""};

std::vector<std::string> complaints(const Lives& lives) {
    Judge judge;
    for (const auto& life : lives) {
        judge.judge(life);
    }
    return judge.complaints();
}

void expect_complaint(const Lives& lives, const std::string& complaint) {
    const auto found_out = complaints(lives);
    ASSERT_EQ(found_out.size(), 1U);
    EXPECT_EQ(found_out.front(), complaint);
}

TEST(KillNineJudge, HasNothingAgainstAStepThatRunsAgainBeforeItsEndIsStored) {
    EXPECT_TRUE(complaints({{ready, sends, started, ran},
                            {scheduled, found, ready, ran},
                            {scheduled, recorded, found, ready, ended, deletes, deleted},
                            {ready}})
                    .empty());
}

TEST(KillNineJudge, NoticesAnAcknowledgedOrderThatIsLost) {
    expect_complaint({{ready, sends, started}, {ready}}, "life 2, order-1-1: is lost");
}

TEST(KillNineJudge, LeavesOpenWhatWasNeverAcknowledged) {
    Judge judge;
    judge.judge({ready, sends});
    EXPECT_EQ(judge.unanswered(), std::vector<std::string>{"order-1-1"});
    judge.judge({ready});
    EXPECT_TRUE(judge.complaints().empty());
    judge.judge({found, ready});
    EXPECT_TRUE(judge.unanswered().empty());
    judge.judge({ready}); // it was there once
    EXPECT_EQ(judge.complaints(), std::vector<std::string>{"life 4, order-1-1: is lost"});
}

TEST(KillNineJudge, NoticesAStepThatRunsAfterItsEndWasStored) {
    expect_complaint({{ready, sends, started, ran}, {scheduled, recorded, found, ready, ran}},
                     "life 2, order-1-1: charge ran again after its end was stored");
}

TEST(KillNineJudge, NoticesAnEndThatIsLost) {
    expect_complaint(
        {{ready, sends, started}, {scheduled, recorded, found, ready}, {scheduled, found, ready}},
        "life 3, order-1-1: the end of charge was stored, and is lost");
}

TEST(KillNineJudge, NoticesAStepThatRanWithoutADecision) {
    expect_complaint({{ready, sends, started, ran}, {found, ready}},
                     "life 2, order-1-1: charge ran, but the store does not know why");
}

TEST(KillNineJudge, NoticesAStepThatRunsTwiceInOneLife) {
    expect_complaint({{ready, sends, started, ran, ran}},
                     "life 1, order-1-1: charge ran twice in one life");
}

TEST(KillNineJudge, NoticesAnOrderThatComesBack) {
    expect_complaint({{ready, sends, started, deletes, deleted}, {found, ready}},
                     "life 2, order-1-1: found after its deletion was acknowledged");
    expect_complaint({{ready, sends, started, deletes}, {ready}, {found, ready}},
                     "life 3, order-1-1: found after its deletion was acknowledged");
}

TEST(KillNineJudge, NoticesAnEndedOrderThatRunsAgain) {
    expect_complaint({{ready, sends, started, ended}, {found, ready}},
                     "life 2, order-1-1: had ended, and runs again");
    expect_complaint({{ready, sends, started}, {completed_right, ready, ran}},
                     "life 2, order-1-1: charge ran after the order had ended");
}

TEST(KillNineJudge, NoticesAWrongResult) {
    expect_complaint({{ready, sends, started, {"ended", "order-1-1", "nonsense"}}},
                     "life 1, order-1-1: ended with 'nonsense'");
    expect_complaint({{ready, sends, started}, {{"found", "order-1-1", "failed"}, ready}},
                     "life 2, order-1-1: is failed");
}

TEST(KillNineJudge, NoticesAnOrderThatNobodySent) {
    expect_complaint({{found, ready}}, "life 1, order-1-1: found, but nobody ever sent it");
}

TEST(KillNineJudge, NoticesAnOrderThatNeverEnds) {
    Judge judge;
    judge.judge({ready, sends, started});
    judge.judge_end();
    EXPECT_EQ(judge.complaints(), std::vector<std::string>{"life 1, order-1-1: never ended"});
}

TEST(KillNineDiary, ForgetsTheLineThatWasCutOff) {
    const auto entries = read_diary("ran|order-1-1|charge|.\nran|order-1-1|lab");
    EXPECT_EQ(entries, std::vector<Entry>{ran});
    EXPECT_THROW((void)read_diary("ran|order-1-1|.\n"), std::runtime_error);
}

HistoryEvent event(std::uint64_t id, history::Kind kind, std::uint64_t source = 0) {
    HistoryEvent made;
    made.event_id = id;
    made.source_event_id = source;
    made.kind = std::move(kind);
    return made;
}

TEST(KillNineOrders, FindTheFlawInAHistory) {
    const auto begin = event(1, history::OrchestrationStarted{});
    const auto step = event(2, history::ActivityScheduled{});
    const auto done = event(3, history::ActivityCompleted{}, 2);
    EXPECT_EQ(flaw_of({begin, step, done}), std::nullopt);
    EXPECT_NE(flaw_of({begin, done}), std::nullopt); // a gap
    EXPECT_NE(flaw_of({begin, step, done, event(4, history::ActivityCompleted{}, 2)}),
              std::nullopt);
    EXPECT_NE(flaw_of({begin, event(2, history::OrchestrationStarted{})}), std::nullopt);
    EXPECT_NE(flaw_of({begin, event(2, history::OrchestrationCompleted{})}), std::nullopt);
    EXPECT_NE(flaw_of({begin, event(2, history::KeyValueSet{.key = "steps", .value = "2"})}),
              std::nullopt);
}

} // namespace
} // namespace durable::kill_nine
