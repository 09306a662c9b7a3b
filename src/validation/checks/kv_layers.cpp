// P9: the two layers of the key-value store. Readers see what the running execution wrote; turns
// get what earlier executions left, because a replay writes its own values again from the start.

#include "validation/checks/categories.hpp"
#include "validation/support/scenarios.hpp"

#include <durable/provider_admin.hpp>

namespace durable::validation {

namespace {

constexpr auto absent = std::nullopt;

void test_kv_snapshot_cross_execution(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "X", {kv_set(100, "A", "1")});
    continue_as_new(store, "X", 2);
    append_turn(store, "X", 2, {kv_set(100, "B", "2")});

    expect_eq(kv_snapshot(store, "X"), Values{{"A", "1"}}, "the running execution's key is absent");
    expect_eq(kv(store, "X", "B"), "2", "readers see it");
}

void test_kv_prune_current_execution_protected(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "key", "value")});

    const auto pruned = value_of(store.admin().prune_executions("A", {.keep_last = 1}));

    expect_eq(pruned.executions_deleted, 0, "the only execution is not pruned");
    expect_eq(kv(store, "A", "key"), "value", "nor is its value");
    expect_eq(kv_snapshot(store, "A"), Values{}, "which is still the running execution's");
}

void test_kv_delete_instance_with_children(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "parent", {kv_set(100, "key", "of parent")});
    store.start("child");
    auto child = named("ChildOrch");
    child.parent_instance_id = "parent";
    store.take_turn("child", {.metadata = child, .history_delta = {started()}});
    append_turn(store, "child", 1, {kv_set(100, "key", "of child")});
    complete(store, "parent");
    complete(store, "child");

    const auto deleted = value_of(store.admin().delete_instance("parent", false));

    expect_eq(deleted.instances_deleted, 2, "the child goes with its parent");
    expect_eq(kv(store, "parent", "key"), absent, "and so do the values of one");
    expect_eq(kv(store, "child", "key"), absent, "and of the other");
}

void test_kv_clear_isolation(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "key", "of A")});
    make_running_with(store, "B", {kv_set(100, "key", "of B")});
    complete(store, "B");

    append_turn(store, "A", 1, {kv_all_cleared(101)});

    expect_eq(kv(store, "A", "key"), absent, "clearing clears");
    expect_eq(kv(store, "B", "key"), "of B", "but not another instance");
    complete(store, "A");
    expect_eq(kv(store, "B", "key"), "of B", "not even when the execution ends");
}

void test_kv_delta_snapshot_excludes_current_execution(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "counter", "1")});

    expect_eq(kv(store, "A", "counter"), "1", "readers see the running execution's value");
    expect_eq(kv_snapshot(store, "A"), Values{}, "turns do not");
}

void test_kv_delta_snapshot_includes_completed_execution(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "counter", "5")});

    continue_as_new(store, "A", 2);

    expect_eq(
        kv_snapshot(store, "A"), Values{{"counter", "5"}}, "an ended execution's value counts");
}

// A failure is an end like any other.
void the_values_of_an_execution_that_failed_stay(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "counter", "5")});
    store.poke("A");
    store.take_turn("A", {.metadata = ended(ExecutionStatus::failed, "no truck")});

    expect_eq(kv_snapshot(store, "A"), Values{{"counter", "5"}}, "turns get them");
    expect_eq(kv(store, "A", "counter"), "5", "and readers see them");
}

// The provider does not check life cycles: execution 2 may write after execution 1 completed.
void test_kv_delta_client_reads_merged(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "color", "red"), kv_set(101, "size", "large")});
    complete(store, "A");

    append_turn(store, "A", 2, {kv_set(100, "color", "blue")});
    append_turn(store, "A", 2, {kv_set(101, "shape", "circle")});

    expect_eq(kv(store, "A", "color"), "blue", "the running execution's value hides the older");
    expect_eq(kv(store, "A", "size"), "large", "what it did not touch shows through");
    expect_eq(kv(store, "A", "shape"), "circle", "what it added is there");
    expect_eq(value_of(store->get_kv_all_values("A")),
              Values{{"color", "blue"}, {"shape", "circle"}, {"size", "large"}},
              "all of them at once are the same");
}

void test_kv_delta_tombstone_overrides_store(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "key", "value")});
    complete(store, "A");

    append_turn(store, "A", 2, {kv_cleared(100, "key")});

    expect_eq(kv(store, "A", "key"), absent, "a clearing hides the older value");
    expect_eq(value_of(store->get_kv_all_values("A")), Values{}, "from every reader");
    expect_eq(kv_snapshot(store, "A"),
              Values{{"key", "value"}},
              "while turns still get what the execution began with");
}

void test_kv_delta_clear_all_tombstones_store(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "a", "1"), kv_set(101, "b", "2")});
    complete(store, "A");

    append_turn(store, "A", 2, {kv_all_cleared(100), kv_set(101, "c", "3")});

    expect_eq(kv(store, "A", "a"), absent, "clearing all hides the older values");
    expect_eq(kv(store, "A", "b"), absent, "clearing all hides the older values");
    expect_eq(kv(store, "A", "c"), "3", "not what came after");
    complete(store, "A", 2);
    expect_eq(kv_snapshot(store, "A"), Values{{"c", "3"}}, "the end makes it final");
}

void test_kv_delta_merged_on_completion(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "key", "value")});

    complete(store, "A");

    expect_eq(kv(store, "A", "key"), "value", "completion keeps the value for readers");
    expect_eq(kv_snapshot(store, "A"), Values{{"key", "value"}}, "and hands it to turns");
}

void test_kv_delta_merged_on_can(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "version", "1"), kv_set(101, "progress", "50%")});
    append_turn(store, "A", 1, {kv_set(102, "progress", "100%")});

    continue_as_new(store, "A", 2);

    expect_eq(kv_snapshot(store, "A"),
              Values{{"progress", "100%"}, {"version", "1"}},
              "the next execution begins with the last values");
}

void test_kv_delta_delete_instance_cascades(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "key", "value")});

    expect_ok(store.admin().delete_instance("A", true), "a running instance is deleted by force");

    expect_eq(kv(store, "A", "key"), absent, "the running execution's values go with it");
    store.make_running("A");
    complete(store, "A");
    expect_eq(kv(store, "A", "key"), absent, "and do not come back with a namesake");
}

void test_kv_delta_prune_untouched_key_survives(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "first", "1")});
    continue_as_new(store, "A", 2);
    append_turn(store, "A", 2, {kv_set(100, "second", "2")});
    continue_as_new(store, "A", 3);

    const auto pruned = value_of(store.admin().prune_executions("A", {.keep_last = 1}));

    expect_eq(pruned.executions_deleted, 2, "two executions are pruned");
    expect_eq(kv(store, "A", "first"), "1", "their values are not");
    expect_eq(kv(store, "A", "second"), "2", "their values are not");
    expect_eq(kv_snapshot(store, "A"),
              Values{{"first", "1"}, {"second", "2"}},
              "and turns still get them");
}

} // namespace

CheckList kv_layer_checks() {
    static constexpr Check list[] = {
        {"test_kv_snapshot_cross_execution", "kv_store", "P9", test_kv_snapshot_cross_execution},
        {"test_kv_prune_current_execution_protected",
         "kv_store",
         "P9",
         test_kv_prune_current_execution_protected},
        {"test_kv_delete_instance_with_children",
         "kv_store",
         "P9",
         test_kv_delete_instance_with_children},
        {"test_kv_clear_isolation", "kv_store", "P9", test_kv_clear_isolation},
        {"test_kv_delta_snapshot_excludes_current_execution",
         "kv_store",
         "P9",
         test_kv_delta_snapshot_excludes_current_execution},
        {"test_kv_delta_snapshot_includes_completed_execution",
         "kv_store",
         "P9",
         test_kv_delta_snapshot_includes_completed_execution},
        {"the_values_of_an_execution_that_failed_stay",
         "kv_store",
         "P9",
         the_values_of_an_execution_that_failed_stay},
        {"test_kv_delta_client_reads_merged", "kv_store", "P9", test_kv_delta_client_reads_merged},
        {"test_kv_delta_tombstone_overrides_store",
         "kv_store",
         "P9",
         test_kv_delta_tombstone_overrides_store},
        {"test_kv_delta_clear_all_tombstones_store",
         "kv_store",
         "P9",
         test_kv_delta_clear_all_tombstones_store},
        {"test_kv_delta_merged_on_completion",
         "kv_store",
         "P9",
         test_kv_delta_merged_on_completion},
        {"test_kv_delta_merged_on_can", "kv_store", "P9", test_kv_delta_merged_on_can},
        {"test_kv_delta_delete_instance_cascades",
         "kv_store",
         "P9",
         test_kv_delta_delete_instance_cascades},
        {"test_kv_delta_prune_untouched_key_survives",
         "kv_store",
         "P9",
         test_kv_delta_prune_untouched_key_survives},
    };
    return list;
}

} // namespace durable::validation
