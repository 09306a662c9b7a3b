// A file of version 4, with work in every state, goes on with what version 5 asks of a fetch.

#include "providers/sqlite/store/schema.hpp"
#include "unit/sqlite/sqlite_fixture.hpp"

#include <durable/codec.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace durable::sqlite {
namespace {

using namespace std::chrono_literals;
using Rows = std::vector<std::string>;

class SqliteUpgrade : public SqliteTest {
 protected:
    // As the library of version 4 has left them.
    void SetUp() override {
        auto db = Connection::open(path, {.busy_timeout = Duration{1000}, .create = true});
        ASSERT_TRUE(db);
        ASSERT_TRUE(migrate(**db, migrations().first(4)));
        shell.emplace(path);
        shell->query("UPDATE store SET boot = 'monday', next_seq = 100, next_instance = 100,"
                     " next_number = 10, next_lease = 10, revision = 5");
    }
    std::shared_ptr<SqliteProvider> upgraded() {
        shell.reset();
        return open({}, {.boot_id = "monday"});
    }

    // One that runs, with the pinned version 1.2.0.
    void add_running(int id, const std::string& instance, const std::string& more) {
        const auto number = std::to_string(id);
        shell->query("INSERT INTO instances (id, instance_id, number, name, version, created_at,"
                     " updated_at, execution_id, status, pinned, revision, past, place, head_seq,"
                     " token, lease, until) VALUES (" +
                     number + ", '" + instance + "', " + number +
                     ", 'Hello', '1.0.0', 0, 0, 1, 0, '1.2.0', 1, 1, " + more + ")");
        shell->query("INSERT INTO executions (instance, execution_id, status, started_at, pinned)"
                     " VALUES (" +
                     number + ", 1, 0, 0, '1.2.0')");
    }
    void add_message(int seq, int instance, int state, const WorkItem& item, int attempts = 0) {
        shell->query("INSERT INTO messages (seq, instance, state, visible_at, kind, item, attempts,"
                     " lease) VALUES (" +
                     std::to_string(seq) + ", " + std::to_string(instance) + ", " +
                     std::to_string(state) + ", " + std::to_string(state == 0 ? later() : 0) +
                     ", " + std::to_string(item.index()) + ", '" + encode(item).value() + "', " +
                     std::to_string(attempts) + ", 7)");
    }
    void add_work(int seq, int state, const std::string& name, const std::string& columns = "") {
        auto item = std::get<work::ActivityExecute>(activity("A", static_cast<unsigned>(seq)));
        item.name = name;
        shell->query(
            "INSERT INTO work (seq, instance, execution_id, activity_id, state, visible_at,"
            " item, attempts, tag, session, token, until) VALUES (" +
            std::to_string(seq) + ", 1, 1, " + std::to_string(seq) + ", " + std::to_string(state) +
            ", " + std::to_string(state == 0 ? later() : 0) + ", '" +
            encode(WorkItem{item}).value() + "', " +
            (columns.empty() ? "0, NULL, NULL, NULL, NULL" : columns) + ")");
    }
    std::int64_t later() const {
        return std::chrono::duration_cast<std::chrono::milliseconds>(
                   (clock->now() + 1h).time_since_epoch())
            .count();
    }
    std::string in_an_hour() const {
        return std::to_string((clock->steady() + 1h).time_since_epoch().count());
    }

    static WorkItem raise(const std::string& instance) {
        return work::ExternalRaised{.instance = instance, .name = "go", .data = "1"};
    }
    static std::optional<OrchestrationItem>
    turn(SqliteProvider& of, const std::string& name, std::optional<Duration> cancelled_for = {}) {
        OrchestrationCode code;
        code.versions[name] = {"1.0.0"};
        code.cancelled_for = cancelled_for;
        return of
            .fetch_orchestration_item({.lock_timeout = 60s,
                                       .code = std::make_shared<OrchestrationCode>(code),
                                       .one_suspect = true})
            .value();
    }
    static std::optional<WorkLease> work(SqliteProvider& of,
                                         const std::string& name,
                                         TagFilter tags = {},
                                         std::optional<SessionClaim> session = {}) {
        return of
            .fetch_work_item({.lock_timeout = 60s,
                              .session = std::move(session),
                              .tags = std::move(tags),
                              .code = std::make_shared<const std::set<std::string, std::less<>>>(
                                  std::set<std::string, std::less<>>{name}),
                              .one_suspect = true})
            .value();
    }

    std::optional<Outsider> shell;
};

TEST_F(SqliteUpgrade, InstancesThatAreReadyAreFoundByTheirCode) {
    add_running(1, "A", "1, 1, NULL, 0, NULL");
    add_message(1, 1, 1, raise("A"));
    shell->query("INSERT INTO instances (id, instance_id, place, head_seq) VALUES (2, 'B', 1, 2)");
    add_message(2, 2, 1, start("B"));
    const auto store = upgraded();

    EXPECT_EQ(Outsider{path}.query("PRAGMA user_version"),
              Rows{std::to_string(migrations().size())});
    EXPECT_FALSE(turn(*store, "Bye"));
    EXPECT_FALSE(
        *store->fetch_orchestration_item({.lock_timeout = 60s, .filter = CapabilityFilter{}}));
    const auto first = turn(*store, "Hello");
    const auto second = turn(*store, "Hello");
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->instance, "A");
    EXPECT_EQ(second->instance, "B");
    EXPECT_TRUE(store->ack_orchestration_item({.lock_token = first->lock_token}));
}

TEST_F(SqliteUpgrade, ALeaseGoesOnAndItsMessagesComeBackWhenItEnds) {
    add_running(1, "A", "3, 1, 't1-0-abc', 7, " + in_an_hour());
    add_message(1, 1, 1, raise("A"), 2);
    const auto store = upgraded();

    EXPECT_FALSE(turn(*store, "Hello"));
    EXPECT_TRUE(store->renew_orchestration_item_lock("t1-0-abc", 10s));
    clock->advance(11s);
    EXPECT_EQ(turn(*store, "Hello").value().attempt_count, 3U);
}

TEST_F(SqliteUpgrade, WhatIsDelayedComesInTime) {
    add_running(1, "A", "0, NULL, NULL, 0, NULL");
    add_message(1, 1, 0, raise("A"));
    add_work(2, 0, "Greet");
    const auto store = upgraded();

    EXPECT_FALSE(turn(*store, "Hello"));
    EXPECT_FALSE(work(*store, "Greet"));
    clock->advance(1h);
    EXPECT_TRUE(turn(*store, "Hello"));
    EXPECT_TRUE(work(*store, "Greet"));
}

// They stood beside the other messages, where a cancellation is not looked for any more.
TEST_F(SqliteUpgrade, MessagesThatWerePutDownAreWhereTheyBelong) {
    add_running(1, "A", "1, 1, NULL, 0, NULL");
    add_message(1, 1, 1, raise("A"));
    const WorkItem cancel{work::CancelInstance{.instance = "A", .reason = "enough"}};
    shell->query("INSERT INTO arrivals (seq, instance, visible_at, kind, item) VALUES (2, 1, 0, " +
                 std::to_string(cancel.index()) + ", '" + encode(cancel).value() + "')");
    const auto store = upgraded();

    const auto found = turn(*store, "Bye", 1s);

    ASSERT_TRUE(found);
    EXPECT_EQ(found->messages, (std::vector<WorkItem>{raise("A"), cancel}));
}

TEST_F(SqliteUpgrade, ActivitiesAreFoundByNameAndTag) {
    add_work(1, 1, "Greet");
    add_work(2, 1, "Other");
    add_work(3, 1, "Greet", "0, 'gpu', NULL, NULL, NULL");
    add_work(4, 2, "Greet", "1, NULL, NULL, 'w4-0-abc', " + in_an_hour());
    shell->query("INSERT INTO work (seq, instance, execution_id, activity_id, state, visible_at,"
                 " item) VALUES (5, 0, 0, 0, 1, 0, 'damaged')");
    const auto store = upgraded();

    EXPECT_EQ(work(*store, "Greet").value().item.id, 1U);
    EXPECT_FALSE(work(*store, "Greet"));
    EXPECT_EQ(store->list_quarantined().value().size(), 1U) << "the damaged one is out of the way";
    EXPECT_EQ(work(*store, "Other").value().item.id, 2U);
    EXPECT_EQ(work(*store, "Greet", TagFilter::tags({"gpu"}).value()).value().item.id, 3U);
    EXPECT_TRUE(store->ack_work_item("w4-0-abc", std::nullopt));
}

TEST_F(SqliteUpgrade, ActivitiesThatWereFetchedOftenAreSuspects) {
    add_work(1, 1, "Greet", "2, NULL, NULL, NULL, NULL");
    add_work(2, 1, "Greet", "5, NULL, NULL, NULL, NULL");
    const auto store = upgraded();

    EXPECT_EQ(work(*store, "Greet").value().attempt_count, 3U);
    EXPECT_FALSE(work(*store, "Greet"));
}

TEST_F(SqliteUpgrade, SessionsKeepTheirOwnerAndTheirActivities) {
    add_work(1, 1, "Greet", "0, NULL, 'mine', NULL, NULL");
    add_work(2, 1, "Greet", "0, NULL, 'free', NULL, NULL");
    shell->query("INSERT INTO sessions (session, owner, live, until, active) VALUES ('mine', 'me',"
                 " 1, " +
                 in_an_hour() + ", 0)");
    const auto store = upgraded();
    const auto claim = [](const std::string& owner) {
        return SessionClaim{.owner_id = owner, .lock_timeout = 60s};
    };

    EXPECT_EQ(work(*store, "Greet", {}, claim("another")).value().item.id, 2U);
    EXPECT_FALSE(work(*store, "Greet", {}, claim("another")));
    EXPECT_EQ(work(*store, "Greet", {}, claim("me")).value().item.id, 1U);
}

} // namespace
} // namespace durable::sqlite
