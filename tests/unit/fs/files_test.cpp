// The real file system through Files, and the loops built on it.

#include "base/crc32c.hpp"
#include "base/files.hpp"
#include "unit/fs/temporary_directory.hpp"

#include <string>

#include <gtest/gtest.h>

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
