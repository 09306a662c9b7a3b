// Taking a directory: exclusive, careful with what is not a store, and safe for every id.

#include "base/process.hpp"
#include "providers/fs/files/store_directory.hpp"
#include "simulation/sim_files.hpp"
#include "unit/fs/forwarding_files.hpp"
#include "unit/fs/temporary_directory.hpp"

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace durable::fs {
namespace {

using simulation::SimFiles;
using simulation::Survival;

TEST(StoreDirectoryTest, ANewStoreSaysItsFormat) {
    SimFiles disk;

    const auto store = StoreDirectory::open(disk, "/some/where");

    ASSERT_TRUE(store) << store.error().text();
    EXPECT_EQ(disk.content("/some/where/FORMAT"), "{\"format\":2,\"gapless\":true}\n");
}

TEST(StoreDirectoryTest, ASecondProcessIsToldWhoHasTheStore) {
    SimFiles disk;
    const auto first = StoreDirectory::open(disk, "/store");
    ASSERT_TRUE(first);

    const auto second = StoreDirectory::open(disk, "/store");

    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::unavailable);
    EXPECT_EQ(second.error().message,
              "the store /store is in use by process " + std::to_string(process_id()));
}

TEST(StoreDirectoryTest, ClosingGivesTheStoreBack) {
    SimFiles disk;
    {
        ASSERT_TRUE(StoreDirectory::open(disk, "/store"));
    }

    EXPECT_TRUE(StoreDirectory::open(disk, "/store"));
}

TEST(StoreDirectoryTest, ADirectoryWithOtherFilesIsLeftAlone) {
    SimFiles disk;
    ASSERT_TRUE(disk.make_directory("/home"));
    ASSERT_TRUE(disk.open("/home/thesis.tex", OpenMode::create));

    const auto store = StoreDirectory::open(disk, "/home");

    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(store.error().message.find("thesis.tex"), std::string::npos);
    EXPECT_EQ(disk.paths(), std::vector<std::string>{"/home/thesis.tex"}) << "not even a lock";
}

TEST(StoreDirectoryTest, APathWithANulByteIsRefusedAndNothingIsMade) {
    SimFiles disk;

    const auto store = StoreDirectory::open(disk, std::string("/x\0y", 4));

    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(store.error().message, "the path of the store has a NUL byte, behind /x");
    EXPECT_EQ(disk.list("/").value(), std::vector<DirectoryEntry>{});
}

TEST(StoreDirectoryTest, WithoutItsLockFileAnOpenStoreStillKeepsOthersOut) {
    SimFiles disk;
    const auto first = StoreDirectory::open(disk, "/store");
    ASSERT_TRUE(first);
    ASSERT_TRUE(disk.remove("/store/runtime.lock"));
    const auto before = disk.paths();

    const auto second = StoreDirectory::open(disk, "/store");
    const auto reader = lock_for_reading(disk, "/store");

    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::unavailable);
    EXPECT_EQ(second.error().message,
              "the store /store is in use by process (unknown); its runtime.lock was removed, "
              "which must not be done while it is open");
    ASSERT_FALSE(reader);
    EXPECT_EQ(reader.error().message, second.error().message);
    EXPECT_EQ(disk.paths(), before);
}

TEST(StoreDirectoryTest, WhereDirectoriesHaveNoLocksTheLockFileKeepsOthersOut) {
    // As the directory's lock of both openers is refused.
    const auto open_without = [](SimFiles& disk, std::uint64_t call) {
        disk.fail_at(call, std::errc::bad_file_descriptor);
        return StoreDirectory::open(disk, "/store");
    };
    const auto lock_call = [](SimFiles& disk, std::uint64_t from) {
        const auto trace = disk.trace();
        while (from < trace.size() && trace[from].what != "lock directory") {
            ++from;
        }
        return from;
    };
    SimFiles counting;
    counting.keep_trace();
    ASSERT_TRUE(StoreDirectory::open(counting, "/store"));
    const auto again = counting.calls();
    ASSERT_TRUE(StoreDirectory::open(counting, "/store"));

    SimFiles disk;
    const auto first = open_without(disk, lock_call(counting, 0));
    ASSERT_TRUE(first) << first.error().text();
    ASSERT_EQ(disk.calls(), again);
    const auto second = open_without(disk, lock_call(counting, again));

    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().message,
              "the store /store is in use by process " + std::to_string(process_id()));
}

// A disk on which the holder of the store has just begun: it says who it is after the first look.
class LateHolder final : public ForwardingFiles {
 public:
    explicit LateHolder(SimFiles& disk) : ForwardingFiles{disk}, disk_{disk} {}

    FileResult<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
        if (mode == OpenMode::read && path == "/store/runtime.lock" && looks_++ == 1) {
            disk_.overwrite(path, "4711\n");
        }
        return ForwardingFiles::open(path, mode);
    }

 private:
    SimFiles& disk_;
    int looks_ = 0;
};

TEST(StoreDirectoryTest, AProcessThatHasJustOpenedTheStoreIsNamedToo) {
    SimFiles disk;
    LateHolder files{disk};
    const auto first = StoreDirectory::open(disk, "/store");
    ASSERT_TRUE(first);
    disk.overwrite("/store/runtime.lock", "");

    const auto second = StoreDirectory::open(files, "/store");

    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().message, "the store /store is in use by process 4711");
}

TEST(StoreDirectoryTest, ARelativePathStaysWhereItWasWhenTheProcessGoesElsewhere) {
    const TemporaryDirectory place;
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(place.path());
    const auto store = StoreDirectory::open(system_files(), "fe");
    std::filesystem::current_path(before);

    ASSERT_TRUE(store) << store.error().text();
    EXPECT_EQ(store->journal(), std::filesystem::canonical(place.path()).string() + "/fe/journal");
}

TEST(StoreDirectoryTest, ANewerFormatIsRefused) {
    SimFiles disk;
    {
        ASSERT_TRUE(StoreDirectory::open(disk, "/store"));
    }
    disk.overwrite("/store/FORMAT", "{\"format\":3,\"more\":[1]}\n");

    const auto store = StoreDirectory::open(disk, "/store");

    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, ErrorCode::unsupported);
    EXPECT_EQ(store.error().message, "/store/FORMAT says format 3, this version knows up to 2");
}

// Before anything is written to it: a version that knows format 1 alone must not open it any more.
TEST(StoreDirectoryTest, AnEarlierFormatIsRaisedWhenTheStoreIsOpened) {
    for (const std::string gapless : {",\"gapless\":true", ""}) {
        SimFiles disk;
        {
            ASSERT_TRUE(StoreDirectory::open(disk, "/store"));
        }
        disk.overwrite("/store/FORMAT", "{\"format\":1" + gapless + "}\n");

        const auto store = StoreDirectory::open(disk, "/store");

        ASSERT_TRUE(store) << store.error().text();
        EXPECT_EQ(disk.content("/store/FORMAT"), "{\"format\":2" + gapless + "}\n");
        EXPECT_EQ(store->gapless(), !gapless.empty());
    }
}

TEST(StoreDirectoryTest, ADamagedFormatIsRefused) {
    SimFiles disk;
    {
        ASSERT_TRUE(StoreDirectory::open(disk, "/store"));
    }

    for (const std::string damaged : {"",
                                      "{",
                                      "{\"format\":0}",
                                      "{\"format\":-1}",
                                      "{\"format\":\"1\"}",
                                      "1",
                                      "{}",
                                      "{\"format\":1,\"gaplesr\":true}",
                                      "{\"format\":1,\"gapless\":1}"}) {
        disk.overwrite("/store/FORMAT", damaged);
        const auto store = StoreDirectory::open(disk, "/store");
        ASSERT_FALSE(store) << damaged;
        EXPECT_EQ(store.error().code, ErrorCode::corrupt) << damaged;
    }
}

TEST(StoreDirectoryTest, AStoreWithoutItsFormatIsDamagedAndNoStranger) {
    SimFiles disk;
    {
        ASSERT_TRUE(StoreDirectory::open(disk, "/store"));
    }
    ASSERT_TRUE(disk.open("/store/journal/0000000001.log", OpenMode::create));
    ASSERT_TRUE(disk.remove("/store/FORMAT"));

    const auto store = StoreDirectory::open(disk, "/store");

    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, ErrorCode::corrupt);
    EXPECT_EQ(store.error().message,
              "/store has no FORMAT file, but it has journal: a store that lost it, or one that "
              "was not made to its end; durable repair makes a whole one of what is there");
}

TEST(StoreDirectoryTest, AFreshFileSystemIsAPlaceForAStore) {
    SimFiles disk;
    ASSERT_TRUE(disk.make_directory("/mounted"));
    ASSERT_TRUE(disk.make_directory("/mounted/lost+found"));

    EXPECT_TRUE(StoreDirectory::open(disk, "/mounted"));
}

TEST(StoreDirectoryTest, LeftoversOfACrashAreRemoved) {
    SimFiles disk;
    {
        ASSERT_TRUE(StoreDirectory::open(disk, "/store"));
    }
    ASSERT_TRUE(disk.open("/store/checkpoint/CURRENT.tmp.1", OpenMode::create));

    ASSERT_TRUE(StoreDirectory::open(disk, "/store"));

    for (const auto& path : disk.paths()) {
        EXPECT_EQ(path.find(".tmp."), std::string::npos) << path;
    }
}

TEST(StoreDirectoryTest, MakingAStoreCanBeInterruptedAnywhere) {
    for (std::uint64_t call = 0;; ++call) {
        SimFiles disk{call};
        disk.crash_at(call);
        const bool done = StoreDirectory::open(disk, "/a/store").has_value();
        disk.restart(Survival::some);
        const auto again = StoreDirectory::open(disk, "/a/store");
        ASSERT_TRUE(again) << call << ' ' << again.error().text();
        if (done) {
            EXPECT_GT(call, 20U);
            break;
        }
    }
}

TEST(StoreDirectoryTest, EveryIdBecomesASafeName) {
    EXPECT_EQ(encode_id("order-17_b"), "order-17_b");
    EXPECT_EQ(encode_id(".."), "%2e%2e");
    EXPECT_EQ(encode_id("a/b"), "a%2fb");
    EXPECT_EQ(encode_id("parent::sub::2"), "parent%3a%3asub%3a%3a2");
    EXPECT_EQ(encode_id(std::string("nul\0!", 5)), "nul%00%21");
    EXPECT_EQ(encode_id("Ä"), "%c3%84");
    EXPECT_EQ(encode_id(""), "%");
}

TEST(StoreDirectoryTest, IdsThatDifferOnlyInCaseGetDifferentNamesEverywhere) {
    EXPECT_EQ(encode_id("Order"), "%4frder");
    EXPECT_NE(encode_id("Order"), encode_id("order"));
}

TEST(StoreDirectoryTest, LongIdsStayDifferentAndShort) {
    std::set<std::string> names;
    for (int i = 0; i < 1000; ++i) {
        names.insert(encode_id(std::string(10'000, '/') + std::to_string(i)));
    }

    EXPECT_EQ(names.size(), 1000U);
    for (const auto& name : names) {
        EXPECT_LE(name.size(), 200U);
    }
}

} // namespace
} // namespace durable::fs
