// An instance comes into being by the first commit that names it, and by nothing else.

#include "validation/checks/categories.hpp"
#include "validation/support/support.hpp"

#include <string>
#include <vector>

namespace durable::validation {

namespace {

// The version that a commit stored beats the one in a queued start.
void test_instance_creation_via_metadata(Factory& factory) {
    const Store store{factory};
    store.start("A");
    const auto first = store.fetch_turn();
    expect_eq(first.instance, "A", "the start is for its instance");
    expect_eq(first.orchestration_name, "TestOrch", "a new instance is named by its start");
    expect_eq(first.version, "1.0.0", "and so is its version");
    expect_eq(first.execution_id, 1, "a new instance begins with execution 1");
    expect(first.history.empty(), "a new instance has no history");

    store.commit(first, {.metadata = named("TestOrch", "2.0.0"), .history_delta = {started()}});

    store.start("A");
    const auto second = store.fetch_turn();
    expect_eq(second.version, "2.0.0", "the committed version beats the queued one");
    expect_eq(second.execution_id, 1, "a second start is no new execution");
    expect_eq(second.history.size(), 1, "the history comes with the turn");
    store.commit(second);
}

void test_no_instance_creation_on_enqueue(Factory& factory) {
    const Store store{factory};
    store.start("B");

    expect(!value_of(store->watch_instance({.instance = "B"})).exists, "a message makes nothing");
    expect(!store.exists("B"), "management does not see a queued start");
    expect(value_of(store.admin().list_instances()).empty(), "nor does the list");
    expect_eq(value_of(store.admin().get_system_metrics()).total_instances, 0, "nor do metrics");

    const auto turn = store.fetch_turn();
    expect_eq(turn.instance, "B", "the start is delivered all the same");
    expect(!store.exists("B"), "fetching makes nothing either");

    store.commit(turn, {.metadata = named(), .history_delta = {started()}});
    expect(store.exists("B"), "the commit that names it makes the instance");
    expect_eq(
        value_of(store.admin().list_instances()), std::vector<std::string>{"B"}, "and lists it");
}

void test_null_version_handling(Factory& factory) {
    const Store store{factory};
    auto unversioned = start_of("A");
    unversioned.version = std::nullopt;
    store.send(unversioned);
    const auto first = store.fetch_turn();
    expect_eq(first.version, "unknown", "a start without a version has an unknown one");

    store.commit(first, {.metadata = named("TestOrch", "3.0.0"), .history_delta = {started()}});

    store.send(unversioned);
    expect_eq(store.fetch_turn().version, "3.0.0", "the commit decided the version");
}

void test_sub_orchestration_instance_creation(Factory& factory) {
    const Store store{factory};
    const std::string child = "parent-instance::child-instance";
    const work::StartOrchestration start_child{.instance = child,
                                               .orchestration = "ChildOrch",
                                               .input = "{}",
                                               .parent_instance = "parent-instance",
                                               .parent_id = 1};
    store.start("parent-instance");
    store.take_turn("parent-instance",
                    {.metadata = named("ParentOrch"),
                     .history_delta = {started()},
                     .orchestrator_items = {start_child}});
    expect(!store.exists(child), "a commit that starts a child does not make it");

    const auto first = store.fetch_turn();
    expect_eq(first.instance, child, "the child's start is delivered");
    expect_eq(first.orchestration_name, "ChildOrch", "the child is named by its start");
    expect(first.history.empty(), "the child has no history yet");
    auto metadata = named("ChildOrch", "1.5.0");
    metadata.parent_instance_id = "parent-instance";
    store.commit(first, {.metadata = metadata, .history_delta = {started()}});

    store.send(start_child);
    expect_eq(store.fetch_turn().version, "1.5.0", "the commit decided the child's version");
    expect_eq(value_of(store.admin().get_parent_id(child)),
              "parent-instance",
              "the child knows its parent");
}

} // namespace

CheckList instance_creation_checks() {
    static constexpr Check list[] = {
        {"test_instance_creation_via_metadata",
         "instance_creation",
         "P2",
         test_instance_creation_via_metadata},
        {"test_no_instance_creation_on_enqueue",
         "instance_creation",
         "P4",
         test_no_instance_creation_on_enqueue},
        {"test_null_version_handling", "instance_creation", "P2", test_null_version_handling},
        {"test_sub_orchestration_instance_creation",
         "instance_creation",
         "P4",
         test_sub_orchestration_instance_creation},
    };
    return list;
}

} // namespace durable::validation
