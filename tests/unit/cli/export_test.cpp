// `durable export` as people meet it: what it prints, answers and leaves on the disk.

#include "base/files.hpp"
#include "cli/program.hpp"
#include "unit/fs/temporary_directory.hpp"

#include <durable/fs.hpp>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace durable::cli {
namespace {

class ExportCommand : public ::testing::Test {
 protected:
    ExportCommand() {
        const auto store = fs::open(store_).value();
        for (const std::string id : {"order-1", "Order/2"}) {
            EXPECT_TRUE(store->enqueue_for_orchestrator(
                work::StartOrchestration{.instance = id, .orchestration = "Hello", .input = "{}"},
                std::nullopt));
        }
    }

    ExitCode run(std::vector<std::string> arguments) {
        out_.str("");
        err_.str("");
        return run_program(std::move(arguments), out_, err_);
    }

    std::string meta(const std::string& name) {
        return read_file(system_files(), name + "/meta.json").value_or("");
    }

    const TemporaryDirectory directory_;
    const std::string store_ = directory_.path() + "/store";
    const std::string target_ = directory_.path() + "/out";
    std::ostringstream out_;
    std::ostringstream err_;
};

TEST_F(ExportCommand, WritesAllInstancesToThePlaceThatIsGiven) {
    EXPECT_EQ(run({"export", store_, target_}), success) << err_.str();

    EXPECT_EQ(out_.str(), target_ + " has the views of 2 instances\n");
    EXPECT_TRUE(meta(target_ + "/order-1").starts_with(R"({"id":"order-1")"));
    EXPECT_TRUE(meta(target_ + "/%4frder%2f2").starts_with(R"({"id":"Order/2")"));
}

TEST_F(ExportCommand, WritesIntoTheStoreItselfUnlessToldWhere) {
    EXPECT_EQ(run({"export", store_}), success) << err_.str();

    EXPECT_FALSE(meta(store_ + "/instances/order-1").empty());
    EXPECT_TRUE(fs::open(store_));
}

TEST_F(ExportCommand, WritesOneInstanceAndSaysWhere) {
    EXPECT_EQ(run({"export", store_, target_, "--instance", "Order/2"}), success) << err_.str();

    EXPECT_EQ(out_.str(), target_ + " has the view of 1 instance\n" + target_ + "/%4frder%2f2\n");
    EXPECT_TRUE(meta(target_ + "/order-1").empty());
}

TEST_F(ExportCommand, SaysWhyItDoesNothing) {
    const auto expect_bad_use = [&](std::vector<std::string> arguments, const std::string& why) {
        EXPECT_EQ(run(std::move(arguments)), bad_use);
        EXPECT_EQ(out_.str(), "");
        EXPECT_NE(err_.str().find(why), std::string::npos) << err_.str();
    };
    expect_bad_use({"export"}, "DIR is required");
    expect_bad_use({"export", directory_.path() + "/nowhere"}, "nowhere");
    expect_bad_use({"export", store_, directory_.path()},
                   "holds something else than views of this store: store");
    expect_bad_use({"export", store_, target_, "--instance", "nobody"}, "no instance \"nobody\"");
    const auto in_use = fs::open(store_).value();
    expect_bad_use({"export", store_, target_}, "is in use by process");
}

} // namespace
} // namespace durable::cli
