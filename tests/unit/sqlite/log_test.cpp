// The write-ahead log: its file is longer than what was written to it, and what lies behind is
// never taken for something that was.

#include "unit/sqlite/sqlite_fixture.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace durable::sqlite {
namespace {

class SqliteLog : public SqliteTest {
 protected:
    std::shared_ptr<SqliteProvider> open_full() {
        auto opened = SqliteProvider::open(path, {.clock = clock});
        EXPECT_TRUE(opened) << opened.error().text();
        return opened.value_or(nullptr);
    }
    [[nodiscard]] std::uintmax_t log_size() const {
        return std::filesystem::file_size(path + "-wal");
    }
    void send(Provider& store, int messages) {
        for (int message = 0; message < messages; ++message) {
            ASSERT_TRUE(
                store.enqueue_for_orchestrator(start("i" + std::to_string(message)), std::nullopt));
        }
    }
};

TEST_F(SqliteLog, CommitsSeldomMakeItLonger) {
    const auto store = open_full();
    send(*store, 2);
    ASSERT_GE(log_size(), 1U << 18U);
    int changes = 0;
    for (int round = 0; round < 50; ++round) {
        const auto before = log_size();
        send(*store, 1);
        changes += log_size() == before ? 0 : 1;
    }
    EXPECT_LE(changes, 4) << "a commit that makes the file longer takes longer itself";
}

TEST_F(SqliteLog, IsLongerThanWhatIsWrittenHoweverMuchThatIs) {
    const auto store = open_full();
    std::int64_t pages = 0;
    for (int round = 0; round < 40; ++round) {
        send(*store, 5);
        ASSERT_TRUE(store->inspect([&](Connection& db) { pages = db.log_pages(); }));
        ASSERT_GT(static_cast<std::int64_t>(log_size()), pages * 4120);
    }
    EXPECT_GT(pages, 200) << "the test does too little";
}

TEST_F(SqliteLog, AfterACrashTheZerosAreNoCommits) {
    const auto store = open_full();
    send(*store, 3);
    // What a crash leaves, while the store is still open.
    const auto left = directory.path() + "/left.db";
    std::filesystem::copy_file(path, left);
    std::filesystem::copy_file(path + "-wal", left + "-wal");

    path = left;
    const auto reopened = open_full();

    EXPECT_EQ(reopened->get_queue_depths().value().orchestrator_queue, 3U);
    send(*reopened, 3);
    EXPECT_EQ(reopened->get_queue_depths().value().orchestrator_queue, 6U);
}

TEST_F(SqliteLog, ACommitThatIsTornEndsTheLogThere) {
    const auto store = open_full();
    send(*store, 2);
    std::int64_t pages = 0;
    ASSERT_TRUE(store->inspect([&](Connection& db) { pages = db.log_pages(); }));
    send(*store, 1);
    const auto left = directory.path() + "/left.db";
    std::filesystem::copy_file(path, left);
    std::filesystem::copy_file(path + "-wal", left + "-wal");
    { // The zeros behind the second commit were there first, and a piece of the third one came.
        std::fstream log{left + "-wal", std::ios::in | std::ios::out | std::ios::binary};
        log.seekp(32 + pages * 4120 + 1000);
        log << std::string(3120, '\0');
    }

    path = left;

    EXPECT_EQ(open_full()->get_queue_depths().value().orchestrator_queue, 2U);
}

TEST_F(SqliteLog, OneThatWasCutOffIsLengthenedAgainOnceItHasItsHeader) {
    const auto store = open_full();
    send(*store, 1);
    Outsider{path}.query("PRAGMA wal_checkpoint(TRUNCATE)");
    ASSERT_EQ(log_size(), 0U);

    send(*store, 1);
    EXPECT_LT(log_size(), 1U << 18U) << "zeros were written before the header";
    send(*store, 1);

    EXPECT_GE(log_size(), 1U << 18U);
}

TEST_F(SqliteLog, WithoutSyncsNothingIsWrittenAhead) {
    const auto store = open();
    send(*store, 1);

    EXPECT_LT(log_size(), 1U << 18U);
}

TEST_F(SqliteLog, IsCopiedIntoTheDatabaseAndBegunAnew) {
    const auto store = open_full();
    std::int64_t pages = 0;
    auto large = std::get<work::StartOrchestration>(start("A"));
    large.input = std::string(4'000'000, 'x');
    std::int64_t most = 0;
    for (int round = 0; round < 6; ++round) {
        ASSERT_TRUE(store->enqueue_for_orchestrator(large, std::nullopt));
        ASSERT_TRUE(store->inspect([&](Connection& db) { pages = db.log_pages(); }));
        most = std::max(most, pages);
    }
    EXPECT_LT(pages, most) << "it is never begun anew";
    EXPECT_GT(std::filesystem::file_size(path), 4'000'000U);
}

} // namespace
} // namespace durable::sqlite
