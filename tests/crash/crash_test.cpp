// A store that crashes at every single call to the file system comes back with everything that was
// acknowledged and nothing half-done, whatever the disk kept of what was not synced; and then goes
// on as if nothing had happened.

#include "crash/workload.hpp"
#include "simulation/sim_files.hpp"

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
namespace {

using simulation::SimFiles;
using simulation::Survival;

// So small that the workload goes through several segments, checkpoints and packs.
Machine small(SimFiles& disk) {
    return {.files = &disk,
            .threads = false,
            .segment_sizes = {.first = 1U << 11U, .largest = 1U << 12U},
            .checkpoint_bytes = 1U << 11U,
            .checkpoint_piece = 1U << 7U,
            .pack_bytes = 0,
            .small_packs = 3,
            .most_copies = 0};
}

class CrashTest : public ::testing::Test {
 protected:
    CrashTest() {
        SimFiles disk;
        states_ = reference_states(steps_, small(disk));
        SimFiles counting; // without the calls that look at the states
        (void)play(steps_, **open_store(small(counting)));
        calls_ = counting.calls();
        for (const auto& path : disk.paths()) {
            checkpointed_ = checkpointed_ || path.starts_with("/store/checkpoint/");
            if (path.starts_with("/store/packs/")) {
                last_pack_ = path;
                const auto content = disk.content(path);
                const auto lines = std::ranges::count(content, '\n');
                merged_ += lines > 3 ? 1U : 0U;
            }
        }
    }

    // Opens what is left, finds out after which step that is, and plays the rest.
    void expect_recovery(SimFiles& disk, const Played& played) {
        auto opened = open_store(small(disk));
        ASSERT_TRUE(opened) << opened.error().text();
        const auto state = comparable((*opened)->state());
        const auto last = std::min(played.acknowledged + 1, steps_.size());
        auto reached = played.promised;
        while (reached < last && state != states_[reached]) {
            ++reached;
        }
        ASSERT_EQ(state, states_[reached])
            << "promised " << played.promised << ", acknowledged " << played.acknowledged;
        const auto rest = play(steps_, **opened, reached);
        ASSERT_EQ(rest.acknowledged, steps_.size()) << rest.error.text();
        ASSERT_EQ(comparable((*opened)->state()), states_.back());
    }

    void crash_everywhere(Survival survival, std::uint64_t seed, std::string_view name) {
        for (std::uint64_t call = 0; call < calls_ && !HasFatalFailure(); ++call) {
            SCOPED_TRACE("crash at call " + std::to_string(call) + ", seed " +
                         std::to_string(seed));
            SimFiles disk{seed * 1000 + call};
            disk.crash_at(call);
            Played played;
            if (auto opened = open_store(small(disk)); opened) {
                played = play(steps_, **opened);
            }
            disk.restart(survival);
            expect_recovery(disk, played);
        }
        std::cout << "crash points: " << calls_ << " (" << name << ")\n";
    }

    struct Failures {
        std::uint64_t unnoticed = 0;
        std::uint64_t retryable = 0;
        std::uint64_t fatal = 0;
    };
    // Breaks one call at a time.
    void fail_everywhere(std::errc code, Failures& failures);
    void go_on(FsProvider& store, Played& played);
    static void expect_dead(FsProvider& store, const Error& error);
    std::vector<std::uint64_t> syncs_of_records();

    const std::vector<Step> steps_ = make_workload();
    std::vector<FsProvider::State> states_;
    std::uint64_t calls_ = 0;
    bool checkpointed_ = false;
    std::size_t merged_ = 0; // packs of several instances
    std::string last_pack_;  // packs that were merged or emptied have lower numbers
};

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
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        crash_everywhere(Survival::some, seed, "torn and mixed, seed " + std::to_string(seed));
    }
}

TEST_F(CrashTest, ACrashDuringTheRecoveryFromACrash) {
    std::uint64_t points = 0;
    SimFiles counting{7};
    counting.crash_at(calls_ / 2);
    (void)play(steps_, **open_store(small(counting)));
    counting.restart(Survival::some);
    const auto before = counting.calls();
    ASSERT_TRUE(open_store(small(counting)));
    const auto recovery = counting.calls() - before;
    for (std::uint64_t call = 0; call < recovery && !HasFatalFailure(); ++call, ++points) {
        SCOPED_TRACE("crash at call " + std::to_string(call) + " of the recovery");
        SimFiles disk{7};
        disk.crash_at(calls_ / 2);
        const auto played = play(steps_, **open_store(small(disk)));
        disk.restart(Survival::some);
        disk.crash_at(disk.calls() + call);
        (void)open_store(small(disk));
        disk.restart(Survival::some);
        expect_recovery(disk, played);
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

// A failed sync may lose data that the system goes on showing. Whoever opens the store next reads
// it, and builds upon it: so it has to be on the disk, whatever the system believes.
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

// Nothing has happened; or the step's record was already placed, waited for space and is written by
// now, as if only the answer had got lost.
void CrashTest::go_on(FsProvider& store, Played& played) {
    ASSERT_TRUE(store.get_queue_depths()); // which makes everything before it durable
    const auto state = comparable(store.state());
    const bool held = state != states_[played.acknowledged];
    const auto reached = played.acknowledged + (held ? 1U : 0U);
    ASSERT_EQ(state, states_[reached]);
    played = play(steps_, store, reached);
    ASSERT_EQ(played.acknowledged, steps_.size()) << played.error.text();
    ASSERT_EQ(comparable(store.state()), states_.back());
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

// On file systems that never write in place, allocated space is no promise.
TEST_F(CrashTest, AFullDiskInsideASegmentIsRetryableAndWorkResumes) {
    std::uint64_t held = 0;
    for (std::size_t step = 0; step < steps_.size() && !HasFatalFailure(); ++step) {
        SCOPED_TRACE("the disk is full before step " + std::to_string(step));
        SimFiles disk{step};
        const auto store = open_store(small(disk)).value();
        auto played =
            play({steps_.begin(), steps_.begin() + static_cast<std::ptrdiff_t>(step)}, *store);
        ASSERT_EQ(played.acknowledged, step);
        disk.refuse_writes(true);
        played = play(steps_, *store, step);
        ASSERT_LT(played.acknowledged, steps_.size());
        ASSERT_EQ(played.error.code, ErrorCode::unavailable) << played.error.text();
        // From now on nothing happens at all, and nobody sees what is not durable.
        const auto state = store->state();
        const auto again = steps_[played.acknowledged].run(*store);
        ASSERT_TRUE(!again && again.error().code == ErrorCode::unavailable);
        ASSERT_EQ(store->state(), state);
        const bool holds = comparable(state) != states_[played.acknowledged]; // or refused at once
        const auto seen = store->get_queue_depths();
        EXPECT_TRUE(seen ? !holds : seen.error().code == ErrorCode::unavailable);
        held += holds ? 1U : 0U;

        disk.refuse_writes(false);
        go_on(*store, played);
    }
    std::cout << "full disks: " << steps_.size() << ", records held " << held << "\n";
    EXPECT_GT(held, 0U);
}

// What was held is not there after a crash, and nobody was told that it is.
TEST_F(CrashTest, ACrashOfAFullDiskLosesOnlyWhatWasRefused) {
    for (std::size_t step = 0; step < steps_.size() && !HasFatalFailure(); ++step) {
        SCOPED_TRACE("the disk is full before step " + std::to_string(step));
        SimFiles disk{step};
        Played played;
        {
            const auto store = open_store(small(disk)).value();
            played =
                play({steps_.begin(), steps_.begin() + static_cast<std::ptrdiff_t>(step)}, *store);
            disk.refuse_writes(true);
            const auto promised = played.promised;
            played = play(steps_, *store, step);
            played.promised = promised; // a step that ended without waiting proves nothing
            disk.crash_at(disk.calls());
        }
        disk.restart(Survival::some);
        expect_recovery(disk, played);
    }
}

TEST_F(CrashTest, AFullDiskIsRetryableAndWorkResumesWhenSpaceReturns) {
    SimFiles disk;
    const auto store = open_store(small(disk)).value();
    disk.set_capacity(disk.used() + (1U << 13U));
    Result<> done;
    std::size_t made = 0;
    for (; done && made < 1000; ++made) {
        done = steps_.front().run(*store);
    }
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::unavailable) << done.error().text();
    const auto state = store->state();
    EXPECT_FALSE(steps_.front().run(*store));
    EXPECT_EQ(store->state(), state);

    disk.set_capacity(1U << 30U);

    EXPECT_TRUE(steps_.front().run(*store));
    EXPECT_EQ(store->get_queue_depths()->orchestrator_queue, made);
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

} // namespace
} // namespace durable::fs
