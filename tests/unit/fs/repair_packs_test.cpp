// What a repair finds in packs that were renamed, changed, or lost the checkpoint that dates them.

#include "providers/fs/fs_provider.hpp"
#include "providers/fs/pack_file.hpp"
#include "providers/fs/repair.hpp"
#include "providers/fs/verify.hpp"
#include "unit/fs/finished_instance.hpp"
#include "unit/fs/repair_stage.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace durable::fs {
namespace {

class RepairPacksTest : public RepairTest {
 protected:
    // A pack of six, one of them deleted since.
    RepairPacksTest() {
        sizes_ = {.first = 1U << 14U, .largest = 1U << 14U}; // the first ones go
        pack_bytes_ = 115'000; // six histories are more, five are less
        auto store = open("/store");
        for (int number = 0; number < 6; ++number) {
            finish_instance(
                *store, "a" + std::to_string(number), std::nullopt, std::string(20'000, 'x'));
        }
        keep_house(*store);
        EXPECT_TRUE(store->delete_instance("a1", false));
        EXPECT_TRUE(store->make_checkpoint());
        pack_ = files_in("/store/packs/").front();
        crash(std::move(store));
    }

    std::string pack_;
};

TEST_F(RepairPacksTest, ARenamedPackIsFoundByWhatItSays) {
    move(pack_, pack_path("/store/packs", 7));

    expect_everything("is the pack 1 that the checkpoint names");
}

TEST_F(RepairPacksTest, ARenamedPackIsFoundWhereItsNameHasMoreDigits) {
    move(pack_, pack_path("/store/packs", 1234));

    expect_everything("is the pack 1 that the checkpoint names");
}

TEST_F(RepairPacksTest, APackThatIsGoneIsToldOnce) {
    ASSERT_TRUE(disk_.remove(pack_));

    (void)repaired();

    EXPECT_EQ(done_.lost, std::vector<std::string>{pack_ + ": all of its 5 instances"});
}

TEST_F(RepairPacksTest, ALineThatIsThereTwiceCostsNoOther) {
    auto content = disk_.content(pack_);
    const auto line_after = [&](std::size_t at) { return content.find('\n', at) + 1; };
    const auto begin = line_after(line_after(line_after(0))); // behind a0 and a1
    const auto end = line_after(begin);
    ASSERT_TRUE(content.substr(begin, end - begin).contains("\"id\":\"a2\""));
    disk_.overwrite(pack_, content.insert(end, content.substr(begin, end - begin)));

    expect_everything("has lines twice");
}

// Packs without the checkpoint that names them: what the journal tells of their instances again is
// nothing that was lost.
TEST_F(RepairTest, RecordsOfInstancesInAPackAreNotLostWithTheCheckpoint) {
    sizes_ = {.first = 1U << 14U, .largest = 1U << 14U};
    pack_bytes_ = 20'000;
    auto store = open("/store");
    const auto finish_some = [&](const std::string& prefix) {
        for (int number = 0; number < 6; ++number) {
            finish_instance(
                *store, prefix + std::to_string(number), std::nullopt, std::string(4'000, 'x'));
        }
    };
    finish_some("a");
    keep_house(*store);
    ASSERT_TRUE(store->make_checkpoint());
    finish_some("b");
    keep_house(*store);
    start(*store, "live");
    crash(std::move(store));
    for (const auto& path : files_in("/store/checkpoint/")) {
        ASSERT_TRUE(disk_.remove(path));
    }

    const auto state = repaired();

    EXPECT_EQ(ids(state), ids(state_));
    EXPECT_FALSE(told(done_.lost, "record "));
    for (const auto& instance : state.instances) {
        EXPECT_EQ(instance.messages.size(), instance.id == "live" ? 1U : 0U) << instance.id;
    }
}

// A turn that a pack has may have started others.
TEST_F(RepairTest, WhatAPackedInstanceSentToOthersIsTakenFromTheJournal) {
    sizes_ = {.first = 1U << 14U, .largest = 1U << 14U};
    pack_bytes_ = 10'000;
    auto store = open("/store");
    finish_instance(*store, "a", std::nullopt, std::string(12'000, 'x'));
    keep_house(*store);
    ASSERT_TRUE(store->make_checkpoint());
    finish_instance(*store, "filler", std::nullopt, std::string(12'000, 'x'));
    ASSERT_TRUE(store->make_checkpoint());
    finish_instance(
        *store,
        "parent",
        std::nullopt,
        std::string(12'000, 'x'),
        {work::StartOrchestration{.instance = "child", .orchestration = "Order", .input = "{}"}});
    keep_house(*store);
    crash(std::move(store));
    for (const auto& path : files_in("/store/checkpoint/")) {
        ASSERT_TRUE(disk_.remove(path));
    }

    const auto state = repaired();

    EXPECT_EQ(ids(state), ids(state_));
    EXPECT_EQ(std::ranges::count(ids(state), "child"), 1);
}

TEST_F(RepairPacksTest, ExchangedPacksAreTheOnesTheySay) {
    {
        const auto store = open("/store");
        for (int number = 0; number < 6; ++number) {
            finish_instance(
                *store, "b" + std::to_string(number), std::nullopt, std::string(20'000, 'y'));
        }
        keep_house(*store);
        ASSERT_TRUE(store->delete_instance("b4", false));
        ASSERT_TRUE(store->make_checkpoint());
        crash(store);
    }
    const auto packs = files_in("/store/packs/");
    ASSERT_EQ(packs.size(), 2U);
    move(packs[0], "/aside");
    move(packs[1], packs[0]);
    move("/aside", packs[1]);

    expect_everything("is the pack 2 that the checkpoint names");
}

TEST_F(RepairPacksTest, AJournalThatIsGoneIsALossAlsoBesideWhatCanBeMended) {
    move(pack_, pack_path("/store/packs", 7));
    for (const auto& path : files_in("/store/journal/")) {
        ASSERT_TRUE(disk_.remove(path));
    }

    (void)repaired();

    EXPECT_TRUE(told(done_.lost, "which the checkpoint says is there"));
}

TEST_F(RepairPacksTest, APackThatACheckpointDoesNotNameAnyMoreIsMissed) {
    erase_line(only_checkpoint(), "{\"pack\":1,");

    const auto found = verify(disk_, "/store", repaired_at);
    ASSERT_TRUE(found);
    EXPECT_TRUE(told(found->damage, "the checkpoint names 0 packs")) << found->damage.size();
    const auto state = repaired();
    EXPECT_TRUE(told(done_.lost, "what it said of 1 of its packs"));
    EXPECT_EQ(ids(state).size(), 6U) << "with a1, which had been deleted: repair says so";
    EXPECT_TRUE(told(done_.lost, "some may have been deleted"));
}

TEST_F(RepairPacksTest, WhatIsDamagedInOnePackAndWholeInAnotherIsNotCalledLost) {
    const auto copy = pack_path("/store/packs", 9); // left over, as a crash leaves it
    put(copy, disk_.content(pack_));
    auto content = disk_.content(pack_);
    content[content.find("\"id\":\"a2\"") + 6] ^= 1;
    disk_.overwrite(pack_, content);

    const auto state = repaired();

    EXPECT_EQ(std::ranges::count(ids(state), "a2"), 1);
    EXPECT_FALSE(told(done_.lost, "instance \"a2\""));
}

TEST_F(RepairPacksTest, AnIndexInAnotherOrderDoesNotBringDeletedInstancesBack) {
    auto content = disk_.content(pack_);
    const auto last = content.rfind('\n', content.size() - 2) + 1;
    const auto line = content.substr(last);
    content.erase(last);
    disk_.overwrite(pack_, content.insert(content.find('\n') + 1, line));

    const auto state = repaired();

    EXPECT_EQ(std::ranges::count(ids(state), "a1"), 0);
    EXPECT_FALSE(done_.lost.empty());
}

} // namespace
} // namespace durable::fs
