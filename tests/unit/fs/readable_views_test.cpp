// Views that a store writes while it works: soon after each change, never before it is durable, and
// never in the way.

#include "providers/fs/fs_provider.hpp"
#include "simulation/sim_files.hpp"
#include "unit/fs/finished_instance.hpp"

#include <durable/testing.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace durable::fs {
namespace {

using nlohmann::json;
using simulation::SimFiles;
using simulation::Survival;

class ReadableViewsTest : public ::testing::Test {
 protected:
    void open(bool views = true, bool threads = false) {
        store_.reset();
        auto opened = FsProvider::open("/store",
                                       {.clock = clock_, .readable_views = views},
                                       {.files = &disk_,
                                        .threads = threads,
                                        .segment_sizes = {.first = 1U << 14U, .largest = 1U << 14U},
                                        .pack_bytes = 0,
                                        .most_copies = 0});
        ASSERT_TRUE(opened) << opened.error().text();
        store_ = *std::move(opened);
    }
    void start(const std::string& id) {
        ASSERT_TRUE(store_->enqueue_for_orchestrator(
            work::StartOrchestration{.instance = id, .orchestration = "Order", .input = "{}"},
            std::nullopt));
    }
    json meta(const std::string& name) {
        const auto path = "/store/instances/" + name + "/meta.json";
        const auto paths = disk_.paths();
        return std::ranges::find(paths, path) == paths.end() ? json{}
                                                             : json::parse(disk_.content(path));
    }
    bool shown(const std::string& name) { return !meta(name).is_null(); }

    SimFiles disk_{3};
    std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
    std::shared_ptr<FsProvider> store_;
};

TEST_F(ReadableViewsTest, FollowAnInstanceFromItsStartIntoItsPackAndOut) {
    open();
    finish_instance(*store_, "a");
    keep_house(*store_);
    EXPECT_EQ(meta("a").at("status"), "Completed");
    EXPECT_EQ(meta("a").at("messages"), 0);
    EXPECT_EQ(meta("a").at("values").at("k"), "a");
    EXPECT_NE(disk_.content("/store/instances/a/exec_1/history.jsonl"), "");

    start("b");
    ASSERT_TRUE(store_->enqueue_for_orchestrator(
        work::ExternalRaised{.instance = "a", .name = "late", .data = "1"}, std::nullopt));
    keep_house(*store_);

    EXPECT_EQ(meta("b").at("messages"), 1);
    EXPECT_EQ(meta("a").at("messages"), 1);
}

TEST_F(ReadableViewsTest, TellWhatIsPendingAndWhyItDoesNotGoOn) {
    open();
    ASSERT_TRUE(store_->start_instance({.instance = "a", .orchestration = "Order", .input = "{}"},
                                       std::nullopt));
    keep_house(*store_);
    EXPECT_EQ(meta("a").at("status"), "Pending");
    EXPECT_FALSE(meta("a").contains("parked"));

    const auto turn = store_->fetch_orchestration_item({.lock_timeout = Duration{1000}});
    ASSERT_TRUE(turn && *turn);
    ASSERT_TRUE(store_->abandon_orchestration_item(
        {.lock_token = (*turn)->lock_token, .parked = "the code differs"}));
    open(); // also after a reopening
    keep_house(*store_);

    EXPECT_EQ(meta("a").at("parked"), "the code differs");
}

TEST_F(ReadableViewsTest, GoWithTheirInstance) {
    open();
    finish_instance(*store_, "a");
    keep_house(*store_);
    ASSERT_TRUE(shown("a"));

    ASSERT_TRUE(store_->delete_instance("a", false));
    keep_house(*store_);

    EXPECT_FALSE(shown("a"));
    EXPECT_FALSE(disk_.list("/store/instances/a"));
}

TEST_F(ReadableViewsTest, AreUpToDateWhenTheStoreIsClosed) {
    open();
    keep_house(*store_);
    start("a");
    store_.reset();

    EXPECT_TRUE(shown("a"));
}

TEST_F(ReadableViewsTest, AreWrittenByAThreadOfTheStoreAndCompleteInTheEnd) {
    open(true, true);
    for (int number = 0; number < 20; ++number) {
        finish_instance(*store_, "order-" + std::to_string(number));
    }
    for (int number = 0; number < 20; number += 2) {
        ASSERT_TRUE(store_->delete_instance("order-" + std::to_string(number), false));
    }
    store_.reset();

    for (int number = 0; number < 20; ++number) {
        const auto name = "order-" + std::to_string(number);
        EXPECT_EQ(shown(name), number % 2 == 1) << name;
    }
    EXPECT_EQ(meta("order-7").at("status"), "Completed");
}

TEST_F(ReadableViewsTest, AreThereEvenIfTheStoreWasOpenForAMoment) {
    open(false);
    start("a");
    EXPECT_FALSE(shown("a"));
    open(true);
    store_.reset();

    EXPECT_TRUE(shown("a"));
}

TEST_F(ReadableViewsTest, AreMadeAnewWhenTheStoreIsOpened) {
    open(false);
    finish_instance(*store_, "packed");
    keep_house(*store_);
    start("live");
    ASSERT_TRUE(disk_.make_directory("/store/instances/nobody"));
    ASSERT_TRUE(disk_.open("/store/instances/nobody/meta.json", OpenMode::create));
    EXPECT_FALSE(shown("live"));

    open();
    keep_house(*store_);

    EXPECT_TRUE(shown("live"));
    EXPECT_EQ(meta("packed").at("status"), "Completed");
    EXPECT_FALSE(disk_.list("/store/instances/nobody"));
}

TEST_F(ReadableViewsTest, AreNotWrittenUnlessAskedFor) {
    open(false);
    finish_instance(*store_, "a");
    keep_house(*store_);
    store_.reset();

    EXPECT_TRUE(disk_.list("/store/instances")->empty());
}

// Whatever fails while a view is written, the call succeeds, and the view comes later.
TEST_F(ReadableViewsTest, NeverMakeACallFail) {
    open();
    keep_house(*store_);
    disk_.keep_trace();
    start("a"); // which writes its view as well
    const auto trace = disk_.trace();
    ASSERT_TRUE(shown("a"));
    std::uint64_t failed = 0;
    for (std::size_t call = 0; call < trace.size(); ++call) {
        if (!trace[call].path.starts_with("/store/instances")) {
            continue;
        }
        SCOPED_TRACE(trace[call].what + " " + trace[call].path);
        const auto id = "b" + std::to_string(call);
        disk_.fail_at(disk_.calls() + call, std::errc::no_space_on_device);
        start(id);
        keep_house(*store_);
        EXPECT_TRUE(shown(id));
        ++failed;
    }
    EXPECT_GT(failed, 2U);
}

TEST_F(ReadableViewsTest, NeverShowWhatACrashUndoes) {
    bool crashed = true;
    for (std::uint64_t call = 0; crashed; ++call) {
        SCOPED_TRACE("crash at call " + std::to_string(call));
        SimFiles disk{call + 1};
        const Machine machine{.files = &disk, .threads = false};
        auto store =
            FsProvider::open("/store", {.clock = clock_, .readable_views = true}, machine).value();
        disk.crash_at(disk.calls() + call);
        const bool acknowledged =
            store
                ->enqueue_for_orchestrator(
                    work::StartOrchestration{.instance = "a", .orchestration = "A", .input = "{}"},
                    std::nullopt)
                .has_value();
        for (int more = 0; more < 5; ++more) {
            (void)store->get_queue_depths();
        }
        crashed = disk.crashed();
        store.reset();
        disk.restart(Survival::some);
        const bool shown = disk.list("/store/instances/a").has_value();

        store = FsProvider::open("/store", {.clock = clock_}, machine).value();
        const bool there = !store->state().instances.empty();
        EXPECT_TRUE(there || !acknowledged);
        EXPECT_TRUE(there || !shown);
    }
}

} // namespace
} // namespace durable::fs
