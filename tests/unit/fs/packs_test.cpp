// Finished instances in packs: they leave the memory and are there all the same.

#include "providers/fs/fs_provider.hpp"
#include "providers/fs/packs/pack_file.hpp"
#include "providers/fs/packs/pack_index.hpp"
#include "simulation/sim_files.hpp"
#include "unit/fs/finished_instance.hpp"

#include <durable/testing.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace durable::fs {
namespace {

using namespace std::chrono_literals;
using simulation::SimFiles;
using simulation::Survival;

std::string id_of(int number) {
    return "order-" + std::to_string(number);
}

class PacksTest : public ::testing::Test {
 protected:
    void open() {
        store_.reset();
        store_ = FsProvider::open("/store", {.clock = clock_}, machine_).value();
    }

    void finish(const std::string& id, std::optional<std::string> parent = std::nullopt) {
        finish_instance(*store_, id, std::move(parent));
        tidy();
    }

    void tidy() { keep_house(*store_); }

    void expect_whole(const std::string& id) {
        SCOPED_TRACE(id);
        const auto info = store_->get_instance_info(id);
        ASSERT_TRUE(info) << info.error().text();
        EXPECT_EQ(info->status, "Completed");
        EXPECT_EQ(info->output, "\"done " + id + "\"");
        EXPECT_EQ(store_->read(id)->size(), 4U);
        EXPECT_EQ(store_->read_with_execution(id, 1)->size(), 4U);
        EXPECT_EQ(store_->get_kv_value(id, "k").value(), id);
        EXPECT_EQ(store_->get_custom_status(id, 0).value()->status, "half");
        EXPECT_EQ(store_->list_executions(id).value(), std::vector<std::uint64_t>{1});
    }

    [[nodiscard]] std::vector<std::string> pack_paths() const {
        std::vector<std::string> found;
        for (const auto& path : disk_.paths()) {
            if (path.starts_with("/store/packs/")) {
                found.push_back(path);
            }
        }
        return found;
    }

    SimFiles disk_{5};
    std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
    Machine machine_{.files = &disk_, .threads = false, .pack_bytes = 0, .most_copies = 0};
    std::shared_ptr<FsProvider> store_;
};

TEST_F(PacksTest, AFinishedInstanceIsReadableAndListedFromItsPack) {
    open();
    for (int number = 0; number < 5; ++number) {
        finish(id_of(number));
    }

    EXPECT_FALSE(pack_paths().empty());
    for (int number = 0; number < 5; ++number) {
        expect_whole(id_of(number));
    }
    const std::vector<std::string> newest_first{id_of(4), id_of(3), id_of(2), id_of(1), id_of(0)};
    EXPECT_EQ(store_->list_instances().value(), newest_first);
    EXPECT_EQ(store_->list_instances_by_status("Completed").value(), newest_first);
    EXPECT_TRUE(store_->list_instances_by_status("Running")->empty());
    const auto metrics = store_->get_system_metrics().value();
    EXPECT_EQ(metrics.total_instances, 5U);
    EXPECT_EQ(metrics.completed_instances, 5U);
    EXPECT_EQ(metrics.total_executions, 5U);
    EXPECT_EQ(metrics.total_events, 20U);
}

TEST_F(PacksTest, ACheckpointNamesThePacksAndANewProcessFindsEverything) {
    open();
    for (int number = 0; number < 5; ++number) {
        finish(id_of(number));
    }
    ASSERT_TRUE(store_->make_checkpoint());
    const auto before = store_->state();
    const auto packs = pack_paths();

    disk_.restart(Survival::nothing);
    open();

    EXPECT_EQ(pack_paths(), packs);
    EXPECT_EQ(store_->state().instances, before.instances);
    EXPECT_EQ(store_->get_system_metrics()->total_events, 20U);
    for (int number = 0; number < 5; ++number) {
        expect_whole(id_of(number));
    }
}

TEST_F(PacksTest, APackThatNoCheckpointNamesIsMadeAgainFromTheJournal) {
    open();
    finish("a");
    ASSERT_EQ(pack_paths().size(), 1U);

    disk_.restart(Survival::nothing);
    open();

    expect_whole("a");
    EXPECT_EQ(store_->list_instances().value(), std::vector<std::string>{"a"});
}

TEST_F(PacksTest, AMessageForAPackedInstanceWakesItWithItsHistory) {
    open();
    finish("a");
    ASSERT_TRUE(store_->enqueue_for_orchestrator(
        work::ExternalRaised{.instance = "a", .name = "late", .data = "1"}, std::nullopt));

    const auto item = store_->fetch_orchestration_item({.lock_timeout = 30s}).value();

    ASSERT_TRUE(item);
    EXPECT_EQ(item->instance, "a");
    EXPECT_EQ(item->history.size(), 4U);
    EXPECT_EQ(item->kv_snapshot.at("k").value, "a");
}

TEST_F(PacksTest, PackedInstancesAreDeletedWithTheirChildrenAndTheDiskGetsItsSpaceBack) {
    open();
    finish("parent");
    finish("child", "parent");
    for (int number = 0; number < 40; ++number) {
        finish(id_of(number));
    }
    ASSERT_TRUE(store_->make_checkpoint());
    const auto used = disk_.used();

    EXPECT_EQ(store_->list_children("parent").value(), std::vector<std::string>{"child"});
    const auto tree = store_->delete_instance("parent", false);
    ASSERT_TRUE(tree) << tree.error().text();
    EXPECT_EQ(tree->instances_deleted, 2U);
    EXPECT_EQ(tree->events_deleted, 8U);
    const auto rest = store_->delete_instance_bulk({.limit = 39});
    ASSERT_TRUE(rest) << rest.error().text();
    EXPECT_EQ(rest->instances_deleted, 39U);
    tidy();
    ASSERT_TRUE(store_->make_checkpoint());
    tidy();
    ASSERT_TRUE(store_->make_checkpoint());

    EXPECT_EQ(store_->list_instances()->size(), 1U);
    EXPECT_LT(disk_.used(), used);
    EXPECT_LE(pack_paths().size(), 1U);
    disk_.restart(Survival::nothing);
    open();
    EXPECT_EQ(store_->list_instances()->size(), 1U);
    EXPECT_EQ(store_->get_system_metrics()->total_events, 4U);
}

TEST_F(PacksTest, BulkCallsMeetPackedInstancesUpToTheLimit) {
    open();
    for (int number = 0; number < 6; ++number) {
        finish(id_of(number));
    }

    EXPECT_EQ(store_->prune_executions_bulk({.limit = 4}, {})->instances_processed, 4U);
    EXPECT_EQ(store_->prune_executions_bulk({}, {})->instances_processed, 6U);
    const auto early = clock_->now();
    EXPECT_EQ(store_->delete_instance_bulk({.completed_before = early})->instances_deleted, 0U);
    EXPECT_EQ(store_->delete_instance_bulk({.completed_before = early + 1ms})->instances_deleted,
              6U);
    EXPECT_TRUE(store_->list_instances()->empty());
}

TEST_F(PacksTest, ManySmallPacksBecomeOne) {
    open();
    for (int number = 0; number < 30; ++number) {
        finish(id_of(number));
    }
    ASSERT_TRUE(store_->make_checkpoint());

    EXPECT_LE(pack_paths().size(), 8U);
    for (int number = 0; number < 30; ++number) {
        expect_whole(id_of(number));
    }
}

TEST_F(PacksTest, ADamagedLineIsRefusedForItsInstanceAloneWithFileAndOffset) {
    open();
    finish("a");
    finish("b");
    const auto paths = pack_paths();
    const auto hit = std::ranges::find_if(paths, [&](const std::string& path) {
        return disk_.content(path).find("done a") != std::string::npos;
    });
    ASSERT_NE(hit, paths.end());
    auto content = disk_.content(*hit);
    content[content.find("done a")] = '~';
    disk_.overwrite(*hit, content);

    const auto read = store_->read("a");

    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::corrupt);
    EXPECT_NE(read.error().message.find(*hit), std::string::npos) << read.error().text();
    EXPECT_FALSE(store_->enqueue_for_orchestrator(
        work::ExternalRaised{.instance = "a", .name = "late", .data = "1"}, std::nullopt));
    expect_whole("b");
}

TEST_F(PacksTest, AMissingOrDamagedPackIsNamedWhenTheStoreIsOpened) {
    open();
    finish("a");
    ASSERT_TRUE(store_->make_checkpoint());
    store_.reset();
    const auto path = pack_paths().at(0);
    auto content = disk_.content(path);
    content.back() = '~';
    disk_.overwrite(path, content);

    const auto opened = FsProvider::open("/store", {.clock = clock_}, machine_);

    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::corrupt);
    EXPECT_NE(opened.error().message.find(path), std::string::npos) << opened.error().text();
}

TEST(PackIndexTest, FindsWhatIsLiveWhateverComesAndGoes) {
    PackIndex index;
    std::mt19937_64 dice{7};
    std::vector<PackLine> lines;
    for (int number = 0; number < 2000; ++number) {
        lines.push_back({.id = id_of(number % 1500), .parent = "p", .size = 10});
    }
    index.add_pack({.number = 1, .instances = lines.size()}, lines);
    std::map<std::uint32_t, std::string> live;
    for (int round = 0; round < 20'000; ++round) {
        const auto line = static_cast<std::uint32_t>(dice() % lines.size());
        if (live.erase(line) > 0) {
            index.kill({.pack = 1, .line = line}, lines[line].id);
        } else {
            index.revive({.pack = 1, .line = line}, lines[line].id);
            live.emplace(line, lines[line].id);
        }
    }

    EXPECT_EQ(index.size(), live.size());
    for (std::uint32_t line = 0; line < lines.size(); ++line) {
        const PackPlace place{.pack = 1, .line = line};
        const auto found = index.candidates(lines[line].id);
        EXPECT_EQ(std::ranges::find(found, place) != found.end(), live.contains(line)) << line;
    }
    EXPECT_EQ(index.children_of("p").size(), live.size());
    EXPECT_TRUE(index.candidates("nobody").empty());
}

} // namespace
} // namespace durable::fs
