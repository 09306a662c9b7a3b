// Pruning removes old executions, never the current one, never a running one.

#include "validation/checks/categories.hpp"
#include "validation/support/support.hpp"

#include <optional>
#include <string>
#include <vector>

namespace durable::validation {

using namespace std::chrono_literals;

namespace {

using Ids = std::vector<std::uint64_t>;
using Names = std::vector<std::string>;

// Executions 1 to `count`: all but the last continued as new, the last as given. Ten milliseconds
// lie between their ends.
void run_executions(const Store& store,
                    const std::string& instance,
                    std::uint64_t count,
                    ExecutionStatus last = ExecutionStatus::completed) {
    store.start(instance);
    for (std::uint64_t execution = 1; execution < count; ++execution) {
        store.take_turn(instance,
                        {.execution_id = execution,
                         .metadata = ended(ExecutionStatus::continued_as_new, "next"),
                         .history_delta = {started(1), scheduled(2, "Activity2")},
                         .orchestrator_items = {continue_as_new_of(instance)}});
        store.pass_time(10ms);
    }
    auto metadata = named();
    metadata.status = last;
    store.take_turn(instance,
                    {.execution_id = count, .metadata = metadata, .history_delta = {started(1)}});
}

Ids executions_of(const Store& store, const std::string& instance, Where where = Where::current()) {
    return value_of(store.admin().list_executions(instance), where);
}

void test_prune_options_combinations(Factory& factory) {
    const Store store{factory};
    run_executions(store, "last two", 4);
    run_executions(store, "current", 3);
    run_executions(store, "by age", 4);
    run_executions(store, "both", 4);
    auto& admin = store.admin();

    const auto pruned = value_of(admin.prune_executions("last two", {.keep_last = 2}));
    expect_eq(pruned.instances_processed, 1, "one instance");
    expect_eq(pruned.executions_deleted, 2, "all but the last two executions");
    expect_eq(pruned.events_deleted, 4, "with their events");
    expect_eq(executions_of(store, "last two"), Ids{3, 4}, "the last two remain");
    expect(store.read("last two", 1).empty(), "a pruned execution has no history");
    expect_eq(store.read("last two", 3).size(), 2, "a kept one has");

    expect_ok(admin.prune_executions("current", {}), "without criteria");
    expect_eq(executions_of(store, "current"), Ids{3}, "only the current one remains");

    const auto second = value_of(admin.get_execution_info("by age", 2)).completed_at;
    expect(second.has_value(), "an execution that continued as new has an end");
    expect_ok(admin.prune_executions("by age", {.completed_before = second}), "by age");
    expect_eq(executions_of(store, "by age"), Ids{2, 3, 4}, "what ended strictly before goes");

    const auto third = value_of(admin.get_execution_info("both", 3)).completed_at;
    expect_ok(admin.prune_executions("both", {.keep_last = 3, .completed_before = third}), "both");
    expect_eq(executions_of(store, "both"), Ids{2, 3, 4}, "both criteria must hold");
}

void test_prune_safety(Factory& factory) {
    const Store store{factory};
    auto& admin = store.admin();
    expect_error(admin.prune_executions("unknown", {.keep_last = 1}),
                 ErrorCode::not_found,
                 "what does not exist cannot be pruned");

    int made = 0;
    for (const auto keep : {std::optional<std::uint32_t>{}, std::optional{0U}, std::optional{1U}}) {
        const auto instance = "A" + std::to_string(made++);
        run_executions(store, instance, 4);
        const auto pruned = value_of(admin.prune_executions(instance, {.keep_last = keep}));
        expect_eq(pruned.executions_deleted, 3, "nothing, none and one mean the same");
        expect_eq(executions_of(store, instance), Ids{4}, "the current execution stays");
        const auto info = value_of(admin.get_instance_info(instance));
        expect_eq(info.current_execution_id, 4, "the instance is as it was");
        expect_eq(info.status, "Completed", "with its end");
        expect_eq(store.read(instance).size(), 1, "and its history");
    }
}

void test_prune_bulk(Factory& factory) {
    const Store store{factory};
    for (const auto* id : {"A0", "A1", "A2", "A3"}) {
        run_executions(store, id, 4);
    }
    auto& admin = store.admin();

    const auto two = value_of(
        admin.prune_executions_bulk({.instance_ids = Names{"A0", "A1"}}, {.keep_last = 1}));
    expect_eq(two.instances_processed, 2, "the listed ones");
    expect_eq(two.executions_deleted, 6, "all but their current executions");
    expect_eq(executions_of(store, "A0"), Ids{4}, "pruned");
    expect_eq(executions_of(store, "A1"), Ids{4}, "pruned");
    expect_eq(executions_of(store, "A2"), Ids{1, 2, 3, 4}, "not listed, not pruned");

    const auto none =
        value_of(admin.prune_executions_bulk({.instance_ids = Names{}}, {.keep_last = 1}));
    expect_eq(none.instances_processed, 0, "an empty list matches none");

    const auto limited = value_of(admin.prune_executions_bulk(
        {.instance_ids = Names{"A2", "A3"}, .limit = 1}, {.keep_last = 1}));
    expect_eq(limited.instances_processed, 1, "a limit holds");
    expect_eq(limited.executions_deleted, 3, "for what it lets through");
}

void test_prune_bulk_includes_running_instances(Factory& factory) {
    const Store store{factory};
    run_executions(store, "A", 3, ExecutionStatus::running);

    const auto pruned = value_of(
        store.admin().prune_executions_bulk({.instance_ids = Names{"A"}}, {.keep_last = 1}));

    expect_eq(pruned.instances_processed, 1, "a running instance is pruned too");
    expect_eq(pruned.executions_deleted, 2, "of what it left behind");
    expect_eq(executions_of(store, "A"), Ids{3}, "its current execution stays");
    const auto info = value_of(store.admin().get_instance_info("A"));
    expect_eq(info.status, "Running", "and runs on");
    store.poke("A");
    expect_eq(store.fetch_turn().history.size(), 1, "with its history");
}

} // namespace

CheckList prune_checks() {
    static constexpr Check list[] = {
        {"test_prune_options_combinations", "prune", "P2", test_prune_options_combinations},
        {"test_prune_safety", "prune", "P2", test_prune_safety},
        {"test_prune_bulk", "prune", "P2", test_prune_bulk},
        {"test_prune_bulk_includes_running_instances",
         "prune",
         "P2",
         test_prune_bulk_includes_running_instances},
    };
    return list;
}

} // namespace durable::validation
