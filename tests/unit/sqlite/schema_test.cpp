// Versions of the schema, leases across a restart of the machine, and the views for people.

#include "providers/sqlite/store/schema.hpp"
#include "unit/sqlite/sqlite_fixture.hpp"

#include <durable/codec.hpp>

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
    Outsider{path}.query("PRAGMA user_version = " + std::to_string(migrations().size()));
    EXPECT_EQ(open()->read("A").value().size(), 1U);
}

// A next version is made up here: what it adds must arrive, what was
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
              (Rows{"worker|A|lease over|1", // by the clock of the machine
                    "orchestrator|early|waits for a start|0",
                    "orchestrator|later|delayed|0"}));
}

TEST_F(SqliteSchema, TheViewsShowWhatHasNotBegunAndWhatWasGivenBack) {
    const auto store = open();
    const auto begin = [&](const std::string& id, std::optional<Duration> delay) {
        ASSERT_TRUE(store->start_instance(std::get<work::StartOrchestration>(start(id)), delay));
    };
    begin("A", std::nullopt);
    begin("B", Duration{5000});
    ASSERT_TRUE(store->enqueue_for_orchestrator(
        work::ExternalRaised{.instance = "B", .name = "go", .data = "1"}, std::nullopt));
    const auto turn = store->fetch_orchestration_item({.lock_timeout = Duration{1000}}).value();
    ASSERT_TRUE(turn);
    ASSERT_TRUE(store->abandon_orchestration_item(
        {.lock_token = turn->lock_token, .delay = Duration{1000}, .parked = "no code"}));

    Outsider shell{path};

    EXPECT_EQ(shell.query("SELECT instance_id, version, status, parked FROM durable_instances"
                          " ORDER BY instance_id"),
              (Rows{"A|unknown|Pending|no code", "B|unknown|Pending|NULL"}));
    EXPECT_EQ(shell.query("SELECT instance_id, state, attempts FROM durable_pending ORDER BY seq"),
              (Rows{"A|delayed|1", "B|delayed|0", "B|waits for a start|0"}));
}

TEST_F(SqliteSchema, TheViewOfWhatIsPendingTellsLeasesAndWhatIsHidden) {
    clock = std::make_shared<ManualClock>(system_clock()->now());
    const auto store = open();
    make_running(*store, "A");
    ASSERT_TRUE(store->enqueue_for_worker(activity("A", 2)));
    ASSERT_TRUE(store->enqueue_for_worker(activity("A", 3)));
    ASSERT_TRUE(*store->fetch_work_item({.lock_timeout = std::chrono::hours{1}}));
    ASSERT_TRUE(store->enqueue_for_orchestrator(start("B"), std::nullopt));
    const auto turn = store->fetch_orchestration_item({.lock_timeout = std::chrono::hours{1}});
    ASSERT_TRUE(turn && *turn);
    ASSERT_TRUE(*store->fetch_work_item({.lock_timeout = Duration{0}}));

    Outsider shell{path};
    const std::string all =
        "SELECT instance_id, state, leased_until > datetime('now', '+1 minute'),"
        " visible > datetime('now', '+1 hour') FROM durable_pending"
        " ORDER BY seq";
    EXPECT_EQ(shell.query(all), (Rows{"A|running|1|0", "A|lease over|0|0", "B|running|1|0"}));
    ASSERT_TRUE(store->abandon_orchestration_item({.lock_token = (*turn)->lock_token,
                                                   .delay = Duration{std::chrono::hours{2}},
                                                   .whole_instance = true}));
    EXPECT_EQ(shell.query(all + " DESC LIMIT 1"), Rows{"B|delayed|NULL|1"});
}

// A file of the first version gets the view, and keeps what it has.
TEST_F(SqliteSchema, AFileOfTheFirstVersionIsBroughtUpToDate) {
    {
        auto db = Connection::open(path, {.busy_timeout = Duration{1000}, .create = true});
        ASSERT_TRUE(db);
        ASSERT_TRUE(migrate(**db, migrations().first(1)));
    }
    make_running(*open(), "A");

    EXPECT_EQ(Outsider{path}.query("SELECT count(leased_until) FROM durable_pending"), Rows{"0"});
}

// As a newer library would, while this one has it open.
TEST_F(SqliteSchema, ASchemaThatIsChangedUnderneathIsNotWrittenTo) {
    const auto store = open();
    ASSERT_TRUE(store->enqueue_for_orchestrator(start("A"), std::nullopt));
    Outsider{path}.query("PRAGMA user_version = 99");

    const auto refused = store->enqueue_for_orchestrator(start("B"), std::nullopt);

    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
    EXPECT_TRUE(refused.error().message.contains("its schema is 99")) << refused.error().message;
    EXPECT_EQ(store->fetch_orchestration_item({.lock_timeout = Duration{1000}}).error().code,
              ErrorCode::unsupported);
    EXPECT_EQ(Outsider{path}.query("SELECT instance_id, state FROM durable_pending"),
              Rows{"A|ready"});

    Outsider{path}.query("PRAGMA user_version = " + std::to_string(migrations().size()));
    EXPECT_TRUE(store->enqueue_for_orchestrator(start("B"), std::nullopt));
}

// One of the second version as well, messages that wait included.
TEST_F(SqliteSchema, AFileOfTheSecondVersionIsBroughtUpToDate) {
    {
        auto db = Connection::open(path, {.busy_timeout = Duration{1000}, .create = true});
        ASSERT_TRUE(db);
        ASSERT_TRUE(migrate(**db, migrations().first(2)));
    }
    Outsider{path}.query(
        "INSERT INTO instances (id, instance_id, place, head_seq) VALUES (1, 'A', 1, 1);"
        "INSERT INTO messages (seq, instance, state, visible_at, kind, item) VALUES (1, 1, 1, 0, 0,"
        " '" +
        encode(start("A")).value() + "'); UPDATE store SET next_seq = 2, next_instance = 2");

    const auto store = open();

    const auto turn = store->fetch_orchestration_item({.lock_timeout = Duration{1000}}).value();
    ASSERT_TRUE(turn);
    EXPECT_EQ(turn->instance, "A");
    EXPECT_EQ(Outsider{path}.query("SELECT queue, seq, attempts FROM durable_pending"),
              Rows{"orchestrator|1|1"});
}

} // namespace
} // namespace durable::sqlite
