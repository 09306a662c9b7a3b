// The segments of a journal: filled with zeros before they are needed, whatever happens meanwhile.

#include "unit/fs/journal_fixture.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace durable::fs {
namespace {

using simulation::Survival;

class SegmentsTest : public JournalTest {};

TEST_F(SegmentsTest, ASegmentIsWrittenInFullBeforeItsFirstRecord) {
    disk_.keep_trace();
    open();
    ASSERT_TRUE(append("one"));
    ASSERT_TRUE(journal_->ensure_durable(1));

    std::string calls;
    for (const auto& call : disk_.trace()) {
        if (call.path == "/journal/0000000001.log") {
            calls += call.what + " ";
        }
    }
    const std::string zeros_then_record = "allocate sync write sync write sync ";
    EXPECT_TRUE(calls.ends_with(zeros_then_record)) << calls;
    EXPECT_EQ(disk_.content("/journal/0000000001.log").size(), 1024U);
}

TEST_F(SegmentsTest, ADiskThatIsFullWhileASegmentIsFilledRefusesTheRecordAndNothingElse) {
    open();
    disk_.refuse_writes(true);

    const auto refused = append("one");

    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::unavailable) << refused.error().text();
    EXPECT_TRUE(disk_.paths().empty()) << "what could not be filled is given back";
    disk_.refuse_writes(false);
    EXPECT_EQ(append("two").value(), 1U);
    ASSERT_TRUE(journal_->ensure_durable(1));
    crash(Survival::nothing);
    open();
    EXPECT_EQ(texts(), std::vector<std::string>{"two"});
}

TEST_F(SegmentsTest, APowerCutWhileASegmentIsFilledLosesNothing) {
    open();
    ASSERT_TRUE(append("one"));
    ASSERT_TRUE(journal_->ensure_durable(1));
    const auto before = disk_.calls();
    ASSERT_TRUE(journal_->prepare_spare());
    const auto calls = disk_.calls() - before;
    for (std::uint64_t call = 0; call < calls; ++call) {
        for (const auto survival : {Survival::nothing, Survival::some, Survival::everything}) {
            crash(Survival::everything);
            open();
            const auto last = append("again").value();
            ASSERT_TRUE(journal_->ensure_durable(last));
            disk_.crash_at(disk_.calls() + call);
            (void)journal_->prepare_spare();
            crash(survival);
            open();
            ASSERT_EQ(seen_.size(), last) << "call " << call;
        }
    }
    EXPECT_GE(calls, 5U);
}

TEST_F(SegmentsTest, ASpareThatGrowsForALargeRecordIsDurablyThatLarge) {
    Segments segments{disk_, directory, 1, {.first = 1024, .largest = 1024}};
    ASSERT_TRUE(segments.work_on_spare());

    const auto large = segments.next(5000).value();
    disk_.restart(Survival::nothing);

    EXPECT_EQ(disk_.content(large->path).size(), 5000U);
}

TEST_F(SegmentsTest, ASpareWhoseSizeIsNotSafeIsGivenUp) {
    Segments segments{disk_, directory, 1, {.first = 1024, .largest = 1024}};
    ASSERT_TRUE(segments.work_on_spare());
    disk_.fail_at(disk_.calls() + 1, std::errc::no_space_on_device); // the sync behind the growth

    const auto refused = segments.next(5000);

    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::unavailable) << refused.error().text();
    EXPECT_TRUE(disk_.paths().empty());
    EXPECT_EQ(segments.next(5000).value()->number, 1U);
}

TEST_F(SegmentsTest, WhatIsTakenWhileItIsFilledIsNotFilledFurther) {
    constexpr std::uint64_t size = 2U << 20U; // filled in several steps
    for (int steps = 1; steps <= 5; ++steps) {
        Segments segments{disk_, directory, 1, {.first = size, .largest = size}};
        for (int step = 0; step < steps; ++step) {
            ASSERT_TRUE(segments.work_on_spare());
        }
        const auto taken = segments.next(1).value();
        const std::string records(size, 'x');
        ASSERT_TRUE(write_at(*taken->file, records, 0));

        for (bool more = true; more;) {
            more = segments.work_on_spare().value();
        }

        EXPECT_TRUE(disk_.content(taken->path) == records) << "taken after " << steps << " steps";
        EXPECT_EQ(segments.next(1).value()->number, taken->number + 1);
    }
}

// A busy store has large segments. A disk that has no room for the next one may have plenty for
// what is written.
TEST_F(SegmentsTest, ADiskWithoutRoomForALargeSegmentGetsASmallOne) {
    Segments segments{disk_, directory, 1, {.first = 1024, .largest = 1U << 20U}};
    std::uint64_t used = 0;
    for (int number = 0; number < 8; ++number) {
        used += segments.next(1).value()->size;
    }
    disk_.set_capacity(used + 5000);

    const auto small = segments.next(1);
    const auto fitting = segments.next(3000);
    const auto refused = segments.next(1);

    EXPECT_EQ(small.value()->size, 1024U);
    EXPECT_EQ(fitting.value()->size, 3000U);
    EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
}

} // namespace
} // namespace durable::fs
