// A store that crashes at every single call to the file system comes back with everything that was
// acknowledged and nothing half-done, whatever the disk kept of what was not synced; and then goes
// on as if nothing had happened.
//
// What these tests find is what the workload does and what the disk may do. Both once hid a healthy
// store that did not open any more: no record was larger than the segment that waited for it, so
// that no segment grew after it was made; and a size that was not synced survived as a whole or not
// at all. A new way to write into a store is a new step of the workload.

#include "crash/crash_fixture.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

namespace durable::fs {

TEST_F(CrashTest, TheWorkloadGoesThroughCheckpointsSegmentsAndPacks) {
    EXPECT_TRUE(checkpointed_);
    EXPECT_GE(last_pack_, "/store/packs/0000000007.pack");
    EXPECT_GT(merged_, 0U);
    EXPECT_GT(calls_, 200U);
}

TEST_F(CrashTest, APowerLossAtAnyCallThatKeepsOnlyWhatWasSynced) {
    crash_everywhere(Survival::nothing, 1, "synced only");
}

TEST_F(CrashTest, AProcessCrashAtAnyCall) {
    crash_everywhere(Survival::everything, 1, "all that was written");
}

TEST_F(CrashTest, APowerLossAtAnyCallThatTearsWhatWasNotSynced) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        crash_everywhere(Survival::some, seed, "torn and mixed, seed " + std::to_string(seed));
    }
}

TEST_F(CrashTest, ACrashDuringTheRecoveryFromACrash) {
    constexpr std::uint64_t rounds = 8; // the first crash comes early in one, late in another
    std::uint64_t points = 0;
    for (std::uint64_t round = 1; round < rounds; ++round) {
        Played played;
        const auto crashed = [&](SimFiles& disk) {
            disk.crash_at(calls_ * round / rounds);
            played = play(steps_, **open_store(small(disk)));
            disk.restart(Survival::some);
        };
        SimFiles counting{round};
        crashed(counting);
        const auto before = counting.calls();
        ASSERT_TRUE(open_store(small(counting)));
        const auto recovery = counting.calls() - before;
        for (std::uint64_t call = 0; call < recovery && !HasFatalFailure(); ++call, ++points) {
            SCOPED_TRACE("crash at call " + std::to_string(call) + " of recovery " +
                         std::to_string(round));
            SimFiles disk{round};
            crashed(disk);
            disk.crash_at(disk.calls() + call);
            (void)open_store(small(disk));
            disk.restart(Survival::some);
            expect_recovery(disk, played);
        }
    }
    std::cout << "crash points: " << points << " (in recovery)\n";
}

// The process dies, its successor opens the store, and then the power goes: what the first one left
// to the system alone must be on the disk by then.
TEST_F(CrashTest, APowerLossAfterTheRecoveryFromAProcessCrash) {
    for (std::uint64_t call = 0; call < calls_ && !HasFatalFailure(); ++call) {
        SCOPED_TRACE("crash at call " + std::to_string(call));
        SimFiles disk{call};
        disk.crash_at(call);
        Played played;
        if (auto opened = open_store(small(disk)); opened) {
            played = play(steps_, **opened);
        }
        disk.restart(Survival::everything);
        ASSERT_TRUE(open_store(small(disk)));
        disk.restart(Survival::nothing);
        expect_recovery(disk, played);
    }
    std::cout << "crash points: " << calls_ << " (process, then power)\n";
}

// A failed sync may lose data that the system's cache still shows. The next process that opens the
// store reads it and appends to it: so it has to write the data to the disk again, though the cache
// counts it as clean.
TEST_F(CrashTest, APowerLossAfterTheRecoveryFromAFailedSync) {
    for (const auto call : syncs_of_records()) {
        SCOPED_TRACE("call " + std::to_string(call) + " fails");
        SimFiles disk{call};
        disk.fail_at(call, std::errc::io_error);
        {
            const auto store = open_store(small(disk)).value();
            (void)play(steps_, *store);
        }
        disk.restart(Survival::everything);
        FsProvider::State state;
        {
            const auto store = open_store(small(disk)).value();
            ASSERT_TRUE(store->get_queue_depths());
            state = comparable(store->state());
            disk.crash_at(disk.calls());
        }
        disk.restart(Survival::nothing);
        const auto store = open_store(small(disk));
        ASSERT_TRUE(store) << store.error().text();
        ASSERT_EQ(comparable((*store)->state()), state);
    }
}

// A record that is cut off or damaged at any byte never happened; the one before it did.
TEST_F(CrashTest, TheLastRecordTornAtAnyByte) {
    constexpr std::size_t some_steps = 7; // ends with a start: one record
    const std::vector<Step> some{steps_.begin(), steps_.begin() + some_steps};
    SimFiles intact{1};
    Machine machine = small(intact);
    machine.segment_sizes = {.first = 1U << 16U, .largest = 1U << 16U};
    machine.checkpoint_bytes = 1U << 20U;
    const auto store = open_store(machine).value();
    ASSERT_EQ(play(some, *store).acknowledged, some_steps);
    const std::string path = "/store/journal/0000000001.log";
    const auto content = intact.content(path);
    intact.crash_at(intact.calls()); // so that nothing is written when the store is closed
    const auto end = content.find('\0');
    const auto begin = content.rfind('\n', end - 2) + 1;
    ASSERT_LT(begin, end);
    for (auto byte = begin; byte < end && !HasFatalFailure(); ++byte) {
        for (const bool cut : {true, false}) {
            SCOPED_TRACE((cut ? "cut at byte " : "damaged at byte ") + std::to_string(byte));
            auto torn = content;
            if (cut) {
                std::fill(torn.begin() + static_cast<std::ptrdiff_t>(byte), torn.end(), '\0');
            } else {
                torn[byte] = '~';
            }
            SimFiles disk{1};
            {
                ASSERT_TRUE(open_store(small(disk)));
            } // makes the directories
            for (const auto& old : disk.paths()) {
                if (old.starts_with("/store/journal/")) {
                    ASSERT_TRUE(disk.remove(old));
                }
            }
            {
                ASSERT_TRUE(disk.open(path, OpenMode::create));
            }
            disk.overwrite(path, torn);
            const auto opened = open_store(small(disk));
            ASSERT_TRUE(opened) << opened.error().text();
            ASSERT_EQ(comparable((*opened)->state()), states_[some_steps - 1]);
        }
    }
    std::cout << "crash points: " << 2 * (end - begin) << " (bytes of the last record)\n";
}

void CrashTest::fail_everywhere(std::errc code, Failures& failures) {
    for (std::uint64_t call = 0; call < calls_ && !HasFatalFailure(); ++call) {
        SCOPED_TRACE("call " + std::to_string(call) + " fails");
        SimFiles disk{call};
        disk.fail_at(call, code);
        Played played;
        if (auto opened = open_store(small(disk)); opened) {
            auto& store = **opened;
            played = play(steps_, store);
            if (played.acknowledged == steps_.size()) {
                ++failures.unnoticed;
                ASSERT_EQ(comparable(store.state()), states_.back());
            } else if (played.error.code == ErrorCode::unavailable) {
                ++failures.retryable;
                go_on(store, played);
            } else {
                ++failures.fatal;
                expect_dead(store, played.error);
            }
        }
        disk.restart(Survival::some);
        expect_recovery(disk, played);
    }
}

void CrashTest::expect_dead(FsProvider& store, const Error& error) {
    ASSERT_EQ(error.code, ErrorCode::storage_failed) << error.text();
    ASSERT_NE(error.message.find("the store must be reopened"), std::string::npos) << error.text();
    const auto again = store.get_queue_depths();
    ASSERT_FALSE(again);
    ASSERT_EQ(again.error().code, ErrorCode::storage_failed);
}

TEST_F(CrashTest, AnInputOutputErrorOfAnyCallIsFatalAndSaysSo) {
    Failures failures;

    fail_everywhere(std::errc::io_error, failures);

    std::cout << "failing calls: " << calls_ << " (EIO), fatal " << failures.fatal << ", unnoticed "
              << failures.unnoticed << "\n";
    EXPECT_GT(failures.fatal, 0U);
    EXPECT_EQ(failures.retryable, 0U);
}

// Only a sync that fails is fatal then: see EveryFailedSyncOfRecordsIsFatalAndSaysSo.
TEST_F(CrashTest, WithoutSpaceOrHandlesNothingHappensAndNothingIsLost) {
    for (const auto code : {std::errc::no_space_on_device, std::errc::too_many_files_open}) {
        Failures failures;

        fail_everywhere(code, failures);

        std::cout << "failing calls: " << calls_ << " (" << std::make_error_code(code).message()
                  << "), retryable " << failures.retryable << ", fatal " << failures.fatal
                  << ", unnoticed " << failures.unnoticed << "\n";
        EXPECT_GT(failures.retryable, 0U);
        EXPECT_EQ(failures.fatal, syncs_of_records().size());
    }
}

// Calls that sync a segment which has records that are not synced yet.
std::vector<std::uint64_t> CrashTest::syncs_of_records() {
    SimFiles disk;
    disk.keep_trace();
    const auto store = open_store(small(disk)).value();
    (void)play(steps_, *store);
    const auto trace = disk.trace();
    std::set<std::string> made, written; // the first write into one fills it with zeros
    std::vector<std::uint64_t> syncs;
    for (std::uint64_t call = 0; call < trace.size(); ++call) {
        const auto& [what, path] = trace[call];
        if (!path.starts_with("/store/journal/")) {
            continue;
        }
        if (what == "open") {
            made.insert(path);
        } else if (what == "write" && made.erase(path) == 0) {
            written.insert(path);
        } else if (what == "sync" && written.contains(path)) {
            syncs.push_back(call);
        }
    }
    return syncs;
}

TEST_F(CrashTest, EveryFailedSyncOfRecordsIsFatalAndSaysSo) {
    const auto syncs = syncs_of_records();
    for (const auto call : syncs) {
        for (const auto code : {std::errc::io_error, std::errc::no_space_on_device}) {
            SCOPED_TRACE("call " + std::to_string(call) + " fails");
            SimFiles disk{call};
            disk.fail_at(call, code);
            const auto store = open_store(small(disk)).value();
            const auto played = play(steps_, *store);
            ASSERT_LT(played.acknowledged, steps_.size());
            expect_dead(*store, played.error);
        }
    }
    std::cout << "failing syncs: " << 2 * syncs.size() << ", all fatal\n";
    EXPECT_GT(syncs.size(), 20U);
}

// The power goes the moment that a worker is handed an activity: what caused it is on the disk.
TEST_F(CrashTest, AnActivityIsHandedOutOnlyWhenWhatCausedItIsDurable) {
    std::uint64_t given = 0;
    for (std::size_t step = 0; step < steps_.size(); ++step) {
        if (steps_[step].name != "activity") {
            continue;
        }
        SimFiles disk{step};
        const std::vector<Step> before{steps_.begin(),
                                       steps_.begin() + static_cast<std::ptrdiff_t>(step)};
        std::optional<WorkLease> lease;
        {
            const auto store = open_store(small(disk)).value();
            ASSERT_EQ(play(before, *store).acknowledged, step);
            lease = store->fetch_work_item({.lock_timeout = std::chrono::seconds{30}}).value();
            disk.crash_at(disk.calls());
        }
        disk.restart(Survival::nothing);
        if (!lease) {
            continue;
        }
        const auto store = open_store(small(disk)).value();
        const auto history = store->read(lease->item.instance).value();
        EXPECT_TRUE(std::ranges::any_of(history, [&](const HistoryEvent& event) {
            return event.event_id == lease->item.id &&
                   std::holds_alternative<history::ActivityScheduled>(event.kind);
        })) << step;
        ++given;
    }
    std::cout << "activities handed out: " << given << "\n";
    EXPECT_GE(given, 8U);
}

TEST_F(CrashTest, ShortWritesMakeNoDifference) {
    SimFiles disk{11};
    disk.set_fault_rates({.short_write = 500});
    {
        const auto store = open_store(small(disk)).value();
        ASSERT_EQ(play(steps_, *store).acknowledged, steps_.size());
    }
    disk.restart(Survival::nothing);
    EXPECT_EQ(comparable(open_store(small(disk)).value()->state()), states_.back());
}

// Instances come and go: what is on the disk follows what is alive, not what ever was.
TEST_F(CrashTest, TheDiskStaysBoundedUnderChurn) {
    SimFiles disk;
    const auto store = open_store(small(disk)).value();
    std::uint64_t settled = 0; // once checkpoints come and go
    for (int round = 0; round < 60; ++round) {
        for (const auto& step : steps_) {
            ASSERT_TRUE(step.run(*store)) << step.name;
        }
        const auto ids = store->list_instances().value();
        for (const auto& id : ids) {
            ASSERT_TRUE(store->delete_instance(id, true));
        }
        if (round <= 20) {
            settled = std::max(settled, disk.used());
        } else {
            ASSERT_LE(disk.used(), 2 * settled) << "round " << round;
        }
    }
}

} // namespace durable::fs
