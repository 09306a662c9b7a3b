// `durable verify` and `durable repair` as people meet them: what they print and what they answer.

#include "base/files.hpp"
#include "cli/program.hpp"
#include "unit/fs/temporary_directory.hpp"

#include <durable/fs.hpp>

#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace durable::cli {
namespace {

struct Run {
    ExitCode exit = success;
    std::string out;
    std::string err;
};

Run durable_with(std::vector<std::string> arguments) {
    std::ostringstream out;
    std::ostringstream err;
    const auto exit = run_program(std::move(arguments), out, err);
    return {.exit = exit, .out = out.str(), .err = err.str()};
}

void expect_bad_use(std::vector<std::string> arguments, const std::string& reason) {
    const auto run = durable_with(std::move(arguments));
    EXPECT_EQ(run.exit, bad_use);
    EXPECT_EQ(run.out, "");
    EXPECT_NE(run.err.find(reason), std::string::npos) << run.err;
}

class VerifyCommand : public ::testing::Test {
 protected:
    VerifyCommand() {
        const auto store = fs::open(store_).value();
        for (const std::string id : {"a", "b", "c"}) {
            EXPECT_TRUE(store->enqueue_for_orchestrator(
                work::StartOrchestration{.instance = id, .orchestration = "Hello", .input = "{}"},
                std::nullopt));
        }
    }

    // The second of the three records.
    void damage() const {
        const auto path = store_ + "/journal/0000000001.log";
        auto content = read_file(system_files(), path).value();
        content.at(content.find("\"b\"") + 1) = 'x';
        const auto file = system_files().open(path, OpenMode::write).value();
        ASSERT_TRUE(write_at(*file, content, 0));
    }

    const TemporaryDirectory directory_;
    const std::string store_ = directory_.path() + "/store";
    const std::string fresh_ = directory_.path() + "/fresh";
};

TEST_F(VerifyCommand, SaysWhatItCheckedAndThatItIsClean) {
    const auto run = durable_with({"verify", store_});

    EXPECT_EQ(run.exit, success) << run.err;
    EXPECT_NE(run.out.find("checkpoint  none"), std::string::npos) << run.out;
    EXPECT_NE(run.out.find("4 records behind the checkpoint, up to record 4"), std::string::npos)
        << run.out; // the last one closes the store
    EXPECT_NE(run.out.find("3 live and 0 finished instances, 3 messages"), std::string::npos)
        << run.out;
    EXPECT_TRUE(run.out.ends_with("clean\n")) << run.out;
}

TEST_F(VerifyCommand, NamesFileAndOffsetOfTheDamage) {
    damage();

    const auto run = durable_with({"verify", store_});

    EXPECT_EQ(run.exit, failure);
    EXPECT_NE(
        run.out.find("DAMAGED     cannot be opened: " + store_ + "/journal/0000000001.log, byte "),
        std::string::npos)
        << run.out;
    EXPECT_TRUE(run.out.ends_with("damaged: see durable repair\n")) << run.out;
}

TEST_F(VerifyCommand, RepairSavesTheOthersAndSaysWhatIsLost) {
    damage();

    const auto run = durable_with({"repair", store_, fresh_});

    EXPECT_EQ(run.exit, failure) << run.err;
    EXPECT_NE(run.out.find("2 live and 0 finished instances"), std::string::npos) << run.out;
    EXPECT_NE(run.out.find("LOST        records 2 to 2"), std::string::npos) << run.out;
    EXPECT_NE(run.out.find("listed in   " + fresh_ + "/quarantine/lost.txt"), std::string::npos)
        << run.out;
    EXPECT_EQ(durable_with({"verify", fresh_}).exit, success);
    EXPECT_TRUE(fs::open(fresh_));
}

TEST_F(VerifyCommand, RepairOfAHealthyStoreLosesNothing) {
    const auto run = durable_with({"repair", store_, fresh_});

    EXPECT_EQ(run.exit, success) << run.err;
    EXPECT_TRUE(run.out.ends_with("nothing was lost\n")) << run.out;
}

TEST_F(VerifyCommand, AMissingFormatIsMendedAndNothingIsLost) {
    ASSERT_TRUE(system_files().remove(store_ + "/FORMAT"));

    const auto run = durable_with({"repair", store_, fresh_});

    EXPECT_EQ(run.exit, success) << run.err;
    EXPECT_NE(run.out.find("mended      " + store_ + " has no FORMAT file"), std::string::npos)
        << run.out;
    EXPECT_TRUE(run.out.ends_with("nothing was lost\n")) << run.out;
}

TEST_F(VerifyCommand, ADamagedCheckpointIsNotCalledNone) {
    const auto file =
        system_files().open(store_ + "/checkpoint/0000000003.ckpt", OpenMode::create).value();
    ASSERT_TRUE(write_at(*file, "no checkpoint", 0));

    const auto run = durable_with({"verify", store_});

    EXPECT_EQ(run.exit, failure) << run.err;
    EXPECT_NE(run.out.find("checkpoint  none that is whole\n"), std::string::npos) << run.out;
}

TEST_F(VerifyCommand, RefusesWhatItCannotJudge) {
    expect_bad_use({"verify"}, "DIR is required");
    expect_bad_use({"verify", directory_.path() + "/nowhere"}, "nowhere");
    expect_bad_use({"verify", directory_.path()}, "is no store");
    expect_bad_use({"verify", store_ + "/FORMAT"}, "FORMAT");
    expect_bad_use({"repair", store_}, "NEW is required");
    expect_bad_use({"repair", store_, store_ + "/new"}, "lies inside");
    expect_bad_use({"repair", store_, directory_.path()}, "is not empty");
}

TEST_F(VerifyCommand, RefusesAStoreInUse) {
    const auto store = fs::open(store_).value();

    expect_bad_use({"verify", store_}, "is in use by process");
    expect_bad_use({"repair", store_, fresh_}, "is in use by process");
}

} // namespace
} // namespace durable::cli
