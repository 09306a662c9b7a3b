// Every statement of a store in use finds its rows through an index: SQLite says so itself.

#include "unit/sqlite/sqlite_fixture.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace durable::sqlite {
namespace {

class SqliteQueryPlans : public SqliteTest {
 protected:
    static std::vector<std::string> statements_of(SqliteProvider& store) { // sorted
        std::vector<std::string> statements;
        EXPECT_TRUE(store.inspect([&](Connection& db) { statements = db.statements(); }));
        return statements;
    }

    std::string in_memory = ":memory:";
};

// Makes every call that runtimes make, with and without results.
void use_everything(SqliteProvider& store, ManualClock& clock) {
    const auto raise = [](const std::string& instance) {
        return WorkItem{work::ExternalRaised{.instance = instance, .name = "go", .data = "1"}};
    };
    const FetchOrchestration turns{
        .lock_timeout = Duration{1000},
        .filter = CapabilityFilter{{VersionRange{Version{1, 0, 0}, Version{2, 0, 0}}}}};
    const FetchWork works{.lock_timeout = Duration{1000},
                          .session = SessionClaim{.owner_id = "me", .lock_timeout = Duration{500}},
                          .tags = TagFilter::any()};
    (void)store.enqueue_for_orchestrator(raise("early"), std::nullopt);
    (void)store.enqueue_for_orchestrator(raise("A"), Duration{500});
    for (int round = 0; round < 3; ++round) {
        for (int more = 0; more < 3; ++more) { // the last one arrives behind others
            (void)store.enqueue_for_orchestrator(raise("A"), std::nullopt);
        }
        const auto turn = store.fetch_orchestration_item(turns);
        ASSERT_TRUE(turn && *turn);
        TurnCommit commit{
            .lock_token = (*turn)->lock_token,
            .metadata = {.status = ExecutionStatus::completed, .pinned_version = Version{1, 1, 0}}};
        const auto id = static_cast<std::uint64_t>(round * 10 + 2);
        commit.history_delta = {
            {.event_id = id, .kind = history::KeyValueSet{.key = "k", .value = "v"}},
            {.event_id = id + 1, .kind = history::CustomStatusUpdated{.status = "half"}},
            {.event_id = id + 2, .kind = history::KeyValueCleared{.key = "k"}},
            {.event_id = id + 3, .kind = history::KeyValuesCleared{}}};
        for (const auto* session : {"", "S"}) {
            commit.worker_items.emplace_back(work::ActivityExecute{
                .instance = "A",
                .execution_id = 1,
                .id = id,
                .name = "Greet",
                .input = "{}",
                .session_id = *session == '\0' ? std::nullopt : std::optional<std::string>{session},
                .tag = round == 0 ? std::nullopt : std::optional<std::string>{"gpu"}});
        }
        commit.cancelled_activities = {{.instance = "A", .execution_id = 1, .activity_id = 99}};
        commit.cancelled_timers = {98};
        ASSERT_TRUE(store.renew_orchestration_item_lock(commit.lock_token, Duration{1000}));
        ASSERT_TRUE(store.ack_orchestration_item(commit));
        auto work = store.fetch_work_item(works);
        ASSERT_TRUE(work && *work);
        (void)store.renew_work_item_lock((*work)->lock_token, Duration{1000});
        (void)store.abandon_work_item((*work)->lock_token, Duration{100}, true);
        (void)store.renew_session_lock({"me"}, Duration{500}, Duration{500});
        clock.advance(Duration{2000});
        while ((work = store.fetch_work_item(works)) && *work) {
            (void)store.ack_work_item(
                (*work)->lock_token,
                WorkItem{work::ActivityCompleted{
                    .instance = "A", .execution_id = 1, .id = id, .result = "1"}});
        }
        (void)store.watch_instance({.instance = "A"});
        (void)store.get_custom_status("A", 0);
    }
    const auto again = store.fetch_orchestration_item(turns);
    ASSERT_TRUE(again && *again);
    (void)store.abandon_orchestration_item(
        {.lock_token = (*again)->lock_token, .delay = Duration{100}, .ignore_attempt = true});
    clock.advance(Duration{10'000'000}); // what never started expires
    const auto last = store.fetch_orchestration_item(turns);
    ASSERT_TRUE(last && *last);
    clock.advance(Duration{10'000}); // and a lease
    (void)store.fetch_orchestration_item(turns);
}

// Starts, code that is not there, suspects, and turns that are given back in every way.
void use_every_need(SqliteProvider& store, ManualClock& clock) {
    const auto code = std::make_shared<OrchestrationCode>();
    code->versions["Other"] = {"1.0.0"};
    code->cancelled_for = Duration{100};
    const FetchOrchestration without_code{
        .lock_timeout = Duration{1000}, .code = code, .one_suspect = true};
    const work::StartOrchestration child{
        .instance = "P", .orchestration = "Hello", .input = "{}", .parent_instance = "A"};
    ASSERT_TRUE(store.enqueue_for_orchestrator(
        work::ExternalRaised{.instance = "P", .name = "go", .data = "1"}, std::nullopt));
    ASSERT_TRUE(store.start_instance(child, Duration{500}));
    ASSERT_FALSE(store.start_instance(child, std::nullopt));
    clock.advance(Duration{500});
    for (const auto whole : {false, true, false}) {
        const auto turn =
            store.fetch_orchestration_item({.lock_timeout = Duration{1000}, .one_suspect = true});
        ASSERT_TRUE(turn && *turn);
        ASSERT_FALSE(*store.fetch_orchestration_item(without_code));
        ASSERT_TRUE(store.abandon_orchestration_item({.lock_token = (*turn)->lock_token,
                                                      .delay = Duration{100},
                                                      .whole_instance = whole,
                                                      .parked = "no code"}));
        clock.advance(Duration{200});
    }
    ASSERT_TRUE(store.enqueue_for_orchestrator(
        work::CancelInstance{.instance = "P", .reason = "enough"}, std::nullopt));
    clock.advance(Duration{200});
    const auto last = store.fetch_orchestration_item(without_code); // a suspect, and held
    ASSERT_TRUE(last && *last);
    ASSERT_TRUE(store.ack_orchestration_item({.lock_token = (*last)->lock_token}));
    for (int round = 0; round < 3; ++round) {
        ASSERT_TRUE(store.enqueue_for_worker(
            work::ActivityExecute{.instance = "P", .execution_id = 1, .id = 1, .name = "Greet"}));
        (void)store.fetch_work_item({.lock_timeout = Duration{10}, .one_suspect = true});
        clock.advance(Duration{100});
    }
}

TEST_F(SqliteQueryPlans, NoStatementOfAStoreInUseGoesThroughATable) {
    (void)open(); // the same schema in a file
    path.swap(in_memory);
    const auto store = open(); // whose reads, too, go through the one connection
    path.swap(in_memory);
    const auto of_opening = statements_of(*store);
    make_running(*store, "A");
    use_everything(*store, *clock);
    use_every_need(*store, *clock);
    auto statements = statements_of(*store);
    std::erase_if(statements, [&](const std::string& sql) {
        return std::ranges::binary_search(of_opening, sql);
    });
    EXPECT_GT(statements.size(), 40U);

    Outsider shell{path};
    for (const auto& sql : statements) {
        if (sql.starts_with("PRAGMA") || sql == "COMMIT" || sql.ends_with(" call")) {
            continue;
        }
        for (const auto& step : shell.query("EXPLAIN QUERY PLAN " + sql)) {
            const auto scan = step.find("SCAN ");
            EXPECT_TRUE(scan == std::string::npos || step.contains("SCAN CONSTANT ROW") ||
                        step.contains("SCAN (subquery"))
                << sql << "\n"
                << step;
            EXPECT_FALSE(step.contains("TEMP B-TREE")) << sql << "\n" << step;
        }
    }
}

} // namespace
} // namespace durable::sqlite
