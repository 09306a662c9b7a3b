// Large files are synced, and removed, a little at a time.

#include "base/files.hpp"
#include "providers/fs/files/steady_writer.hpp"
#include "simulation/sim_files.hpp"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace durable::fs {
namespace {

TEST(SteadyWriter, NeverLeavesMoreThanHalfAMegabyteToTheLastSync) {
    constexpr std::size_t piece = 1U << 16U;
    constexpr std::size_t pieces = 50;
    simulation::SimFiles disk;
    disk.keep_trace();
    auto file = SteadyWriter::open(disk, "/large");
    ASSERT_TRUE(file);

    for (std::size_t i = 0; i < pieces; ++i) {
        ASSERT_TRUE(file->write(std::string(piece, 'x')));
    }
    ASSERT_TRUE(file->sync());

    std::size_t unsynced = 0;
    std::size_t most = 0;
    for (const auto& call : disk.trace()) {
        unsynced = call.what == "sync" ? 0 : unsynced + (call.what == "write" ? 1U : 0U);
        most = std::max(most, unsynced);
    }
    EXPECT_EQ(most * piece, 1U << 19U);
    EXPECT_EQ(file->bytes(), pieces * piece);
    EXPECT_EQ(disk.content("/large"), std::string(pieces * piece, 'x'));
}

TEST(SteadyWriter, EmptiesAFileThatIsThere) {
    simulation::SimFiles disk;
    ASSERT_TRUE(SteadyWriter::open(disk, "/file")->write("an earlier try"));

    auto file = SteadyWriter::open(disk, "/file");
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write("now"));

    EXPECT_EQ(disk.content("/file"), "now");
}

// ---- remove_gradually

TEST(RemoveGradually, GivesTheSpaceOfALargeFileBackInSteps) {
    constexpr std::size_t size = 21U << 20U;
    simulation::SimFiles disk;
    {
        auto file = disk.open("/large", OpenMode::write_or_create);
        ASSERT_TRUE(file);
        ASSERT_TRUE(write_at(**file, std::string(size, 'x'), 0));
    }
    disk.keep_trace();

    ASSERT_TRUE(remove_gradually(disk, "/large"));

    std::size_t truncated = 0;
    for (const auto& call : disk.trace()) {
        truncated += call.what == "truncate" ? 1U : 0U;
    }
    EXPECT_EQ(truncated, 5U); // and a last megabyte
    EXPECT_EQ(disk.trace().back().what, "remove");
    EXPECT_FALSE(disk.open("/large", OpenMode::read));
}

TEST(RemoveGradually, RemovesASmallFileAndRefusesWhatIsNotThere) {
    simulation::SimFiles disk;
    ASSERT_TRUE(SteadyWriter::open(disk, "/file")->write("small"));

    EXPECT_TRUE(remove_gradually(disk, "/file"));
    EXPECT_FALSE(disk.open("/file", OpenMode::read));
    EXPECT_FALSE(remove_gradually(disk, "/file"));
}

} // namespace
} // namespace durable::fs
