// The segments of a journal: filled with zeros before they are needed, whatever happens meanwhile.

#include "unit/fs/journal_fixture.hpp"

#include <cstdint>
#include <string>
#include <thread>
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

// The spare is taken at any moment of its filling; zeros must not come over its records.
TEST_F(SegmentsTest, ASegmentThatIsTakenWhileItIsFilledKeepsItsRecords) {
    constexpr std::uint64_t size = 4U << 20U; // filled in several steps
    constexpr std::size_t records = 60;
    open({.writer_thread = false}, {.first = size, .largest = size});
    const std::string long_text(size / 4, 'x');
    {
        const std::jthread filling{[&](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                ASSERT_TRUE(journal_->prepare_spare());
            }
        }};
        for (std::size_t i = 0; i < records; ++i) {
            const auto lsn = append(std::to_string(i) + long_text);
            ASSERT_TRUE(lsn);
            ASSERT_TRUE(journal_->ensure_durable(*lsn));
        }
    }
    crash(Survival::nothing);

    open();

    const auto kept = texts();
    ASSERT_EQ(kept.size(), records);
    for (std::size_t i = 0; i < records; ++i) {
        EXPECT_TRUE(kept[i].starts_with(std::to_string(i) + "x")) << i;
    }
}

} // namespace
} // namespace durable::fs
