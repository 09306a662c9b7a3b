// P9: the key-value store of an instance as its readers see it. For turns see kv_layers.cpp.

#include "validation/checks/categories.hpp"
#include "validation/support/scenarios.hpp"

#include <durable/provider_admin.hpp>

namespace durable::validation {

namespace {

constexpr auto no_value = std::nullopt;

void test_kv_set_and_get(Factory& factory) {
    const Store store{factory};

    make_running_with(store, "A", {kv_set(100, "counter", "42")});

    expect_eq(kv(store, "A", "counter"), "42", "a committed value is read at once");
}

void test_kv_overwrite(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "key", "old")});

    append_turn(store, "A", 1, {kv_set(101, "key", "new")});

    expect_eq(kv(store, "A", "key"), "new", "the later value wins");
}

void test_kv_clear_single(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "key", "value"), kv_set(101, "other", "kept")});

    append_turn(store, "A", 1, {kv_cleared(102, "key")});

    expect_eq(kv(store, "A", "key"), no_value, "a cleared key is gone");
    expect_eq(kv(store, "A", "other"), "kept", "its neighbour stays");
}

void test_kv_clear_all(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "a", "1"), kv_set(101, "b", "2")});

    append_turn(store, "A", 1, {kv_all_cleared(102)});

    expect_eq(kv(store, "A", "a"), no_value, "every key is gone");
    expect_eq(kv(store, "A", "b"), no_value, "every key is gone");
}

void test_kv_get_nonexistent(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "there", "1")});

    expect_eq(kv(store, "A", "missing"), no_value, "a key that was never set has no value");
}

void test_kv_snapshot_in_fetch(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "x", "10"), kv_set(101, "y", "20")});
    complete(store, "A");
    store.poke("A");

    const auto turn = store.fetch_turn();

    const KvSnapshot wanted{{"x", {"10", 100}}, {"y", {"20", 101}}};
    expect_eq(turn.kv_snapshot, wanted, "a turn gets the values with the times of their events");
}

void test_kv_snapshot_after_clear_single(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "keep", "1"), kv_set(101, "remove", "2")});
    append_turn(store, "A", 1, {kv_cleared(102, "remove")});
    complete(store, "A");

    expect_eq(kv_snapshot(store, "A"), Values{{"keep", "1"}}, "a turn does not get a cleared key");
}

void test_kv_snapshot_after_clear_all(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "a", "1"), kv_set(101, "b", "2")});
    append_turn(store, "A", 1, {kv_all_cleared(102)});

    expect_eq(kv_snapshot(store, "A"), Values{}, "nothing of a cleared store is left");
    complete(store, "A");
    expect_eq(kv_snapshot(store, "A"), Values{}, "nor after the execution ended");
}

void prune_to_current(const Store& store, const std::string& instance) {
    const auto pruned = value_of(store.admin().prune_executions(instance, {.keep_last = 1}));
    expect_eq(value_of(store.admin().list_executions(instance)).size(),
              1,
              "pruning leaves the current execution");
    expect_eq(pruned.instances_processed, 1, "one instance was pruned");
}

void test_kv_execution_id_tracking(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "shared", "from-1")});
    continue_as_new(store, "A", 2);
    append_turn(store, "A", 2, {kv_set(100, "shared", "from-2")});

    prune_to_current(store, "A");

    expect_eq(kv(store, "A", "shared"), "from-2", "the newer value survives the older execution");
}

void test_kv_cross_execution_overwrite(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "key", "v1")});
    continue_as_new(store, "A", 2);
    expect_eq(kv(store, "A", "key"), "v1", "a value outlives its execution");

    append_turn(store, "A", 2, {kv_set(100, "key", "v2")});

    expect_eq(kv(store, "A", "key"), "v2", "a later execution overwrites it");
}

void test_kv_cross_execution_remove_readd(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "key", "exec1")});
    continue_as_new(store, "A", 2);

    append_turn(store, "A", 2, {kv_cleared(100, "key")});
    expect_eq(kv(store, "A", "key"), no_value, "a later execution clears it");
    continue_as_new(store, "A", 3);
    expect_eq(kv(store, "A", "key"), no_value, "and it stays cleared");

    append_turn(store, "A", 3, {kv_set(100, "key", "exec3")});
    expect_eq(kv(store, "A", "key"), "exec3", "a third sets it again");
}

void test_kv_prune_preserves_overwritten(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "survive", "v1")});
    continue_as_new(store, "A", 2);
    append_turn(store, "A", 2, {kv_set(100, "survive", "v2")});

    prune_to_current(store, "A");

    expect_eq(kv(store, "A", "survive"), "v2", "pruning does not touch values");
    expect_eq(kv_snapshot(store, "A"),
              Values{{"survive", "v1"}},
              "nor what the running execution began with");
}

// Values belong to the instance, not to the execution that wrote them.
void test_kv_prune_preserves_all_keys(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "first", "1")});
    continue_as_new(store, "A", 2);
    append_turn(store, "A", 2, {kv_set(100, "second", "2")});

    prune_to_current(store, "A");

    expect_eq(kv(store, "A", "first"), "1", "a value of a pruned execution survives");
    expect_eq(kv(store, "A", "second"), "2", "and so does one of the current");
}

void test_kv_instance_isolation(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "key", "of A")});
    make_running_with(store, "B", {kv_set(100, "key", "of B")});

    expect_eq(kv(store, "A", "key"), "of A", "instances do not share keys");
    expect_eq(kv(store, "B", "key"), "of B", "instances do not share keys");
}

void test_kv_delete_instance_cascades(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "key", "value")});
    complete(store, "A");
    expect_eq(kv(store, "A", "key"), "value", "a completed instance keeps its values");

    expect_ok(store.admin().delete_instance("A", false), "a completed instance is deleted");

    expect_eq(kv(store, "A", "key"), no_value, "deletion takes the values along");
    store.make_running("A");
    expect_eq(kv_snapshot(store, "A"), Values{}, "a namesake inherits nothing");
}

void test_kv_clear_nonexistent_key(Factory& factory) {
    const Store store{factory};

    make_running_with(store, "A", {kv_cleared(100, "never set")});

    expect_eq(kv(store, "A", "never set"), no_value, "clearing what is not there is no error");
}

void test_kv_get_unknown_instance(Factory& factory) {
    const Store store{factory};

    expect_eq(kv(store, "nobody", "key"), no_value, "an unknown instance has no values");
}

void test_kv_set_after_clear(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(100, "x", "1"), kv_set(101, "y", "2")});

    append_turn(store, "A", 1, {kv_all_cleared(102), kv_set(103, "new_x", "fresh")});

    expect_eq(kv(store, "A", "x"), no_value, "clearing comes first");
    expect_eq(kv(store, "A", "y"), no_value, "clearing comes first");
    expect_eq(kv(store, "A", "new_x"), "fresh", "what is set after it stays");
    append_turn(store, "A", 1, {kv_set(104, "z", "3"), kv_all_cleared(105)});
    expect_eq(kv(store, "A", "z"), no_value, "what is set before it does not");
}

void test_kv_empty_value(Factory& factory) {
    const Store store{factory};

    make_running_with(store, "A", {kv_set(100, "empty", "")});

    expect_eq(kv(store, "A", "empty"), "", "an empty value is a value");
    complete(store, "A");
    expect_eq(kv_snapshot(store, "A"), Values{{"empty", ""}}, "for turns as well");
}

void test_kv_large_value(Factory& factory) {
    const Store store{factory};
    const std::string large(std::size_t{64} * 1024, 'x');

    make_running_with(store, "A", {kv_set(100, "large", large)});

    expect_eq(kv(store, "A", "large"), large, "64 KiB come back whole");
    complete(store, "A");
    expect_eq(kv_snapshot(store, "A"), Values{{"large", large}}, "for turns as well");
}

void test_kv_special_chars_in_key(Factory& factory) {
    const Store store{factory};
    const std::vector<std::string> keys{
        "with spaces", "日本語", "a.b.c", "a/b/c", "🚀", "it's", "%_"};
    std::vector<HistoryEvent> events;
    for (const auto& key : keys) {
        events.push_back(kv_set(100 + events.size(), key, "value of " + key));
    }

    make_running_with(store, "A", std::move(events));

    for (const auto& key : keys) {
        expect_eq(kv(store, "A", key), "value of " + key, "any text is a key");
    }
}

void test_kv_snapshot_empty(Factory& factory) {
    const Store store{factory};
    store.make_running("A");

    expect_eq(kv_snapshot(store, "A"), Values{}, "a new instance starts without values");
}

} // namespace

CheckList kv_store_checks() {
    static constexpr Check list[] = {
        {"test_kv_set_and_get", "kv_store", "P9", test_kv_set_and_get},
        {"test_kv_overwrite", "kv_store", "P9", test_kv_overwrite},
        {"test_kv_clear_single", "kv_store", "P9", test_kv_clear_single},
        {"test_kv_clear_all", "kv_store", "P9", test_kv_clear_all},
        {"test_kv_get_nonexistent", "kv_store", "P9", test_kv_get_nonexistent},
        {"test_kv_snapshot_in_fetch", "kv_store", "P9", test_kv_snapshot_in_fetch},
        {"test_kv_snapshot_after_clear_single",
         "kv_store",
         "P9",
         test_kv_snapshot_after_clear_single},
        {"test_kv_snapshot_after_clear_all", "kv_store", "P9", test_kv_snapshot_after_clear_all},
        {"test_kv_execution_id_tracking", "kv_store", "P9", test_kv_execution_id_tracking},
        {"test_kv_cross_execution_overwrite", "kv_store", "P9", test_kv_cross_execution_overwrite},
        {"test_kv_cross_execution_remove_readd",
         "kv_store",
         "P9",
         test_kv_cross_execution_remove_readd},
        {"test_kv_prune_preserves_overwritten",
         "kv_store",
         "P9",
         test_kv_prune_preserves_overwritten},
        {"test_kv_prune_preserves_all_keys", "kv_store", "P9", test_kv_prune_preserves_all_keys},
        {"test_kv_instance_isolation", "kv_store", "P9", test_kv_instance_isolation},
        {"test_kv_delete_instance_cascades", "kv_store", "P9", test_kv_delete_instance_cascades},
        {"test_kv_clear_nonexistent_key", "kv_store", "P9", test_kv_clear_nonexistent_key},
        {"test_kv_get_unknown_instance", "kv_store", "P9", test_kv_get_unknown_instance},
        {"test_kv_set_after_clear", "kv_store", "P9", test_kv_set_after_clear},
        {"test_kv_empty_value", "kv_store", "P9", test_kv_empty_value},
        {"test_kv_large_value", "kv_store", "P9", test_kv_large_value},
        {"test_kv_special_chars_in_key", "kv_store", "P9", test_kv_special_chars_in_key},
        {"test_kv_snapshot_empty", "kv_store", "P9", test_kv_snapshot_empty},
    };
    return list;
}

} // namespace durable::validation
