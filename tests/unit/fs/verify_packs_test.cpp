// Verifying and repairing stores whose finished instances are in packs.

#include "providers/fs/checkpoint/load_store.hpp"
#include "providers/fs/format/frame.hpp"
#include "providers/fs/fs_provider.hpp"
#include "providers/fs/packs/pack_file.hpp"
#include "providers/fs/repair/repair.hpp"
#include "providers/fs/repair/verify.hpp"
#include "simulation/sim_files.hpp"
#include "unit/fs/finished_instance.hpp"

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

const Instant verified_at = from_epoch_ms(1'760'000'000'000);

// Two packs of several instances each, one of which was deleted; behind the checkpoint a packed
// instance gets a message, and one more is deleted.
class VerifyPacksTest : public ::testing::Test {
 protected:
    VerifyPacksTest() {
        {
            const auto store = open("/store");
            for (const std::string batch : {"a", "b"}) {
                for (int number = 0; number < 6; ++number) {
                    finish_instance(*store,
                                    batch + std::to_string(number),
                                    std::nullopt,
                                    std::string(20'000, 'x'));
                }
                keep_house(*store);
            }
            EXPECT_TRUE(store->delete_instance("a1", false));
            EXPECT_TRUE(store->make_checkpoint());
            EXPECT_TRUE(store->enqueue_for_orchestrator(
                work::ExternalRaised{.instance = "b2", .name = "late", .data = "1"}, std::nullopt));
            EXPECT_TRUE(store->delete_instance("b3", false));
            EXPECT_TRUE(store->get_queue_depths());
            state_ = store->state();
            disk_.crash_at(disk_.calls()); // so that it is not closed in good order
        }
        disk_.restart(Survival::nothing);
        state_.lsn = 0;
        healthy_ = everything();
    }

    std::shared_ptr<FsProvider> open(const std::string& directory) {
        const auto opened =
            FsProvider::open(directory, {.clock = std::make_shared<ManualClock>()}, machine());
        EXPECT_TRUE(opened) << opened.error().text();
        return opened.value_or(nullptr);
    }

    Machine machine() {
        return {.files = &disk_,
                .threads = false,
                .segment_sizes = {.first = 1U << 14U, .largest = 1U << 14U}, // the first ones go
                .checkpoint_bytes = 1U << 30U,
                .pack_bytes = 115'000, // six histories are more, five are less
                .most_copies = 0};
    }

    std::map<std::string, std::string> everything() {
        std::map<std::string, std::string> files;
        for (const auto& path : disk_.paths()) {
            files[path] = disk_.content(path);
        }
        return files;
    }

    std::vector<std::string> packs(const std::string& store = "/store") {
        auto found = disk_.paths();
        std::erase_if(found,
                      [&](const auto& path) { return !path.starts_with(store + "/packs/"); });
        return found;
    }

    // Where the line of the instance begins, and the pack that has it.
    struct Place {
        std::string path;
        std::size_t begin = 0;
        std::size_t end = 0;
    };
    Place line_of_instance(const std::string& id) {
        for (const auto& path : packs()) {
            const auto content = disk_.content(path);
            const auto at = content.find("\"done " + id);
            const auto escaped = content.find("\\\"done " + id);
            if (const auto hit = std::min(at, escaped); hit != std::string::npos) {
                return {.path = path,
                        .begin = content.rfind('\n', hit) + 1,
                        .end = content.find('\n', hit) + 1};
            }
        }
        ADD_FAILURE() << id << " is in no pack";
        return {};
    }

    void damage(const std::string& path, std::size_t at) {
        auto content = disk_.content(path);
        content.at(at) = static_cast<char>(content.at(at) ^ 1);
        disk_.overwrite(path, content);
    }
    void damage_line(const std::string& id) {
        const auto place = line_of_instance(id);
        damage(place.path, place.begin + frame_header_size + 2);
    }
    // The last line of a pack belongs to its index.
    void damage_index(const std::string& path) { damage(path, disk_.content(path).size() - 5); }

    Verification look() {
        const auto before = everything();
        auto found = verify(disk_, "/store", verified_at);
        EXPECT_EQ(everything(), before);
        EXPECT_TRUE(found) << found.error().text();
        return found.value_or(Verification{});
    }

    FsProvider::State repaired(Repair& done) {
        const auto before = everything();
        auto result = repair(disk_, "/store", "/new", verified_at);
        EXPECT_TRUE(result) << result.error().text();
        if (!result) {
            return {};
        }
        done = *std::move(result);
        for (const auto& [path, content] : before) {
            EXPECT_EQ(disk_.content(path), content) << path;
        }
        EXPECT_TRUE(done.made.clean());
        auto state = open("/new")->state();
        state.lsn = 0;
        return state;
    }

    static bool told(const std::vector<std::string>& texts, std::string_view text) {
        return std::ranges::any_of(texts, [&](const auto& one) { return one.contains(text); });
    }

    std::vector<std::string> ids(const FsProvider::State& state) {
        std::vector<std::string> found;
        for (const auto& instance : state.instances) {
            found.push_back(instance.id);
        }
        return found;
    }
    std::vector<std::string> all_but(const std::vector<std::string>& gone) {
        auto rest = ids(state_);
        std::erase_if(rest,
                      [&](const auto& id) { return std::ranges::find(gone, id) != gone.end(); });
        return rest;
    }

    SimFiles disk_;
    FsProvider::State state_;
    std::map<std::string, std::string> healthy_;
};

TEST_F(VerifyPacksTest, AHealthyStoreIsCleanAndCounted) {
    ASSERT_EQ(packs().size(), 2U);
    const auto found = look();

    EXPECT_TRUE(found.clean()) << found.damage.front();
    EXPECT_EQ(found.packs, 2U);
    EXPECT_EQ(found.pack_bytes,
              disk_.content(packs()[0]).size() + disk_.content(packs()[1]).size());
    EXPECT_EQ(found.checkpoint_instances, 11U);
    EXPECT_EQ(found.live, 1U); // b2, which has a message
    EXPECT_EQ(found.finished, 9U);
    EXPECT_EQ(found.messages, 1U);
    EXPECT_TRUE(found.unnamed_packs.empty());
}

TEST_F(VerifyPacksTest, FinishedInstancesAreNotLoadedIntoMemory) {
    const auto loaded = load_store(disk_, "/store", verified_at);

    ASSERT_TRUE(loaded) << loaded.error().text();
    std::vector<std::string> here;
    loaded->ledger->instances.for_each([&](const ledger::Instance& instance) {
        if (instance.copy != ledger::Instance::Copy::made) {
            here.emplace_back(instance.id());
        }
    });
    EXPECT_EQ(here, std::vector<std::string>{"b2"});
    EXPECT_EQ(loaded->archive->packs.size(), 9U);
    EXPECT_EQ(loaded->ledger->totals().events, 40U);
}

TEST_F(VerifyPacksTest, RepairOfAHealthyStoreLosesNothingAndLeavesFinishedInstancesInPacks) {
    Repair done;
    EXPECT_EQ(repaired(done), state_);
    EXPECT_TRUE(done.lost.empty()) << done.lost.front();
    EXPECT_EQ(done.made.packs, 1U);
    EXPECT_EQ(done.made.finished, 9U);
}

TEST_F(VerifyPacksTest, ADamagedLineIsNamedWithFileAndOffsetAndCostsItsInstanceAlone) {
    const auto place = line_of_instance("a2");
    const auto line = disk_.content(place.path).substr(place.begin, place.end - place.begin);
    damage_line("a2");

    const auto found = look();
    EXPECT_TRUE(told(found.damage,
                     "can be opened, but not read in full: " + place.path + ", byte " +
                         std::to_string(place.begin)))
        << found.damage.front();
    EXPECT_TRUE(told(found.damage,
                     place.path + ", byte " + std::to_string(place.begin) + ": " +
                         std::to_string(line.size()) + " bytes: no whole line of a pack"));
    EXPECT_TRUE(told(found.damage, place.path + ": instance \"a2\""));

    Repair done;
    const auto state = repaired(done);
    EXPECT_EQ(ids(state), all_but({"a2"}));
    EXPECT_TRUE(told(done.lost, place.path + ": instance \"a2\""));
    EXPECT_EQ(done.list, "/new/quarantine/lost.txt");
    EXPECT_TRUE(disk_.content(done.list).contains(place.path + ": instance \"a2\"\n"));
}

// The checkpoint says by number which lines are dead: damage must not shift the numbers.
TEST_F(VerifyPacksTest, DamageBeforeADeletedInstanceDoesNotBringItBack) {
    damage_line("a0");

    Repair done;
    EXPECT_EQ(ids(repaired(done)), all_but({"a0"}));
}

TEST_F(VerifyPacksTest, SeveralDamagedLinesInARowDoNotHideTheOthers) {
    const auto place = line_of_instance("a0");
    auto content = disk_.content(place.path);
    std::fill(content.begin() + static_cast<std::ptrdiff_t>(place.begin) + 3,
              content.begin() + static_cast<std::ptrdiff_t>(line_of_instance("a3").begin) + 9,
              '?');
    disk_.overwrite(place.path, content);

    Repair done;
    EXPECT_EQ(ids(repaired(done)), all_but({"a0", "a2", "a3"}));
    EXPECT_FALSE(told(done.lost, "instance \"a1\"")); // it was deleted
    EXPECT_TRUE(told(done.lost, "instance \"a3\""));
}

TEST_F(VerifyPacksTest, ADamagedIndexRefusesToOpenAndCostsNoInstance) {
    const auto path = packs().at(0);
    damage_index(path);

    const auto found = look();
    EXPECT_TRUE(told(found.damage, "cannot be opened: " + path + ", byte "))
        << found.damage.front();

    Repair done;
    EXPECT_EQ(repaired(done), state_);
    EXPECT_TRUE(told(done.lost, path + ", byte "));
    EXPECT_FALSE(told(done.lost, "instance"));
}

TEST_F(VerifyPacksTest, WhatCannotBeToldApartFromADeletedInstanceIsNotTaken) {
    const auto place = line_of_instance("a2");
    damage_line("a0");
    damage_line("a3");
    damage_index(place.path);

    Repair done;
    const auto state = repaired(done);
    // Behind the first damage, any of them may be the deleted one.
    EXPECT_EQ(ids(state), all_but({"a0", "a2", "a3", "a4", "a5"}));
    EXPECT_TRUE(told(done.lost, "instance \"a2\": damage around it hides"));
    EXPECT_TRUE(told(done.lost, "instance \"a1\": damage around it hides"));
    EXPECT_TRUE(told(done.lost, place.path + ": 5 of its 5 instances"));
}

TEST_F(VerifyPacksTest, AMissingPackIsNamedAndTheOthersAreSaved) {
    const auto path = line_of_instance("a0").path;
    ASSERT_TRUE(disk_.remove(path));

    const auto found = look();
    EXPECT_TRUE(told(found.damage, "cannot be opened: " + path + " is missing"))
        << found.damage.front();
    EXPECT_TRUE(told(found.damage, path + ": all of its 5 instances"));

    Repair done;
    EXPECT_EQ(ids(repaired(done)), all_but({"a0", "a2", "a3", "a4", "a5"}));
}

TEST_F(VerifyPacksTest, APackThatIsCutOffSavesWhatIsLeft) {
    const auto place = line_of_instance("a3");
    disk_.overwrite(place.path, disk_.content(place.path).substr(0, place.begin + 30));

    EXPECT_TRUE(told(look().damage, "cannot be opened: " + place.path));

    Repair done;
    EXPECT_EQ(ids(repaired(done)), all_but({"a3", "a4", "a5"}));
    EXPECT_TRUE(told(done.lost, place.path + ": 3 of its 5 instances"));
}

TEST_F(VerifyPacksTest, APackWhoseEndIsZerosIsCutOff) {
    const auto place = line_of_instance("a4");
    auto content = disk_.content(place.path);
    std::fill(content.begin() + static_cast<std::ptrdiff_t>(place.begin), content.end(), '\0');
    disk_.overwrite(place.path, content);

    Repair done;
    EXPECT_EQ(ids(repaired(done)), all_but({"a4", "a5"}));
    EXPECT_TRUE(told(done.lost, place.path + ": 2 of its 5 instances"));
}

TEST_F(VerifyPacksTest, APackThatNoCheckpointNamesIsNoDamageAndNotTaken) {
    const std::string path = "/store/packs/0000000099.pack";
    ASSERT_TRUE(disk_.open(path, OpenMode::create));
    disk_.overwrite(path, healthy_.at(packs().at(0)));

    const auto found = look();
    EXPECT_TRUE(found.clean()) << found.damage.front();
    EXPECT_EQ(found.unnamed_packs, std::vector<std::string>{path});

    Repair done;
    EXPECT_EQ(repaired(done), state_);
    EXPECT_TRUE(done.lost.empty());
    (void)open("/store");
    EXPECT_FALSE(told(packs(), path));
}

// The line of the checkpoint that names the pack is what is damaged, not the pack.
TEST_F(VerifyPacksTest, APackWhoseNameInTheCheckpointIsDamagedIsTaken) {
    auto found = disk_.paths();
    std::erase_if(found, [](const auto& path) { return !path.starts_with("/store/checkpoint/"); });
    const auto path = line_of_instance("b0").path;
    const auto number = std::to_string(pack_number(path.substr(path.rfind('/') + 1)));
    damage(found.back(), disk_.content(found.back()).find("{\"pack\":" + number) + 3);

    EXPECT_TRUE(told(look().damage, path + ": what the checkpoint said of it; 5 instances"));

    Repair done;
    EXPECT_EQ(ids(repaired(done)), ids(state_)); // also b3, which the journal deletes
    EXPECT_TRUE(told(done.lost, path + ": what the checkpoint said of it; 5 instances"));
}

TEST_F(VerifyPacksTest, PacksAreTakenWhenTheCheckpointIsGone) {
    {
        const auto store = open("/store");
        for (const std::string id : {"b4", "b5"}) { // behind which the first segment goes
            EXPECT_TRUE(store->enqueue_for_orchestrator(
                work::ExternalRaised{.instance = id, .name = "late", .data = "1"}, std::nullopt));
            EXPECT_TRUE(store->make_checkpoint());
        }
    }
    for (const auto& path : disk_.paths()) {
        if (path.starts_with("/store/checkpoint/")) {
            ASSERT_TRUE(disk_.remove(path));
        }
    }

    Repair done;
    const auto state = ids(repaired(done));
    for (const std::string id : {"a0", "a1", "a5", "b0", "b2", "b5"}) { // a1 was deleted: unknown
        EXPECT_TRUE(told(state, id)) << id;
    }
    EXPECT_TRUE(told(done.lost, "some may have been deleted"));
}

TEST_F(VerifyPacksTest, PacksAloneAreRepaired) {
    for (const auto& path : disk_.paths()) {
        if (path.starts_with("/store/checkpoint/") || path.starts_with("/store/journal/")) {
            ASSERT_TRUE(disk_.remove(path));
        }
    }

    Repair done;
    EXPECT_EQ(repaired(done).instances.size(), 12U);
}

// What was packed after the checkpoint comes back from the journal, not from the pack.
TEST_F(VerifyPacksTest, APackFromAfterADamagedCheckpointIsNotTaken) {
    {
        const auto store = open("/store");
        EXPECT_TRUE(store->delete_instance("b2", true)); // it would be the next to run
        for (int number = 0; number < 6; ++number) {
            finish_instance(
                *store, "c" + std::to_string(number), std::nullopt, std::string(20'000, 'x'));
        }
        keep_house(*store);
        state_ = store->state();
        disk_.crash_at(disk_.calls());
    }
    disk_.restart(Survival::nothing);
    const auto path = line_of_instance("c0").path;
    auto found = disk_.paths();
    std::erase_if(found, [](const auto& one) { return !one.starts_with("/store/checkpoint/"); });
    const auto other = line_of_instance("b0").path;
    const auto number = std::to_string(pack_number(other.substr(other.rfind('/') + 1)));
    damage(found.back(), disk_.content(found.back()).find("{\"pack\":" + number) + 3);

    Repair done;
    EXPECT_EQ(ids(repaired(done)), ids(state_));
    EXPECT_FALSE(told(done.lost, path));
    EXPECT_TRUE(told(done.lost, "some may have been deleted"));
}

// Whatever single line of the packs is damaged, everything else goes on.
TEST_F(VerifyPacksTest, AnyOneDamagedLineIsFoundAndRepaired) {
    for (const auto& path : packs()) {
        const auto healthy = disk_.content(path);
        for (std::size_t at = 0; at < healthy.size();) {
            SCOPED_TRACE(path + ", byte " + std::to_string(at));
            damage(path, at + frame_header_size + 2);
            const auto found = look();
            EXPECT_FALSE(found.clean());
            EXPECT_TRUE(told(found.damage, path + ", byte " + std::to_string(at)));
            Repair done;
            const auto state = repaired(done);
            EXPECT_GE(state.instances.size() + 1, state_.instances.size());
            EXPECT_LE(state.instances.size(), state_.instances.size());
            EXPECT_FALSE(done.lost.empty());
            ASSERT_TRUE(remove_tree(disk_, "/new"));
            disk_.overwrite(path, healthy);
            at = healthy.find('\n', at) + 1;
        }
    }
}

// A pack in the place of another one is not taken for it.
TEST_F(VerifyPacksTest, AnInstanceInTwoPacksIsTakenOnce) {
    const auto first = packs().at(0);
    const auto second = packs().at(1);
    // The header of the second, the rest of the first.
    const auto header = healthy_.at(second).find('\n') + 1;
    const auto other = healthy_.at(first).find('\n') + 1;
    disk_.overwrite(second,
                    healthy_.at(second).substr(0, header) + healthy_.at(first).substr(other));

    EXPECT_FALSE(look().clean());

    Repair done;
    const auto state = repaired(done);
    EXPECT_FALSE(done.lost.empty());
    EXPECT_EQ(std::ranges::count(ids(state), "a5"), 1);
}

} // namespace
} // namespace durable::fs
