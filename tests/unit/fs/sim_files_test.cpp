// The simulated disk keeps exactly the promises of a real one, and breaks all others.

#include "simulation/sim_files.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace durable::simulation {
namespace {

// A file with "old" on the disk and "new!" in the cache.
std::unique_ptr<File> half_synced(SimFiles& disk) {
    auto file = disk.open("/a", OpenMode::create).value();
    EXPECT_TRUE(write_at(*file, "old", 0));
    EXPECT_TRUE(file->sync());
    EXPECT_TRUE(disk.sync_directory("/"));
    EXPECT_TRUE(write_at(*file, "new!", 0));
    return file;
}

TEST(SimFilesTest, WhatWasSyncedSurvivesAndTheRestIsGone) {
    SimFiles disk;
    const auto file = half_synced(disk);
    EXPECT_EQ(disk.content("/a"), "new!");

    disk.restart(Survival::nothing);

    EXPECT_EQ(disk.content("/a"), "old");
    EXPECT_FALSE(file->sync());
}

TEST(SimFilesTest, AProcessCrashLosesNothing) {
    SimFiles disk;
    const auto file = half_synced(disk);

    disk.restart(Survival::everything);

    EXPECT_EQ(disk.content("/a"), "new!");
}

TEST(SimFilesTest, APowerLossLeavesEveryMixtureOfSectors) {
    std::set<std::string> seen;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        SimFiles disk{seed};
        const auto file = disk.open("/a", OpenMode::create).value();
        ASSERT_TRUE(write_at(*file, std::string(1024, 'o'), 0));
        ASSERT_TRUE(file->sync());
        ASSERT_TRUE(disk.sync_directory("/"));
        ASSERT_TRUE(write_at(*file, std::string(1024, 'n'), 0));
        disk.restart(Survival::some);
        const auto content = disk.content("/a");
        seen.insert({content[0], content[600]});
    }

    EXPECT_TRUE(seen.contains("oo")); // dropped
    EXPECT_TRUE(seen.contains("nn")); // kept
    EXPECT_TRUE(seen.contains("no")); // torn
    EXPECT_TRUE(seen.contains("on")); // reordered
    EXPECT_GT(seen.size(), 4U);       // garbled
}

// What a power loss leaves of a file of 1024 bytes that was then resized, without a sync.
std::set<std::size_t> sizes_left_by(FileResult<> (*resize)(File&)) {
    std::set<std::size_t> seen;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        SimFiles disk{seed};
        const auto file = disk.open("/a", OpenMode::create).value();
        EXPECT_TRUE(write_at(*file, std::string(1024, 'o'), 0));
        EXPECT_TRUE(file->sync());
        EXPECT_TRUE(disk.sync_directory("/"));
        EXPECT_TRUE(resize(*file));
        disk.restart(Survival::some);
        const auto content = disk.content("/a");
        EXPECT_EQ(content.substr(0, 100), std::string(100, 'o'));
        seen.insert(content.size());
    }
    return seen;
}

void expect_any_size(const std::set<std::size_t>& seen, std::size_t low, std::size_t high) {
    EXPECT_EQ(*seen.begin(), low);
    EXPECT_EQ(*seen.rbegin(), high);
    EXPECT_GT(seen.size(), 10U) << "sizes in between";
}

TEST(SimFilesTest, APowerLossLeavesAnySizeBetweenTheSyncedOneAndTheCurrentOne) {
    expect_any_size(sizes_left_by([](File& file) { return file.allocate(4000); }), 1024, 4000);
    expect_any_size(sizes_left_by([](File& file) { return file.truncate(100); }), 100, 1024);
    expect_any_size(
        sizes_left_by([](File& file) { return write_at(file, std::string(2976, 'o'), 1024); }),
        1024,
        4000);
    expect_any_size(sizes_left_by([](File& file) {
                        const auto cut = file.truncate(100);
                        return cut ? file.allocate(4000) : cut;
                    }),
                    100,
                    4000);
}

TEST(SimFilesTest, ASyncedSizeSurvives) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        SimFiles disk{seed};
        const auto file = disk.open("/a", OpenMode::create).value();
        ASSERT_TRUE(file->allocate(4000));
        ASSERT_TRUE(file->sync());
        ASSERT_TRUE(disk.sync_directory("/"));
        ASSERT_TRUE(write_at(*file, std::string(1024, 'o'), 0));
        disk.restart(Survival::some);
        ASSERT_EQ(disk.content("/a").size(), 4000U);
    }
}

TEST(SimFilesTest, ANameIsDurableOnlyAfterTheSyncOfItsDirectory) {
    SimFiles disk;
    const auto file = disk.open("/a", OpenMode::create).value();
    ASSERT_TRUE(write_at(*file, "x", 0));
    ASSERT_TRUE(file->sync());

    disk.restart(Survival::nothing);

    EXPECT_TRUE(disk.paths().empty());
}

TEST(SimFilesTest, ARenameIsAllOrNothing) {
    std::set<std::vector<std::string>> seen;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        SimFiles disk{seed};
        const auto file = half_synced(disk);
        ASSERT_TRUE(disk.rename("/a", "/b"));
        disk.restart(Survival::some);
        seen.insert(disk.paths());
    }

    EXPECT_EQ(seen, (std::set<std::vector<std::string>>{{"/a"}, {"/b"}}));
}

TEST(SimFilesTest, TheCrashingCallAndAllLaterOnesFail) {
    SimFiles disk;
    const auto file = half_synced(disk);
    disk.crash_at(disk.calls() + 1);

    EXPECT_TRUE(write_at(*file, "1", 0));
    EXPECT_FALSE(write_at(*file, "2", 0));
    EXPECT_FALSE(disk.list("/"));
    EXPECT_TRUE(disk.crashed());

    disk.restart(Survival::nothing);
    EXPECT_TRUE(disk.list("/"));
    EXPECT_FALSE(write_at(*file, "3", 0)); // a file of the time before the crash
}

TEST(SimFilesTest, AFailedSyncLosesDataAndALaterSuccessDoesNotBringItBack) {
    unsigned lost = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        SimFiles disk{seed};
        const auto file = half_synced(disk);
        disk.fail_at(disk.calls(), std::errc::io_error);
        ASSERT_FALSE(file->sync());
        ASSERT_TRUE(file->sync());
        ASSERT_EQ(disk.content("/a"), "new!");
        disk.restart(Survival::some);
        lost += disk.content("/a") == "new!" ? 0U : 1U;
    }

    EXPECT_GT(lost, 10U);
    EXPECT_LT(lost, 50U);
}

TEST(SimFilesTest, AFullDiskRefusesToGrowButTakesWritesIntoAllocatedSpace) {
    SimFiles disk;
    const auto file = disk.open("/a", OpenMode::create).value();
    disk.set_capacity(1000);
    ASSERT_TRUE(file->allocate(1000));

    EXPECT_TRUE(write_at(*file, std::string(1000, 'x'), 0));
    const auto more = write_at(*file, "x", 1000);

    ASSERT_FALSE(more);
    EXPECT_TRUE(more.error().out_of_resources());
}

TEST(SimFilesTest, ShortWritesAreFinishedByTheLoop) {
    SimFiles disk;
    const auto file = disk.open("/a", OpenMode::create).value();
    disk.set_fault_rates({.short_write = 900});

    ASSERT_TRUE(write_at(*file, "a text of some length", 0));

    EXPECT_EQ(disk.content("/a"), "a text of some length");
}

TEST(SimFilesTest, TheLockEndsWithTheFileAndWithACrash) {
    SimFiles disk;
    auto first = disk.open("/lock", OpenMode::create).value();
    ASSERT_TRUE(disk.sync_directory("/"));
    const auto second = disk.open("/lock", OpenMode::write).value();
    EXPECT_TRUE(first->try_lock().value());
    EXPECT_FALSE(second->try_lock().value());

    first.reset();
    EXPECT_TRUE(second->try_lock().value());

    disk.restart(Survival::everything);
    const auto third = disk.open("/lock", OpenMode::write).value();
    EXPECT_TRUE(third->try_lock().value());
}

TEST(SimFilesTest, AReplacedFileIsOldOrNewAtEveryCrashPoint) {
    std::uint64_t points = 0;
    for (std::uint64_t call = 0;; ++call) {
        SimFiles disk{call};
        ASSERT_TRUE(replace_file(disk, "/a", "old"));
        disk.crash_at(disk.calls() + call);
        const auto done = replace_file(disk, "/a", "new");
        disk.restart(Survival::some);
        const auto content = disk.content("/a");
        ASSERT_TRUE(content == "new" || (!done && content == "old")) << call << ' ' << content;
        ++points;
        if (done) {
            break;
        }
    }

    EXPECT_GT(points, 5U);
}

} // namespace
} // namespace durable::simulation
