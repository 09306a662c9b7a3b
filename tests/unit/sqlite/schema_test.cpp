// Versions of the schema, leases across a restart of the machine, and the views for people.

#include "providers/sqlite/schema.hpp"
#include "unit/sqlite/sqlite_fixture.hpp"

#include <string>
#include <vector>

namespace durable::sqlite {
namespace {

using SqliteSchema = SqliteTest;
using Rows = std::vector<std::string>;

TEST_F(SqliteSchema, ANewFileHasTheNewestVersion) {
    (void)open();

    EXPECT_EQ(Outsider{path}.query("PRAGMA user_version"),
              Rows{std::to_string(migrations().size())});
    EXPECT_EQ(Outsider{path}.query("PRAGMA journal_mode"), Rows{"wal"});
}

TEST_F(SqliteSchema, ANewerVersionIsRefusedAndNotTouched) {
    make_running(*open(), "A");
    Outsider{path}.query("PRAGMA user_version = 99");

    const auto opened = try_open();

    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::unsupported) << opened.error().text();
    EXPECT_NE(opened.error().message.find("newer version"), std::string::npos);
    EXPECT_EQ(Outsider{path}.query("PRAGMA user_version"), Rows{"99"});
    Outsider{path}.query("PRAGMA user_version = 1");
    EXPECT_EQ(open()->read("A").value().size(), 1U);
}

// There is one version so far, so a next one is made up here: what it adds must arrive, what was
// there must stay.
TEST_F(SqliteSchema, AnOlderVersionIsBroughtUpToDateWithItsData) {
    make_running(*open(), "A");
    std::vector<const char*> steps{migrations().begin(), migrations().end()};
    steps.push_back("ALTER TABLE instances ADD COLUMN more TEXT DEFAULT 'yes'");
    {
        auto db = Connection::open(path, {.busy_timeout = Duration{1000}});
        ASSERT_TRUE(db);

        ASSERT_TRUE(migrate(**db, steps));
    }

    EXPECT_EQ(Outsider{path}.query("PRAGMA user_version"), Rows{std::to_string(steps.size())});
    EXPECT_EQ(Outsider{path}.query("SELECT instance_id, more FROM instances"), Rows{"A|yes"});
}

TEST_F(SqliteSchema, AStepThatFailsLeavesTheOldVersion) {
    make_running(*open(), "A");
    std::vector<const char*> steps{migrations().begin(), migrations().end()};
    steps.push_back("CREATE TABLE half (a); CREATE TABLE half (a)");
    {
        auto db = Connection::open(path, {.busy_timeout = Duration{1000}});
        ASSERT_TRUE(db);

        EXPECT_FALSE(migrate(**db, steps));
    }

    EXPECT_EQ(open()->read("A").value().size(), 1U);
    EXPECT_EQ(Outsider{path}.query("SELECT count(*) FROM sqlite_schema WHERE name = 'half'"),
              Rows{"0"});
}

TEST_F(SqliteSchema, LeasesSurviveTheirProcessButNotARestartOfTheMachine) {
    std::string token;
    {
        const auto store = open({}, {.boot_id = "monday"});
        ASSERT_TRUE(store->enqueue_for_orchestrator(start("A"), std::nullopt));
        token = store->fetch_orchestration_item({.lock_timeout = Duration{60'000}})
                    .value()
                    .value()
                    .lock_token;
    }
    {
        const auto store = open({}, {.boot_id = "monday"});
        EXPECT_FALSE(*store->fetch_orchestration_item({.lock_timeout = Duration{1000}}));
        EXPECT_TRUE(store->renew_orchestration_item_lock(token, Duration{60'000}));
    }

    const auto store = open({}, {.boot_id = "tuesday"});

    EXPECT_FALSE(store->renew_orchestration_item_lock(token, Duration{60'000}));
    EXPECT_TRUE(*store->fetch_orchestration_item({.lock_timeout = Duration{1000}}));
}

TEST_F(SqliteSchema, TheViewsShowWhatIsGoingOn) {
    const auto store = open();
    make_running(*store, "A");
    ASSERT_TRUE(store->enqueue_for_worker(activity("A", 2)));
    ASSERT_TRUE(store->enqueue_for_orchestrator(
        work::ExternalRaised{.instance = "early", .name = "go", .data = "1"}, std::nullopt));
    ASSERT_TRUE(store->enqueue_for_orchestrator(start("later"), Duration{5000}));
    ASSERT_TRUE(*store->fetch_work_item({.lock_timeout = Duration{1000}}));

    Outsider shell{path};

    EXPECT_EQ(shell.query("SELECT instance_id, name, version, execution_id, status, output,"
                          " custom_status, parent_id, created FROM durable_instances"),
              Rows{"A|Hello|1.0.0|1|Running|NULL|NULL|NULL|2025-10-09 08:53:20.000"});
    EXPECT_EQ(shell.query("SELECT instance_id, execution_id, event_id, type FROM durable_history"),
              Rows{"A|1|1|OrchestrationStarted"});
    EXPECT_EQ(shell.query("SELECT queue, instance_id, state, attempts FROM durable_pending"
                          " ORDER BY seq"),
              (Rows{"worker|A|running|1",
                    "orchestrator|early|waits for a start|0",
                    "orchestrator|later|delayed|0"}));
}

} // namespace
} // namespace durable::sqlite
