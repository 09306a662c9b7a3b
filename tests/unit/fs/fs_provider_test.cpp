// What is special about the filesystem provider; the contract itself is checked by the kit.

#include "base/process.hpp"
#include "providers/fs/fs_provider.hpp"
#include "simulation/sim_files.hpp"
#include "unit/fs/temporary_directory.hpp"

#include <durable/fs.hpp>
#include <durable/testing.hpp>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace durable::fs {
namespace {

using namespace std::chrono_literals;
using simulation::SimFiles;
using simulation::Survival;

WorkItem start(const std::string& instance) {
    return work::StartOrchestration{.instance = instance, .orchestration = "Order", .input = "{}"};
}

class FsProviderTest : public ::testing::Test {
 protected:
    std::shared_ptr<FsProvider> open(Durability durability = Durability::power_loss,
                                     bool threads = false) {
        store_.reset();
        auto opened = FsProvider::open("/store",
                                       {.clock = clock_, .durability = durability},
                                       {.files = &disk_, .threads = threads});
        EXPECT_TRUE(opened) << opened.error().text();
        store_ = *opened;
        return store_;
    }

    // The power goes off under the store; a new process opens what is left.
    std::shared_ptr<FsProvider> crash(Survival survival,
                                      Durability durability = Durability::power_loss) {
        disk_.restart(survival);
        return open(durability);
    }

    SimFiles disk_{3};
    std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
    std::shared_ptr<FsProvider> store_;
};

TEST_F(FsProviderTest, SaysWhatItIs) {
    open();

    EXPECT_EQ(store_->name(), "fs");
    EXPECT_EQ(store_->durability(), Durability::power_loss);
}

// After a disk failure nothing will change any more: watchers get the error at once.
TEST_F(FsProviderTest, AFailedDiskIsToldToWhoWatches) {
    open(Durability::power_loss, true);
    ASSERT_TRUE(store_->enqueue_for_orchestrator(start("a"), std::nullopt));
    const auto seen = store_->watch_instance({.instance = "a"}).value().revision;
    const auto watch = [&] {
        return store_->watch_instance({.instance = "a", .seen_revision = seen, .timeout = 1h});
    };
    std::vector<std::jthread> watchers;
    std::atomic<int> told{0};
    for (int i = 0; i < 3; ++i) {
        watchers.emplace_back([&] {
            const auto state = watch();
            EXPECT_EQ(state.error().code, ErrorCode::storage_failed) << state.error().text();
            ++told;
        });
    }

    disk_.set_fault_rates({.sync_error = 1000});
    EXPECT_FALSE(store_->enqueue_for_orchestrator(start("b"), std::nullopt));

    watchers.clear(); // none of the clock's time passes
    EXPECT_EQ(told, 3);
    EXPECT_EQ(watch().error().code, ErrorCode::storage_failed);
}

TEST_F(FsProviderTest, AStoreOnDiskCannotPromiseNothing) {
    const auto opened = fs::open("unused", {.durability = Durability::none});

    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::invalid_argument);
}

TEST_F(FsProviderTest, ANegativeTimeToWaitIsRefused) {
    const auto opened = fs::open("unused", {.unstarted_message_ttl = Duration{-1}});

    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::invalid_argument);
}

TEST_F(FsProviderTest, ASecondProviderOnTheSameRealDirectoryIsRefusedWithTheHoldersPid) {
    const TemporaryDirectory directory;
    const auto first = fs::open(directory.path() + "/store");
    ASSERT_TRUE(first) << first.error().text();

    const auto second = fs::open(directory.path() + "/store");

    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::unavailable);
    EXPECT_NE(second.error().message.find("process " + std::to_string(process_id())),
              std::string::npos);
}

TEST_F(FsProviderTest, WorksOnARealDirectory) {
    const TemporaryDirectory directory;
    {
        const auto store = fs::open(directory.path() + "/store").value();
        ASSERT_TRUE(store->enqueue_for_orchestrator(start("a"), std::nullopt));
    }

    const auto store = fs::open(directory.path() + "/store").value();
    const auto item = store->fetch_orchestration_item({.lock_timeout = 30s});

    ASSERT_TRUE(item && *item);
    EXPECT_EQ((*item)->instance, "a");
    EXPECT_EQ((*item)->attempt_count, 1U);
}

TEST_F(FsProviderTest, AnEnqueueThatReturnedSurvivesAPowerLoss) {
    open();
    ASSERT_TRUE(store_->enqueue_for_orchestrator(start("a"), std::nullopt));

    crash(Survival::nothing);

    EXPECT_EQ(store_->get_queue_depths()->orchestrator_queue, 1U);
}

TEST_F(FsProviderTest, WithProcessCrashDurabilityNothingIsSyncedPerCall) {
    open(Durability::process_crash);
    ASSERT_TRUE(store_->enqueue_for_orchestrator(start("a"), std::nullopt));
    const auto syncs = store_->counters().syncs;
    ASSERT_TRUE(store_->enqueue_for_orchestrator(start("b"), std::nullopt));
    EXPECT_EQ(store_->counters().syncs, syncs);

    crash(Survival::everything, Durability::process_crash);

    EXPECT_EQ(store_->get_queue_depths()->orchestrator_queue, 2U);
}

// The engine needs no disk between a message and the turn that answers it.
TEST_F(FsProviderTest, ATurnCostsNoSync) {
    open();
    ASSERT_TRUE(store_->enqueue_for_orchestrator(start("a"), std::nullopt));
    const auto syncs = store_->counters().syncs;

    const auto item = store_->fetch_orchestration_item({.lock_timeout = 30s});
    ASSERT_TRUE(item && *item);
    ASSERT_TRUE(store_->ack_orchestration_item({.lock_token = (*item)->lock_token}));

    EXPECT_EQ(store_->counters().syncs, syncs);
}

// An activity step costs one sync: the completion of one and the schedule of the next share it.
TEST_F(FsProviderTest, AnActivityStepCostsOneSync) {
    open();
    ASSERT_TRUE(store_->enqueue_for_orchestrator(start("a"), std::nullopt));
    const auto before = store_->counters().syncs;
    constexpr std::uint64_t steps = 10;
    for (std::uint64_t step = 1; step <= steps; ++step) {
        const auto item = store_->fetch_orchestration_item({.lock_timeout = 30s});
        ASSERT_TRUE(item && *item);
        ASSERT_TRUE(store_->ack_orchestration_item(
            {.lock_token = (*item)->lock_token,
             .metadata = {.orchestration_name = "Order", .orchestration_version = "1"},
             .worker_items = {work::ActivityExecute{
                 .instance = "a", .execution_id = 1, .id = step, .name = "Step"}}}));
        const auto lease = store_->fetch_work_item({.lock_timeout = 30s});
        ASSERT_TRUE(lease && *lease);
        ASSERT_TRUE(store_->ack_work_item(
            (*lease)->lock_token,
            work::ActivityCompleted{.instance = "a", .execution_id = 1, .id = step}));
    }

    EXPECT_EQ(store_->counters().syncs - before, steps);
}

// A crash of the process while an activity or a turn runs must count: poison is found that way.
TEST_F(FsProviderTest, AttemptsSurviveAProcessCrash) {
    open();
    ASSERT_TRUE(store_->enqueue_for_orchestrator(start("a"), std::nullopt));
    ASSERT_TRUE(store_->enqueue_for_worker(
        work::ActivityExecute{.instance = "a", .execution_id = 1, .id = 1, .name = "Step"}));
    for (std::uint32_t attempt = 1; attempt <= 3; ++attempt) {
        const auto item = store_->fetch_orchestration_item({.lock_timeout = 30s});
        const auto lease = store_->fetch_work_item({.lock_timeout = 30s});
        ASSERT_TRUE(item && *item && lease && *lease);
        EXPECT_EQ((*item)->attempt_count, attempt);
        EXPECT_EQ((*lease)->attempt_count, attempt);
        crash(Survival::everything);
    }
}

TEST_F(FsProviderTest, LeasesSurviveAnOrderlyCloseAndEndWithACrash) {
    open();
    ASSERT_TRUE(store_->enqueue_for_orchestrator(start("a"), std::nullopt));
    const auto item = store_->fetch_orchestration_item({.lock_timeout = 30s}).value().value();

    open();
    EXPECT_FALSE(store_->fetch_orchestration_item({.lock_timeout = 30s}).value());
    EXPECT_TRUE(store_->renew_orchestration_item_lock(item.lock_token, 30s));

    ASSERT_TRUE(store_->enqueue_for_orchestrator(start("b"), std::nullopt));
    crash(Survival::everything);
    EXPECT_TRUE(store_->fetch_orchestration_item({.lock_timeout = 30s}).value());
    EXPECT_EQ(store_->ack_orchestration_item({.lock_token = item.lock_token}).error().code,
              ErrorCode::lock_lost);
}

TEST_F(FsProviderTest, TimeThatPassesWhileClosedCountsForLeases) {
    open();
    ASSERT_TRUE(store_->enqueue_for_orchestrator(start("a"), std::nullopt));
    ASSERT_TRUE(store_->fetch_orchestration_item({.lock_timeout = 30s}).value());
    store_.reset();

    clock_->advance(31s);
    open();

    EXPECT_TRUE(store_->fetch_orchestration_item({.lock_timeout = 30s}).value());
}

TEST_F(FsProviderTest, EveryInstanceIdIsSafe) {
    const std::vector<std::string> ids{"..",
                                       "../../etc/passwd",
                                       "a/b",
                                       std::string("nul\0x", 5),
                                       std::string(10'000, 'x'),
                                       "Ä日",
                                       "CON",
                                       "order",
                                       "Order",
                                       " ",
                                       "line\nend",
                                       "%2e%2e"};
    open();
    for (const auto& id : ids) {
        ASSERT_TRUE(store_->enqueue_for_orchestrator(start(id), std::nullopt)) << id;
        const auto item = store_->fetch_orchestration_item({.lock_timeout = 30s}).value().value();
        ASSERT_TRUE(store_->ack_orchestration_item(
            {.lock_token = item.lock_token,
             .metadata = {.orchestration_name = "Order", .orchestration_version = "1"}}));
    }

    open();

    EXPECT_EQ(store_->list_instances()->size(), ids.size());
    for (const auto& id : ids) {
        EXPECT_TRUE(store_->get_instance_info(id)) << id;
    }
}

TEST_F(FsProviderTest, AnIdThatIsNotUtf8IsRefusedAndNothingHappens) {
    open();

    const auto refused = store_->enqueue_for_orchestrator(start("\xff"), std::nullopt);

    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(store_->get_queue_depths()->orchestrator_queue, 0U);
}

TEST_F(FsProviderTest, DamageIsRefusedWithFileAndOffset) {
    open();
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(store_->enqueue_for_orchestrator(start("a"), std::nullopt));
    }
    store_.reset();
    const std::string path = "/store/journal/0000000001.log";
    auto content = disk_.content(path);
    content[content.find("Order")] = 'X';
    disk_.overwrite(path, content);

    const auto opened = FsProvider::open("/store", {.clock = clock_}, {.files = &disk_});

    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::corrupt);
    EXPECT_TRUE(opened.error().message.starts_with(path + ", byte 0: record 1 is damaged"))
        << opened.error().message;
}

TEST_F(FsProviderTest, ThreadsCanUseItAtTheSameTime) {
    open(Durability::power_loss, true);
    constexpr int threads = 4;
    constexpr int each = 100;
    {
        std::vector<std::jthread> running;
        for (int t = 0; t < threads; ++t) {
            running.emplace_back([&, t] {
                for (int i = 0; i < each; ++i) {
                    const auto id = std::to_string(t) + "-" + std::to_string(i);
                    ASSERT_TRUE(store_->enqueue_for_orchestrator(start(id), std::nullopt));
                    const auto item =
                        store_->fetch_orchestration_item({.lock_timeout = 30s}).value();
                    ASSERT_TRUE(item);
                    ASSERT_TRUE(store_->ack_orchestration_item(
                        {.lock_token = item->lock_token,
                         .metadata = {.orchestration_name = "O", .orchestration_version = "1"}}));
                }
            });
        }
    }

    EXPECT_EQ(store_->list_instances()->size(), static_cast<std::size_t>(threads * each));
    const auto state = store_->state();
    open();
    EXPECT_EQ(store_->state().instances, state.instances);
}

} // namespace
} // namespace durable::fs
