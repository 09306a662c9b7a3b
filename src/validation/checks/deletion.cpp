// Deletion removes whole trees with everything that belongs to them, or nothing.

#include "validation/checks/categories.hpp"
#include "validation/support/support.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace durable::validation {

namespace {

using Names = std::vector<std::string>;

constexpr bool force = true;
constexpr bool no_force = false;
constexpr auto completed_status = ExecutionStatus::completed;

// root -> child1 -> grandchild, root -> child2: all ended.
void make_family(const Store& store) {
    store.make_ended("root");
    store.make_ended("child1", completed_status, "root");
    store.make_ended("child2", completed_status, "root");
    store.make_ended("grandchild", completed_status, "child1");
}

void test_delete_terminal_instances(Factory& factory) {
    const Store store{factory};
    store.make_ended("completed");
    store.make_ended("failed", ExecutionStatus::failed);
    store.start("cancelled");
    store.take_turn("cancelled",
                    {.metadata = ended(ExecutionStatus::failed, "canceled: by user"),
                     .history_delta = {started()}});

    for (const auto* id : {"completed", "failed", "cancelled"}) {
        const auto deleted = value_of(store.admin().delete_instance(id, no_force));
        expect_eq(deleted.instances_deleted, 1, "one instance");
        expect_eq(deleted.executions_deleted, 1, "its execution");
        expect_eq(deleted.events_deleted, 1, "its event");
        expect_eq(deleted.queue_messages_deleted, 0, "nothing was queued");
        expect(!store.exists(id), "an instance that has ended can be deleted");
        expect(store.read(id).empty(), "with its history");
        expect(value_of(store.admin().list_executions(id)).empty(), "and its executions");
    }
}

void test_delete_running_rejected_force_succeeds(Factory& factory) {
    const Store store{factory};
    store.make_running("A");

    const auto error = expect_error(store.admin().delete_instance("A", no_force),
                                    ErrorCode::still_running,
                                    "a running instance is not deleted");
    expect_mentions(error.message, "running", "the message says why");
    expect(store.exists("A"), "a refused deletion changes nothing");
    expect_eq(store.read("A").size(), 1, "nor the history");

    expect_eq(value_of(store.admin().delete_instance("A", force)).instances_deleted,
              1,
              "unless it is forced");
    expect(!store.exists("A"), "then it is gone");
}

void test_delete_nonexistent_instance(Factory& factory) {
    const Store store{factory};
    for (const bool forced : {no_force, force}) {
        const auto error = expect_error(store.admin().delete_instance("unknown", forced),
                                        ErrorCode::not_found,
                                        "what does not exist cannot be deleted");
        expect_mentions(error.message, "not found", "the message says why");
    }
}

void test_delete_cleans_queues_and_locks(Factory& factory) {
    const Store store{factory};
    store.make_ended("A");
    store.enqueue(activity("A", 1));
    store.poke("A");
    const auto held = store.fetch_turn();
    store.send(completion("A", 1));

    const auto deleted = value_of(store.admin().delete_instance("A", no_force));
    expect_eq(deleted.queue_messages_deleted, 3, "messages and activities are deleted too");
    store.expect_no_work("no activity is left");
    store.expect_no_turn("no message is left");

    // The id is free at once, whatever was leased.
    auto reused = start_of("A");
    reused.orchestration = "ReusedOrch";
    reused.version = "2.0.0";
    store.send(reused);
    const auto turn = store.fetch_turn();
    expect_eq(turn.orchestration_name, "ReusedOrch", "the new life has its own name");
    expect_eq(turn.version, "2.0.0", "and version");
    expect_eq(turn.execution_id, 1, "begins with execution 1");
    expect(turn.history.empty(), "and knows nothing of the old one");
    store.commit(turn, {.metadata = named("ReusedOrch", "2.0.0"), .history_delta = {started()}});
    expect_eq(value_of(store.admin().get_instance_info("A")).orchestration_name,
              "ReusedOrch",
              "management sees the new life");
    expect_error(store.try_commit(held, {.history_delta = {completed(2)}}),
                 ErrorCode::lock_lost,
                 "a lease on the old life is worth nothing in the new one");
}

// Only roots are deleted, and then the whole tree.
void test_cascade_delete_hierarchy(Factory& factory) {
    const Store store{factory};
    make_family(store);
    for (const auto* child : {"child1", "grandchild"}) {
        for (const bool forced : {no_force, force}) {
            const auto error = expect_error(store.admin().delete_instance(child, forced),
                                            ErrorCode::not_a_root,
                                            "a child is not deleted, even with force");
            expect_mentions(error.message, "root", "the message says what to delete instead");
        }
    }

    const auto deleted = value_of(store.admin().delete_instance("root", no_force));

    expect_eq(deleted.instances_deleted, 4, "the whole tree");
    expect_eq(deleted.executions_deleted, 4, "with its executions");
    expect(value_of(store.admin().list_instances()).empty(), "nothing is left");
}

// A turn that was under way when its instance was deleted cannot bring it back.
void test_force_delete_prevents_ack_recreation(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    store.poke("A");
    const auto turn = store.fetch_turn();
    expect_ok(store.admin().delete_instance("A", force), "a running instance is deleted by force");

    const auto zombie = store.try_commit(turn,
                                         {.metadata = named(),
                                          .history_delta = {scheduled(2, "Zombie")},
                                          .worker_items = {activity("A", 2)}});

    expect_error(zombie, ErrorCode::lock_lost, "its lease went with it");
    expect_error(store->renew_orchestration_item_lock(turn.lock_token, long_lease),
                 ErrorCode::lock_lost,
                 "and cannot be renewed");
    expect(!store.exists("A"), "the instance stays gone");
    expect(store.read("A").empty(), "with its history");
    store.expect_no_work("and queues nothing");
}

void test_list_children(Factory& factory) {
    const Store store{factory};
    make_family(store);
    const auto children = [&](const std::string& id) {
        auto ids = value_of(store.admin().list_children(id));
        std::ranges::sort(ids);
        return ids;
    };

    expect_eq(children("root"), Names{"child1", "child2"}, "direct children only");
    expect_eq(children("child1"), Names{"grandchild"}, "at every level");
    expect_eq(children("grandchild"), Names{}, "a leaf has none");
    expect_eq(children("unknown"), Names{}, "nor has what does not exist");
}

void test_delete_get_parent_id(Factory& factory) {
    const Store store{factory};
    make_family(store);

    expect_eq(value_of(store.admin().get_parent_id("root")), std::nullopt, "a root has no parent");
    expect_eq(value_of(store.admin().get_parent_id("child2")), "root", "a child has one");
    expect_eq(value_of(store.admin().get_parent_id("grandchild")), "child1", "the nearest");
    expect_error(store.admin().get_parent_id("unknown"),
                 ErrorCode::not_found,
                 "an unknown instance is not found");
}

void test_delete_get_instance_tree(Factory& factory) {
    const Store store{factory};
    make_family(store);

    const auto tree = value_of(store.admin().get_instance_tree("root"));
    expect_eq(tree.root_id, "root", "the root");
    expect_eq(tree.size(), 4, "the whole tree");
    expect(!tree.is_root_only(), "more than the root");
    expect_eq(tree.all_ids.front(), "root", "the root comes first");
    const auto place = [&](std::string_view id) { return std::ranges::find(tree.all_ids, id); };
    for (const auto* id : {"child1", "child2", "grandchild"}) {
        expect(place(id) != tree.all_ids.end(), std::string{id} + " is in the tree");
    }
    expect(place("child1") < place("grandchild"), "parents come before children");

    const auto leaf = value_of(store.admin().get_instance_tree("grandchild"));
    expect_eq(leaf.all_ids, Names{"grandchild"}, "a leaf is a tree of its own");
    expect(leaf.is_root_only(), "of one");
}

void test_delete_instances_atomic(Factory& factory) {
    const Store store{factory};
    for (const auto* id : {"A", "B", "C", "bystander"}) {
        store.make_ended(id);
    }

    const auto deleted =
        value_of(store.admin().delete_instances_atomic({"A", "B", "C", "unknown"}, no_force));

    expect_eq(deleted.instances_deleted, 3, "unknown ids are tolerated, and not counted");
    expect_eq(deleted.executions_deleted, 3, "with their executions");
    expect_eq(value_of(store.admin().list_instances()), Names{"bystander"}, "nothing else");
}

void test_delete_instances_atomic_force(Factory& factory) {
    const Store store{factory};
    store.make_ended("ended");
    store.make_running("running");

    expect_error(store.admin().delete_instances_atomic({"ended", "running"}, no_force),
                 ErrorCode::still_running,
                 "one running instance stops the whole deletion");
    expect(store.exists("ended") && store.exists("running"), "then both remain");

    expect_ok(store.admin().delete_instances_atomic({"ended", "running"}, force), "unless forced");
    expect(!store.exists("ended") && !store.exists("running"), "then both are gone");
}

void test_delete_instances_atomic_orphan_detection(Factory& factory) {
    const Store store{factory};
    store.make_ended("root");
    store.make_ended("child", completed_status, "root");
    for (const bool forced : {no_force, force}) {
        expect_error(store.admin().delete_instances_atomic({"root"}, forced),
                     ErrorCode::has_children,
                     "a child would be orphaned, even with force");
    }
    expect(store.exists("root") && store.exists("child"), "a refused deletion changes nothing");

    expect_ok(store.admin().delete_instances_atomic({"root", "child"}, no_force),
              "together they may go");
    expect(value_of(store.admin().list_instances()).empty(), "then nothing is left");
}

work::StartOrchestration child_start(const std::string& instance, const std::string& parent) {
    auto start = start_of(instance);
    start.parent_instance = parent;
    start.parent_id = 2;
    start.parent_execution_id = 1;
    return start;
}

// They would begin as children of a deleted instance, and answer a later one with its id.
void children_that_have_not_begun_are_deleted_too(Factory& factory) {
    const Store store{factory};
    store.make_running("parent");
    store.make_running("other");
    store.send(child_start("unbegun", "parent"));
    store.poke("unbegun");
    store.send_later(child_start("later", "parent"), std::chrono::hours{1});
    store.send(child_start("others", "other"));

    const auto deleted = value_of(store.admin().delete_instance("parent", force));
    expect_eq(deleted.instances_deleted, 1, "a child that has not begun is no instance");
    expect_eq(deleted.queue_messages_deleted, 3, "its start goes, and what was sent to it");
    const auto turn = store.fetch_turn();
    expect_eq(turn.instance, "others", "the children of others stay");
    store.expect_no_turn("nothing begins that the deleted one has started");
    store.send(start_of("unbegun"));
    expect_eq(types_of(store.fetch_turn().messages),
              Names{"StartOrchestration"},
              "the id is free, and nothing waits for it");
}

void a_turn_that_begins_a_child_of_a_deleted_parent_is_lost(Factory& factory) {
    const Store store{factory};
    store.make_running("parent");
    store.send(child_start("child", "parent"));
    const auto turn = store.fetch_turn();
    expect_eq(turn.instance, "child", "its first turn is leased");

    expect_ok(store.admin().delete_instance("parent", force), "the parent is deleted");
    expect_error(store.try_commit(turn, {.metadata = named(), .history_delta = {started()}}),
                 ErrorCode::lock_lost,
                 "a child cannot begin after its parent was deleted");
    expect(!store.exists("child"), "so it does not exist");
}

void a_start_by_somebody_else_survives(Factory& factory) {
    const Store store{factory};
    store.make_running("parent");
    store.send(child_start("child", "parent"));
    auto own = start_of("child");
    own.input = "by a client";
    store.send(own);

    const auto deleted = value_of(store.admin().delete_instance("parent", force));
    expect_eq(deleted.queue_messages_deleted, 1, "the parent's start goes");
    const auto turn = store.fetch_turn();
    expect_eq(turn.messages.size(), 1, "the other one stays");
    expect(turn.messages.front() == WorkItem{own}, "as it was sent");
}

// The parent still waits for an answer: the child begins under the id, which is free now.
void a_start_by_another_parent_outlives_the_instance_that_had_its_id(Factory& factory) {
    const Store store{factory};
    store.make_running("parent");
    store.make_running("taken");
    store.poke("taken");
    store.send(child_start("taken", "parent"));
    const auto turn = store.fetch_turn();
    expect_eq(turn.messages.size(), 2, "a turn has been given both");

    const auto deleted = value_of(store.admin().delete_instance("taken", force));
    expect_eq(deleted.queue_messages_deleted, 1, "what was sent to the instance goes with it");
    expect_error(
        store.try_commit(turn, {}), ErrorCode::lock_lost, "the turn belonged to the former life");
    const auto next = store.fetch_turn();
    expect_eq(next.instance, "taken", "the start is still queued");
    expect_eq(types_of(next.messages), Names{"StartOrchestration"}, "and nothing else");
    expect(next.incarnation == 0 || next.incarnation != turn.incarnation, "for another life");
    expect(next.history.empty(), "with a history of its own");
}

// An activity of the deleted instance finishes after its id was used again: its result must not be
// delivered, because the same event id is another step now.
void test_stale_activity_after_delete_recreate(Factory& factory) {
    const Store store{factory};
    const TurnCommit first_turn{.metadata = named(),
                                .history_delta = {started(), scheduled(2, "Activity2")},
                                .worker_items = {activity("A", 2)}};
    store.start("A");
    store.take_turn("A", first_turn);
    const auto stale = store.fetch_work();
    expect_ok(store.admin().delete_instance("A", force), "the first life ends");
    store.start("A");
    store.take_turn("A", first_turn);

    auto result = completion_of(stale);
    result.result = "stale-result";
    expect_error(store->ack_work_item(stale.lock_token, result),
                 ErrorCode::lock_lost,
                 "an activity of the first life cannot finish");

    store.poke("A");
    expect_eq(types_of(store.fetch_turn().messages), Names{"ExternalRaised"}, "nothing stale came");
    expect_eq(store.fetch_work().attempt_count, 1, "the second life has an activity of its own");
}

} // namespace

CheckList deletion_checks() {
    static constexpr Check list[] = {
        {"test_delete_terminal_instances", "deletion", "P2", test_delete_terminal_instances},
        {"test_delete_running_rejected_force_succeeds",
         "deletion",
         "P2",
         test_delete_running_rejected_force_succeeds},
        {"test_delete_nonexistent_instance", "deletion", "P13", test_delete_nonexistent_instance},
        {"test_delete_cleans_queues_and_locks",
         "deletion",
         "P2",
         test_delete_cleans_queues_and_locks},
        {"test_cascade_delete_hierarchy", "deletion", "P2", test_cascade_delete_hierarchy},
        {"test_force_delete_prevents_ack_recreation",
         "deletion",
         "P3",
         test_force_delete_prevents_ack_recreation},
        {"test_list_children", "deletion", "P2", test_list_children},
        {"test_delete_get_parent_id", "deletion", "P2", test_delete_get_parent_id},
        {"test_delete_get_instance_tree", "deletion", "P2", test_delete_get_instance_tree},
        {"test_delete_instances_atomic", "deletion", "P2", test_delete_instances_atomic},
        {"test_delete_instances_atomic_force",
         "deletion",
         "P2",
         test_delete_instances_atomic_force},
        {"test_delete_instances_atomic_orphan_detection",
         "deletion",
         "P2",
         test_delete_instances_atomic_orphan_detection},
        {"children_that_have_not_begun_are_deleted_too",
         "deletion",
         "P2",
         children_that_have_not_begun_are_deleted_too},
        {"a_turn_that_begins_a_child_of_a_deleted_parent_is_lost",
         "deletion",
         "P3",
         a_turn_that_begins_a_child_of_a_deleted_parent_is_lost},
        {"a_start_by_somebody_else_survives", "deletion", "P2", a_start_by_somebody_else_survives},
        {"a_start_by_another_parent_outlives_the_instance_that_had_its_id",
         "deletion",
         "P4",
         a_start_by_another_parent_outlives_the_instance_that_had_its_id},
        {"test_stale_activity_after_delete_recreate",
         "deletion",
         "P3",
         test_stale_activity_after_delete_recreate},
    };
    return list;
}

} // namespace durable::validation
