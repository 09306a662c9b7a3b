// Views: what people read with less, grep and jq. Any instance id is safe, nothing stale stays.

#include "providers/fs/files/store_directory.hpp"
#include "providers/fs/fs_provider.hpp"
#include "providers/fs/views/views.hpp"
#include "simulation/sim_files.hpp"
#include "unit/fs/finished_instance.hpp"

#include <durable/codec.hpp>
#include <durable/testing.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace durable::fs {
namespace {

using nlohmann::json;
using simulation::SimFiles;
using simulation::Survival;

class ViewsTest : public ::testing::Test {
 protected:
    void with_store(const std::function<void(FsProvider&)>& use) {
        const auto store =
            FsProvider::open("/store",
                             {.clock = clock_},
                             {.files = &disk_, .threads = false, .pack_bytes = 0, .most_copies = 0})
                .value();
        use(*store);
    }

    Export exported(const std::string& target = "/out",
                    const std::vector<std::string>& instances = {}) {
        const auto done = export_views(disk_, "/store", target, instances, clock_->now());
        EXPECT_TRUE(done) << done.error().text();
        return done.value_or(Export{});
    }

    ErrorCode refused(const std::string& target, const std::vector<std::string>& instances = {}) {
        const auto done = export_views(disk_, "/store", target, instances, clock_->now());
        EXPECT_FALSE(done);
        return done ? ErrorCode{} : done.error().code;
    }

    json object(const std::string& path) { return json::parse(disk_.content(path)); }
    std::vector<json> lines(const std::string& path) {
        std::vector<json> found;
        std::istringstream in{disk_.content(path)};
        for (std::string line; std::getline(in, line);) {
            found.push_back(json::parse(line));
        }
        return found;
    }
    std::vector<std::string> paths(const std::string& directory) {
        auto found = disk_.paths();
        std::erase_if(found, [&](const auto& path) { return !path.starts_with(directory + "/"); });
        return found;
    }

    SimFiles disk_{3};
    std::shared_ptr<ManualClock> clock_ =
        std::make_shared<ManualClock>(from_epoch_ms(1'760'000'000'123));
};

TEST_F(ViewsTest, AnInstanceIsADirectoryOfReadableFiles) {
    with_store([](FsProvider& store) { finish_instance(store, "order-1"); });

    EXPECT_EQ(exported().written, 1U);

    EXPECT_EQ(paths("/out"),
              (std::vector<std::string>{"/out/VIEWS",
                                        "/out/order-1/exec_1/history.jsonl",
                                        "/out/order-1/exec_1/status.json",
                                        "/out/order-1/meta.json"}));
    const auto meta = object("/out/order-1/meta.json");
    EXPECT_GT(meta.at("as_of").get<int>(), 2);
    auto expected = json::parse(R"({
        "id": "order-1", "name": "Order", "version": "1.0.0", "parent": null,
        "status": "Completed", "execution": 1,
        "created_at": "2025-10-09T08:53:20.123Z", "updated_at": "2025-10-09T08:53:20.123Z",
        "custom_status": "half", "values": {"k": "order-1"}, "messages": 0, "activities": 0})");
    expected["as_of"] = meta.at("as_of");
    EXPECT_EQ(meta, expected);
    EXPECT_EQ(object("/out/order-1/exec_1/status.json"), json::parse(R"({
        "execution": 1, "status": "Completed",
        "started_at": "2025-10-09T08:53:20.123Z", "completed_at": "2025-10-09T08:53:20.123Z",
        "output": "\"done order-1\"", "events": 4})"));
    const auto history = lines("/out/order-1/exec_1/history.jsonl");
    ASSERT_EQ(history.size(), 4U);
    EXPECT_EQ(history[0].at("event_id"), 1);
    EXPECT_EQ(history[3].at("event_id"), 4);
}

TEST_F(ViewsTest, AHistoryLineIsTheEventAsItIsStored) {
    std::vector<HistoryEvent> stored;
    with_store([&](FsProvider& store) {
        finish_instance(store, "order-1");
        stored = store.read("order-1").value();
    });
    (void)exported();

    std::vector<HistoryEvent> shown;
    std::istringstream in{disk_.content("/out/order-1/exec_1/history.jsonl")};
    for (std::string line; std::getline(in, line);) {
        shown.push_back(decode_event(line).value());
    }
    EXPECT_EQ(shown, stored);
}

TEST_F(ViewsTest, AnInstanceThatHasNotStartedShowsWhatWaitsForIt) {
    with_store([](FsProvider& store) {
        ASSERT_TRUE(store.enqueue_for_orchestrator(
            work::StartOrchestration{.instance = "new", .orchestration = "Order", .input = "{}"},
            std::nullopt));
    });
    (void)exported();

    const auto meta = object("/out/new/meta.json");
    EXPECT_EQ(meta.at("messages"), 1);
    EXPECT_FALSE(meta.contains("status"));
    EXPECT_EQ(paths("/out/new"), std::vector<std::string>{"/out/new/meta.json"});
}

TEST_F(ViewsTest, AnyInstanceIdIsSafe) {
    using namespace std::string_literals;
    const std::vector<std::string> ids{"..",
                                       ".",
                                       "../../etc/passwd",
                                       "/",
                                       "a/b",
                                       "nul\0inside"s,
                                       "Ünïcödé \xF0\x9F\x9A\x80",
                                       "UPPER",
                                       "upper",
                                       "p::sub::2",
                                       "line\nend",
                                       "exec_1",
                                       "con",
                                       std::string(10'240, 'x'),
                                       std::string(10'240, 'x') + "y",
                                       std::string(255, '/')};
    with_store([&](FsProvider& store) {
        for (const auto& id : ids) {
            finish_instance(store, id);
        }
    });

    EXPECT_EQ(exported().written, ids.size());

    std::set<std::string> found;
    const auto entries = disk_.list("/out").value();
    for (const auto& entry : entries) {
        if (entry.name == "VIEWS") {
            continue;
        }
        EXPECT_TRUE(entry.is_directory);
        EXPECT_LE(entry.name.size(), 200U);
        EXPECT_EQ(entry.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_%~"),
                  std::string::npos)
            << entry.name;
        const auto meta = object("/out/" + entry.name + "/meta.json");
        found.insert(meta.at("id").get<std::string>());
        EXPECT_EQ(lines("/out/" + entry.name + "/exec_1/history.jsonl").size(), 4U);
    }
    EXPECT_EQ(found, std::set<std::string>(ids.begin(), ids.end()));
    for (const auto& path : disk_.paths()) { // nothing went elsewhere
        EXPECT_TRUE(path.starts_with("/store/") || path.starts_with("/out/")) << path;
    }
}

TEST_F(ViewsTest, FinishedInstancesAreShownFromTheirPacks) {
    with_store([](FsProvider& store) {
        for (int number = 0; number < 5; ++number) {
            finish_instance(store, "order-" + std::to_string(number));
            keep_house(store);
        }
        ASSERT_TRUE(store.make_checkpoint());
    });
    ASSERT_FALSE(paths("/store/packs").empty());

    EXPECT_EQ(exported().written, 5U);
    EXPECT_EQ(lines("/out/order-3/exec_1/history.jsonl").size(), 4U);
    EXPECT_EQ(object("/out/order-3/meta.json").at("status"), "Completed");
}

TEST_F(ViewsTest, ViewsOfDeletedInstancesAndPrunedExecutionsGoAway) {
    with_store([](FsProvider& store) {
        finish_instance(store, "stays");
        finish_instance(store, "goes");
    });
    EXPECT_EQ(exported().removed, 0U);
    ASSERT_TRUE(disk_.make_directory("/out/stays/exec_7")); // of an execution that is no more
    with_store([](FsProvider& store) { ASSERT_TRUE(store.delete_instance("goes", false)); });

    const auto again = exported();

    EXPECT_EQ(again.written, 1U);
    EXPECT_EQ(again.removed, 1U);
    EXPECT_TRUE(paths("/out/goes").empty());
    EXPECT_FALSE(disk_.list("/out/goes"));
    EXPECT_FALSE(disk_.list("/out/stays/exec_7"));
}

TEST_F(ViewsTest, SomeInstancesAreAddedToWhatIsThere) {
    with_store([](FsProvider& store) {
        finish_instance(store, "a");
        finish_instance(store, "b");
        finish_instance(store, "c");
    });
    EXPECT_EQ(exported("/out", {"a"}).written, 1U);
    EXPECT_EQ(exported("/out", {"c"}).written, 1U);

    EXPECT_FALSE(paths("/out/a").empty());
    EXPECT_TRUE(paths("/out/b").empty());
    EXPECT_FALSE(paths("/out/c").empty());
    EXPECT_EQ(refused("/out", {"nobody"}), ErrorCode::not_found);
}

TEST_F(ViewsTest, TheStoreHasAPlaceForItsViewsAndDoesNotReadThem) {
    with_store([](FsProvider& store) { finish_instance(store, "a"); });
    EXPECT_EQ(exported("/store/instances").written, 1U);
    disk_.overwrite("/store/instances/a/meta.json", "nonsense");

    with_store(
        [](FsProvider& store) { EXPECT_EQ(store.get_instance_info("a")->status, "Completed"); });
    EXPECT_EQ(exported("/store/instances").written, 1U);
    EXPECT_EQ(object("/store/instances/a/meta.json").at("id"), "a");
}

TEST_F(ViewsTest, OnlyViewsAreEverReplaced) {
    with_store([](FsProvider& store) { finish_instance(store, "a"); });
    ASSERT_TRUE(disk_.make_directory("/home"));
    ASSERT_TRUE(disk_.open("/home/letter", OpenMode::create));
    ASSERT_TRUE(disk_.make_directory("/desk"));
    ASSERT_TRUE(disk_.make_directory("/desk/thesis"));
    ASSERT_TRUE(disk_.open("/desk/thesis/chapter", OpenMode::create));

    EXPECT_EQ(refused("/home"), ErrorCode::invalid_argument);
    EXPECT_EQ(refused("/desk"), ErrorCode::invalid_argument);
    EXPECT_EQ(refused("/store"), ErrorCode::invalid_argument);
    EXPECT_EQ(refused("/store/journal"), ErrorCode::invalid_argument);
    EXPECT_EQ(refused("/home/letter"), ErrorCode::invalid_argument);
    EXPECT_FALSE(paths("/desk/thesis").empty());
}

// A website has a meta.json as well, and an empty directory may be kept for something.
TEST_F(ViewsTest, WhatOnlyLooksLikeAViewIsLeftAlone) {
    with_store([](FsProvider& store) { finish_instance(store, "a"); });
    ASSERT_TRUE(make_directories(disk_, "/www/site"));
    ASSERT_TRUE(disk_.open("/www/site/meta.json", OpenMode::create));
    ASSERT_TRUE(make_directories(disk_, "/plans/later"));

    EXPECT_EQ(refused("/www"), ErrorCode::invalid_argument);
    EXPECT_EQ(refused("/plans"), ErrorCode::invalid_argument);

    EXPECT_EQ(paths("/www"), std::vector<std::string>{"/www/site/meta.json"});
    EXPECT_TRUE(disk_.list("/plans/later"));
    EXPECT_EQ(disk_.list("/plans")->size(), 1U);
}

TEST_F(ViewsTest, WhatWasAddedToAnExportIsLeftAlone) {
    with_store([](FsProvider& store) {
        finish_instance(store, "a");
        finish_instance(store, "b");
    });
    for (const std::string added :
         {"/notes.txt", "/new/meta.json", "/b/notes.txt", "/b/exec_1/notes.txt"}) {
        SCOPED_TRACE(added);
        const auto target = "/out" + std::to_string(added.size());
        (void)exported(target);
        const auto path = target + added;
        ASSERT_TRUE(make_directories(disk_, std::string{parent_path(path)}));
        ASSERT_TRUE(disk_.open(path, OpenMode::create));
        const auto before = paths(target);

        EXPECT_EQ(refused(target), ErrorCode::invalid_argument);
        EXPECT_EQ(refused(target, {"a"}), ErrorCode::invalid_argument);

        EXPECT_EQ(paths(target), before);
        ASSERT_TRUE(disk_.remove(path));
    }
}

TEST_F(ViewsTest, TheViewsOfAnotherStoreAreLeftAlone) {
    with_store([](FsProvider& store) { finish_instance(store, "a"); });
    (void)exported();
    ASSERT_TRUE(FsProvider::open("/other", {.clock = clock_}, {.files = &disk_, .threads = false}));

    const auto done = export_views(disk_, "/other", "/out", {}, clock_->now());

    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(done.error().message, "/out holds views of /store, another store");
    EXPECT_FALSE(paths("/out/a").empty());
}

TEST_F(ViewsTest, AStoreInUseIsNotRead) {
    with_store([&](FsProvider&) { EXPECT_EQ(refused("/out"), ErrorCode::unavailable); });
    EXPECT_EQ(export_views(disk_, "/nowhere", "/out", {}, clock_->now()).error().code,
              ErrorCode::not_found);
}

// Wherever it stops, what is there is whole, and the next export goes through.
TEST_F(ViewsTest, AnInterruptedExportIsMadeGoodByTheNext) {
    with_store([](FsProvider& store) {
        finish_instance(store, "a");
        finish_instance(store, "b");
    });
    const auto before = disk_.calls();
    EXPECT_EQ(exported("/first").written, 2U);
    const auto calls = disk_.calls() - before;
    const auto complete = paths("/first").size();
    for (std::uint64_t call = 0; call < calls; ++call) {
        for (const bool power : {false, true}) {
            SCOPED_TRACE("crash at call " + std::to_string(call) + (power ? ", power" : ""));
            const auto target = "/out" + std::to_string(2 * call + (power ? 1 : 0));
            disk_.crash_at(disk_.calls() + call);
            (void)export_views(disk_, "/store", target, {}, clock_->now());
            disk_.restart(power ? Survival::some : Survival::everything);
            for (const auto& path : paths(target)) {
                if (!power && path.ends_with(".json")) {
                    EXPECT_TRUE(json::accept(disk_.content(path))) << path;
                }
            }
            EXPECT_EQ(exported(target).written, 2U);
            EXPECT_EQ(paths(target).size(), complete);
        }
    }
}

} // namespace
} // namespace durable::fs
