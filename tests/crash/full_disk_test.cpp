// A disk that is full: nothing is lost, nothing is half-done, and work goes on when there is space.

#include "crash/crash_fixture.hpp"

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>

#include <gtest/gtest.h>

namespace durable::fs {
namespace {

using FullDiskTest = CrashTest;

// On file systems that never write in place, allocated space is no promise.
TEST_F(FullDiskTest, AFullDiskInsideASegmentIsRetryableAndWorkResumes) {
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
        // From now on nothing happens at all, and no caller sees what is not durable.
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

// Held records are gone after a crash, and no caller was told that they were stored.
TEST_F(FullDiskTest, ACrashOfAFullDiskLosesOnlyWhatWasRefused) {
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

TEST_F(FullDiskTest, AFullDiskIsRetryableAndWorkResumesWhenSpaceReturns) {
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

} // namespace
} // namespace durable::fs
