#include "base/files.hpp"
#include "cli/fs_factory.hpp"
#include "cli/program.hpp"
#include "cli/validate.hpp"
#include "unit/cli/run.hpp"
#include "unit/fs/temporary_directory.hpp"

#include <durable/validation.hpp>

#include <memory>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace durable::cli {
namespace {

TEST(Program, WantsACommand) {
    expect_bad_use({}, "A command is required");
}

TEST(Program, RefusesACommandItDoesNotKnow) {
    expect_bad_use({"valdate"}, "valdate");
}

TEST(Program, ExplainsItself) {
    const auto run = durable_with({"--help"});

    EXPECT_EQ(run.exit, success);
    EXPECT_NE(run.out.find("validate"), std::string::npos) << run.out;
}

TEST(Program, SaysItsVersion) {
    const auto run = durable_with({"--version"});

    EXPECT_EQ(run.exit, success);
    EXPECT_EQ(run.out, "durable 0.1.0\n");
}

TEST(Validate, WantsAStore) {
    expect_bad_use({"validate"}, "a store: memory:");
}

TEST(Validate, RefusesAStoreItDoesNotKnow) {
    expect_bad_use({"validate", "mongo:x"}, "unknown store 'mongo:x'");
    expect_bad_use({"validate", "memory"}, "unknown store 'memory'");
}

TEST(Validate, RefusesAPlaceWhereNoneBelongs) {
    expect_bad_use({"validate", "memory:here"}, "'memory:here' should look like memory:");
}

TEST(Validate, WantsAPlaceWhereOneBelongs) {
    expect_bad_use({"validate", "fs:"}, "'fs:' should look like fs:DIR");
}

TEST(Validate, SaysOnceThatNoStoreCanBeMadeThere) {
    expect_bad_use({"validate", "fs:/dev/null/store"}, "/dev/null");
#if DURABLE_SQLITE
    expect_bad_use({"validate", "sqlite:/dev/null/store.db"}, "/dev/null");
#endif
}

TEST(Validate, ListsForAStoreItKnowsOnly) {
    expect_bad_use({"validate", "mongo:x", "--list"}, "unknown store 'mongo:x'");
}

TEST(Validate, LeavesNothingInTheDirectoryThatItWasGiven) {
    const TemporaryDirectory directory;

    const auto run =
        durable_with({"validate", "fs:" + directory.path(), "--filter", "concurrent_ack"});

    EXPECT_EQ(run.exit, success);
    EXPECT_EQ(run.out, "ok   atomicity/test_concurrent_ack_prevention\n1 passed, 0 failed\n");
    EXPECT_TRUE(system_files().list(directory.path())->empty());
}

TEST(Validate, KeepsNoStoreOfAnEarlierCheck) {
    const TemporaryDirectory directory;
    FsFactory factory{directory.path()};
    std::ostringstream out;

    (void)run_checks(select_checks("atomicity/"), factory, out);

    EXPECT_EQ(system_files().list(directory.path())->size(), 1U) << "the last one's";
}

TEST(Validate, RefusesOptionsItDoesNotKnow) {
    expect_bad_use({"validate", "memory:", "--fliter", "x"}, "--fliter");
    expect_bad_use({"validate", "memory:", "twice:"}, "twice:");
    expect_bad_use({"validate", "memory:", "--filter"}, "--filter");
}

TEST(Validate, RefusesAFilterThatMatchesNothing) {
    expect_bad_use({"validate", "memory:", "--filter", "nonsense"}, "no check contains 'nonsense'");
}

TEST(Validate, ListsChecksWithoutAStore) {
    const auto run = durable_with({"validate", "--list", "--filter", "concurrent_ack"});

    EXPECT_EQ(run.exit, success);
    EXPECT_EQ(run.out, "atomicity/test_concurrent_ack_prevention\n");
}

TEST(Validate, PrintsOneLinePerCheckAndTheTotals) {
    const auto run = durable_with({"validate", "memory:", "--filter", "concurrent_ack"});

    EXPECT_EQ(run.exit, success);
    EXPECT_EQ(run.out, "ok   atomicity/test_concurrent_ack_prevention\n1 passed, 0 failed\n");
}

TEST(Validate, CountsSkippedChecks) {
    const auto run = durable_with({"validate", "memory:", "--filter", "test_short_poll_returns"});

    EXPECT_EQ(run.exit, success);
    EXPECT_EQ(run.out,
              "skip long_polling/test_short_poll_returns_immediately: this provider polls long\n"
              "0 passed, 0 failed, 1 skipped\n");
}

class BrokenFactory final : public validation::Factory {
 public:
    Result<std::shared_ptr<Provider>> create() override {
        return fail(ErrorCode::unavailable, "the disk is full");
    }
};

TEST(Validate, FailsWhenACheckFails) {
    BrokenFactory broken;
    std::ostringstream out;

    const auto exit = run_checks(select_checks("test_concurrent_ack"), broken, out);

    EXPECT_EQ(exit, failure);
    EXPECT_NE(out.str().find("FAIL atomicity/test_concurrent_ack_prevention [P2]: "),
              std::string::npos)
        << out.str();
    EXPECT_NE(out.str().find("the disk is full"), std::string::npos) << out.str();
    EXPECT_TRUE(out.str().ends_with("0 passed, 1 failed\n")) << out.str();
}

} // namespace
} // namespace durable::cli
