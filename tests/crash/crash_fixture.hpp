// What every crash test has: the workload, the state after each of its steps, and the recovery.

#pragma once

#include "crash/workload.hpp"
#include "simulation/sim_files.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

namespace durable::fs {

using simulation::SimFiles;
using simulation::Survival;

// So small that the workload goes through several segments, checkpoints and packs.
inline Machine small(SimFiles& disk) {
    return {.files = &disk,
            .threads = false,
            .segment_sizes = {.first = largest_segment / 2, .largest = largest_segment},
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

// Nothing has happened; or the step's record was already placed, waited for space and is written by
// now, as if only the answer had got lost.
inline void CrashTest::go_on(FsProvider& store, Played& played) {
    ASSERT_TRUE(store.get_queue_depths()); // which makes everything before it durable
    const auto state = comparable(store.state());
    const bool held = state != states_[played.acknowledged];
    const auto reached = played.acknowledged + (held ? 1U : 0U);
    ASSERT_EQ(state, states_[reached]);
    played = play(steps_, store, reached);
    ASSERT_EQ(played.acknowledged, steps_.size()) << played.error.text();
    ASSERT_EQ(comparable(store.state()), states_.back());
}

} // namespace durable::fs
