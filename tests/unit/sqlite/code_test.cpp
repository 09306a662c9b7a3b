// P14 in this store: the needs of work are stored in the file, and work is handed to waiting
// fetches.

#include "unit/sqlite/waiters_fixture.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

namespace durable::sqlite {
namespace {

using namespace std::chrono_literals;

std::shared_ptr<const OrchestrationCode> code_of(const std::string& name,
                                                 std::optional<Duration> cancelled_for = {}) {
    OrchestrationCode code;
    code.versions[name] = {"1.0.0"};
    code.cancelled_for = cancelled_for;
    return std::make_shared<const OrchestrationCode>(std::move(code));
}

std::shared_ptr<const std::set<std::string, std::less<>>> activities(const std::string& name) {
    return std::make_shared<const std::set<std::string, std::less<>>>(
        std::set<std::string, std::less<>>{name});
}

WorkItem start_of(const std::string& instance, const std::string& orchestration) {
    return work::StartOrchestration{.instance = instance,
                                    .orchestration = orchestration,
                                    .input = "{}",
                                    .version = "1.0.0",
                                    .execution_id = 1};
}

WorkItem cancel(const std::string& instance) {
    return work::CancelInstance{.instance = instance, .reason = "enough"};
}

class SqliteCode : public SqliteWaitersTest {
 protected:
    SqliteCode() { store = open(); }

    std::optional<OrchestrationItem> turn(const std::string& name, Duration poll = {}) {
        return store
            ->fetch_orchestration_item(
                {.lock_timeout = 60s, .poll_timeout = poll, .code = code_of(name)})
            .value();
    }
    std::optional<WorkLease> work(const std::string& name, Duration poll = {}) {
        return store
            ->fetch_work_item({.lock_timeout = 60s, .poll_timeout = poll, .code = activities(name)})
            .value();
    }
};

TEST_F(SqliteCode, AStartIsHandedToTheEngineThatHasItsCode) {
    std::optional<OrchestrationItem> hello;
    std::optional<OrchestrationItem> bye;
    std::uint64_t looked = 0;
    {
        const std::jthread one{[&] { hello = turn("Hello", 60s); }};
        wait_for_sleepers(1);
        const std::jthread other{[&] { bye = turn("Bye", 60s); }};
        wait_for_sleepers(2);
        looked = store->transactions();
        ASSERT_TRUE(store->enqueue_for_orchestrator(start_of("A", "Hello"), std::nullopt));
        ASSERT_TRUE(store->start_instance(std::get<work::StartOrchestration>(start_of("B", "Bye")),
                                          std::nullopt));
    }
    EXPECT_EQ(store->transactions(), looked + 2) << "neither needs one of its own";
    ASSERT_TRUE(hello && bye);
    EXPECT_EQ(hello->instance, "A");
    EXPECT_EQ(bye->instance, "B");
}

TEST_F(SqliteCode, AnActivityIsHandedToTheWorkerThatHasItsCode) {
    std::optional<WorkLease> greet;
    std::uint64_t looked = 0;
    std::stop_source over;
    {
        const std::jthread without{[&] {
            EXPECT_FALSE(store
                             ->fetch_work_item({.lock_timeout = 60s,
                                                .poll_timeout = 60s,
                                                .stop = over.get_token(),
                                                .code = activities("Other")})
                             .value());
        }};
        wait_for_sleepers(1);
        const std::jthread with{[&] { greet = work("Greet", 60s); }};
        wait_for_sleepers(2);
        looked = store->transactions();
        ASSERT_TRUE(store->enqueue_for_worker(activity("A", 1)));
        EXPECT_EQ(store->transactions(), looked + 1);
        while (store->sleepers() > 1) {
            std::this_thread::yield();
        }
        over.request_stop();
    }
    ASSERT_TRUE(greet);
    EXPECT_EQ(greet->item.id, 1U);
}

TEST_F(SqliteCode, WhatNobodyWaitingHasTheCodeOfStaysAndIsNotCounted) {
    std::stop_source over;
    {
        const std::jthread engine{[&] {
            EXPECT_FALSE(store
                             ->fetch_orchestration_item({.lock_timeout = 60s,
                                                         .poll_timeout = 60s,
                                                         .stop = over.get_token(),
                                                         .code = code_of("Bye")})
                             .value());
        }};
        wait_for_sleepers(1);
        ASSERT_TRUE(store->enqueue_for_orchestrator(start_of("A", "Hello"), std::nullopt));
        over.request_stop();
    }
    const auto found = turn("Hello");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->attempt_count, 1U);
}

TEST_F(SqliteCode, TheOldestOfEachNeedsIsWhatAFetchGets) {
    for (const auto* name : {"Bye", "Hello"}) {
        for (const auto* number : {"1", "2"}) {
            const auto id = std::string{name} + number;
            ASSERT_TRUE(store->enqueue_for_orchestrator(start_of(id, name), std::nullopt));
        }
    }
    EXPECT_EQ(turn("Hello").value().instance, "Hello1");
    EXPECT_EQ(turn("Hello").value().instance, "Hello2");
    EXPECT_FALSE(turn("Hello"));
    EXPECT_EQ(store->fetch_orchestration_item({.lock_timeout = 60s}).value().value().instance,
              "Bye1");
}

TEST_F(SqliteCode, NamesAndTagsWithAnythingInThemStayApart) {
    const std::vector<std::string> odd{"", "0", "/", "1:a", "a", std::string{"a\0b", 3}, "=", "~"};
    std::uint64_t id = 0;
    for (const auto& name : odd) {
        for (const auto& tag : odd) {
            auto item = std::get<work::ActivityExecute>(activity("A", ++id));
            item.name = name;
            item.tag = tag;
            ASSERT_TRUE(store->enqueue_for_worker(item));
        }
    }
    id = 0;
    for (const auto& name : odd) {
        for (const auto& tag : odd) {
            const auto lease = store
                                   ->fetch_work_item({.lock_timeout = 60s,
                                                      .tags = TagFilter::tags({tag}).value(),
                                                      .code = activities(name)})
                                   .value();
            ASSERT_TRUE(lease) << name << " " << tag;
            EXPECT_EQ(lease->item.id, ++id);
        }
    }
}

TEST_F(SqliteCode, ASessionGoesToTheOwnerForWhatItHasTheCodeOf) {
    for (const auto* name : {"Other", "Greet"}) {
        auto item = std::get<work::ActivityExecute>(activity("A", *name == 'O' ? 1 : 2));
        item.name = name;
        item.session_id = "S";
        ASSERT_TRUE(store->enqueue_for_worker(item));
    }
    const auto fetch = [&](const std::string& name) {
        return store
            ->fetch_work_item({.lock_timeout = 60s,
                               .session = SessionClaim{.owner_id = "me", .lock_timeout = 60s},
                               .code = activities(name)})
            .value();
    };
    EXPECT_EQ(fetch("Greet").value().item.id, 2U);
    EXPECT_FALSE(fetch("Greet"));
    EXPECT_EQ(fetch("Other").value().item.id, 1U);
}

// In real time: moving a manual clock wakes all sleepers.
TEST_F(SqliteCode, ACancelledInstanceIsFoundByTheNextFetchThoughOneLikeItSleeps) {
    store = nullptr;
    store = open({.clock = system_clock()});
    make_running(*store, "A");
    const auto code = code_of("Bye", 50ms);
    std::stop_source over;
    const auto fetch = [&](Duration poll) {
        return store
            ->fetch_orchestration_item(
                {.lock_timeout = 60s, .poll_timeout = poll, .stop = over.get_token(), .code = code})
            .value();
    };
    std::optional<OrchestrationItem> by_sleeper;
    std::optional<OrchestrationItem> found;
    std::atomic<bool> slept = false;
    {
        const std::jthread sleeper{[&] {
            by_sleeper = fetch(1h);
            slept = true;
        }};
        wait_for_sleepers(1);
        ASSERT_TRUE(store->enqueue_for_orchestrator(cancel("A"), std::nullopt));
        for (int tries = 0; !found && !slept && tries < 1000; ++tries) {
            found = fetch(2ms);
        }
        over.request_stop();
    }
    // On a slow machine the sleeper may look early for another reason.
    ASSERT_NE(found.has_value(), by_sleeper.has_value());
    EXPECT_EQ((found ? found : by_sleeper)->instance, "A");
}

TEST_F(SqliteCode, OfCancelledInstancesTheOneThatWasCancelledLongEnoughAgoIsGiven) {
    make_running(*store, "A");
    make_running(*store, "B");
    for (const auto* id : {"A", "B"}) {
        ASSERT_TRUE(store->enqueue_for_orchestrator(
            work::ExternalRaised{.instance = id, .name = "go", .data = "1"}, std::nullopt));
    }
    ASSERT_TRUE(store->enqueue_for_orchestrator(cancel("B"), std::nullopt));
    clock->advance(6s);
    ASSERT_TRUE(store->enqueue_for_orchestrator(cancel("A"), std::nullopt));
    clock->advance(5s);
    const auto fetch = [&] {
        return store->fetch_orchestration_item({.lock_timeout = 60s, .code = code_of("Bye", 10s)})
            .value();
    };
    EXPECT_EQ(fetch().value().instance, "B") << "A is older, and was cancelled later";
    EXPECT_FALSE(fetch());
}

TEST_F(SqliteCode, AHistoryThatIsAppendedTellsTheCodeOfAnInstanceThatIsReady) {
    ASSERT_TRUE(store->enqueue_for_orchestrator(start_of("A", "Bye"), std::nullopt));

    ASSERT_TRUE(store->append_with_execution("A", 1, {started()})); // of Hello

    EXPECT_FALSE(turn("Bye"));
    EXPECT_TRUE(turn("Hello"));
}

TEST_F(SqliteCode, AStartOverAnExecutionWithoutANameShowsThatExecution) {
    ASSERT_TRUE(store->enqueue_for_orchestrator(start_of("A", "Hello"), std::nullopt));
    const auto first = turn("Hello").value();
    ASSERT_TRUE(store->ack_orchestration_item(
        {.lock_token = first.lock_token,
         .metadata = {.status = ExecutionStatus::completed},
         .history_delta = {
             {.event_id = 1, .kind = history::KeyValueSet{.key = "k", .value = "v"}}}}));

    ASSERT_TRUE(store->start_instance(std::get<work::StartOrchestration>(start_of("A", "Hello")),
                                      std::nullopt));

    EXPECT_EQ(store->get_instance_info("A").value().status, "Completed");
    const auto again = turn("Bye");
    ASSERT_TRUE(again) << "what has ended needs no code";
    EXPECT_EQ(again->kv_snapshot.size(), 1U);
}

// One process finds the work that another process has queued.
TEST_F(SqliteCode, HoldsForWhatAnotherProcessHasQueued) {
    const auto other = open();
    ASSERT_TRUE(other->start_instance(std::get<work::StartOrchestration>(start_of("A", "Hello")),
                                      std::nullopt));
    ASSERT_TRUE(other->enqueue_for_worker(activity("B", 1)));

    EXPECT_FALSE(turn("Bye"));
    EXPECT_FALSE(work("Other"));
    EXPECT_TRUE(turn("Hello"));
    EXPECT_TRUE(work("Greet"));
    EXPECT_EQ(store
                  ->start_instance(std::get<work::StartOrchestration>(start_of("A", "Hello")),
                                   std::nullopt)
                  .error()
                  .code,
              ErrorCode::already_exists);
}

} // namespace
} // namespace durable::sqlite
