// What vanished from a store is not taken for what never was: opening refuses and changes nothing,
// verifying says so. What a crash can leave is still opened.

#include "providers/fs/fs_provider.hpp"
#include "providers/fs/repair/repair.hpp"
#include "providers/fs/repair/verify.hpp"
#include "simulation/sim_files.hpp"
#include "unit/fs/finished_instance.hpp"

#include <durable/testing.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace durable::fs {
namespace {

using simulation::SimFiles;
using simulation::Survival;

const Instant looked_at = from_epoch_ms(1'760'000'000'000);

class LossTest : public ::testing::Test {
 protected:
    Machine machine() {
        return {.files = &disk_,
                .threads = false,
                .segment_sizes = {.first = 1U << 14U, .largest = 1U << 14U},
                .checkpoint_bytes = 1U << 30U,
                .pack_bytes = 20'000,
                .most_copies = 0};
    }

    Result<std::shared_ptr<FsProvider>> open(const std::string& directory = "/store") {
        return FsProvider::open(directory, {.clock = std::make_shared<ManualClock>()}, machine());
    }

    void start(FsProvider& store, const std::string& id) {
        ASSERT_TRUE(store.enqueue_for_orchestrator(
            work::StartOrchestration{
                .instance = id, .orchestration = "Order", .input = std::string(4000, 'x')},
            std::nullopt));
    }

    // Finished instances in packs, then, with a checkpoint or without, live ones.
    void make(bool checkpoint) {
        {
            const auto store = open().value();
            for (int number = 0; number < 6; ++number) {
                finish_instance(
                    *store, "a" + std::to_string(number), std::nullopt, std::string(5'000, 'x'));
            }
            keep_house(*store);
            if (checkpoint) {
                ASSERT_TRUE(store->make_checkpoint());
            }
            for (int number = 0; number < 12; ++number) {
                start(*store, "live" + std::to_string(number));
            }
            ASSERT_TRUE(store->get_queue_depths());
            keep_house(*store); // a spare segment
            disk_.crash_at(disk_.calls());
        }
        disk_.restart(Survival::nothing);
    }

    std::vector<std::string> files_in(const std::string& directory) {
        auto found = disk_.paths();
        std::erase_if(found, [&](const auto& path) { return !path.starts_with(directory); });
        return found;
    }
    void lose(const std::string& directory) {
        for (const auto& path : files_in(directory)) {
            ASSERT_TRUE(disk_.remove(path));
        }
    }
    std::vector<std::string> used_segments() {
        auto found = files_in("/store/journal/");
        std::erase_if(found, [&](const auto& path) {
            return disk_.content(path).find_first_not_of('\0') == std::string::npos;
        });
        return found;
    }

    // Neither opening nor verifying takes it, and nothing is gone afterwards.
    void expect_refused(std::string_view why) {
        const auto before = disk_.paths();
        const auto found = verify(disk_, "/store", looked_at);
        ASSERT_TRUE(found) << found.error().text();
        ASSERT_FALSE(found->clean());
        EXPECT_TRUE(found->damage.front().contains(why)) << found->damage.front();
        const auto opened = open();
        ASSERT_FALSE(opened);
        EXPECT_EQ(opened.error().code, ErrorCode::corrupt);
        EXPECT_TRUE(opened.error().message.contains(why)) << opened.error().message;
        EXPECT_EQ(disk_.paths(), before);
        const auto repaired =
            repair(disk_, "/store", "/repaired" + std::to_string(disk_.calls()), looked_at);
        ASSERT_TRUE(repaired) << repaired.error().text();
        EXPECT_FALSE(repaired->lost.empty()) << "what vanished is lost";
    }

    void expect_opened() {
        const auto found = verify(disk_, "/store", looked_at);
        ASSERT_TRUE(found) << found.error().text();
        EXPECT_TRUE(found->clean()) << found->damage.front();
        const auto opened = open();
        EXPECT_TRUE(opened) << opened.error().text();
    }

    SimFiles disk_;
};

TEST_F(LossTest, PacksWithoutCheckpointAndJournalAreNotRemoved) {
    make(true);
    ASSERT_FALSE(files_in("/store/packs/").empty());
    lose("/store/checkpoint/");
    lose("/store/journal/");

    expect_refused("is there, but neither a checkpoint nor any record of the journal");
}

TEST_F(LossTest, AStoreWithoutItsJournalDirectoryIsRefused) {
    ASSERT_TRUE(open());
    lose("/store/journal/");
    ASSERT_TRUE(disk_.remove_directory("/store/journal"));

    expect_refused("/store/journal is missing");
}

TEST_F(LossTest, ACheckpointWhoseJournalVanishedIsRefused) {
    make(true);
    lose("/store/journal/");

    expect_refused("/store/journal has no records, but the checkpoint says that record ");
}

TEST_F(LossTest, ACheckpointKeepsItsRecordInTheJournalAlsoAfterReopening) {
    make(true);
    {
        const auto store = open().value();
        ASSERT_TRUE(store->make_checkpoint()); // of what an earlier process wrote
        disk_.crash_at(disk_.calls());
    }
    disk_.restart(Survival::everything);

    EXPECT_EQ(used_segments().size(), 1U);
    expect_opened();
    lose("/store/journal/");
    expect_refused("has no records");
}

TEST_F(LossTest, PacksThatNoCheckpointNamesYetGoWhenTheJournalHasItAll) {
    make(false);
    ASSERT_FALSE(files_in("/store/packs/").empty());

    expect_opened();

    EXPECT_TRUE(files_in("/store/packs/").empty());
}

TEST_F(LossTest, ARepairedStoreHasNoJournalAndOpens) {
    make(true);
    ASSERT_TRUE(repair(disk_, "/store", "/new", looked_at));
    EXPECT_TRUE(files_in("/new/journal/").empty());

    EXPECT_TRUE(open("/new"));
    EXPECT_TRUE(open("/new"));
}

TEST_F(LossTest, TheNewestSegmentIsMissedWhenItsSpareIsThere) {
    make(true);
    ASSERT_GT(used_segments().size(), 2U);
    ASSERT_NE(used_segments().back(), files_in("/store/journal/").back());
    const auto lost = used_segments().back();
    ASSERT_TRUE(disk_.remove(lost));

    expect_refused(lost + " is missing, but " + files_in("/store/journal/").back() + " is there");
}

TEST_F(LossTest, TheOnlySegmentIsMissedWhenItsSpareIsThere) {
    {
        const auto store = open().value();
        start(*store, "one");
        keep_house(*store);
        disk_.crash_at(disk_.calls());
    }
    disk_.restart(Survival::nothing);
    ASSERT_EQ(files_in("/store/journal/").size(), 2U);
    ASSERT_TRUE(disk_.remove("/store/journal/0000000001.log"));

    expect_refused("/store/journal/0000000001.log is missing");
}

TEST_F(LossTest, ReopeningLeavesNoGapsBetweenSegments) {
    for (int round = 0; round < 4; ++round) {
        const auto store = open().value();
        start(*store, "order" + std::to_string(round));
        keep_house(*store);
    }

    EXPECT_EQ(used_segments().back(), "/store/journal/0000000004.log");
    expect_opened();
}

// FORMAT of a store from before says nothing about gaps.
TEST_F(LossTest, AnOlderStoreMayHaveGaps) {
    make(true);
    ASSERT_TRUE(disk_.remove(used_segments().back()));
    disk_.overwrite("/store/FORMAT", "{\"format\":1}\n");

    expect_opened();
}

TEST_F(LossTest, ASegmentThatWasCutOffInsideOfARecordIsNoTornEnd) {
    make(true);
    const auto path = used_segments().back();
    const auto content = disk_.content(path);
    const auto used = content.find_last_not_of('\0') + 1;
    for (const auto length : {used - 1, used - 100, std::size_t{5}}) {
        disk_.overwrite(path, content.substr(0, length));
        expect_refused("goes on behind the end of the file, which was cut off");
    }
    disk_.overwrite(path, "");
    expect_refused(path + " is empty, but ");
    disk_.overwrite(path, content.substr(0, used)); // where opening would cut it, too
    expect_opened();
}

} // namespace
} // namespace durable::fs
