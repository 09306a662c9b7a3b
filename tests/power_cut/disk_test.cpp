#include "base/files.hpp"
#include "power_cut/disk.hpp"
#include "unit/fs/temporary_directory.hpp"

#include <map>
#include <set>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <gtest/gtest.h>

namespace durable::power_cut {
namespace {

constexpr Survival nothing{};
constexpr Survival everything{.data = Data::all, .sizes = Sizes::all, .names = Names::all};
constexpr Survival only_data{.data = Data::all, .sizes = Sizes::none, .names = Names::all};
constexpr Survival only_sizes{.data = Data::none, .sizes = Sizes::all, .names = Names::all};

// Plays calls of one process, and looks at what is left after each kind of cut.
class DiskTest : public ::testing::Test {
 protected:
    void SetUp() override {
        ASSERT_TRUE(system_files().make_directory(base_.path() + "/base"));
        disk_.emplace(base_.path() + "/base");
        take({.call = Call::open, .fd = 3, .flags = O_RDONLY, .path = "/"});
    }

    void take(const TraceRecord& record) { disk_->take(record); }
    void open(int fd, std::string_view path, int flags = O_RDWR | O_CREAT) {
        take({.call = Call::open, .fd = fd, .flags = flags, .path = path});
    }
    void write(int fd, std::uint64_t offset, std::string_view bytes) {
        take({.call = Call::write,
              .fd = fd,
              .offset = offset,
              .size = bytes.size(),
              .bytes = bytes});
    }
    void begin_sync(int fd, int thread = 1) {
        take({.call = Call::sync_begin, .fd = fd, .thread = thread});
    }
    void end_sync(int fd, int thread = 1) {
        take({.call = Call::sync_end, .fd = fd, .thread = thread});
    }
    void sync(int fd) {
        begin_sync(fd);
        end_sync(fd);
    }

    // The files that are left, by name.
    using Files = std::map<std::string, std::string>;
    Files left(const Survival& survival) {
        const auto path = base_.path() + "/" + std::to_string(++count_);
        disk_->leave(path, survival);
        Files files;
        const auto entries = system_files().list(path).value(); // g++ 12 ends a temporary early
        for (const auto& entry : entries) {
            if (!entry.is_directory) {
                files[entry.name] = read_file(system_files(), path + "/" + entry.name).value();
            }
        }
        return files;
    }

    TemporaryDirectory base_;
    std::optional<Disk> disk_;
    int count_ = 0;
};

TEST_F(DiskTest, WhatWasNotSyncedIsThereOrNot) {
    open(4, "/a");
    write(4, 0, "hello");
    EXPECT_EQ(left(nothing), Files{});
    EXPECT_EQ(left(everything), (Files{{"a", "hello"}}));
    EXPECT_EQ(left(only_data), (Files{{"a", ""}}));
    EXPECT_EQ(left(only_sizes), (Files{{"a", std::string(5, '\0')}}));
}

TEST_F(DiskTest, ASyncCoversWhatWasWrittenBeforeItBegan) {
    open(4, "/a");
    sync(3);
    write(4, 0, "before");
    begin_sync(4);
    write(4, 0, "during");
    EXPECT_EQ(left(nothing), (Files{{"a", ""}}));
    end_sync(4);
    EXPECT_EQ(left(nothing), (Files{{"a", "before"}}));
    EXPECT_EQ(left(everything), (Files{{"a", "during"}}));
}

TEST_F(DiskTest, TwoSyncsAtATimeEachCoverTheirOwn) {
    open(4, "/a");
    sync(3);
    write(4, 0, "1");
    begin_sync(4, 1);
    write(4, 0, "2");
    begin_sync(4, 2);
    write(4, 0, "3");
    end_sync(4, 2);
    EXPECT_EQ(left(nothing), (Files{{"a", "2"}}));
    end_sync(4, 1);
    EXPECT_EQ(left(nothing), (Files{{"a", "2"}}));
}

TEST_F(DiskTest, ASizeThatWasNotSyncedIsLostWithAllThatIsBehindIt) {
    open(4, "/a");
    write(4, 0, "begin");
    sync(4);
    sync(3);
    take({.call = Call::allocate, .fd = 4, .size = 2000});
    write(4, 1000, "record");
    EXPECT_EQ(left(only_data), (Files{{"a", "begin"}}));
    EXPECT_EQ(left(everything).at("a").substr(1000, 6), "record");
    EXPECT_EQ(left(only_sizes).at("a").substr(1000), std::string(1000, '\0'));
}

TEST_F(DiskTest, WhatWasCutOffDoesNotComeBackIntoALongerFile) {
    open(4, "/a");
    write(4, 0, "old");
    sync(4);
    sync(3);
    take({.call = Call::resize, .fd = 4, .size = 0});
    take({.call = Call::resize, .fd = 4, .size = 3});
    EXPECT_EQ(left(nothing), (Files{{"a", "old"}}));
    EXPECT_EQ(left(everything), (Files{{"a", std::string(3, '\0')}}));
    std::set<std::string> seen;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        seen.insert(left({.sizes = Sizes::some, .seed = seed}).at("a"));
    }
    EXPECT_EQ(seen, (std::set<std::string>{"old", "", std::string(3, '\0')}));
}

TEST_F(DiskTest, ASectorHoldsAnyOfItsStatesAndNoMixture) {
    const std::string first(1024, '1');
    const std::string second(1024, '2');
    const std::string third(1024, '3');
    open(4, "/a");
    write(4, 0, first);
    sync(4);
    sync(3);
    write(4, 0, second);
    write(4, 0, third);
    std::set<std::string> seen;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const auto content = left({.data = Data::sectors, .seed = seed}).at("a");
        for (const auto at : {std::size_t{0}, std::size_t{512}}) {
            ASSERT_EQ(content.substr(at, 512), std::string(512, content[at]));
        }
        seen.insert({content[0], content[512]});
    }
    EXPECT_EQ(seen.size(), 9U);
}

TEST_F(DiskTest, ALaterPartOfASectorIsNotThereWithoutTheEarlierOne) {
    open(4, "/a");
    write(4, 0, "....");
    sync(4);
    sync(3);
    write(4, 0, "1");
    write(4, 1, "2");
    std::set<std::string> seen;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        seen.insert(left({.data = Data::writes, .seed = seed}).at("a"));
    }
    EXPECT_EQ(seen, (std::set<std::string>{"....", "1...", "12.."}));
}

TEST_F(DiskTest, ANameIsDurableWithItsDirectory) {
    open(4, "/a");
    write(4, 0, "x");
    sync(4);
    EXPECT_EQ(left(nothing), Files{});
    EXPECT_EQ(left({.names = Names::any, .chance = 0}), Files{});
    sync(3);
    EXPECT_EQ(left(nothing), (Files{{"a", "x"}}));
}

TEST_F(DiskTest, WithAJournalOfNamesASyncOfAnyFileIsEnough) {
    open(4, "/a");
    open(5, "/b");
    sync(4);
    open(6, "/c");
    EXPECT_EQ(left({.names = Names::journal}), (Files{{"a", ""}, {"b", ""}}));
}

TEST_F(DiskTest, ARenameIsThereAsAWhole) {
    open(4, "/old");
    write(4, 0, "old");
    sync(4);
    open(5, "/new");
    write(5, 0, "new");
    sync(5);
    sync(3);
    take({.call = Call::rename, .path = "/new", .other = "/old"});
    std::set<Files> seen;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        seen.insert(left({.names = Names::any, .seed = seed}));
    }
    EXPECT_EQ(seen, (std::set<Files>{{{"new", "new"}, {"old", "old"}}, {{"old", "new"}}}));
}

// The old name was never durable, and its directory is synced after the new one's.
TEST_F(DiskTest, ARenameToAnotherDirectoryLeavesNoOldName) {
    take({.call = Call::make_directory, .path = "/below"});
    open(5, "/below", O_RDONLY);
    open(4, "/new");
    write(4, 0, "x");
    sync(4);
    take({.call = Call::rename, .path = "/new", .other = "/below/a"});
    sync(5);
    sync(3);
    EXPECT_EQ(left(nothing), Files{});
}

TEST_F(DiskTest, AFileThatWasRemovedComesBackWithoutASync) {
    open(4, "/a");
    write(4, 0, "x");
    sync(4);
    sync(3);
    take({.call = Call::unlink, .path = "/a"});
    EXPECT_EQ(left(nothing), (Files{{"a", "x"}}));
    sync(3);
    EXPECT_EQ(left(nothing), Files{});
}

TEST_F(DiskTest, AWriteThatWaitsForTheDiskNeedsNoSync) {
    open(4, "/a", O_RDWR | O_CREAT | O_DSYNC);
    sync(3);
    write(4, 0, "x");
    EXPECT_EQ(left(nothing), (Files{{"a", "x"}}));
}

TEST_F(DiskTest, ADiskThatLiesLosesWhatWasSynced) {
    disk_.emplace(base_.path() + "/base", Lies::of_files);
    take({.call = Call::open, .fd = 3, .flags = O_RDONLY, .path = "/"});
    open(4, "/a");
    write(4, 0, "x");
    sync(4);
    sync(3);
    EXPECT_EQ(left(nothing), (Files{{"a", ""}}));
}

TEST_F(DiskTest, WhatTheTraceDoesNotHaveIsNoticed) {
    open(4, "/a");
    write(4, 0, "x");
    const auto path = base_.path() + "/live";
    disk_->leave(path, everything);
    EXPECT_EQ(disk_->difference(path), std::nullopt);
    ASSERT_TRUE(replace_file(system_files(), path + "/a", "y"));
    EXPECT_EQ(disk_->difference(path), path + "/a has other bytes than the trace");
    ASSERT_TRUE(system_files().remove(path + "/a"));
    EXPECT_EQ(disk_->difference(path), path + " lacks names that the trace has");
    ASSERT_TRUE(replace_file(system_files(), path + "/b", "y"));
    EXPECT_EQ(disk_->difference(path), path + "/b is not in the trace");
}

TEST_F(DiskTest, WritesThroughMemoryAreRefusedButForSqlitesIndex) {
    open(4, "/db-shm");
    take({.call = Call::map, .fd = 4});
    EXPECT_EQ(left(everything), (Files{{"db-shm", ""}}));
    open(5, "/a");
    take({.call = Call::map, .fd = 5});
    EXPECT_THROW((void)left(everything), std::runtime_error);
}

} // namespace
} // namespace durable::power_cut
