// The version of the store: a reader answers once that version is on the disk (P12). So every
// change that a reader could notice raises it. A lease does not.

#include "providers/sqlite/store/schema.hpp"
#include "unit/sqlite/sqlite_fixture.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace durable::sqlite {
namespace {

using namespace std::chrono_literals;

class SqliteChangeVersion : public SqliteTest {
 protected:
    long version(const std::string& column = "change_version") {
        return std::stol(Outsider{path}.query("SELECT " + column + " FROM store").at(0));
    }
    bool raises(const std::function<void()>& call) {
        const auto before = version();
        call();
        return version() > before;
    }
    OrchestrationItem turn() {
        return store->fetch_orchestration_item({.lock_timeout = 1h})->value();
    }
    std::string lease_of_work() {
        return store->fetch_work_item({.lock_timeout = 1h})->value().lock_token;
    }
    void send(const WorkItem& item) {
        ASSERT_TRUE(store->enqueue_for_orchestrator(item, std::nullopt));
    }
    static WorkItem raise(const std::string& instance) {
        return work::ExternalRaised{.instance = instance, .name = "go", .data = "1"};
    }

    std::shared_ptr<SqliteProvider> store;
};

TEST_F(SqliteChangeVersion, IsRaisedByMessages) {
    store = open();
    EXPECT_TRUE(raises([&] { send(start("A")); }));
    for (const auto* which : {"beside the first", "into a backlog", "appended to arrivals"}) {
        EXPECT_TRUE(raises([&] { send(raise("A")); })) << which;
    }
    EXPECT_TRUE(raises([&] {
        ASSERT_TRUE(store->start_instance(std::get<work::StartOrchestration>(start("B")), 1h));
    }));
    EXPECT_TRUE(raises([&] { send(raise("never started")); })) << "waits for a start";
    clock->advance(2h);
    EXPECT_TRUE(raises([&] { (void)turn(); })) << "a message expires";
    ASSERT_TRUE(store->inject_orchestrator_row("D", "damaged"));
    (void)turn();
    EXPECT_TRUE(raises([&] {
        EXPECT_FALSE(*store->fetch_orchestration_item({.lock_timeout = 1h}));
    })) << "a message is quarantined";
}

TEST_F(SqliteChangeVersion, IsRaisedByTurnsAndHistory) {
    store = open();
    send(start("A"));
    const auto first = turn();
    EXPECT_TRUE(raises([&] {
        ASSERT_TRUE(store->ack_orchestration_item(
            {.lock_token = first.lock_token,
             .metadata = {.orchestration_name = "Hello", .orchestration_version = "1.0.0"}}));
    }));
    EXPECT_TRUE(raises([&] { ASSERT_TRUE(store->append_with_execution("A", 1, {started()})); }));
    send(raise("A"));
    const auto second = turn();
    EXPECT_TRUE(raises([&] {
        ASSERT_TRUE(store->abandon_orchestration_item(
            {.lock_token = second.lock_token, .parked = "no code"}));
    })) << "the reason is shown";
}

TEST_F(SqliteChangeVersion, IsRaisedByActivities) {
    store = open();
    make_running(*store, "A");
    for (const auto id : {2U, 3U}) {
        EXPECT_TRUE(raises([&] { ASSERT_TRUE(store->enqueue_for_worker(activity("A", id))); }));
    }
    const auto answered = lease_of_work();
    EXPECT_TRUE(raises([&] {
        ASSERT_TRUE(store->ack_work_item(
            answered,
            work::ActivityCompleted{.instance = "A", .execution_id = 1, .id = 2, .result = "1"}));
    }));
    const auto stopped = lease_of_work();
    EXPECT_TRUE(raises([&] { ASSERT_TRUE(store->ack_work_item(stopped, std::nullopt)); }));
    ASSERT_TRUE(store->inject_worker_row("damaged"));
    EXPECT_TRUE(raises([&] { EXPECT_FALSE(*store->fetch_work_item({.lock_timeout = 1h})); }))
        << "an activity is quarantined";
}

TEST_F(SqliteChangeVersion, IsRaisedByPruningAndDeletion) {
    store = open();
    make_running(*store, "A");
    for (const auto execution : {1U, 2U}) {
        send(raise("A"));
        ASSERT_TRUE(
            store->ack_orchestration_item({.lock_token = turn().lock_token,
                                           .execution_id = execution,
                                           .metadata = {.status = ExecutionStatus::completed}}));
    }
    EXPECT_TRUE(raises(
        [&] { EXPECT_EQ(store->prune_executions("A", {}).value().executions_deleted, 1U); }));
    EXPECT_TRUE(raises([&] { ASSERT_TRUE(store->delete_instance("A", false)); }));

    auto by_parent = std::get<work::StartOrchestration>(start("child"));
    by_parent.parent_instance = "gone";
    send(by_parent);
    send(start("child"));
    EXPECT_TRUE(raises([&] {
        EXPECT_EQ(store->delete_instances_atomic({"gone"}, true).value().queue_messages_deleted,
                  1U);
    })) << "only a start is deleted";
}

TEST_F(SqliteChangeVersion, IsNotRaisedByLeasesAndRefusals) {
    store = open();
    make_running(*store, "A");
    send(raise("A"));
    ASSERT_TRUE(store->enqueue_for_worker(activity("A", 2)));

    EXPECT_FALSE(raises([&] {
        const auto token = turn().lock_token;
        ASSERT_TRUE(store->renew_orchestration_item_lock(token, 2h));
        ASSERT_TRUE(store->abandon_orchestration_item({.lock_token = token}));
        const auto work = lease_of_work();
        ASSERT_TRUE(store->renew_work_item_lock(work, 2h));
        ASSERT_TRUE(store->abandon_work_item(work, std::nullopt, false));
        ASSERT_FALSE(store->append_with_execution("A", 1, {started()}));
        ASSERT_FALSE(store->delete_instance("A", false));
    }));
}

TEST_F(SqliteChangeVersion, GoesOnFromTheSumOfCountersOfSchema5) {
    {
        auto db = Connection::open(path, {.busy_timeout = Duration{1000}, .create = true});
        ASSERT_TRUE(db);
        ASSERT_TRUE(migrate(**db, migrations().first(5)));
    }
    const std::string sum =
        "next_seq + next_instance + next_number + revision + quarantined + expired";
    Outsider{path}.query("UPDATE store SET next_seq = 100, next_instance = 20, next_number = 10,"
                         " revision = 50, quarantined = 2, expired = 3");
    const auto before = version(sum);

    store = open();

    EXPECT_EQ(Outsider{path}.query("PRAGMA user_version").at(0), "6");
    EXPECT_EQ(version(), before);
    const auto still_read = version(sum); // by a library of schema 5 that has the file open
    EXPECT_GE(still_read, before);
    make_running(*store, "A");
    EXPECT_GT(store->watch_instance({.instance = "A"}).value().revision,
              static_cast<std::uint64_t>(before));
    EXPECT_GT(version(sum), still_read);
}

} // namespace
} // namespace durable::sqlite
