// Callers at the same time: who is told when, and what it costs the disk.

#include "unit/sqlite/faulty_vfs.hpp"
#include "unit/sqlite/sqlite_fixture.hpp"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace durable::sqlite {
namespace {

class SqliteGroupSync : public SqliteTest {
 protected:
    SqliteGroupSync()
        : store{SqliteProvider::open(path, {.clock = clock, .vfs = vfs.name()}).value()} {}

    void call(int number) {
        callers.emplace_back([this, number] {
            const auto done =
                store->enqueue_for_orchestrator(start("i" + std::to_string(number)), std::nullopt);
            ++(done ? told : refused);
        });
    }
    // One caller syncs, and so many have committed meanwhile.
    void hold_a_sync_and_call(int others) {
        vfs.hold_syncs(true);
        call(0);
        while (vfs.held_syncs() == 0) {
            std::this_thread::yield();
        }
        for (int number = 1; number <= others; ++number) {
            call(number);
        }
        Outsider outsider{path};
        while (outsider.query("SELECT count(*) FROM messages").at(0) !=
               std::to_string(others + 1)) {
            std::this_thread::yield();
        }
    }

    FaultyVfs vfs;
    std::shared_ptr<SqliteProvider> store;
    std::atomic<int> told = 0;
    std::atomic<int> refused = 0;
    std::vector<std::jthread> callers;
};

TEST_F(SqliteGroupSync, NobodyIsToldBeforeASyncThatBeganAfterItsCommit) {
    const auto before = vfs.syncs();
    hold_a_sync_and_call(1);
    EXPECT_EQ(told, 0);

    EXPECT_TRUE(vfs.hold_syncs(false));
    callers.clear();

    EXPECT_EQ(told, 2);
    EXPECT_EQ(vfs.syncs(), before + 2) << "the first one began before the second caller's commit";
}

TEST_F(SqliteGroupSync, OneSyncServesAllWhoCameDuringAnother) {
    constexpr int others = 16;
    const auto before = vfs.syncs();
    hold_a_sync_and_call(others);
    EXPECT_EQ(told, 0);

    EXPECT_TRUE(vfs.hold_syncs(false));
    callers.clear();

    EXPECT_EQ(told, others + 1);
    EXPECT_LE(vfs.syncs(), before + 4) << "the last ones may have been on their way to the queue";
}

TEST_F(SqliteGroupSync, WhoComesTooLateForASyncMakesAnotherBesideIt) {
    const auto before = vfs.syncs();
    hold_a_sync_and_call(1);

    while (vfs.held_syncs() < 2) {
        std::this_thread::yield();
    }
    EXPECT_EQ(told, 0);
    EXPECT_TRUE(vfs.hold_syncs(false));
    callers.clear();

    EXPECT_EQ(told, 2);
    EXPECT_EQ(vfs.syncs(), before + 2);
}

// Those whom the next one would have served as well: it will never be made.
TEST_F(SqliteGroupSync, ASyncThatFailsIsToldToAllWhoWait) {
    constexpr int others = 8;
    hold_a_sync_and_call(others);
    vfs.set_fault(1, Fault::crash);

    EXPECT_TRUE(vfs.hold_syncs(false));
    callers.clear();

    EXPECT_EQ(told, 0);
    EXPECT_EQ(refused, others + 1);
    EXPECT_FALSE(store->enqueue_for_orchestrator(start("later"), std::nullopt));
}

TEST_F(SqliteGroupSync, CallersAndReadersOfAllKindsComeToTheirEnd) {
    constexpr int threads = 8;
    constexpr int rounds = 50;
    for (int number = 0; number < threads; ++number) {
        callers.emplace_back([this, number] {
            const auto id = "i" + std::to_string(number);
            for (int round = 0; round < rounds; ++round) {
                EXPECT_TRUE(store->enqueue_for_orchestrator(start(id), std::nullopt));
                EXPECT_TRUE(store->enqueue_for_worker(activity(id, 1)));
                EXPECT_TRUE(store->fetch_work_item({.lock_timeout = Duration{1000}}));
                EXPECT_TRUE(store->read(id));
                ++told;
            }
        });
    }
    callers.clear();
    EXPECT_EQ(told, threads * rounds);
    EXPECT_EQ(store->get_queue_depths().value().orchestrator_queue,
              static_cast<std::uint64_t>(threads * rounds));
}

} // namespace
} // namespace durable::sqlite
