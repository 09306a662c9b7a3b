// Bulk deletion removes matching roots that have ended, with their trees, and nothing else.

#include "validation/checks/categories.hpp"
#include "validation/support/support.hpp"

#include <string>
#include <vector>

namespace durable::validation {

using namespace std::chrono_literals;

namespace {

using Names = std::vector<std::string>;

std::uint64_t
delete_bulk(const Store& store, const InstanceFilter& filter, Where where = Where::current()) {
    return value_of(store.admin().delete_instance_bulk(filter), where).instances_deleted;
}

void test_delete_instance_bulk_filter_combinations(Factory& factory) {
    const Store store{factory};
    for (const auto* id : {"A0", "A1", "A2", "A3", "A4"}) {
        store.make_ended(id);
    }

    expect_eq(delete_bulk(store, {.instance_ids = Names{"A0", "A1"}}), 2, "the listed ones");
    expect(!store.exists("A0") && !store.exists("A1"), "they are gone");
    expect(store.exists("A2"), "others stay");
    expect_eq(delete_bulk(store, {.instance_ids = Names{"unknown"}}), 0, "unknown ids match none");
    expect_eq(delete_bulk(store, {.instance_ids = Names{}}), 0, "an empty list matches none");
    expect_eq(delete_bulk(store, {}), 3, "no criterion matches all");
    expect(value_of(store.admin().list_instances()).empty(), "nothing is left");
}

void test_delete_instance_bulk_safety_and_limits(Factory& factory) {
    const Store store{factory};
    store.make_ended("ended1");
    store.make_ended("ended2");
    store.make_running("running1");
    store.make_running("running2");
    const Names all{"ended1", "ended2", "running1", "running2"};

    expect_eq(delete_bulk(store, {.instance_ids = all}), 2, "running ones are passed over");
    expect(store.exists("running1") && store.exists("running2"), "and stay");

    const Names more{"B0", "B1", "B2", "B3"};
    for (const auto& id : more) {
        store.make_ended(id);
    }
    const InstanceFilter two_at_a_time{.instance_ids = more, .limit = 2};
    expect_eq(delete_bulk(store, {.instance_ids = more, .limit = 0}), 0, "a limit may be nothing");
    expect_eq(delete_bulk(store, two_at_a_time), 2, "a limit holds");
    expect_eq(delete_bulk(store, two_at_a_time), 2, "until all are gone");
    expect_eq(delete_bulk(store, two_at_a_time), 0, "then there is nothing to do");
}

void test_delete_instance_bulk_completed_before_filter(Factory& factory) {
    const Store store{factory};
    const Names ids{"A", "B"};
    const auto before = store.now();
    store.pass_time(10ms);
    store.make_ended("A");
    store.make_ended("B");
    store.pass_time(10ms);
    const auto after = store.now();

    expect_eq(delete_bulk(store, {.instance_ids = ids, .completed_before = before}),
              0,
              "what ended later stays");
    const auto end = value_of(store.admin().get_execution_info("A", 1)).completed_at;
    expect(end.has_value(), "an execution that ended has a time of its end");
    expect_eq(delete_bulk(store, {.instance_ids = Names{"A"}, .completed_before = end}),
              0,
              "what ended at that very moment stays");
    expect_eq(delete_bulk(store, {.instance_ids = ids, .completed_before = after}),
              2,
              "what ended earlier goes");
}

// Children are deleted with their roots and only with them. An instance between two executions has
// an ended execution, but is running.
void test_delete_instance_bulk_cascades_to_children(Factory& factory) {
    const Store store{factory};
    store.make_ended("one");
    store.make_ended("one-child", ExecutionStatus::completed, "one");
    store.make_ended("three");
    for (const auto* child : {"three-child1", "three-child2", "three-child3"}) {
        store.make_ended(child, ExecutionStatus::completed, "three");
    }
    store.make_ended("alone");
    store.start("alive");
    store.take_turn("alive",
                    {.metadata = ended(ExecutionStatus::continued_as_new, "next"),
                     .history_delta = {started()},
                     .orchestrator_items = {continue_as_new_of("alive")}});

    expect_eq(delete_bulk(store, {.instance_ids = Names{"three-child1", "one-child"}}),
              0,
              "children are passed over");
    expect_eq(delete_bulk(store, {.instance_ids = Names{"one", "three", "alone", "alive"}}),
              7,
              "roots go with their children");
    expect_eq(value_of(store.admin().list_instances()), Names{"alive"}, "what is alive stays");
}

} // namespace

CheckList bulk_deletion_checks() {
    static constexpr Check list[] = {
        {"test_delete_instance_bulk_filter_combinations",
         "bulk_deletion",
         "P2",
         test_delete_instance_bulk_filter_combinations},
        {"test_delete_instance_bulk_safety_and_limits",
         "bulk_deletion",
         "P2",
         test_delete_instance_bulk_safety_and_limits},
        {"test_delete_instance_bulk_completed_before_filter",
         "bulk_deletion",
         "P2",
         test_delete_instance_bulk_completed_before_filter},
        {"test_delete_instance_bulk_cascades_to_children",
         "bulk_deletion",
         "P2",
         test_delete_instance_bulk_cascades_to_children},
    };
    return list;
}

} // namespace durable::validation
