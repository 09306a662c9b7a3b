// A transaction that is larger than SQLite's page cache spills: its pages reach the log before it
// commits, some of them twice, and SQLite rewrites what it has written. A reader that holds a
// snapshot keeps the log from beginning anew. What was acknowledged is in the files all the same.

#include "unit/sqlite/neighbour.hpp"
#include "unit/sqlite/sqlite_fixture.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace durable::sqlite {
namespace {

class SqliteSpilling : public SqliteTest {
 protected:
    void open_store() {
        store = SqliteProvider::open(path, {.clock = clock}).value();
        if (store->list_instances().value().empty()) {
            for (std::size_t number = 0; number < instances; ++number) {
                make_running(*store, name_of_instance(number));
            }
        }
        EXPECT_TRUE(store->inspect([](Connection& db) { db.execute("PRAGMA cache_size = 8"); }));
    }

    static std::string name_of_instance(std::size_t number) {
        return "instance-" + std::to_string(number);
    }

    // One transaction of that many messages, each for an instance of its own.
    void raise_together(std::size_t messages, std::size_t bytes) {
        const auto before = store->transactions();
        const auto calls_before = store->calls();
        std::vector<std::jthread> callers;
        ASSERT_TRUE(store->inspect([&](Connection&) {
            for (std::size_t number = 0; number < messages; ++number) {
                callers.emplace_back([this, number, bytes] {
                    EXPECT_TRUE(store->enqueue_for_orchestrator(
                        work::ExternalRaised{.instance = name_of_instance(number),
                                             .name = "large",
                                             .data = std::string(bytes, 'x')},
                        std::nullopt));
                });
            }
            while (store->calls() < calls_before + messages) {
                std::this_thread::yield();
            }
        }));
        callers.clear();
        EXPECT_LE(store->transactions() - before, 2U) << "the test does not make what it wants";
    }

    // The messages that the files hold, as `kill -9` or a power cut after a sync leaves them.
    [[nodiscard]] std::size_t messages_left() const {
        const TemporaryDirectory own;
        const auto left = own.path() + "/left.db";
        std::filesystem::copy_file(path, left);
        std::filesystem::copy_file(path + "-wal", left + "-wal");
        const auto reopened = SqliteProvider::open(left, {.clock = clock});
        EXPECT_TRUE(reopened);
        return reopened ? (*reopened)->get_queue_depths().value().orchestrator_queue : 0;
    }

    static constexpr std::size_t instances = 40;
    std::shared_ptr<SqliteProvider> store;
};

class SqliteSpill : public SqliteSpilling {
 protected:
    SqliteSpill() { open_store(); }
};

TEST_F(SqliteSpill, WhatWasAcknowledgedIsInTheFilesAlsoWhileSomebodyReads) {
    Outsider reader{path};
    reader.query("BEGIN; SELECT count(*) FROM store");

    raise_together(instances, 30'000);

    EXPECT_EQ(messages_left(), instances);
}

// The reader dies with the process: the next process that opens the store has only the files.
TEST_F(SqliteSpilling, AProcessThatIsKilledLosesNothingThatWasAcknowledged) {
    Neighbour neighbour{[this] {
        open_store();
        (new Outsider{path})->query("BEGIN; SELECT count(*) FROM store"); // until it is killed
        raise_together(instances, 30'000);
        return !HasFailure();
    }};
    neighbour.go();
    neighbour.kill();

    open_store();

    EXPECT_EQ(store->get_queue_depths().value().orchestrator_queue, instances);
}

TEST_F(SqliteSpill, WhatWasAcknowledgedIsSeenByAnotherProcess) {
    Outsider other{path};
    other.query("BEGIN; SELECT count(*) FROM store");

    raise_together(instances, 30'000);

    other.query("COMMIT");
    EXPECT_EQ(other.query("SELECT count(*) FROM durable_pending"),
              std::vector{std::to_string(instances)});
    EXPECT_EQ(other.query("PRAGMA integrity_check"), std::vector<std::string>{"ok"});
}

TEST_F(SqliteSpill, ACallOfAnotherProcessAfterItLosesNothing) {
    Outsider reader{path};
    reader.query("BEGIN; SELECT count(*) FROM store");
    raise_together(instances, 30'000);
    {
        const auto other = SqliteProvider::open(path, {.clock = clock}).value();
        ASSERT_TRUE(other->enqueue_for_orchestrator(start("other"), std::nullopt));
    }

    EXPECT_EQ(messages_left(), instances + 1);
}

TEST_F(SqliteSpill, WhatIsRefusedAndUndoneAfterItHasSpilledLeavesNothing) {
    Outsider reader{path};
    reader.query("BEGIN; SELECT count(*) FROM store");
    const auto large = std::string(400'000, 'x');
    const auto undone = store->append_with_execution(
        name_of_instance(0),
        1,
        {{.event_id = 2, .kind = history::KeyValueSet{.key = "k", .value = large}},
         {.event_id = 1, .kind = history::KeyValuesCleared{}}});
    ASSERT_FALSE(undone) << "event 1 is there already";

    raise_together(instances, 30'000);

    EXPECT_EQ(messages_left(), instances);
    EXPECT_EQ(store->read(name_of_instance(0)).value().size(), 1U);
}

} // namespace
} // namespace durable::sqlite
