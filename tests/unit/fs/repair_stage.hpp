// A store that is damaged and repaired, for tests of what a repair finds.

#pragma once

#include "providers/fs/fs_provider.hpp"
#include "providers/fs/repair/repair.hpp"
#include "simulation/sim_files.hpp"

#include <durable/testing.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace durable::fs {

inline const Instant repaired_at = from_epoch_ms(1'760'000'000'000);

class RepairTest : public ::testing::Test {
 protected:
    std::shared_ptr<FsProvider> open(const std::string& directory) {
        auto opened = FsProvider::open(directory,
                                       {.clock = std::make_shared<ManualClock>()},
                                       {.files = &disk_,
                                        .threads = false,
                                        .segment_sizes = sizes_,
                                        .checkpoint_bytes = 1U << 30U,
                                        .pack_bytes = pack_bytes_,
                                        .most_copies = 0});
        EXPECT_TRUE(opened) << opened.error().text();
        return opened.value_or(nullptr);
    }

    static void start(FsProvider& store, const std::string& id) {
        ASSERT_TRUE(store.enqueue_for_orchestrator(
            work::StartOrchestration{
                .instance = id, .orchestration = "Order", .input = std::string(4000, 'x')},
            std::nullopt));
    }

    static void start_some(FsProvider& store, const std::string& prefix) {
        for (int number = 0; number < 6; ++number) {
            start(store, prefix + std::to_string(number));
        }
    }

    void crash(std::shared_ptr<FsProvider> store) {
        EXPECT_TRUE(store->get_queue_depths()); // all of it is durable
        state_ = store->state();
        state_.lsn = 0;
        disk_.crash_at(disk_.calls());
        store.reset();
        disk_.restart(simulation::Survival::nothing);
    }

    // Records, a checkpoint, records, a checkpoint, records; a copy of the first checkpoint is kept
    // aside.
    void make_two_checkpoints() {
        auto store = open("/store");
        start_some(*store, "a");
        ASSERT_TRUE(store->make_checkpoint());
        older_ = only_checkpoint();
        const auto kept = disk_.content(older_);
        start_some(*store, "b");
        ASSERT_TRUE(store->make_checkpoint());
        newer_ = only_checkpoint();
        start_some(*store, "c");
        crash(std::move(store));
        put(older_, kept);
    }

    std::vector<std::string> files_in(const std::string& directory) {
        auto found = disk_.paths();
        std::erase_if(found, [&](const auto& path) { return !path.starts_with(directory); });
        return found;
    }
    std::string only_checkpoint() {
        const auto found = files_in("/store/checkpoint/");
        EXPECT_EQ(found.size(), 1U);
        return found.front();
    }

    void put(const std::string& path, const std::string& content) {
        ASSERT_TRUE(disk_.open(path, OpenMode::write_or_create));
        disk_.overwrite(path, content);
    }
    // The line of a file that has the text.
    void erase_line(const std::string& path, std::string_view text) {
        auto content = disk_.content(path);
        const auto begin = content.rfind('\n', content.find(text)) + 1;
        disk_.overwrite(path, content.erase(begin, content.find('\n', begin) + 1 - begin));
    }
    void cut(const std::string& path) {
        const auto content = disk_.content(path);
        disk_.overwrite(path, content.substr(0, content.size() / 2));
    }
    void move(const std::string& from, const std::string& to) {
        ASSERT_TRUE(disk_.rename(from, to));
    }

    // Repairs the store and answers the state of the new one; the repair's report is in done_.
    FsProvider::State repaired() {
        auto result = repair(disk_, "/store", "/new", repaired_at);
        EXPECT_TRUE(result) << result.error().text();
        if (!result) {
            return {};
        }
        done_ = *std::move(result);
        auto state = open("/new")->state();
        state.lsn = 0;
        return state;
    }
    void expect_everything(std::string_view mended) {
        EXPECT_EQ(repaired(), state_);
        EXPECT_TRUE(done_.lost.empty()) << done_.lost.front();
        EXPECT_TRUE(told(done_.mended, mended))
            << (done_.mended.empty() ? "nothing was mended" : done_.mended.front());
    }

    static bool told(const std::vector<std::string>& texts, std::string_view text) {
        return std::ranges::any_of(texts, [&](const auto& one) { return one.contains(text); });
    }

    static std::vector<std::string> ids(const FsProvider::State& state) {
        std::vector<std::string> found;
        for (const auto& instance : state.instances) {
            found.push_back(instance.id);
        }
        return found;
    }

    simulation::SimFiles disk_;
    Segments::Sizes sizes_;
    std::uint64_t pack_bytes_ = 1U << 30U;
    FsProvider::State state_; // when it crashed
    std::string older_;
    std::string newer_;
    Repair done_;
};

} // namespace durable::fs
