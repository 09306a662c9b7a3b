// A store whose directory is moved or replaced under it fails, and leaves alone what lies there.

#include "providers/fs/fs_provider.hpp"
#include "simulation/sim_files.hpp"
#include "unit/fs/finished_instance.hpp"
#include "unit/fs/temporary_directory.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace durable::fs {
namespace {

// Everything below a directory, with its content.
std::map<std::string, std::string> files_below(const std::string& directory) {
    std::map<std::string, std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator{directory}) {
        const auto path = entry.path().string();
        found[path] = entry.is_directory() ? "" : read_file(system_files(), path).value();
    }
    return found;
}

class MovedStoreTest : public ::testing::Test {
 protected:
    [[nodiscard]] static std::shared_ptr<FsProvider> open(const std::string& path,
                                                          const Machine& machine) {
        return FsProvider::open(path, {.durability = Durability::process_crash}, machine).value();
    }
    // Starts instances until a call fails.
    [[nodiscard]] static std::optional<Error> start_many(FsProvider& store) {
        constexpr int far_more_than_fit = 2000;
        for (int at = 0; at < far_more_than_fit; ++at) {
            auto started = store.enqueue_for_orchestrator(
                work::StartOrchestration{.instance = "late-" + std::to_string(at),
                                         .orchestration = "Order",
                                         .input = "{}"},
                std::nullopt);
            if (!started) {
                return std::move(started).error();
            }
        }
        return std::nullopt;
    }
    void expect_lost(const std::optional<Error>& error) const {
        ASSERT_TRUE(error);
        EXPECT_EQ(error->code, ErrorCode::storage_failed);
        EXPECT_NE(error->message.find("the directory " + path_ +
                                      " was moved or replaced while the store was open"),
                  std::string::npos)
            << error->message;
    }
    // Plays a store, replaces it, and goes on with the old one.
    void replace_and_go_on(const Machine& machine) {
        auto old = open(path_, machine);
        finish_instance(*old, "first");
        ASSERT_TRUE(old->get_queue_depths()); // the end of a turn waits for nothing, a read does
        std::filesystem::rename(path_, moved_);
        {
            const auto fresh = open(path_, machine);
            finish_instance(*fresh, "another");
        }
        const auto before = files_below(path_);

        expect_lost(start_many(*old));
        expect_lost(start_many(*old)); // and for good

        old.reset();
        EXPECT_EQ(files_below(path_), before) << "the store that lies there now is left alone";
        EXPECT_TRUE(open(path_, machine)->get_instance_info("another"));
        EXPECT_TRUE(open(moved_, machine)->get_instance_info("first"));
    }

    TemporaryDirectory place_;
    const std::string path_ = place_.path() + "/fe";
    const std::string moved_ = place_.path() + "/fe2";
    const Machine small_{.threads = false,
                         .segment_sizes = {.first = 1U << 12U, .largest = 1U << 12U}};
};

TEST_F(MovedStoreTest, ANewSegmentIsNotMadeInTheStoreThatLiesThereNow) {
    replace_and_go_on(small_);
}

TEST_F(MovedStoreTest, NorIsACheckpointOrAPack) {
    replace_and_go_on({.threads = false,
                       .segment_sizes = {.first = 1U << 20U, .largest = 1U << 20U},
                       .checkpoint_bytes = 1U << 11U,
                       .checkpoint_piece = 1U << 7U,
                       .pack_bytes = 0});
}

TEST_F(MovedStoreTest, ThreadsOfTheStoreNoticeToo) {
    replace_and_go_on({.segment_sizes = {.first = 1U << 12U, .largest = 1U << 12U},
                       .checkpoint_bytes = 1U << 11U});
}

TEST_F(MovedStoreTest, IsNotMadeAgainWhenNothingLiesThereNow) {
    const auto store = open(path_, small_);
    std::filesystem::rename(path_, moved_);

    expect_lost(start_many(*store));

    EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(MovedStoreTest, IsNotWellAgainWhenItComesBack) {
    const auto store = open(path_, small_);
    std::filesystem::rename(path_, moved_);
    expect_lost(start_many(*store));
    std::filesystem::rename(moved_, path_);

    expect_lost(start_many(*store));
}

TEST_F(MovedStoreTest, CannotBeOpenedWhereItIsNowWhileSomebodyHasIt) {
    const auto store = open(path_, small_);
    std::filesystem::rename(path_, moved_);
    std::filesystem::remove(moved_ + "/runtime.lock");

    const auto second = FsProvider::open(moved_, {}, small_);

    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::unavailable);
}

TEST(StoreFilesTest, ADirectoryThatWasMadeAnewIsAnotherOneOnTheSimulatedDiskToo) {
    simulation::SimFiles disk;
    ASSERT_TRUE(disk.make_directory("/a"));
    const auto held = disk.open_directory("/a").value();
    EXPECT_TRUE(held->still_there().value());

    ASSERT_TRUE(disk.remove_directory("/a"));
    EXPECT_FALSE(held->still_there().value());
    ASSERT_TRUE(disk.make_directory("/a"));
    EXPECT_FALSE(held->still_there().value());
}

TEST(StoreFilesTest, ADirectoryThatWasMadeAnewIsAnotherOne) {
    const TemporaryDirectory place;
    const auto path = place.path() + "/a";
    auto& files = system_files();
    ASSERT_TRUE(files.make_directory(path));
    const auto held = files.open_directory(path).value();
    EXPECT_TRUE(held->still_there().value());

    ASSERT_TRUE(files.remove_directory(path));
    EXPECT_FALSE(held->still_there().value());
    ASSERT_TRUE(files.make_directory(path));
    EXPECT_FALSE(held->still_there().value());
}

// The child has the provider, but not its threads, and its files in common with the parent.
TEST(ForkedStoreTest, AChildIsRefusedAndLeavesTheStoreAlone) {
    const TemporaryDirectory place;
    auto store = FsProvider::open(place.path() + "/store", {}).value();
    const auto start = [&](const std::string& id) {
        return store->enqueue_for_orchestrator(
            work::StartOrchestration{.instance = id, .orchestration = "Order", .input = "{}"},
            std::nullopt);
    };
    ASSERT_TRUE(start("before"));

    const auto child = ::fork();
    if (child == 0) {
        const auto started = start("child");
        const auto seen = store->list_instances();
        const bool refused = !started && started.error().code == ErrorCode::storage_failed &&
                             started.error().message.contains("forked from") && !seen;
        const bool alone = !store->make_checkpoint();
        store.reset(); // comes back
        ::_exit(refused && alone ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);

    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_TRUE(start("after"));
    store.reset();
    const auto again = FsProvider::open(place.path() + "/store", {});
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ((*again)->get_queue_depths()->orchestrator_queue, 2U);
}

} // namespace
} // namespace durable::fs
