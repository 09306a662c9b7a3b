// P15: the management half and an instance that was started and has not had a turn. It is in every
// list, and counts as running for every call that would delete it.

#include "validation/checks/categories.hpp"
#include "validation/support/scenarios.hpp"

#include <durable/provider_admin.hpp>

#include <chrono>

namespace durable::validation {

namespace {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

void a_pending_instance_is_listed(Factory& factory) {
    const Store store{factory};
    auto& admin = store.admin();
    store.start_pending("A", 1h);
    store.make_running("B");
    store.start_pending("C", 1h);

    expect_eq(value_of(admin.list_instances()), Names{"C", "B", "A"}, "newest first, with others");
    expect_eq(value_of(admin.list_instances_by_status("Pending")), Names{"C", "A"}, "as pending");
    expect_eq(value_of(admin.list_instances_by_status("Running")), Names{"B"}, "not as running");
    expect_eq(value_of(admin.list_instances_by_status("Unknown")), Names{}, "nor as unknown");
}

void a_pending_instance_keeps_its_place_in_lists_when_it_runs(Factory& factory) {
    const Store store{factory};
    store.start_pending("A", 500ms);
    store.make_running("B");
    store.pass_time(600ms);

    store.take_turn("A", {.metadata = named(), .history_delta = {started()}});

    expect_eq(value_of(store.admin().list_instances()), Names{"B", "A"}, "as old as its start");
    expect_eq(value_of(store.admin().list_instances_by_status("Pending")), Names{}, "and it runs");
}

void pending_instances_are_counted_apart(Factory& factory) {
    const Store store{factory};
    store.start_pending("A", 1h);
    store.start_pending("B", 1h);
    store.make_running("C");

    const auto metrics = value_of(store.admin().get_system_metrics());

    expect_eq(metrics.total_instances, 3, "they are instances");
    expect_eq(metrics.pending_instances, 2, "that are pending");
    expect_eq(metrics.running_instances, 1, "and do not run");
    expect_eq(metrics.total_executions, 1, "they have no executions");
    expect_eq(value_of(store.admin().get_queue_depths()).orchestrator_queue, 2, "but a start each");
}

void a_pending_instance_has_no_execution(Factory& factory) {
    const Store store{factory};
    auto& admin = store.admin();
    store.start_pending("A");

    expect(value_of(admin.list_executions("A")).empty(), "none is listed");
    expect_error(admin.get_execution_info("A", 1), ErrorCode::not_found, "none is found");
    expect_eq(value_of(admin.latest_execution_id("A")), 1, "the first is to come");
    expect(store.read("A").empty(), "there is no history");
    expect(value_of(admin.read_history("A")).empty(), "nor for management");
    expect(!value_of(store->get_custom_status("A", 0)), "no custom status");
    expect(value_of(store->get_kv_all_values("A")).empty(), "and no values");
    const auto stats = value_of(store->get_instance_stats("A"));
    expect(stats.has_value(), "it has statistics");
    expect(*stats == InstanceStats{}, "which are all zero");
}

void a_pending_instance_has_a_family(Factory& factory) {
    const Store store{factory};
    auto& admin = store.admin();
    store.start_pending("P", 1h);
    auto child = start_of("C");
    child.parent_instance = "P";
    child.parent_id = 2;
    expect_ok(store->start_instance(child, 1h), "a child is made");

    expect_eq(value_of(admin.get_parent_id("P")), std::nullopt, "a root has no parent");
    expect_eq(value_of(admin.get_parent_id("C")), "P", "a child has");
    expect_eq(value_of(admin.list_children("P")), Names{"C"}, "and is listed");
    expect_eq(value_of(admin.get_instance_tree("P")).all_ids, Names{"P", "C"}, "in the tree");
    expect_error(admin.delete_instance("C", true), ErrorCode::not_a_root, "it goes with its root");
    expect_eq(value_of(admin.delete_instance("P", true)).instances_deleted, 2, "both go");
    expect(!store.exists("C"), "the child as well");
}

void a_pending_instance_is_deleted_by_force_only(Factory& factory) {
    const Store store{factory};
    auto& admin = store.admin();
    store.start_pending("A");
    expect_error(admin.delete_instance("A", false), ErrorCode::still_running, "it is to run");
    expect_error(
        admin.delete_instances_atomic({"A"}, false), ErrorCode::still_running, "listed as well");
    expect(store.exists("A"), "it is still there");

    const auto deleted = value_of(admin.delete_instance("A", true));

    expect_eq(deleted.instances_deleted, 1, "one instance");
    expect_eq(deleted.executions_deleted, 0, "which had no execution");
    expect_eq(deleted.events_deleted, 0, "no event");
    expect_eq(deleted.queue_messages_deleted, 1, "but a start");
    expect_eq(value_of(admin.get_queue_depths()).orchestrator_queue, 0, "which is gone, too");
    store.expect_no_turn("so nothing starts");
    expect_eq(store.state("A").exists, false, "for watchers as well");
}

void a_pending_child_keeps_its_tree(Factory& factory) {
    const Store store{factory};
    store.make_ended("P");
    auto child = start_of("C");
    child.parent_instance = "P";
    child.parent_id = 2;
    expect_ok(store->start_instance(child, 1h), "a child is made");

    expect_error(store.admin().delete_instance("P", false),
                 ErrorCode::still_running,
                 "something of the tree is to run");
    expect_error(store.admin().delete_instances_atomic({"P"}, true),
                 ErrorCode::has_children,
                 "and would be orphaned");
}

void bulk_calls_pass_pending_instances_over(Factory& factory) {
    const Store store{factory};
    auto& admin = store.admin();
    store.start_pending("A", 1h);
    store.make_ended("B");

    expect_eq(
        value_of(admin.delete_instance_bulk({.instance_ids = Names{"A", "B"}})).instances_deleted,
        1,
        "what has ended is deleted");
    expect(store.exists("A"), "what is to start is not");
    const auto later = store.now() + 1h;
    expect_eq(value_of(admin.delete_instance_bulk({.completed_before = later})).instances_deleted,
              0,
              "it has not completed before any time");
    const PruneOptions all{.keep_last = 0};
    expect_eq(value_of(admin.prune_executions("A", all)).executions_deleted, 0, "nothing to prune");
    expect_eq(value_of(admin.prune_executions_bulk({}, all)).instances_processed, 0, "nor in bulk");
    expect_eq(value_of(admin.prune_executions_bulk({.instance_ids = Names{"A"}}, all))
                  .instances_processed,
              0,
              "nor by name");
    expect_eq(store.state("A").status, ExecutionStatus::pending, "it is as it was");
}

void a_turn_of_a_deleted_pending_instance_is_lost(Factory& factory) {
    const Store store{factory};
    store.start_pending("A");
    const auto turn = store.fetch_turn();
    (void)value_of(store.admin().delete_instance("A", true));

    expect_error(store.try_commit(turn, {.metadata = named(), .history_delta = {started()}}),
                 ErrorCode::lock_lost,
                 "its turn has nothing to end");
    expect(!store.exists("A"), "and does not bring it back");
}

} // namespace

CheckList pending_checks() {
    static constexpr Check list[] = {
        {"a_pending_instance_is_listed", "starting", "P15", a_pending_instance_is_listed},
        {"a_pending_instance_keeps_its_place_in_lists_when_it_runs",
         "starting",
         "P15",
         a_pending_instance_keeps_its_place_in_lists_when_it_runs},
        {"pending_instances_are_counted_apart",
         "starting",
         "P15",
         pending_instances_are_counted_apart},
        {"a_pending_instance_has_no_execution",
         "starting",
         "P15",
         a_pending_instance_has_no_execution},
        {"a_pending_instance_has_a_family", "starting", "P15", a_pending_instance_has_a_family},
        {"a_pending_instance_is_deleted_by_force_only",
         "starting",
         "P15",
         a_pending_instance_is_deleted_by_force_only},
        {"a_pending_child_keeps_its_tree", "starting", "P15", a_pending_child_keeps_its_tree},
        {"bulk_calls_pass_pending_instances_over",
         "starting",
         "P15",
         bulk_calls_pass_pending_instances_over},
        {"a_turn_of_a_deleted_pending_instance_is_lost",
         "starting",
         "P3",
         a_turn_of_a_deleted_pending_instance_is_lost},
    };
    return list;
}

} // namespace durable::validation
