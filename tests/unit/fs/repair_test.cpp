// What a repair begins with where the newest checkpoint is damaged or has a wrong name, and what it
// says of segments that were given each other's names.

#include "providers/fs/checkpoint/checkpoint.hpp"
#include "providers/fs/fs_provider.hpp"
#include "providers/fs/repair/repair.hpp"
#include "providers/fs/repair/verify.hpp"
#include "unit/fs/finished_instance.hpp"
#include "unit/fs/repair_stage.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace durable::fs {
namespace {

// ---- Checkpoints

TEST_F(RepairTest, AnOlderCheckpointAndTheJournalReplaceADamagedOne) {
    make_two_checkpoints();
    cut(newer_);

    expect_everything(older_ + " and the journal have everything");
}

TEST_F(RepairTest, TheJournalAloneReplacesADamagedCheckpointIfItBeginsWithTheFirstRecord) {
    make_two_checkpoints();
    cut(newer_);
    cut(older_);

    expect_everything("the journal has everything");
}

// What it says counts; but whether nothing is missing is not known, because a name was changed.
TEST_F(RepairTest, ACheckpointUnderTheNameOfALaterRecordHidesNoRecords) {
    make_two_checkpoints();
    move(newer_, checkpoint_path("/store/checkpoint", 99'999));

    EXPECT_EQ(repaired(), state_);
    EXPECT_TRUE(told(done_.lost, "this is not the checkpoint of record 99999"));
}

// Nothing in it says that the name is true: what came after it may be lost, but no record is
// hidden.
TEST_F(RepairTest, AnEmptyFileThatIsNamedLikeALaterCheckpointHidesNothing) {
    make_two_checkpoints();
    put(checkpoint_path("/store/checkpoint", 99'999), "");

    EXPECT_EQ(repaired(), state_);
    EXPECT_EQ(done_.lost.size(), 1U);
    EXPECT_TRUE(told(done_.lost, "what belongs here, whatever it was: "));
}

TEST_F(RepairTest, ACheckpointUnderTheNameOfAnEarlierRecordIsNotNeededWhereTheJournalHasAll) {
    make_two_checkpoints();
    ASSERT_TRUE(disk_.remove(older_));
    move(newer_, checkpoint_path("/store/checkpoint", 3));

    expect_everything("this is not the checkpoint of record 3; the journal has everything");
}

TEST_F(RepairTest, AnOlderCheckpointIsNotUsedWhereTheJournalDoesNotReachBackToIt) {
    sizes_ = {.first = 1U << 14U, .largest = 1U << 14U};
    make_two_checkpoints();
    cut(newer_);

    const auto state = repaired();

    EXPECT_FALSE(done_.lost.empty());
    const auto found = ids(state);
    EXPECT_EQ(std::ranges::count_if(found, [](const auto& id) { return id.starts_with("c"); }), 6);
}

TEST_F(RepairTest, AnOlderCheckpointIsNotUsedWhereTheJournalEndsBeforeTheNewer) {
    make_two_checkpoints();
    cut(newer_);
    const auto segment = files_in("/store/journal/").front();
    auto content = disk_.content(segment);
    const auto torn = content.find("{\"lsn\":8");
    ASSERT_NE(torn, std::string::npos);
    std::fill(content.begin() + static_cast<std::ptrdiff_t>(torn), content.end(), '\0');
    disk_.overwrite(segment, content);

    (void)repaired();

    EXPECT_FALSE(done_.lost.empty());
}

// ---- Names that were exchanged, and what nothing else tells of

// Several small segments behind a checkpoint.
class RepairJournalTest : public RepairTest {
 protected:
    RepairJournalTest() {
        sizes_ = {.first = 1U << 14U, .largest = 1U << 14U};
        auto store = open("/store");
        start_some(*store, "a");
        EXPECT_TRUE(store->make_checkpoint());
        for (const std::string more : {"b", "c", "d", "e"}) {
            start_some(*store, more);
        }
        crash(std::move(store));
        segments_ = files_in("/store/journal/");
    }

    void exchange(const std::string& one, const std::string& other) {
        move(one, "/aside");
        move(other, one);
        move("/aside", other);
    }

    void expect_refused() {
        const auto found = verify(disk_, "/store", repaired_at);
        ASSERT_TRUE(found) << found.error().text();
        EXPECT_FALSE(found->clean());
        const auto before = disk_.paths();
        const auto opened = FsProvider::open("/store",
                                             {.clock = std::make_shared<ManualClock>()},
                                             {.files = &disk_, .threads = false});
        ASSERT_FALSE(opened);
        EXPECT_EQ(opened.error().code, ErrorCode::corrupt) << opened.error().text();
        EXPECT_EQ(disk_.paths(), before);
    }

    std::vector<std::string> segments_;
};

TEST_F(RepairJournalTest, ExchangedSegmentsAreRefusedAndALoss) {
    ASSERT_GE(segments_.size(), 4U);
    const auto healthy = segments_;
    for (std::size_t one = 0; one + 1 < healthy.size(); ++one) {
        for (std::size_t other = one + 1; other < healthy.size(); ++other) {
            if (disk_.content(healthy[other]).find_first_not_of('\0') == std::string::npos) {
                continue; // a spare: that is a gap
            }
            exchange(healthy[one], healthy[other]);

            expect_refused();
            const auto repaired_to = "/new" + std::to_string(disk_.calls());
            const auto done = repair(disk_, "/store", repaired_to, repaired_at);
            ASSERT_TRUE(done) << done.error().text();
            EXPECT_FALSE(done->lost.empty());
            EXPECT_TRUE(open(repaired_to));
            exchange(healthy[one], healthy[other]);
        }
    }
}

TEST_F(RepairJournalTest, AnEmptyFileThatIsNamedLikeALaterCheckpointDoesNotReplaceADamagedOne) {
    auto content = disk_.content(only_checkpoint());
    content.erase(content.size() - 2); // so that none of them opens
    disk_.overwrite(only_checkpoint(), content);
    put(checkpoint_path("/store/checkpoint", 99'999), "");

    EXPECT_EQ(ids(repaired()), ids(state_));
}

TEST_F(RepairJournalTest, AnInstanceWhoseLineIsGoneFromTheCheckpointIsMissed) {
    erase_line(only_checkpoint(), "\"id\":\"a3\"");

    const auto state = repaired();

    EXPECT_TRUE(told(done_.lost, "the checkpoint has 5 instances"));
    EXPECT_EQ(ids(state).size(), ids(state_).size() - 1);
}

// A message to an instance that has ended is dropped by a turn that records nothing.
TEST_F(RepairTest, ATurnWithoutEventsMakesNoExecutionOfAnInstanceThatWasLost) {
    auto store = open("/store");
    finish_instance(*store, "ended");
    ASSERT_TRUE(store->make_checkpoint());
    ASSERT_TRUE(store->enqueue_for_orchestrator(
        work::ExternalRaised{.instance = "ended", .name = "late", .data = "1"}, std::nullopt));
    const auto turn =
        store->fetch_orchestration_item({.lock_timeout = std::chrono::seconds{30}}).value();
    ASSERT_TRUE(turn);
    TurnCommit nothing;
    nothing.lock_token = turn->lock_token;
    ASSERT_TRUE(store->ack_orchestration_item(nothing));
    crash(std::move(store));
    const auto path = only_checkpoint();
    auto content = disk_.content(path);
    const auto line = content.rfind('\n', content.find("\"id\":\"ended\"")) + 1;
    content[line + 30] = static_cast<char>(content[line + 30] ^ 1);
    disk_.overwrite(path, content);
    auto journal = disk_.content(files_in("/store/journal/").front());
    journal[40] = static_cast<char>(journal[40] ^ 1); // so that it has not everything itself
    disk_.overwrite(files_in("/store/journal/").front(), journal);

    const auto state = repaired();

    EXPECT_FALSE(done_.lost.empty());
    for (const auto& instance : state.instances) {
        EXPECT_TRUE(instance.executions.empty()) << instance.id;
    }
}

} // namespace
} // namespace durable::fs
