// Which files become a store, which are refused and why, and who may open one at the same time.

#include "base/stopwatch.hpp"
#include "providers/sqlite/store/schema.hpp"
#include "unit/sqlite/sqlite_fixture.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace durable::sqlite {
namespace {

class SqliteOpening : public SqliteTest {
 protected:
    void expect_refused(ErrorCode code, const std::string& part) {
        const auto opened = try_open();
        ASSERT_FALSE(opened) << part;
        EXPECT_EQ(name_of(opened.error().code), name_of(code)) << opened.error().text();
        EXPECT_NE(opened.error().message.find(part), std::string::npos) << opened.error().text();
        EXPECT_NE(opened.error().message.find(path), std::string::npos) << opened.error().text();
    }

    void flip_bit(std::streamoff at, int bit) const {
        std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
        file.seekg(at);
        const auto byte = file.get() ^ (1 << bit);
        file.seekp(at);
        file.put(static_cast<char>(byte));
    }
};

TEST_F(SqliteOpening, AVersionThatNeverWasIsDamage) {
    make_running(*open(), "A");
    for (const auto* version : {"-1", "-1000", "-2147483648", "0"}) {
        Outsider{path}.query("PRAGMA user_version = " + std::string{version});

        expect_refused(ErrorCode::corrupt, "version " + std::string{version});
    }
    Outsider{path}.query("PRAGMA user_version = " + std::to_string(migrations().size()));
    EXPECT_EQ(open()->read("A").value().size(), 1U);
}

TEST_F(SqliteOpening, AFlippedBitInTheHeaderIsDamage) {
    make_running(*open(), "A");
    flip_bit(60, 7); // the sign of the version
    expect_refused(ErrorCode::corrupt, "damaged");
    flip_bit(60, 7);
    flip_bit(47, 6); // the format of the schema
    expect_refused(ErrorCode::corrupt, "damaged");
    flip_bit(47, 6);

    EXPECT_EQ(open()->read("A").value().size(), 1U);
}

TEST_F(SqliteOpening, AnEmptyDatabaseThatIsNotUtf8IsRefusedAndLeftAlone) {
    Outsider{path}.query("PRAGMA encoding = 'UTF-16le'; CREATE TABLE t (a); DROP TABLE t");

    expect_refused(ErrorCode::invalid_argument, "UTF-16");
    EXPECT_EQ(Outsider{path}.query("SELECT count(*) FROM sqlite_schema"),
              std::vector<std::string>{"0"});
}

TEST_F(SqliteOpening, AnEmptyDatabaseBecomesAStore) {
    Outsider{path}.query("CREATE TABLE t (a); DROP TABLE t");

    EXPECT_TRUE(try_open());
}

TEST_F(SqliteOpening, APathIsTheNameOfAFileAndNothingElse) {
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(directory.path());
    for (const auto* name : {"file:a.db", "file:b.db?mode=memory", "c.db?synchronous=normal"}) {
        path = name;
        make_running(*open(), "A");

        EXPECT_TRUE(std::filesystem::exists(directory.path() + "/" + name));
        EXPECT_EQ(open()->read("A").value().size(), 1U);
    }
    std::filesystem::current_path(before);

    path = directory.path() + "/cut" + std::string(1, '\0') + "off.db";
    const auto opened = try_open();
    ASSERT_FALSE(opened);
    EXPECT_EQ(name_of(opened.error().code), name_of(ErrorCode::invalid_argument));
    EXPECT_NE(opened.error().message.find("zero byte"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(directory.path() + "/cut"));
}

TEST_F(SqliteOpening, AStoreStaysWhereItIsWhenTheProcessGoesElsewhere) {
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(directory.path());
    path = "here.db";
    const auto store = open();
    make_running(*store, "A");
    std::filesystem::current_path(before);

    for (int reader = 0; reader < 2; ++reader) {
        EXPECT_EQ(store->read("A").value().size(), 1U);
    }
}

TEST_F(SqliteOpening, ANegativeTimeForOthersIsRefused) {
    const auto opened = try_open({.busy_timeout = Duration{-1}});

    ASSERT_FALSE(opened);
    EXPECT_EQ(name_of(opened.error().code), name_of(ErrorCode::invalid_argument));
    EXPECT_NE(opened.error().message.find("busy_timeout"), std::string::npos);
}

TEST_F(SqliteOpening, AFileWithTwoNamesIsRefused) {
    make_running(*open(), "A");
    std::filesystem::create_hard_link(path, directory.path() + "/other.db");

    expect_refused(ErrorCode::invalid_argument, "hard links");
    std::filesystem::remove(directory.path() + "/other.db");
    EXPECT_EQ(open()->read("A").value().size(), 1U);
}

TEST_F(SqliteOpening, ASymbolicLinkLeadsToTheSameStore) {
    make_running(*open(), "A");
    std::filesystem::create_symlink(path, directory.path() + "/link.db");
    path = directory.path() + "/link.db";

    EXPECT_EQ(open()->read("A").value().size(), 1U);
}

TEST_F(SqliteOpening, ADirectoryThatNothingMayBeWrittenToIsTheReason) {
    constexpr uid_t nobody = 65534;
    const auto self = geteuid();
    namespace fs = std::filesystem;
    const auto reading = fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read |
                         fs::perms::others_exec;
    fs::permissions(directory.path(), reading);
    if (self == 0) { // who may write everywhere
        ASSERT_EQ(seteuid(nobody), 0);
    }

    expect_refused(ErrorCode::storage_failed, "Permission denied");
    ASSERT_EQ(seteuid(self), 0);
    fs::permissions(directory.path(), fs::perms::owner_all);
}

// Processes, not threads: SQLite serialises the threads of one process. Every process gets a file
// with the schema, whichever of them made it.
TEST_F(SqliteOpening, ProcessesThatOpenANewFileAtTheSameMomentAllSucceed) {
    constexpr int processes = 4;
    for (int round = 0; round < 15; ++round) {
        path = directory.path() + "/new-" + std::to_string(round) + ".db";
        std::array<int, 2> gate{};
        ASSERT_EQ(pipe2(gate.data(), O_CLOEXEC), 0);
        std::vector<pid_t> children;
        for (int made = 0; made < processes; ++made) {
            const auto child = fork();
            if (child == 0) {
                close(gate[1]);
                char byte = 0;
                (void)!read(gate[0], &byte, 1); // the end comes for all at once
                const auto opened = try_open();
                if (!opened) {
                    std::fprintf(stderr, "%s\n", opened.error().text().c_str());
                }
                _exit(opened ? 0 : 1);
            }
            children.push_back(child);
        }
        close(gate[0]);
        close(gate[1]);
        for (const auto child : children) {
            int status = -1;
            ASSERT_EQ(waitpid(child, &status, 0), child);
            EXPECT_EQ(status, 0) << "round " << round;
        }
    }
}

TEST_F(SqliteOpening, ANewFileThatIsHeldMakesOpenWaitForItsTime) {
    Outsider other{path};
    other.query("BEGIN IMMEDIATE"); // it has no log yet: the one way in would be to make one
    const Stopwatch watch;

    const auto opened = try_open({.busy_timeout = Duration{60}});

    ASSERT_FALSE(opened);
    EXPECT_EQ(name_of(opened.error().code), name_of(ErrorCode::unavailable));
    EXPECT_GE(watch.elapsed(), Duration{50});
    other.query("COMMIT");
    EXPECT_TRUE(try_open());
}

} // namespace
} // namespace durable::sqlite
