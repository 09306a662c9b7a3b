// What a repair finds in packs that are damaged or gone, or lost the checkpoint that names them.

#include "providers/fs/fs_provider.hpp"
#include "providers/fs/packs/pack_file.hpp"
#include "providers/fs/repair/repair.hpp"
#include "providers/fs/repair/verify.hpp"
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

TEST_F(RepairPacksTest, APackThatIsGoneIsToldOnce) {
    ASSERT_TRUE(disk_.remove(pack_));

    (void)repaired();

    ASSERT_EQ(done_.lost.size(), 1U);
    EXPECT_TRUE(done_.lost.front().starts_with(pack_ + ": all of its 5 instances"));
}

// All of its lines are elsewhere than a pack of that number has them.
TEST_F(RepairPacksTest, APackWithoutItsFirstLineLosesTheNextOne) {
    erase_line(pack_, "{\"pack\":1,");
    ASSERT_TRUE(disk_.remove(only_checkpoint()));

    const auto state = repaired();

    EXPECT_TRUE(told(done_.lost, pack_ + ": instance \"a0\": not in its place"));
    EXPECT_EQ(std::ranges::count(ids(state), "a5"), 1);
}

// A file is taken for what its name says: what is in a pack under another name counts as lost.
TEST_F(RepairPacksTest, ARenamedPackIsALoss) {
    move(pack_, pack_path("/store/packs", 7));

    (void)repaired();

    EXPECT_TRUE(told(done_.lost, pack_ + ": all of its 5 instances"));
}

TEST_F(RepairPacksTest, APackInThePlaceOfAnotherOneIsNotTakenForIt) {
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

    const auto state = repaired();

    EXPECT_TRUE(ids(state).empty());
    EXPECT_TRUE(told(done_.lost, packs[0] + ": all of its 5 instances: "));
    EXPECT_TRUE(told(done_.lost, packs[1] + ": all of its 5 instances: "));
}

// Packs without the checkpoint that names them: what the journal has from the beginning comes from
// there, the rest from the packs, without messages of theirs that the journal tells of again.
TEST_F(RepairTest, InstancesInAPackAreNotLostWithTheCheckpoint) {
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

TEST_F(RepairPacksTest, APackThatACheckpointDoesNotNameAnyMoreIsMissed) {
    erase_line(only_checkpoint(), "{\"pack\":1,");

    const auto found = verify(disk_, "/store", repaired_at);
    ASSERT_TRUE(found);
    EXPECT_TRUE(told(found->damage, "the checkpoint names 0 packs")) << found->damage.size();
    const auto state = repaired();
    EXPECT_TRUE(told(done_.lost, "the checkpoint names 0 packs"));
    EXPECT_EQ(ids(state).size(), 6U) << "with a1, which had been deleted: repair says so";
    EXPECT_TRUE(told(done_.lost, "some may have been deleted"));
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
