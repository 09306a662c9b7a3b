// Who may open the files that a store makes: its owner, or a group, whatever the umask.

#include "unit/sqlite/sqlite_fixture.hpp"

#include <durable/log.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include <sys/stat.h>

namespace durable::sqlite {
namespace {

// Makes new files readable by all until it is destroyed, or whatever is asked.
class Umask {
 public:
    explicit Umask(mode_t mask) : before_{::umask(mask)} {}
    Umask(const Umask&) = delete;
    Umask& operator=(const Umask&) = delete;
    ~Umask() { ::umask(before_); }

 private:
    const mode_t before_;
};

class Listener final : public Logger {
 public:
    [[nodiscard]] bool enabled(LogLevel level, std::string_view) const noexcept override {
        return level >= LogLevel::warn;
    }
    void write(const LogRecord& record) noexcept override {
        heard.emplace_back(record.message);
        for (const auto& field : record.fields) {
            heard.back() += " " + std::string{field.name} + "=" + std::string{field.value};
        }
    }
    std::vector<std::string> heard;
};

class SqliteAccess : public SqliteTest {
 protected:
    static unsigned mode_of(const std::string& file) {
        struct stat found{};
        EXPECT_EQ(::stat(file.c_str(), &found), 0) << file;
        return found.st_mode & 0777U;
    }
    void expect_modes(unsigned mode) const {
        for (const auto* part : {"", "-wal", "-shm", "-lives"}) {
            EXPECT_EQ(mode_of(path + part), mode) << part;
        }
    }

    std::shared_ptr<Listener> listener = std::make_shared<Listener>();
};

TEST_F(SqliteAccess, OnlyTheOwnerCanOpenWhatIsMadeWhateverTheUmask) {
    for (const mode_t mask : {0000U, 0022U, 0277U}) {
        path = directory.path() + "/store-" + std::to_string(mask) + ".db";
        const Umask umask{mask};
        const auto store = open({.logger = listener});
        make_running(*store, "A");
        expect_modes(0600);
    }
    EXPECT_TRUE(listener->heard.empty());
}

TEST_F(SqliteAccess, AGroupCanOpenWhatIsMadeForIt) {
    const Umask umask{0077};
    const auto store = open({.access = StoreAccess::group, .logger = listener});
    make_running(*store, "A");

    expect_modes(0660);
    EXPECT_TRUE(listener->heard.empty());
}

TEST_F(SqliteAccess, AFileThatASymbolicLinkNamesIsMadeForItsOwnerToo) {
    const Umask umask{0};
    std::filesystem::create_symlink("real.db", path);

    const auto store = open({.logger = listener});

    EXPECT_EQ(mode_of(directory.path() + "/real.db"), 0600U);
    EXPECT_TRUE(std::filesystem::is_symlink(path));
}

TEST_F(SqliteAccess, WhatOthersCanReadAlreadyStaysSoAndIsSaidOnce) {
    make_running(*open(), "A");
    ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
    {
        const auto store = open({.logger = listener});
        make_running(*store, "B");
        EXPECT_EQ(mode_of(path), 0644U);
    }
    ASSERT_EQ(listener->heard.size(), 1U);
    EXPECT_NE(listener->heard[0].find("can read the store"), std::string::npos);
    EXPECT_NE(listener->heard[0].find("permissions=0644"), std::string::npos) << listener->heard[0];
    EXPECT_NE(listener->heard[0].find(path), std::string::npos) << listener->heard[0];
}

TEST_F(SqliteAccess, AGroupThatCanReadIsNoSurpriseToAStoreOfAGroup) {
    make_running(*open(), "A");
    ASSERT_EQ(::chmod(path.c_str(), 0640), 0);

    EXPECT_TRUE(open({.access = StoreAccess::group, .logger = listener}));
    EXPECT_TRUE(listener->heard.empty());
    EXPECT_TRUE(open({.logger = listener}));
    EXPECT_EQ(listener->heard.size(), 1U);
}

} // namespace
} // namespace durable::sqlite
