#include "base/files.hpp"
#include "base/stopwatch.hpp"
#include "cli/bench/callers.hpp"
#include "cli/bench/latencies.hpp"
#include "cli/bench/stall_probe.hpp"
#include "unit/cli/run.hpp"
#include "unit/fs/temporary_directory.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace durable::cli {
namespace {

using namespace std::chrono_literals;

std::vector<nlohmann::json> lines_of(const std::string& text) {
    std::vector<nlohmann::json> lines;
    std::istringstream in{text};
    for (std::string line; std::getline(in, line);) {
        lines.push_back(nlohmann::json::parse(line));
    }
    return lines;
}

// The one object that this run prints.
nlohmann::json measured(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "bench");
    arguments.emplace_back("--json");
    const auto run = durable_with(std::move(arguments));
    EXPECT_EQ(run.exit, success) << run.err;
    EXPECT_EQ(run.err, "");
    const auto lines = lines_of(run.out);
    return lines.size() == 1 ? lines.front() : nlohmann::json(run.out);
}

class BenchOnFiles : public testing::Test {
 protected:
    [[nodiscard]] std::string url() const { return "fs:" + directory_.path(); }
    void TearDown() override { EXPECT_TRUE(system_files().list(directory_.path())->empty()); }

 private:
    TemporaryDirectory directory_;
};

TEST(Latencies, APercentileIsNotExceededByThatShare) {
    Latencies latencies;
    for (int i = 100; i > 0; --i) {
        latencies.add(std::chrono::microseconds{i});
    }

    EXPECT_EQ(latencies.percentile(0.5), 50);
    EXPECT_EQ(latencies.percentile(0.99), 99);
    EXPECT_EQ(latencies.percentile(1), 100);
    EXPECT_EQ(latencies.percentile(0), 1);
}

TEST(Latencies, OfNothingAreZero) {
    EXPECT_EQ(Latencies{}.percentile(0.5), 0);
}

TEST(Callers, MakeAsManyCallsAsAskedFor) {
    std::atomic<int> calls{0};

    const auto made = make_calls(
        {.count = 100, .in_flight = 8},
        [&]() -> Result<> {
            ++calls;
            return {};
        },
        [](std::uint64_t) { return Result<>{}; },
        Stopwatch{});

    EXPECT_EQ(calls, 100);
    EXPECT_EQ(made->count, 100);
    EXPECT_EQ(made->latencies.count(), 100);
    EXPECT_GT(made->longest_pause, 0ns);
}

TEST(Callers, StopAtTheFirstError) {
    std::atomic<int> calls{0};

    const auto made = make_calls(
        {.in_flight = 4},
        [&]() -> Result<> {
            return ++calls < 10 ? Result<>{} : fail(ErrorCode::unavailable, "the disk is full");
        },
        [](std::uint64_t) { return Result<>{}; },
        Stopwatch{});

    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().message, "the disk is full");
}

TEST(Bench, PrintsATable) {
    const auto run = durable_with({"bench", "hello", "--store", "memory:", "--count", "3"});

    EXPECT_EQ(run.exit, success);
    EXPECT_EQ(run.out.find("workload   orchestrations     per second         p50 us"), 0)
        << run.out;
    EXPECT_NE(run.out.find("\nhello                   3 "), std::string::npos) << run.out;
    EXPECT_NE(run.out.find("\n  longest_pause_ms "), std::string::npos) << run.out;
    EXPECT_NE(run.out.find("\n  longest_stall_ms "), std::string::npos) << run.out;
}

TEST(StallProbe, TellsHowMuchLongerASleepTakesThanItShould) {
    const Stopwatch watch;
    const StallProbe probe{watch, 0ns};

    while (probe.stalls().empty()) { // no sleep ends in time
        std::this_thread::yield();
    }

    const auto first = probe.stalls().front();
    EXPECT_GE(first.begin, 1ms) << "the sleep itself is no stall";
    EXPECT_GT(first.length(), 0ns);
    EXPECT_LE(first.end, watch.elapsed());
}

TEST(StallProbe, APauseIsTheEnginesWithoutTheStallsInIt) {
    const std::vector<Interval> pauses{{.begin = 0ms, .end = 30ms}, {.begin = 100ms, .end = 190ms}};

    EXPECT_EQ(longest_without(pauses, {}), 90ms);
    EXPECT_EQ(longest_without(pauses,
                              {{.begin = 130ms, .end = 170ms},   // of two cores
                               {.begin = 120ms, .end = 160ms},   // at once
                               {.begin = 185ms, .end = 300ms},   // longer than the pause
                               {.begin = 300ms, .end = 400ms}}), // elsewhere
              35ms);
    EXPECT_EQ(longest_without(pauses, {{.begin = 90ms, .end = 200ms}}), 30ms) << "the other one";
    EXPECT_EQ(longest_without({}, {{.begin = 1ms, .end = 2ms}}), 0ms);
}

TEST(Bench, OnlyADiskHasSyncs) {
    const auto found = measured({"hello", "--store", "memory:", "--count", "3"});

    EXPECT_EQ(found["store"], "memory:");
    EXPECT_TRUE(found["fdatasync_us"].is_null()) << found;
    EXPECT_TRUE(found["fsyncs_per_orchestration"].is_null()) << found;
}

TEST_F(BenchOnFiles, SaysWhatADashboardNeeds) {
    const auto found = measured({"hello", "--store", url(), "--count", "5"});

    EXPECT_EQ(found["workload"], "hello");
    EXPECT_EQ(found["store"], url());
    EXPECT_EQ(found["orchestrations"], 5);
    EXPECT_GT(found["orchestrations_per_second"], 0);
    EXPECT_GT(found["p50_us"], 0);
    EXPECT_GE(found["p95_us"], found["p50_us"]);
    EXPECT_GE(found["p99_us"], found["p95_us"]);
    EXPECT_GT(found["fdatasync_us"], 0);
    EXPECT_GT(found["fsyncs_per_orchestration"], 1); // at least: its start, its activity, its end
}

TEST_F(BenchOnFiles, RunsSeveralWorkloadsOnALineEach) {
    const auto run = durable_with({"bench",
                                   "chain",
                                   "fanout",
                                   "--store",
                                   url(),
                                   "--count",
                                   "2",
                                   "--in-flight",
                                   "2",
                                   "--json"});

    ASSERT_EQ(run.exit, success) << run.err;
    const auto lines = lines_of(run.out);
    ASSERT_EQ(lines.size(), 2) << run.out;
    EXPECT_EQ(lines[0]["workload"], "chain");
    EXPECT_EQ(lines[1]["workload"], "fanout");
    EXPECT_GT(lines[1]["fsyncs_per_step"], 0);
}

TEST_F(BenchOnFiles, ParksOrchestrationsAndOpensTheStoreAgain) {
    const auto found = measured({"parked", "--store", url(), "--count", "20"});

    EXPECT_EQ(found["orchestrations"], 20);
    EXPECT_GT(found["reopen_seconds"], 0);
    EXPECT_TRUE(found["resident_bytes_each"].is_number());
    EXPECT_TRUE(found["resident_bytes_each_after_reopen"].is_number());
}

TEST_F(BenchOnFiles, OpensAStoreOfFinishedOrchestrationsAgain) {
    const auto found = measured({"recovery", "--store", url(), "--count", "20"});

    EXPECT_EQ(found["orchestrations"], 20);
    EXPECT_GT(found["reopen_seconds"], 0);
}

TEST_F(BenchOnFiles, ASignalEndsItInGoodOrder) {
    const auto place = url().substr(3);
    const std::jthread somebody{[&](const std::stop_token& stop) {
        while (!stop.stop_requested() && system_files().list(place)->empty()) {
            std::this_thread::yield();
        }
        ::kill(::getpid(), SIGTERM); // the store is there, so the command waits for the signal
    }};

    const auto run = durable_with({"bench", "chain", "--store", url(), "--seconds", "600"});

    EXPECT_EQ(run.exit, interrupted);
    EXPECT_EQ(run.err, "durable bench chain: interrupted; its store is removed\n");
    EXPECT_EQ(run.out, "");
}

TEST_F(BenchOnFiles, DirectoriesThatItMadeAreRemoved) {
    (void)measured({"hello", "--store", url() + "/a/b", "--count", "1"});
    // See TearDown.
}

TEST(Bench, RunsALongChain) {
    const auto found = measured({"longchain", "--store", "memory:", "--count", "1"});

    EXPECT_EQ(found["orchestrations"], 1);
    EXPECT_GT(found["steps_per_second"], 1);
}

TEST(Bench, RunsAChainOfTheLengthItIsTold) {
    const auto found =
        measured({"longchain", "--store", "memory:", "--count", "2", "--steps", "7"});

    const double steps = found["steps_per_second"];
    const double orchestrations = found["orchestrations_per_second"];
    EXPECT_NEAR(steps / orchestrations, 7, 0.5);
}

TEST(Bench, RunsForSomeTime) {
    const auto found = measured({"chain", "--store", "memory:", "--seconds", "1"});

    EXPECT_GT(found["orchestrations"], 0);
}

TEST(Bench, CannotReopenAStoreThatKeepsNothing) {
    expect_bad_use({"bench", "recovery", "--store", "memory:"},
                   "durable bench recovery: recovery needs a store that keeps what it is told");
}

TEST(Bench, RefusesAStoreItDoesNotKnow) {
    expect_bad_use({"bench", "hello", "--store", "mongo:x"}, "unknown store 'mongo:x'");
    expect_bad_use({"bench", "hello", "--store", "fs:"}, "'fs:' should look like fs:DIR");
}

TEST(Bench, SaysWhenItCannotMakeTheStore) {
    expect_bad_use({"bench", "hello", "--store", "fs:/dev/null/store"}, "/dev/null");
}

TEST(Bench, RefusesAWorkloadItDoesNotKnow) {
    expect_bad_use({"bench", "helo", "--store", "memory:"},
                   "unknown workload 'helo', known are: hello (one activity, 2000 times");
    // Nothing runs before all of it makes sense.
    expect_bad_use({"bench", "hello", "helo", "--store", "memory:"}, "unknown workload 'helo'");
}

TEST(Bench, RefusesWhatItCannotRead) {
    expect_bad_use({"bench", "--store", "memory:"}, "workload");
    expect_bad_use({"bench", "hello"}, "--store");
    expect_bad_use({"bench", "hello", "--store", "memory:", "--count", "0"}, "--count");
    expect_bad_use({"bench", "hello", "--store", "memory:", "--count", "many"}, "--count");
    expect_bad_use({"bench", "hello", "--store", "memory:", "--count", "-1"}, "--count");
    expect_bad_use({"bench", "hello", "--store", "memory:", "--seconds", "0"}, "--seconds");
    expect_bad_use({"bench", "hello", "--store", "memory:", "--in-flight", "0"}, "--in-flight");
    expect_bad_use({"bench", "hello", "--store", "memory:", "--in-flight", "1001"}, "--in-flight");
    expect_bad_use({"bench", "hello", "--store", "memory:", "--xml"}, "--xml");
    expect_bad_use({"bench", "hello", "--store", "memory:", "--steps", "7"},
                   "--steps: is for longchain");
}

} // namespace
} // namespace durable::cli
