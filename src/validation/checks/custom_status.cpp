// P2: the custom status changes with the commit that carries it, and its version counts commits.

#include "validation/checks/categories.hpp"
#include "validation/support/scenarios.hpp"

namespace durable::validation {

namespace {

std::optional<CustomStatus> status_above(const Store& store, std::uint64_t seen) {
    return value_of(store->get_custom_status("A", seen));
}

CustomStatus status_of(const Store& store) {
    const auto status = status_above(store, 0);
    expect(status.has_value(), "a status that was ever set has a version above 0");
    return *status;
}

void test_custom_status_set(Factory& factory) {
    const Store store{factory};
    store.make_running("A");

    append_turn(store, "A", 1, {status_set(100, "progress")});

    expect_eq(status_of(store), CustomStatus{"progress", 1}, "a committed status is read");
    expect_eq(value_of(store->watch_instance({.instance = "A"})).custom_status,
              CustomStatus{"progress", 1},
              "a watcher sees the same status");
}

void test_custom_status_clear(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    append_turn(store, "A", 1, {status_set(100, "temp")});

    append_turn(store, "A", 1, {status_set(101, std::nullopt)});

    expect_eq(status_of(store), CustomStatus{std::nullopt, 2}, "clearing is a change too");
    expect_eq(status_above(store, 1),
              CustomStatus{std::nullopt, 2},
              "a reader that saw the old status gets the change");
}

void test_custom_status_none_preserves(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    append_turn(store, "A", 1, {status_set(100, "kept")});

    append_turn(store, "A", 1, {scheduled(101, "Other")});
    append_turn(store, "A", 1, {});

    expect_eq(status_of(store), CustomStatus{"kept", 1}, "other turns leave the status alone");
}

// Once per commit, not once per event: readers only see the state after a commit.
void test_custom_status_version_increments(Factory& factory) {
    const Store store{factory};
    store.make_running("A");

    append_turn(store, "A", 1, {status_set(100, "one")});
    expect_eq(status_of(store), CustomStatus{"one", 1}, "the first status has version 1");
    append_turn(store, "A", 1, {status_set(101, "lost"), status_set(102, "two")});
    expect_eq(status_of(store), CustomStatus{"two", 2}, "the last status of a commit wins");
    append_turn(store, "A", 1, {status_set(103, std::nullopt)});
    expect_eq(status_of(store), CustomStatus{std::nullopt, 3}, "clearing counts as well");
    append_turn(store, "A", 1, {status_set(104, "two")});
    expect_eq(status_of(store), CustomStatus{"two", 4}, "setting an earlier text is a change");
}

void test_custom_status_polling_no_change(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    append_turn(store, "A", 1, {status_set(100, "progress")});

    expect_eq(status_above(store, 1), std::nullopt, "a version that was seen is no news");
    expect_eq(status_above(store, 2), std::nullopt, "nor is one above the stored version");
    expect_eq(status_above(store, 0), CustomStatus{"progress", 1}, "an earlier one is");
}

void test_custom_status_nonexistent_instance(Factory& factory) {
    const Store store{factory};
    expect_eq(status_above(store, 0), std::nullopt, "an unknown instance has no status");

    store.start("A");
    expect_eq(status_above(store, 0), std::nullopt, "a queued start makes no instance");
}

void test_custom_status_default_on_new_instance(Factory& factory) {
    const Store store{factory};
    store.make_running("A");

    expect_eq(status_above(store, 0), std::nullopt, "a new instance has no status");
    expect_eq(value_of(store->watch_instance({.instance = "A"})).custom_status,
              CustomStatus{},
              "its version is 0");
}

} // namespace

CheckList custom_status_checks() {
    static constexpr Check list[] = {
        {"test_custom_status_set", "custom_status", "P2", test_custom_status_set},
        {"test_custom_status_clear", "custom_status", "P2", test_custom_status_clear},
        {"test_custom_status_none_preserves",
         "custom_status",
         "P2",
         test_custom_status_none_preserves},
        {"test_custom_status_version_increments",
         "custom_status",
         "P2",
         test_custom_status_version_increments},
        {"test_custom_status_polling_no_change",
         "custom_status",
         "P2",
         test_custom_status_polling_no_change},
        {"test_custom_status_nonexistent_instance",
         "custom_status",
         "P2",
         test_custom_status_nonexistent_instance},
        {"test_custom_status_default_on_new_instance",
         "custom_status",
         "P2",
         test_custom_status_default_on_new_instance},
    };
    return list;
}

} // namespace durable::validation
