// The judge notices each kind of loss, and takes nothing for one that may happen.

#include "power_cut/facts.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace durable::power_cut {
namespace {

using Complaints = std::vector<std::string>;

Expected expect(std::string_view notes) {
    Diary diary;
    diary.take(notes);
    return diary.expected();
}

// One instance: started, one turn that sent a message to itself and scheduled an activity.
Found one_turn() {
    Found found;
    found.instances["i"] = {.turn = 1, .sent = {{"i#1.1", "i"}}, .scheduled = {"i#1!1"}};
    found.messages = {{"i^", 1}, {"i#1.1", 1}};
    found.work = {"i#1!1"};
    found.complete = true;
    return found;
}

constexpr std::string_view started = "1 try message i i^\n1 done\n";
constexpr std::string_view one_turn_done = "1 try message i i^\n1 done\n"
                                           "2 try turn i 1\n2 done\n"
                                           "3 try read\n3 done\n";

Found empty() {
    Found found;
    found.complete = true;
    return found;
}

TEST(PowerCutJudge, FindsNothingWrongWhenAllIsThere) {
    EXPECT_EQ(judge(expect(one_turn_done), one_turn()), Complaints{});
}

TEST(PowerCutJudge, AMessageThatWasAcknowledgedMayNotBeLost) {
    EXPECT_EQ(judge(expect("1 try message i i^\n"), empty()), Complaints{});
    EXPECT_EQ(judge(expect(started), empty()), Complaints{"lost: message i^ for i"});
}

TEST(PowerCutJudge, AMessageMayNotBeThereTwice) {
    auto found = one_turn();
    found.messages["i^"] = 2;
    EXPECT_EQ(judge(expect(one_turn_done), found), Complaints{"twice: message i^"});
}

TEST(PowerCutJudge, NothingComesFromNowhere) {
    auto found = one_turn();
    found.messages["r9"] = 1;
    found.messages["i#1!1="] = 1;
    found.work.clear();
    EXPECT_EQ(judge(expect(one_turn_done), found),
              (Complaints{"from nowhere: message i#1!1=", "from nowhere: message r9"}));
}

TEST(PowerCutJudge, ATurnIsPromisedByALaterCallThatWaitsForTheDisk) {
    auto found = empty();
    found.messages = {{"i^", 1}, {"r3", 1}};
    const std::string turn = "2 try turn i 1\n2 done\n";
    const std::string overlapping = "3 try message i r3\n" + turn + "3 done\n";
    const std::string later = turn + "3 try message i r3\n3 done\n";
    EXPECT_EQ(judge(expect(std::string{started} + overlapping), found), Complaints{});
    EXPECT_EQ(judge(expect(std::string{started} + later), found),
              Complaints{"lost: turn 1 of i, found nothing"});
}

TEST(PowerCutJudge, AnActivityThatWasGivenProvesItsTurn) {
    auto found = empty();
    found.messages = {{"i^", 1}};
    const std::string given = "2 try turn i 1\n2 done\n3 try given i 1\n3 done\n";
    EXPECT_EQ(judge(expect(std::string{started} + given), found),
              Complaints{"lost: turn 1 of i, found nothing"});
}

TEST(PowerCutJudge, ATurnIsThereAsAWhole) {
    auto without_message = one_turn();
    without_message.messages.erase("i#1.1");
    EXPECT_EQ(judge(expect(one_turn_done), without_message),
              Complaints{"half there: a turn of i without its message i#1.1"});
    auto without_activity = one_turn();
    without_activity.work.clear();
    EXPECT_EQ(judge(expect(one_turn_done), without_activity), Complaints{"lost: activity i#1!1"});
    auto without_turn = empty();
    without_turn.messages = {{"i^", 1}, {"i#1.1", 1}};
    without_turn.work = {"i#1!1"};
    EXPECT_EQ(judge(expect(started), without_turn),
              (Complaints{"half there: message i#1.1 without its turn",
                          "half there: activity i#1!1 without its turn"}));
}

TEST(PowerCutJudge, AnActivityEndsAsAWhole) {
    const std::string ended =
        std::string{one_turn_done} + "4 try activity i#1!1\n4 done\n5 try read\n5 done\n";
    EXPECT_EQ(judge(expect(ended), one_turn()), Complaints{"lost: the end of activity i#1!1"});
    auto both = one_turn();
    both.messages["i#1!1="] = 1;
    EXPECT_EQ(judge(expect(std::string{one_turn_done} + "4 try activity i#1!1\n"), both),
              Complaints{"half there: activity i#1!1 has ended and is queued"});
}

TEST(PowerCutJudge, ADeletionIsThereAsAWholeAndForGood) {
    const std::string erasing = std::string{one_turn_done} + "4 try erase i\n";
    EXPECT_EQ(judge(expect(erasing), empty()), Complaints{});
    EXPECT_EQ(judge(expect(erasing), one_turn()), Complaints{});
    EXPECT_EQ(judge(expect(erasing + "4 done\n"), one_turn()),
              Complaints{"back again: instance i, deleted"});
    const std::string two = "1 try turn i 1\n1 done\n2 try turn j 1\n2 done\n"
                            "3 try read\n3 done\n4 try erase i j\n";
    auto half = empty();
    half.instances["j"].turn = 1;
    EXPECT_EQ(judge(expect(two), half), Complaints{"half there: the deletion of i with others"});
}

TEST(PowerCutJudge, ADeletionBeforeTheFirstTurnPromisesNothing) {
    const std::string early = std::string{started} + "2 try erase i\n2 done\n"
                                                     "3 try turn i 1\n3 done\n";
    EXPECT_EQ(judge(expect(early), one_turn()), Complaints{});
    auto waiting = empty();
    waiting.messages = {{"i^", 1}};
    const auto notes = expect(early).notes_after(waiting);
    EXPECT_EQ(judge(expect(notes + "1 try turn i 1\n"), one_turn()), Complaints{});
}

TEST(PowerCutJudge, AnInstanceThatACutHasLeftDeletedStaysDeleted) {
    const std::string erasing = std::string{one_turn_done} + "4 try erase i\n";
    const auto notes = expect(erasing).notes_after(empty());
    EXPECT_EQ(judge(expect(notes), empty()), Complaints{});
    EXPECT_NE(judge(expect(notes), one_turn()), Complaints{});
}

TEST(PowerCutJudge, MessagesOfAnInstanceThatHasEndedMayBeDropped) {
    const std::string sent = std::string{one_turn_done} + "4 try message i r4\n4 done\n";
    EXPECT_EQ(judge(expect(sent), one_turn()), Complaints{"lost: message r4 for i"});
    EXPECT_EQ(judge(expect(sent + "5 try drop r4\n"), one_turn()), Complaints{});
}

TEST(PowerCutJudge, ALookThatDoesNotEndIsAComplaint) {
    EXPECT_EQ(judge({}, Found{}), Complaints{"the look into the store did not come to its end"});
    auto flawed = empty();
    flawed.flaws = {"corrupt"};
    EXPECT_EQ(judge({}, flawed), Complaints{"corrupt"});
}

TEST(PowerCutJudge, WhatACutHasLeftMustStay) {
    const auto notes = expect("1 try message i i^\n2 try turn i 1\n").notes_after(one_turn());
    EXPECT_EQ(judge(expect(notes), one_turn()), Complaints{});
    EXPECT_EQ(judge(expect(notes), empty()),
              (Complaints{"lost: message i^ for i", "lost: turn 1 of i, found nothing"}));
    // And what it has not left may not come back.
    const auto nothing = expect("1 try message i i^\n").notes_after(empty());
    auto back = empty();
    back.messages = {{"i^", 1}};
    EXPECT_EQ(judge(expect(nothing), back), Complaints{"from nowhere: message i^"});
}

TEST(PowerCutJudge, WhatIsFoundIsReadAsItWasWritten) {
    auto found = one_turn();
    found.flaws = {"a flaw of several words"};
    const auto read = Found::parse(found.text());
    EXPECT_EQ(read.instances, found.instances);
    EXPECT_EQ(read.messages, found.messages);
    EXPECT_EQ(read.work, found.work);
    EXPECT_EQ(read.flaws, found.flaws);
    EXPECT_TRUE(read.complete);
}

} // namespace
} // namespace durable::power_cut
