// What can go wrong with a file, and the clear error that each case gives. None of them loses data.

#include "base/stopwatch.hpp"
#include "providers/sqlite/db/sqlite_error.hpp"
#include "unit/sqlite/sqlite_fixture.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace durable::sqlite {
namespace {

using namespace std::chrono_literals;
using SqliteTrouble = SqliteTest;

void expect_error(const Error& error, ErrorCode code, const std::string& part) {
    EXPECT_EQ(name_of(error.code), name_of(code)) << error.text();
    EXPECT_NE(error.message.find(part), std::string::npos) << error.text();
}

TEST_F(SqliteTrouble, ADirectoryThatIsNotThereIsNamed) {
    path = directory.path() + "/nowhere/store.db";

    const auto opened = try_open();

    ASSERT_FALSE(opened);
    expect_error(opened.error(), ErrorCode::storage_failed, path);
    expect_error(opened.error(), ErrorCode::storage_failed, "cannot be opened");
    expect_error(opened.error(), ErrorCode::storage_failed, "No such file or directory");
}

TEST_F(SqliteTrouble, AnEmptyPathIsRefused) {
    const auto opened = sqlite::open("");

    ASSERT_FALSE(opened);
    expect_error(opened.error(), ErrorCode::invalid_argument, "empty");
}

TEST_F(SqliteTrouble, ANegativeTimeToWaitIsRefused) {
    const auto opened = sqlite::open(path, {.unstarted_message_ttl = Duration{-1}});

    ASSERT_FALSE(opened);
    expect_error(opened.error(), ErrorCode::invalid_argument, "unstarted_message_ttl");
}

TEST_F(SqliteTrouble, AFileOfSomethingElseIsRefusedAndLeftAlone) {
    std::ofstream{path} << std::string(5000, 'x');

    const auto opened = try_open();

    ASSERT_FALSE(opened);
    expect_error(opened.error(), ErrorCode::corrupt, "no SQLite database");
    EXPECT_EQ(std::filesystem::file_size(path), 5000U);
}

TEST_F(SqliteTrouble, ADatabaseOfSomethingElseIsRefusedAndLeftAlone) {
    Outsider{path}.query("CREATE TABLE theirs (a)");

    const auto opened = try_open();

    ASSERT_FALSE(opened);
    expect_error(opened.error(), ErrorCode::invalid_argument, "database of something else");
    EXPECT_EQ(Outsider{path}.query("PRAGMA journal_mode"), std::vector<std::string>{"delete"});
}

TEST_F(SqliteTrouble, ADamagedFileIsReportedAsCorrupt) {
    make_running(*open(), "A");
    {
        std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
        file.seekp(4096);
        file << std::string(std::filesystem::file_size(path) - 4096, '\x5a');
    }

    const auto opened = try_open();

    ASSERT_FALSE(opened);
    expect_error(opened.error(), ErrorCode::corrupt, "damaged");
}

TEST_F(SqliteTrouble, AFullDiskRefusesACallAndKeepsEverythingElse) {
    const auto store = open();
    make_running(*store, "A");
    ASSERT_TRUE(store->inspect([](Connection& db) { db.execute("PRAGMA max_page_count = 60"); }));
    auto large = std::get<work::StartOrchestration>(start("B"));
    large.input = std::string(1'000'000, 'x');

    const auto refused = store->enqueue_for_orchestrator(large, std::nullopt);

    ASSERT_FALSE(refused);
    expect_error(refused.error(), ErrorCode::unavailable, "the disk is full");
    EXPECT_EQ(refused.error().operation, "enqueue_for_orchestrator");
    EXPECT_EQ(store->read("A").value().size(), 1U);
    EXPECT_EQ(store->get_queue_depths().value().orchestrator_queue, 0U);
    ASSERT_TRUE(
        store->inspect([](Connection& db) { db.execute("PRAGMA max_page_count = 100000"); }));
    EXPECT_TRUE(store->enqueue_for_orchestrator(large, std::nullopt));
}

TEST_F(SqliteTrouble, AnErrorTellsTheReasonOfTheSystem) {
    const auto error = to_error(SQLITE_IOERR_WRITE, "disk I/O error", "x.db", EIO);

    expect_error(error, ErrorCode::storage_failed, "disk I/O error: Input/output error");
}

// Limits the size of the files that the process may write: a write really fails.
TEST_F(SqliteTrouble, AFileThatMayNotGrowRefusesACallAndKeepsEverythingElse) {
    const auto store = open();
    make_running(*store, "A");
    ASSERT_NE(::signal(SIGXFSZ, SIG_IGN), SIG_ERR);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit low{.rlim_cur = std::filesystem::file_size(path + "-wal"),
                     .rlim_max = before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);

    const auto refused = store->enqueue_for_orchestrator(start("A"), std::nullopt);

    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    ASSERT_FALSE(refused);
    expect_error(refused.error(), ErrorCode::unavailable, "may not make files so long");
    expect_error(refused.error(), ErrorCode::unavailable, "File too large");
    EXPECT_EQ(store->read("A").value().size(), 1U);
    EXPECT_TRUE(store->enqueue_for_orchestrator(start("A"), std::nullopt));
}

// A log that was copied into the database begins anew, and needs no more room.
TEST_F(SqliteTrouble, AFileThatMayNotGrowRefusesOneCallAndThenMakesRoom) {
    const auto store = open();
    make_running(*store, "A");
    ASSERT_NE(::signal(SIGXFSZ, SIG_IGN), SIG_ERR);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit low{.rlim_cur = std::filesystem::file_size(path + "-wal"),
                     .rlim_max = before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);

    const auto refused = store->enqueue_for_orchestrator(start("A"), std::nullopt);
    const auto accepted = store->enqueue_for_orchestrator(start("A"), std::nullopt);

    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(accepted) << accepted.error().text();
}

// Takes all file handles that the process may have.
class NoHandles {
 public:
    NoHandles() {
        EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
        const rlimit low{.rlim_cur = 100, .rlim_max = before_.rlim_max};
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
        for (int taken = 0; (taken = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) {
            taken_.push_back(taken);
        }
        EXPECT_EQ(errno, EMFILE);
    }
    NoHandles(const NoHandles&) = delete;
    NoHandles& operator=(const NoHandles&) = delete;
    ~NoHandles() {
        for (const auto taken : taken_) {
            ::close(taken);
        }
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0);
    }

 private:
    rlimit before_{};
    std::vector<int> taken_;
};

TEST_F(SqliteTrouble, WithoutFileHandlesAStoreIsUnavailableAndGoesOnLater) {
    const auto store = SqliteProvider::open(path, {.clock = clock}).value();
    make_running(*store, "A");
    const auto other = path + "-other";
    make_running(*SqliteProvider::open(other, {.clock = clock}).value(), "A");
    // The undefined-behaviour sanitizer needs a file handle when it checks a type for the first
    // time.
    EXPECT_NE(std::generic_category().message(EMFILE), "");
    {
        const NoHandles none;
        // A reader needs a connection of its own while another reader uses the first one.
        std::optional<Result<std::vector<HistoryEvent>>> read;
        ASSERT_TRUE(store->with_reader([&] { read = store->read("A"); }));
        ASSERT_FALSE(*read);
        expect_error(read->error(), ErrorCode::unavailable, "too many files open");
        const auto opened = SqliteProvider::open(other, {.clock = clock});
        ASSERT_FALSE(opened);
        expect_error(opened.error(), ErrorCode::unavailable, "too many files open");
        EXPECT_TRUE(store->enqueue_for_orchestrator(start("B"), std::nullopt));
    }
    EXPECT_EQ(store->read("A").value().size(), 1U);
    EXPECT_TRUE(store->enqueue_for_orchestrator(start("C"), std::nullopt));
    EXPECT_TRUE(SqliteProvider::open(other, {.clock = clock}));
}

// A waiting fetch writes nothing, and gets the error all the same.
TEST_F(SqliteTrouble, AFileThatIsDeletedUnderneathEndsTheWaitOfWhoFindsNothing) {
    for (const auto synchronous : {Synchronous::full, Synchronous::normal}) {
        const auto file = path + (synchronous == Synchronous::full ? "-full" : "-normal");
        const auto store =
            SqliteProvider::open(file, {.clock = clock, .synchronous = synchronous}).value();
        std::optional<Result<std::optional<OrchestrationItem>>> turn;
        std::atomic<bool> over = false;
        std::jthread engine{[&](const std::stop_token& stop) {
            turn = store->fetch_orchestration_item(
                {.lock_timeout = 60s, .poll_timeout = 1h, .stop = stop});
            over = true;
        }};
        while (store->sleepers() == 0) {
            std::this_thread::yield();
        }
        std::filesystem::remove(file);
        for (const Stopwatch watch; !over && watch.elapsed() < 10s;) {
            std::this_thread::yield();
        }
        engine.request_stop();
        engine.join();
        ASSERT_FALSE(*turn);
        expect_error(turn->error(), ErrorCode::storage_failed, "was deleted or replaced");
        EXPECT_FALSE(store->fetch_work_item({.lock_timeout = 60s}));
    }
}

TEST_F(SqliteTrouble, AReadThatFindsTheFileGoneEndsTheStoreForAll) {
    const auto store = SqliteProvider::open(path, {.clock = clock}).value();
    make_running(*store, "A");
    std::filesystem::remove(path);

    ASSERT_FALSE(store->read("A"));

    const auto fetched = store->fetch_orchestration_item({.lock_timeout = 60s});
    ASSERT_FALSE(fetched);
    expect_error(fetched.error(), ErrorCode::storage_failed, "was deleted or replaced");
}

TEST_F(SqliteTrouble, AFileThatAnotherProgramHoldsMakesCallsWaitAndThenAnswer) {
    const auto store = open({.busy_timeout = Duration{50}});
    {
        Outsider other{path};
        other.query("BEGIN IMMEDIATE");

        const auto refused = store->enqueue_for_orchestrator(start("A"), std::nullopt);

        ASSERT_FALSE(refused);
        expect_error(refused.error(), ErrorCode::unavailable, "another process holds the file");
        EXPECT_TRUE(store->read("A").value().empty()) << "readers are not disturbed";
        other.query("COMMIT");
    }
    EXPECT_TRUE(store->enqueue_for_orchestrator(start("A"), std::nullopt));
}

TEST_F(SqliteTrouble, AFileThatIsDeletedUnderneathEndsTheStore) {
    const auto store = open();
    make_running(*store, "A");
    std::filesystem::remove(path);

    const auto refused = store->enqueue_for_orchestrator(start("B"), std::nullopt);
    const auto read = store->read("A");

    ASSERT_FALSE(refused);
    expect_error(refused.error(), ErrorCode::storage_failed, "deleted or replaced");
    ASSERT_FALSE(read) << "what nobody will find again is not shown";
    expect_error(read.error(), ErrorCode::storage_failed, "deleted or replaced");
    EXPECT_FALSE(store->enqueue_for_orchestrator(start("C"), std::nullopt)) << "it stays ended";
}

// The newest commits are only in the deleted log: later ones would be lost with it.
TEST_F(SqliteTrouble, ALogThatIsDeletedUnderneathEndsTheStore) {
    const auto store = open();
    make_running(*store, "A");
    std::filesystem::remove(path + "-wal");

    const auto refused = store->enqueue_for_orchestrator(start("B"), std::nullopt);
    const auto read = store->read("A");

    ASSERT_FALSE(refused);
    expect_error(refused.error(), ErrorCode::storage_failed, "-wal file");
    ASSERT_FALSE(read);
    expect_error(read.error(), ErrorCode::storage_failed, "-wal file");
    EXPECT_FALSE(store->enqueue_for_orchestrator(start("C"), std::nullopt)) << "it stays ended";
}

TEST_F(SqliteTrouble, ALogThatIsReplacedUnderneathEndsTheStore) {
    const auto store = open();
    make_running(*store, "A");
    std::filesystem::copy_file(path + "-wal", path + "-copy");
    std::filesystem::rename(path + "-copy", path + "-wal");

    const auto refused = store->enqueue_for_orchestrator(start("B"), std::nullopt);

    ASSERT_FALSE(refused);
    expect_error(refused.error(), ErrorCode::storage_failed, "-wal file");
}

// Readers open the file again now and then.
TEST_F(SqliteTrouble, AFileThatIsReplacedUnderneathIsNotRead) {
    const auto store = open();
    make_running(*store, "A");
    std::filesystem::rename(path, path + ".old");
    {
        auto other = SqliteProvider::open(path, {.synchronous = Synchronous::normal});
        ASSERT_TRUE(other);
        make_running(**other, "B");
    }

    for (int call = 0; call < 5; ++call) {
        const auto read = store->read("B");
        ASSERT_FALSE(read) << "call " << call;
        expect_error(read.error(), ErrorCode::storage_failed, "deleted or replaced");
        const auto list = store->list_instances();
        ASSERT_FALSE(list) << "call " << call;
        expect_error(list.error(), ErrorCode::storage_failed, "deleted or replaced");
    }
    const auto refused = store->enqueue_for_orchestrator(start("C"), std::nullopt);
    ASSERT_FALSE(refused);
    expect_error(refused.error(), ErrorCode::storage_failed, "deleted or replaced");
}

TEST_F(SqliteTrouble, AMachineThatDoesNotTellItsBootKeepsNoLeases) {
    const auto opened = try_open({}, {.boot_id = ""});

    ASSERT_FALSE(opened);
    expect_error(opened.error(), ErrorCode::storage_failed, "boot_id");
}

} // namespace
} // namespace durable::sqlite
