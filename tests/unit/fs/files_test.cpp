// The real file system through Files, and the loops built on it.

#include "base/crc32c.hpp"
#include "base/files.hpp"
#include "unit/fs/temporary_directory.hpp"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace durable {
namespace {

class SystemFilesTest : public ::testing::Test {
 protected:
    [[nodiscard]] std::string path(const std::string& name) const {
        return directory_.path() + "/" + name;
    }

    Files& files_ = system_files();
    TemporaryDirectory directory_;
};

TEST_F(SystemFilesTest, ReadsBackWhatWasWritten) {
    const auto file = files_.open(path("a"), OpenMode::create).value();

    ASSERT_TRUE(write_at(*file, "hello", 3));
    ASSERT_TRUE(file->sync());

    EXPECT_EQ(read_file(files_, path("a")).value(), std::string("\0\0\0hello", 8));
}

TEST_F(SystemFilesTest, AReadPastTheEndIsShort) {
    const auto file = files_.open(path("a"), OpenMode::create).value();
    ASSERT_TRUE(write_at(*file, "hello", 0));
    std::string buffer(10, 'x');

    EXPECT_EQ(read_at(*file, buffer, 2).value(), 3U);
    EXPECT_EQ(read_at(*file, buffer, 5).value(), 0U);
}

TEST_F(SystemFilesTest, CreateRefusesAnExistingFile) {
    ASSERT_TRUE(files_.open(path("a"), OpenMode::create));

    const auto again = files_.open(path("a"), OpenMode::create);

    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, std::errc::file_exists);
}

TEST_F(SystemFilesTest, AnErrorNamesTheCallTheFileAndTheReason) {
    const auto file = files_.open(path("missing"), OpenMode::read);

    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().text, "open " + path("missing") + ": No such file or directory");
}

TEST_F(SystemFilesTest, ALinkIsNotFollowedAndItsTargetNotTouched) {
    ASSERT_TRUE(replace_file(files_, path("theirs"), "precious"));
    std::filesystem::create_symlink(path("theirs"), path("link"));
    std::filesystem::create_symlink(path("missing"), path("dangling"));
    using enum OpenMode;
    for (const auto mode : {read, write, write_or_create}) {
        for (const std::string name : {"link", "dangling"}) {
            const auto opened = files_.open(path(name), mode);

            ASSERT_FALSE(opened);
            EXPECT_EQ(opened.error().text,
                      "open " + path(name) + ": it is a symbolic link, which is not followed");
        }
    }
    EXPECT_FALSE(files_.open(path("link"), create));
    EXPECT_EQ(read_file(files_, path("theirs")).value(), "precious");
    EXPECT_FALSE(std::filesystem::exists(path("missing")));
}

// It would wait for the other end of a pipe.
TEST_F(SystemFilesTest, OnlyRegularFilesAreOpened) {
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
    using enum OpenMode;
    for (const auto mode : {read, write, write_or_create}) {
        EXPECT_EQ(files_.open(path("pipe"), mode).error().text,
                  "open " + path("pipe") + ": it is no regular file");
        EXPECT_EQ(files_.open(directory_.path(), mode).error().code, std::errc::is_a_directory);
    }
}

TEST_F(SystemFilesTest, ATreeIsRemovedWithItsLinksAndNotWithTheirTargets) {
    ASSERT_TRUE(make_directories(files_, path("theirs")));
    ASSERT_TRUE(replace_file(files_, path("theirs/letter"), "precious"));
    ASSERT_TRUE(make_directories(files_, path("mine")));
    std::filesystem::create_symlink(path("theirs"), path("mine/link"));
    std::filesystem::create_symlink(path("theirs"), path("link"));

    EXPECT_TRUE(remove_tree(files_, path("mine")));
    EXPECT_TRUE(remove_tree(files_, path("link")));

    EXPECT_FALSE(std::filesystem::exists(path("mine")));
    EXPECT_FALSE(std::filesystem::is_symlink(path("link")));
    EXPECT_EQ(read_file(files_, path("theirs/letter")).value(), "precious");
}

TEST_F(SystemFilesTest, APathLiesWithinADirectoryByWhateverNamesLeadThere) {
    ASSERT_TRUE(make_directories(files_, path("store/journal")));
    ASSERT_TRUE(make_directories(files_, path("storage")));
    std::filesystem::create_directory_symlink(path("store"), path("link"));
    std::filesystem::create_directory_symlink(path("store/journal"), path("deep"));
    const auto within = [&](const std::string& name) {
        return lies_within(files_, path(name), path("store")).value();
    };
    for (const std::string name : {"store",
                                   "store/",
                                   "store/.",
                                   "store/new/deeper",
                                   "link",
                                   "link/new",
                                   "deep/new",
                                   "deep/..",
                                   "storage/../store/new",
                                   "missing/../store",
                                   "missing/../link/new",
                                   "missing/../deep/new"}) {
        EXPECT_TRUE(within(name)) << name;
    }
    for (const std::string name : {"storage", "storage/store", "", "missing", "store/../new"}) {
        EXPECT_FALSE(within(name)) << name;
    }
    const auto here = std::filesystem::current_path();
    std::filesystem::current_path(directory_.path());
    EXPECT_TRUE(lies_within(files_, "store/new", path("store")).value());
    EXPECT_TRUE(lies_within(files_, path("store/new"), "link").value());
    EXPECT_FALSE(lies_within(files_, "storage", path("store")).value());
    std::filesystem::current_path(here);
}

TEST_F(SystemFilesTest, AllocatedBytesAreZero) {
    const auto file = files_.open(path("a"), OpenMode::create).value();

    ASSERT_TRUE(file->allocate(4096));

    EXPECT_EQ(file->size().value(), 4096U);
    EXPECT_EQ(read_file(files_, path("a")).value(), std::string(4096, '\0'));
}

TEST_F(SystemFilesTest, AllocateNeverShrinks) {
    const auto file = files_.open(path("a"), OpenMode::create).value();
    ASSERT_TRUE(write_at(*file, "hello", 0));

    ASSERT_TRUE(file->allocate(2));

    EXPECT_EQ(file->size().value(), 5U);
}

TEST_F(SystemFilesTest, OnlyOneOpenFileHoldsTheLock) {
    auto first = files_.open(path("lock"), OpenMode::write_or_create).value();
    const auto second = files_.open(path("lock"), OpenMode::write_or_create).value();

    EXPECT_TRUE(first->try_lock().value());
    EXPECT_FALSE(second->try_lock().value());
    first.reset();
    EXPECT_TRUE(second->try_lock().value());
}

TEST_F(SystemFilesTest, ReplaceLeavesTheNewContentAndNoTemporaryFile) {
    ASSERT_TRUE(replace_file(files_, path("a"), "one"));
    ASSERT_TRUE(replace_file(files_, path("a"), "two"));

    EXPECT_EQ(read_file(files_, path("a")).value(), "two");
    EXPECT_EQ(files_.list(directory_.path()).value(), (std::vector<DirectoryEntry>{{"a", false}}));
}

TEST_F(SystemFilesTest, TreesAreMadeListedAndRemoved) {
    ASSERT_TRUE(make_directories(files_, path("x/y/z")));
    ASSERT_TRUE(files_.open(path("x/file"), OpenMode::create));

    EXPECT_EQ(files_.list(path("x")).value(),
              (std::vector<DirectoryEntry>{{"file", false}, {"y", true}}));

    ASSERT_TRUE(remove_tree(files_, path("x")));
    ASSERT_TRUE(remove_tree(files_, path("x")));
    EXPECT_TRUE(files_.list(directory_.path()).value().empty());
}

TEST_F(SystemFilesTest, AFileWhereADirectoryShouldBeIsAnError) {
    ASSERT_TRUE(files_.open(path("a"), OpenMode::create));

    const auto made = files_.make_directory(path("a"));

    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, std::errc::not_a_directory);
}

// Values of RFC 3720, appendix B.4.
TEST(Crc32cTest, AgreesWithThePublishedValues) {
    std::string ascending(32, '\0');
    for (std::size_t i = 0; i < ascending.size(); ++i) {
        ascending[i] = static_cast<char>(i);
    }

    EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
    EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
    EXPECT_EQ(crc32c(ascending), 0x46DD794EU);
    EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
    EXPECT_EQ(crc32c(""), 0U);
}

TEST(Crc32cTest, TheFallbackAgreesWithTheProcessorAtEveryLengthAndSplit) {
    std::string text;
    for (int i = 0; i < 100; ++i) {
        text += static_cast<char>(i * 37);
        const auto whole = crc32c(text);
        ASSERT_EQ(detail::crc32c_portable(text, 0), whole) << i;
        const auto half = text.size() / 2;
        ASSERT_EQ(crc32c(std::string_view{text}.substr(half), crc32c(text.substr(0, half))), whole);
    }
}

} // namespace
} // namespace durable
