// Taking a directory: exclusive, careful with what is not a store, and safe for every id.

#include "base/process.hpp"
#include "providers/fs/store_directory.hpp"
#include "simulation/sim_files.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace durable::fs {
namespace {

using simulation::SimFiles;
using simulation::Survival;

TEST(StoreDirectoryTest, ANewStoreSaysItsFormat) {
    SimFiles disk;

    const auto store = StoreDirectory::open(disk, "/some/where");

    ASSERT_TRUE(store) << store.error().text();
    EXPECT_EQ(disk.content("/some/where/FORMAT"), "{\"format\":1}\n");
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
}

TEST(StoreDirectoryTest, ANewerFormatIsRefused) {
    SimFiles disk;
    {
        ASSERT_TRUE(StoreDirectory::open(disk, "/store"));
    }
    disk.overwrite("/store/FORMAT", "{\"format\":2,\"more\":[1]}\n");

    const auto store = StoreDirectory::open(disk, "/store");

    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, ErrorCode::unsupported);
    EXPECT_EQ(store.error().message, "/store/FORMAT says format 2, this version knows up to 1");
}

TEST(StoreDirectoryTest, ADamagedFormatIsRefused) {
    SimFiles disk;
    {
        ASSERT_TRUE(StoreDirectory::open(disk, "/store"));
    }

    for (const std::string damaged :
         {"", "{", "{\"format\":-1}", "{\"format\":\"1\"}", "1", "{}"}) {
        disk.overwrite("/store/FORMAT", damaged);
        const auto store = StoreDirectory::open(disk, "/store");
        ASSERT_FALSE(store) << damaged;
        EXPECT_EQ(store.error().code, ErrorCode::corrupt) << damaged;
    }
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
