// Verifying reads a store to the last byte and changes nothing; repairing saves what can be known
// and says what cannot. One test for each way in which a store can be damaged.

#include "crash/workload.hpp"
#include "providers/fs/format/frame.hpp"
#include "providers/fs/fs_provider.hpp"
#include "providers/fs/repair/repair.hpp"
#include "providers/fs/repair/verify.hpp"
#include "simulation/sim_files.hpp"
#include "unit/fs/forwarding_files.hpp"

#include <durable/testing.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace durable::fs {
namespace {

using simulation::SimFiles;
using simulation::Survival;

const Instant now = from_epoch_ms(1'760'000'000'000);

bool has(const std::vector<std::string>& texts, std::string_view text) {
    return std::ranges::find(texts, text) != texts.end();
}

// A store with a checkpoint and several segments behind it, crashed in good health.
class VerifyTest : public ::testing::Test {
 protected:
    VerifyTest() {
        const auto steps = make_workload();
        {
            const auto store = open_store(machine()).value();
            EXPECT_EQ(play(steps, *store).acknowledged, steps.size());
            EXPECT_TRUE(store->make_checkpoint());
            EXPECT_TRUE(steps.front().run(*store)); // order-1 again
            for (std::size_t step = 6; step < steps.size() - 1; ++step) {
                if (steps[step].name != "delete order-1") {
                    EXPECT_TRUE(steps[step].run(*store)) << steps[step].name;
                }
            }
            EXPECT_TRUE(store->get_queue_depths()); // all of it is synced
            state_ = store->state();
            disk_.crash_at(disk_.calls()); // so that it is not closed in good order
        }
        disk_.restart(Survival::nothing);
        state_.lsn = 0;
    }

    Machine machine() {
        return {.files = &disk_,
                .threads = false,
                .segment_sizes = {.first = 1U << 12U, .largest = 1U << 12U},
                .checkpoint_bytes = 1U << 30U};
    }

    std::map<std::string, std::string> everything() {
        std::map<std::string, std::string> files;
        for (const auto& path : disk_.paths()) {
            files[path] = disk_.content(path);
        }
        return files;
    }

    std::vector<std::string> files_in(const std::string& directory) {
        auto found = disk_.paths();
        std::erase_if(found, [&](const auto& path) { return !path.starts_with(directory); });
        return found;
    }
    std::string checkpoint() { return files_in("/store/checkpoint/").back(); }
    // Segments with records, oldest first.
    std::vector<std::string> segments() {
        auto found = files_in("/store/journal/");
        std::erase_if(found, [&](const auto& path) { return disk_.content(path).front() == '\0'; });
        return found;
    }

    // Where the n-th frame of a file begins.
    std::size_t frame(const std::string& path, int number) {
        const auto content = disk_.content(path);
        std::size_t at = 0;
        for (; number > 0; --number) {
            at = content.find('\n', at) + 1;
        }
        return at;
    }

    void damage(const std::string& path, std::size_t at) {
        auto content = disk_.content(path);
        content.at(at) = static_cast<char>(content.at(at) ^ 1);
        disk_.overwrite(path, content);
    }

    // Verifies, and makes sure that nothing has changed.
    Result<Verification> look() {
        const auto before = everything();
        auto found = verify(disk_, "/store", now);
        EXPECT_EQ(everything(), before);
        return found;
    }

    void expect_damage(const std::string& text) {
        const auto found = look();
        ASSERT_TRUE(found) << found.error().text();
        const bool told = std::ranges::any_of(
            found->damage, [&](const auto& damage) { return damage.contains(text); });
        EXPECT_TRUE(told) << "expected: " << text << "\nfirst: "
                          << (found->damage.empty() ? "none" : found->damage.front());
    }

    // Repairs into /new, makes sure that the old store is as it was and the new one opens.
    FsProvider::State repaired(Repair& done) {
        const auto before = everything();
        auto result = repair(disk_, "/store", "/new", now);
        EXPECT_TRUE(result) << result.error().text();
        if (!result) {
            return {};
        }
        done = *std::move(result);
        for (const auto& [path, content] : before) {
            EXPECT_EQ(disk_.content(path), content) << path;
        }
        EXPECT_TRUE(done.made.clean());
        auto opened =
            FsProvider::open("/new", {.clock = std::make_shared<ManualClock>()}, machine());
        EXPECT_TRUE(opened) << opened.error().text();
        auto state = opened ? (*opened)->state() : FsProvider::State{};
        state.lsn = 0;
        return state;
    }

    static std::vector<std::string> ids(const FsProvider::State& state) {
        std::vector<std::string> found;
        for (const auto& instance : state.instances) {
            found.push_back(instance.id);
        }
        return found;
    }

    SimFiles disk_;
    FsProvider::State state_;
};

TEST_F(VerifyTest, AHealthyStoreIsCleanAndCounted) {
    ASSERT_GT(segments().size(), 3U);
    const auto found = look();

    ASSERT_TRUE(found) << found.error().text();
    EXPECT_TRUE(found->clean()) << found->damage.front();
    EXPECT_GT(found->checkpoint, 0U);
    EXPECT_EQ(found->checkpoint_bytes, disk_.content(checkpoint()).size());
    EXPECT_GT(found->records, 20U);
    EXPECT_EQ(found->last, found->checkpoint + found->records);
    EXPECT_EQ(found->live + found->finished, state_.instances.size());
    EXPECT_GT(found->finished, 0U);
    EXPECT_FALSE(found->torn);
}

TEST_F(VerifyTest, RepairOfAHealthyStoreLosesNothing) {
    Repair done;
    EXPECT_EQ(repaired(done), state_);
    EXPECT_TRUE(done.lost.empty()) << done.lost.front();
    EXPECT_TRUE(done.list.empty());
}

TEST_F(VerifyTest, ATornTailIsNoDamage) {
    const auto path = segments().back();
    auto content = disk_.content(path);
    const auto end = content.find('\0');
    ASSERT_NE(end, std::string::npos);
    content.replace(end, 9, "0000004f ");
    disk_.overwrite(path, content);

    const auto found = look();
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_TRUE(found->clean());
    ASSERT_TRUE(found->torn);
    EXPECT_EQ(found->torn->offset, end);

    Repair done;
    EXPECT_EQ(repaired(done), state_);
    EXPECT_TRUE(done.lost.empty());
}

TEST_F(VerifyTest, AFlippedByteInTheMiddleIsFoundAndOneRecordLost) {
    const auto path = segments().at(1);
    const auto at = frame(path, 2);
    const auto content = disk_.content(path);
    const auto length = content.find('\n', at) + 1 - at;
    damage(path, at + 40);

    expect_damage(path + ", byte " + std::to_string(at) + ": record ");
    expect_damage(path + ", byte " + std::to_string(at) + ": " + std::to_string(length) +
                  " bytes: no whole record");

    Repair done;
    const auto state = repaired(done);
    EXPECT_EQ(ids(state), ids(state_));
    EXPECT_TRUE(has(done.lost,
                    path + ", byte " + std::to_string(at) + ": " + std::to_string(length) +
                        " bytes: no whole record"));
    EXPECT_TRUE(disk_.content(done.list).starts_with(done.lost.front() + "\n"));
}

// Whatever single record of the journal is lost, the rest of the store goes on.
TEST_F(VerifyTest, AnyOneDamagedRecordIsRepaired) {
    for (const auto& path : segments()) {
        const auto healthy = disk_.content(path);
        for (std::size_t at = 0; at < healthy.size() && healthy[at] != '\0';) {
            SCOPED_TRACE(path + ", byte " + std::to_string(at));
            const auto end = healthy.find('\n', at) + 1;
            damage(path, at + frame_header_size + 2);
            const auto found = look();
            ASSERT_TRUE(found) << found.error().text();
            EXPECT_NE(found->clean(), !found->torn); // near the end it may be a torn one
            Repair done;
            const auto state = repaired(done);
            if (found->clean()) {
                EXPECT_TRUE(done.lost.empty());
            } else { // one more when a deletion was lost
                EXPECT_LE(state.instances.size(), state_.instances.size() + 1);
                EXPECT_GE(state.instances.size() + 1, state_.instances.size());
            }
            ASSERT_TRUE(remove_tree(disk_, "/new"));
            disk_.overwrite(path, healthy);
            at = end;
        }
    }
}

TEST_F(VerifyTest, AMissingSegmentIsFoundAndTheOthersAreSaved) {
    const auto path = segments().at(1);
    ASSERT_TRUE(disk_.remove(path));

    expect_damage(path + " is missing, but ");
    expect_damage("are nowhere in the journal");

    Repair done;
    const auto state = repaired(done);
    EXPECT_FALSE(state.instances.empty());
    EXPECT_TRUE(std::ranges::any_of(
        done.lost, [](const auto& lost) { return lost.contains("nowhere in the journal"); }));
}

TEST_F(VerifyTest, ADamagedCheckpointLosesTheInstanceOfTheLine) {
    const auto path = checkpoint();
    const auto at = frame(path, 3); // the second instance
    const auto length = disk_.content(path).find('\n', at) + 1 - at;
    damage(path, at + 30);

    expect_damage(path + ", byte " + std::to_string(at) + ": the frame is damaged or cut off");
    expect_damage("no whole line of a checkpoint");
    EXPECT_NE(look()->checkpoint, 0U); // there is one
    EXPECT_EQ(look()->checkpoint_bytes, 0U);

    Repair done;
    const auto state = repaired(done);
    EXPECT_NE(state, state_);
    const auto place = path + ", byte " + std::to_string(at) + ": " + std::to_string(length);
    EXPECT_TRUE(std::ranges::any_of(
        done.lost, [&](const auto& lost) { return lost.starts_with(place + " bytes: "); }));
}

TEST_F(VerifyTest, ADamagedCounterLineOfACheckpointCostsNoInstance) {
    damage(checkpoint(), frame(checkpoint(), 1) + 30);

    expect_damage(checkpoint());

    Repair done;
    const auto state = repaired(done);
    EXPECT_EQ(ids(state), ids(state_));
    EXPECT_EQ(state.rest.next_seq, state_.rest.next_seq);
    EXPECT_EQ(state.rest.next_incarnation, state_.rest.next_incarnation);
}

TEST_F(VerifyTest, ACheckpointThatIsCutOffIsFound) {
    const auto path = checkpoint();
    disk_.overwrite(path, disk_.content(path).substr(0, frame(path, 4)));

    expect_damage("the checkpoint ends too early");
}

TEST_F(VerifyTest, AMissingCheckpointIsFoundAndLaterInstancesAreSaved) {
    ASSERT_TRUE(disk_.remove(checkpoint()));

    expect_damage("are missing before this file");

    Repair done;
    const auto state = repaired(done);
    EXPECT_TRUE(has(ids(state), "order-1")); // started after the checkpoint
    EXPECT_FALSE(done.lost.empty());
}

TEST_F(VerifyTest, AMissingFormatIsDamage) {
    ASSERT_TRUE(disk_.remove("/store/FORMAT"));

    expect_damage("/store has no FORMAT file");

    Repair done;
    EXPECT_EQ(repaired(done), state_);
    EXPECT_TRUE(done.lost.empty());
    EXPECT_EQ(done.mended, std::vector<std::string>{"/store has no FORMAT file"});
}

TEST_F(VerifyTest, AFormatThatSaysNothingIsDamage) {
    disk_.overwrite("/store/FORMAT", "what?");

    expect_damage("/store/FORMAT does not say a format");
    disk_.overwrite("/store/FORMAT", "{\"format\":0}");
    expect_damage("/store/FORMAT does not say a format: the first one is 1");
}

TEST_F(VerifyTest, ANewerFormatIsNotJudged) {
    disk_.overwrite("/store/FORMAT", "{\"format\":3}");

    const auto found = look();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::unsupported);
    EXPECT_NE(found.error().message.find("says format 3"), std::string::npos);
    EXPECT_EQ(repair(disk_, "/store", "/new", now).error().code, ErrorCode::unsupported);
    EXPECT_TRUE(files_in("/new").empty());
}

TEST_F(VerifyTest, AMissingDirectoryOfAStoreIsDamage) {
    for (const auto& path : files_in("/store/journal/")) {
        ASSERT_TRUE(disk_.remove(path));
    }
    ASSERT_TRUE(disk_.remove_directory("/store/journal"));

    expect_damage("/store/journal");
}

TEST_F(VerifyTest, AFileThatTheSystemDoesNotReadIsDamage) {
    const auto path = segments().at(1);
    ASSERT_TRUE(disk_.remove(path));
    ASSERT_TRUE(disk_.make_directory(path)); // which cannot be read as a file

    expect_damage("cannot be read: open " + path);

    Repair done;
    EXPECT_FALSE(repaired(done).instances.empty());
    EXPECT_TRUE(std::ranges::any_of(done.lost, [](const auto& lost) {
        return lost.starts_with("a file that cannot be read");
    }));
}

// A disk of which one path may not be read.
class ForbiddingFiles final : public ForwardingFiles {
 public:
    ForbiddingFiles(Files& disk, std::string path)
        : ForwardingFiles{disk}, path_{std::move(path)} {}

    FileResult<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
        if (path == path_) {
            return std::unexpected{forbidden()};
        }
        return ForwardingFiles::open(path, mode);
    }
    FileResult<std::vector<DirectoryEntry>> list(const std::string& directory) override {
        if (directory == path_) {
            return std::unexpected{forbidden()};
        }
        return ForwardingFiles::list(directory);
    }

 private:
    [[nodiscard]] FileError forbidden() const {
        return {.code = std::errc::permission_denied,
                .text = "open " + path_ + ": Permission denied"};
    }

    const std::string path_;
};

TEST_F(VerifyTest, WhatMayNotBeReadIsNotCalledDamaged) {
    for (const auto& path : {segments().at(1),
                             checkpoint(),
                             std::string{"/store/FORMAT"},
                             std::string{"/store/journal"},
                             std::string{"/store/checkpoint"}}) {
        ForbiddingFiles files{disk_, path};
        const auto found = verify(files, "/store", now);
        ASSERT_FALSE(found) << path;
        EXPECT_EQ(found.error().code, ErrorCode::storage_failed);
        EXPECT_EQ(found.error().message, "open " + path + ": Permission denied");
        EXPECT_FALSE(repair(files, "/store", "/new", now)) << path;
    }
}

TEST_F(VerifyTest, WhatIsNoStoreIsRefused) {
    ASSERT_TRUE(disk_.make_directory("/empty"));
    for (const std::string path : {"/empty", "/nowhere", "/store/FORMAT"}) {
        EXPECT_EQ(verify(disk_, path, now).error().code, ErrorCode::not_found) << path;
        EXPECT_EQ(repair(disk_, path, "/new", now).error().code, ErrorCode::not_found) << path;
    }
    EXPECT_TRUE(files_in("/new").empty());
}

TEST_F(VerifyTest, AStoreInUseIsLeftAlone) {
    const auto store = open_store(machine()).value();

    const auto found = verify(disk_, "/store", now);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::unavailable);
    EXPECT_NE(found.error().message.find("is in use by process"), std::string::npos);
    EXPECT_EQ(repair(disk_, "/store", "/new", now).error().code, ErrorCode::unavailable);
}

TEST_F(VerifyTest, RepairWantsAnEmptyPlaceOutsideOfTheOldStore) {
    ASSERT_TRUE(disk_.make_directory("/full"));
    {
        ASSERT_TRUE(disk_.open("/full/letter", OpenMode::create));
    }
    EXPECT_EQ(repair(disk_, "/store", "/full", now).error().code, ErrorCode::already_exists);
    EXPECT_EQ(repair(disk_, "/store", "/store", now).error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(repair(disk_, "/store", "/store/packs/../new", now).error().code,
              ErrorCode::invalid_argument);
}

TEST_F(VerifyTest, ARepairThatDoesNotFinishLeavesNoStore) {
    damage(segments().at(1), 40);
    const auto before = disk_.calls();
    Repair done;
    (void)repaired(done);
    const auto calls = disk_.calls() - before;
    const auto old = everything();
    for (std::uint64_t call = 0; call < calls; ++call) {
        SCOPED_TRACE("crash at call " + std::to_string(call));
        ASSERT_TRUE(remove_tree(disk_, "/new"));
        disk_.crash_at(disk_.calls() + call);
        const auto result = repair(disk_, "/store", "/new", now);
        disk_.restart(Survival::some);
        if (!result && !disk_.content("/new/FORMAT").empty()) {
            EXPECT_TRUE(verify(disk_, "/new", now)->clean()); // all that was missing is a check
        }
        EXPECT_EQ(disk_.content(checkpoint()), old.at(checkpoint()));
    }
}

} // namespace
} // namespace durable::fs
