// Deleting, pruning, and what is left to see afterwards.

#include "unit/ledger/ledger_fixture.hpp"

namespace durable::ledger {
namespace {

class Management : public LedgerTest {
 protected:
    void run(const std::string& instance,
             ExecutionStatus status,
             std::optional<std::string> parent = std::nullopt) {
        ASSERT_FALSE(send(start_item(instance)));
        const auto item = fetch();
        ASSERT_TRUE(item);
        ASSERT_FALSE(commit_named({.lock_token = item->lock_token,
                                   .metadata = {.status = status,
                                                .output = "done",
                                                .parent_instance_id = std::move(parent)},
                                   .history_delta = {started_event()}}));
    }
    Result<DeleteInstanceResult> remove(Result<Deletion> deletion) {
        if (!deletion) {
            return std::unexpected{deletion.error()};
        }
        apply(deletion->record);
        return deletion->result;
    }
};

TEST_F(Management, DeletingCountsWhatWasReallyThere) {
    run("a", ExecutionStatus::completed);
    ASSERT_FALSE(send(raised_item("a")));
    ASSERT_FALSE(queue_work(activity_item("a", 4)));
    ASSERT_FALSE(send(raised_item("only messages")));

    const auto deleted =
        remove(delete_instances(ledger, {"a", "a", "ghost", "only messages"}, false, now));

    EXPECT_EQ(deleted->instances_deleted, 1u);
    EXPECT_EQ(deleted->executions_deleted, 1u);
    EXPECT_EQ(deleted->events_deleted, 1u);
    EXPECT_EQ(deleted->queue_messages_deleted, 3u);
    EXPECT_EQ(system_metrics(ledger).total_events, 0u);
    EXPECT_EQ(system_metrics(ledger).total_executions, 0u);
}

TEST_F(Management, AStartThatAnotherNodeWorksOnGoesWithItsParent) {
    run("parent", ExecutionStatus::running);
    auto start = std::get<work::StartOrchestration>(start_item("child"));
    start.parent_instance = "parent";
    ASSERT_FALSE(send(start));
    ASSERT_FALSE(send(start_item("child"))); // a client's, behind it
    const auto item = fetch();
    ASSERT_TRUE(item);
    ASSERT_EQ(item->messages.size(), 2u);

    const auto deleted = remove(delete_instances(ledger, {"parent"}, true, now));

    EXPECT_EQ(deleted->queue_messages_deleted, 1u);
    EXPECT_EQ(commit({.lock_token = item->lock_token}), ErrorCode::lock_lost);
    EXPECT_EQ(fetch()->messages, std::vector{start_item("child")});
}

TEST_F(Management, AStartByAnotherParentBeginsTheNextLifeOfADeletedId) {
    run("parent", ExecutionStatus::running);
    run("taken", ExecutionStatus::running);
    const auto former = ledger.instances.find("taken")->incarnation;
    const WorkItem start = work::StartOrchestration{.instance = "taken",
                                                    .orchestration = "Order",
                                                    .input = "{}",
                                                    .parent_instance = "parent",
                                                    .parent_id = 2};
    ASSERT_FALSE(send(raised_item("taken")));
    ASSERT_FALSE(send(start));

    now.wall -= 1h; // it stays deliverable when the clock is set back
    auto deletion = delete_instances(ledger, {"taken"}, true, now);
    ASSERT_TRUE(deletion);
    EXPECT_EQ(deletion->result.queue_messages_deleted, 1u);
    apply(std::move(deletion->record));

    const auto item = fetch();
    ASSERT_TRUE(item);
    EXPECT_EQ(item->messages, std::vector{start});
    EXPECT_GT(item->incarnation, former);
}

// The end of the test compares with a replay, for which neither time passes nor leases exist.
TEST_F(Management, AnIncarnationDependsOnNothingButRecords) {
    ASSERT_FALSE(send(start_item("ghost")));
    const auto item = fetch();
    ASSERT_TRUE(item);
    ASSERT_FALSE(carry_out(abandon_turn(ledger,
                                        {.lock_token = item->lock_token,
                                         .delay = 10s,
                                         .ignore_attempt = false,
                                         .whole_instance = true},
                                        now)));
    pass(11s);
    ledger.advance(now);

    apply(
        {.at = now.wall,
         .operation = op::Quarantine{.queue = Queue::orchestrator, .seq = 1, .reason = "damaged"}});
    ASSERT_FALSE(send(start_item("ghost")));

    EXPECT_EQ(fetch()->incarnation, item->incarnation + 1);
}

TEST_F(Management, RefusalsSayWhy) {
    run("root", ExecutionStatus::running);
    run("child", ExecutionStatus::completed, "root");

    const auto running = delete_tree(ledger, "root", false, now);
    EXPECT_EQ(running.error().code, ErrorCode::still_running);
    EXPECT_NE(running.error().message.find("still running"), std::string::npos);
    const auto missing = delete_tree(ledger, "ghost", true, now);
    EXPECT_EQ(missing.error().code, ErrorCode::not_found);
    EXPECT_NE(missing.error().message.find("not found"), std::string::npos);
    const auto child = delete_tree(ledger, "child", true, now);
    EXPECT_EQ(child.error().code, ErrorCode::not_a_root);
    EXPECT_NE(child.error().message.find("sub-orchestration"), std::string::npos);
    EXPECT_NE(child.error().message.find("root"), std::string::npos);
    const auto orphan = delete_instances(ledger, {"root"}, true, now);
    EXPECT_EQ(orphan.error().code, ErrorCode::has_children);
    EXPECT_NE(orphan.error().message.find("child"), std::string::npos);
    EXPECT_EQ(orphan.error().operation, "delete_instances_atomic");
    EXPECT_EQ(child.error().operation, "delete_instance");
}

TEST_F(Management, InstancesThatClaimToBeEachOthersParentDoNotTrapUs) {
    run("a", ExecutionStatus::completed, "b");
    run("b", ExecutionStatus::completed, "a");

    EXPECT_EQ(tree_of(ledger, "a").all_ids, (std::vector<std::string>{"a", "b"}));
    EXPECT_TRUE(remove(delete_instances(ledger, {"a", "b"}, false, now)));
}

TEST_F(Management, ADeletedInstanceTakesItsTurnAndItsActivitiesAlong) {
    run("a", ExecutionStatus::running);
    ASSERT_FALSE(send(raised_item("a")));
    ASSERT_FALSE(queue_work(activity_item("a", 4)));
    const auto turn = fetch();
    const auto lease = fetch_work({.lock_timeout = 30s});

    ASSERT_TRUE(remove(delete_tree(ledger, "a", true, now)));

    EXPECT_EQ(commit_named({.lock_token = turn->lock_token}), ErrorCode::lock_lost);
    EXPECT_EQ(carry_out(finish_work(ledger, lease->lock_token, std::nullopt, now)),
              ErrorCode::lock_lost);
    EXPECT_EQ(ledger.instances.find("a"), nullptr);
}

TEST_F(Management, ARecreatedInstanceNeverRepeatsARevision) {
    run("a", ExecutionStatus::running);
    const auto first = state_of(ledger, "a");
    ASSERT_TRUE(remove(delete_tree(ledger, "a", true, now)));
    const auto gone = state_of(ledger, "a");
    run("a", ExecutionStatus::running);
    const auto second = state_of(ledger, "a");

    EXPECT_TRUE(first.exists);
    EXPECT_FALSE(gone.exists);
    EXPECT_LT(first.revision, gone.revision);
    EXPECT_LT(gone.revision, second.revision);
    EXPECT_EQ(state_of(ledger, "never heard of").revision, 0u);
}

TEST_F(Management, ThousandsOfDeletionsDoNotLeaveAMemoryEach) {
    for (int i = 0; i < 3000; ++i) {
        const auto id = "i-" + std::to_string(i);
        run(id, ExecutionStatus::completed);
        ASSERT_TRUE(remove(delete_tree(ledger, id, false, now)));
    }

    EXPECT_EQ(state_of(ledger, "i-0").revision, 0u); // long ago
    EXPECT_GT(state_of(ledger, "i-2999").revision, 0u);
}

TEST_F(Management, AnInstanceBetweenTwoExecutionsIsNotDeletedInBulk) {
    run("a", ExecutionStatus::continued_as_new);
    run("b", ExecutionStatus::continued_as_new);
    ASSERT_FALSE(send(work::ContinueAsNew{.instance = "a", .orchestration = "Order"}));

    EXPECT_EQ(deletable_roots(ledger, {}), std::vector<std::string>{"b"});
    ASSERT_TRUE(fetch()); // being worked on: still alive
    EXPECT_EQ(deletable_roots(ledger, {}), std::vector<std::string>{"b"});
}

TEST_F(Management, AFilterHoldsAllItsCriteriaAndTheLimitComesLast) {
    run("old", ExecutionStatus::completed);
    pass(1s);
    const auto limit = now.wall;
    run("young", ExecutionStatus::failed);
    run("runs", ExecutionStatus::running);
    run("child", ExecutionStatus::completed, "runs");

    EXPECT_EQ(deletable_roots(ledger, {.completed_before = limit}),
              std::vector<std::string>{"old"});
    EXPECT_EQ(deletable_roots(ledger, {.instance_ids = {{}}}), std::vector<std::string>{});
    EXPECT_EQ(deletable_roots(ledger, {.instance_ids = {{"runs", "child", "young", "young"}}}),
              std::vector<std::string>{"young"});
    EXPECT_EQ(deletable_roots(ledger, {.limit = 1}).size(), 1u);
    EXPECT_EQ(deletable_roots(ledger, {.limit = 0}).size(), 0u);
    EXPECT_EQ(prunable(ledger, {}).size(), 4u);
    EXPECT_EQ(prunable(ledger, {.completed_before = limit}), std::vector<std::string>{"old"});
}

TEST_F(Management, PruningKeepsTheCurrentAndTheRunningExecutions) {
    ASSERT_FALSE(send(start_item("a")));
    for (std::uint64_t execution = 1; execution <= 5; ++execution) {
        const auto item = fetch();
        ASSERT_FALSE(commit_named(
            {.lock_token = item->lock_token,
             .execution_id = execution,
             .metadata = {.status = execution == 2 ? ExecutionStatus::running
                                                   : ExecutionStatus::continued_as_new},
             .history_delta = {started_event()},
             .orchestrator_items = {raised_item("a")}}));
    }

    auto pruning = prune(ledger, "a", {.keep_last = 2}, now);
    apply(pruning->record);

    EXPECT_EQ(pruning->result.executions_deleted, 2u);
    EXPECT_EQ(pruning->result.events_deleted, 2u);
    EXPECT_EQ(list_executions(ledger, "a"), (std::vector<std::uint64_t>{2, 4, 5}));
    EXPECT_EQ(prune(ledger, "ghost", {}, now).error().code, ErrorCode::not_found);
}

TEST_F(Management, EndsAreStampedForEndsOnly) {
    run("a", ExecutionStatus::continued_as_new);
    run("b", ExecutionStatus::running);

    EXPECT_EQ(execution_info(ledger, "a", 1)->completed_at, now.wall);
    EXPECT_EQ(execution_info(ledger, "b", 1)->completed_at, std::nullopt);
}

TEST_F(Management, AParentIsSetOnceAndNeverChanged) {
    run_first_turn("a");
    for (const auto* parent : {"p1", "p2"}) {
        ASSERT_FALSE(send(raised_item("a")));
        ASSERT_FALSE(commit_named(
            {.lock_token = fetch()->lock_token, .metadata = {.parent_instance_id = parent}}));
    }

    EXPECT_EQ(parent_of(ledger, "a").value(), "p1");
    EXPECT_EQ(list_children(ledger, "p1"), std::vector<std::string>{"a"});
    EXPECT_EQ(list_children(ledger, "p2"), std::vector<std::string>{});
}

TEST_F(Management, StatusesAreListedByTheCurrentExecution) {
    run("a", ExecutionStatus::completed);
    run("b", ExecutionStatus::failed);
    run("c", ExecutionStatus::failed);
    ASSERT_FALSE(send(raised_item("c")));
    ASSERT_FALSE(commit({.lock_token = fetch()->lock_token, .execution_id = 2}));

    EXPECT_EQ(list_by_status(ledger, "Completed"), std::vector<std::string>{"a"});
    EXPECT_EQ(list_by_status(ledger, "Failed"), std::vector<std::string>{"b"});
    EXPECT_EQ(list_by_status(ledger, "Running"), std::vector<std::string>{"c"});
    EXPECT_EQ(list_by_status(ledger, "nonsense"), std::vector<std::string>{});
    EXPECT_EQ(ledger::list_instances(ledger), (std::vector<std::string>{"c", "b", "a"}));
}

} // namespace
} // namespace durable::ledger
