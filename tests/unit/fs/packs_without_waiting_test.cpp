// Only the caller that reads a packed instance waits for the disk: other callers go on meanwhile.

#include "providers/fs/fs_provider.hpp"
#include "simulation/sim_files.hpp"
#include "unit/fs/finished_instance.hpp"
#include "unit/fs/forwarding_files.hpp"

#include <durable/testing.hpp>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace durable::fs {
namespace {

using simulation::SimFiles;

// A disk that tells when a pack is about to be read.
class WatchedFiles final : public ForwardingFiles {
 public:
    using ForwardingFiles::ForwardingFiles;

    std::function<void()> on_pack;

    FileResult<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
        if (mode == OpenMode::read && path.contains("/packs/") && on_pack) {
            const auto told = std::exchange(on_pack, nullptr);
            told();
            on_pack = told;
        }
        return ForwardingFiles::open(path, mode);
    }
};

class PacksWithoutWaitingTest : public ::testing::Test {
 protected:
    PacksWithoutWaitingTest() {
        for (const std::string id : {"a", "b", "c", "d", "e"}) {
            finish_instance(*store_, id);
        }
        for (const std::string id : {"a1", "a2", "a3"}) {
            finish_instance(*store_, id, "a");
        }
        keep_house(*store_);
        files_.on_pack = [this] {
            ++reads_;
            // From another thread: this one may hold the mutex, which is what must not be.
            auto other = std::async(std::launch::async, [this] {
                return store_->enqueue_for_orchestrator(
                    work::StartOrchestration{.instance = "other-" + std::to_string(reads_),
                                             .orchestration = "Order",
                                             .input = "{}"},
                    std::nullopt);
            });
            EXPECT_EQ(other.wait_for(std::chrono::seconds{10}), std::future_status::ready)
                << "a commit waits while a pack is read";
        };
    }
    ~PacksWithoutWaitingTest() override {
        EXPECT_GT(reads_, 0); // else nothing was shown
        files_.on_pack = nullptr;
    }

    SimFiles disk_{5};
    WatchedFiles files_{disk_};
    std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
    std::shared_ptr<FsProvider> store_ =
        FsProvider::open("/store",
                         {.clock = clock_},
                         {.files = &files_, .threads = false, .pack_bytes = 0, .most_copies = 0})
            .value();
    int reads_ = 0;
};

TEST_F(PacksWithoutWaitingTest, CommitsGoOnWhileAHistoryIsRead) {
    EXPECT_EQ(store_->read("a")->size(), 4U);
    EXPECT_EQ(store_->get_instance_info("b")->status, "Completed");
    EXPECT_EQ(store_->get_kv_value("c", "k").value(), "c");
    EXPECT_EQ(store_->get_custom_status("d", 0).value()->status, "half");
    EXPECT_FALSE(store_->get_instance_info("nobody"));
    EXPECT_GE(reads_, 4);
}

TEST_F(PacksWithoutWaitingTest, CommitsGoOnWhileAMessageFindsItsInstance) {
    EXPECT_TRUE(store_->enqueue_for_orchestrator(
        work::ExternalRaised{.instance = "a", .name = "late", .data = "1"}, std::nullopt));
    const auto item =
        store_->fetch_orchestration_item({.lock_timeout = std::chrono::seconds{30}}).value();
    ASSERT_TRUE(item);
}

TEST_F(PacksWithoutWaitingTest, CommitsGoOnWhileSomebodyWatches) {
    const auto state = store_->watch_instance({.instance = "a", .timeout = Duration::zero()});

    ASSERT_TRUE(state) << state.error().text();
}

TEST_F(PacksWithoutWaitingTest, CommitsGoOnWhileATreeIsReadAndDeleted) {
    EXPECT_EQ(store_->get_instance_tree("a")->all_ids.size(), 4U);
    const auto deleted = store_->delete_instance("a", false);

    ASSERT_TRUE(deleted) << deleted.error().text();
    EXPECT_EQ(deleted->instances_deleted, 4U);
}

TEST_F(PacksWithoutWaitingTest, CommitsGoOnWhileManyAreDeletedOrPruned) {
    EXPECT_EQ(store_->prune_executions_bulk({}, {})->instances_processed, 8U);
    EXPECT_EQ(store_->prune_executions("b", {})->instances_processed, 1U);
    const auto some = store_->delete_instance_bulk({.limit = 2});
    ASSERT_TRUE(some) << some.error().text();
    EXPECT_LE(some->instances_deleted, 5U); // two roots
    const auto rest = store_->delete_instance_bulk({});
    ASSERT_TRUE(rest) << rest.error().text();
    EXPECT_EQ(some->instances_deleted + rest->instances_deleted, 8U);
}

} // namespace
} // namespace durable::fs
