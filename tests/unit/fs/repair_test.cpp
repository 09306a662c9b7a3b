// What a repair finds although it is not where it should be: an older checkpoint, one under another
// name, packs that were renamed or lost the checkpoint that dates them.

#include "providers/fs/checkpoint.hpp"
#include "providers/fs/fs_provider.hpp"
#include "providers/fs/repair.hpp"
#include "providers/fs/verify.hpp"
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

const Instant repaired_at = from_epoch_ms(1'760'000'000'000);

class RepairTest : public ::testing::Test {
 protected:
    std::shared_ptr<FsProvider> open(const std::string& directory) {
        auto opened = FsProvider::open(directory,
                                       {.clock = std::make_shared<ManualClock>()},
                                       {.files = &disk_,
                                        .threads = false,
                                        .segment_sizes = sizes_,
                                        .checkpoint_bytes = 1U << 30U,
                                        .pack_bytes = pack_bytes_,
                                        .most_copies = 0});
        EXPECT_TRUE(opened) << opened.error().text();
        return opened.value_or(nullptr);
    }

    static void start(FsProvider& store, const std::string& id) {
        ASSERT_TRUE(store.enqueue_for_orchestrator(
            work::StartOrchestration{
                .instance = id, .orchestration = "Order", .input = std::string(4000, 'x')},
            std::nullopt));
    }

    static void start_some(FsProvider& store, const std::string& prefix) {
        for (int number = 0; number < 6; ++number) {
            start(store, prefix + std::to_string(number));
        }
    }

    void crash(std::shared_ptr<FsProvider> store) {
        EXPECT_TRUE(store->get_queue_depths()); // all of it is durable
        state_ = store->state();
        state_.lsn = 0;
        disk_.crash_at(disk_.calls());
        store.reset();
        disk_.restart(Survival::nothing);
    }

    // Records, a checkpoint, records, a checkpoint, records; the first one is kept aside.
    void make_two_checkpoints() {
        auto store = open("/store");
        start_some(*store, "a");
        ASSERT_TRUE(store->make_checkpoint());
        older_ = only_checkpoint();
        const auto kept = disk_.content(older_);
        start_some(*store, "b");
        ASSERT_TRUE(store->make_checkpoint());
        newer_ = only_checkpoint();
        start_some(*store, "c");
        crash(std::move(store));
        disk_.overwrite(older_, kept);
    }

    std::vector<std::string> files_in(const std::string& directory) {
        auto found = disk_.paths();
        std::erase_if(found, [&](const auto& path) { return !path.starts_with(directory); });
        return found;
    }
    std::string only_checkpoint() {
        const auto found = files_in("/store/checkpoint/");
        EXPECT_EQ(found.size(), 1U);
        return found.front();
    }

    void cut(const std::string& path) {
        const auto content = disk_.content(path);
        disk_.overwrite(path, content.substr(0, content.size() / 2));
    }
    void move(const std::string& from, const std::string& to) {
        ASSERT_TRUE(disk_.rename(from, to));
    }

    // The state of what the repair made; what it did is in done_.
    FsProvider::State repaired() {
        auto result = repair(disk_, "/store", "/new", repaired_at);
        EXPECT_TRUE(result) << result.error().text();
        if (!result) {
            return {};
        }
        done_ = *std::move(result);
        auto state = open("/new")->state();
        state.lsn = 0;
        return state;
    }
    void expect_everything(std::string_view mended) {
        EXPECT_EQ(repaired(), state_);
        EXPECT_TRUE(done_.lost.empty()) << done_.lost.front();
        EXPECT_TRUE(told(done_.mended, mended))
            << (done_.mended.empty() ? "nothing was mended" : done_.mended.front());
    }

    static bool told(const std::vector<std::string>& texts, std::string_view text) {
        return std::ranges::any_of(texts, [&](const auto& one) { return one.contains(text); });
    }

    static std::vector<std::string> ids(const FsProvider::State& state) {
        std::vector<std::string> found;
        for (const auto& instance : state.instances) {
            found.push_back(instance.id);
        }
        return found;
    }

    SimFiles disk_;
    Segments::Sizes sizes_;
    std::uint64_t pack_bytes_ = 1U << 30U;
    FsProvider::State state_; // when it crashed
    std::string older_;
    std::string newer_;
    Repair done_;
};

// ---- Checkpoints

TEST_F(RepairTest, AnOlderCheckpointAndTheJournalReplaceADamagedOne) {
    make_two_checkpoints();
    cut(newer_);

    expect_everything(older_ + ", the checkpoint of record 6, and the journal have everything");
}

TEST_F(RepairTest, TheJournalAloneReplacesADamagedCheckpointIfItBeginsWithTheFirstRecord) {
    make_two_checkpoints();
    cut(newer_);
    cut(older_);

    expect_everything("the journal has everything");
}

TEST_F(RepairTest, ACheckpointUnderTheNameOfALaterRecordHidesNoRecords) {
    make_two_checkpoints();
    move(newer_, checkpoint_path("/store/checkpoint", 99'999));

    expect_everything("this is not the checkpoint of record 99999");
}

TEST_F(RepairTest, ACheckpointUnderTheNameOfAnEarlierRecordIsTheOneItSays) {
    make_two_checkpoints();
    ASSERT_TRUE(disk_.remove(older_));
    move(newer_, checkpoint_path("/store/checkpoint", 3));

    expect_everything("this is not the checkpoint of record 3");
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

// ---- Packs

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

} // namespace
} // namespace durable::fs
