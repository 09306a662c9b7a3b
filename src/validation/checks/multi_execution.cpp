// Executions of one instance: each has its own history, the latest is the current one.

#include "validation/checks/categories.hpp"
#include "validation/support/support.hpp"

#include <string>
#include <variant>
#include <vector>

namespace durable::validation {

namespace {

using Types = std::vector<std::string>;
using Ids = std::vector<std::uint64_t>;

// Sends a start that asks for the execution, and commits the turn as that execution.
void run_execution(const Store& store,
                   std::uint64_t execution_id,
                   std::vector<HistoryEvent> events,
                   const ExecutionMetadata& metadata = {}) {
    auto start = start_of("A");
    start.execution_id = execution_id;
    store.send(start);
    store.take_turn(
        "A",
        {.execution_id = execution_id, .metadata = metadata, .history_delta = std::move(events)});
}

std::string scheduled_name(const std::vector<HistoryEvent>& events,
                           Where where = Where::current()) {
    expect_eq(events.size(), 1, "the execution has one event", where);
    const auto* found = std::get_if<history::ActivityScheduled>(&events[0].kind);
    expect(found != nullptr, "the event is a scheduled activity", where);
    return found->name;
}

// Event ids begin anew in every execution, and histories do not mix.
void test_execution_isolation(Factory& factory) {
    const Store store{factory};
    run_execution(store, 1, {started(1), scheduled(2, "Activity2"), completed(3)});
    run_execution(store, 2, {started(1), scheduled(2, "Activity2")});

    expect_eq(types_of(store.read("A", 1)),
              Types{"OrchestrationStarted", "ActivityScheduled", "OrchestrationCompleted"},
              "the first execution is as it was");
    expect_eq(types_of(store.read("A", 2)),
              Types{"OrchestrationStarted", "ActivityScheduled"},
              "the second has its own history");
    expect_eq(store.read("A"), store.read("A", 2), "the latest execution is read by default");
}

void test_latest_execution_detection(Factory& factory) {
    const Store store{factory};
    run_execution(store, 1, {scheduled(1, "A")});
    run_execution(store, 2, {scheduled(1, "B")});

    expect_eq(scheduled_name(store.read("A")), "B", "the latest execution is read by default");
    expect_eq(scheduled_name(store.read("A", 1)), "A", "an older one by its id");
}

// The execution of a turn is the one that was committed last, whatever a queued start says.
void test_execution_id_sequencing(Factory& factory) {
    const Store store{factory};
    store.start("A");
    const auto first = store.fetch_turn();
    expect_eq(first.execution_id, 1, "a new instance begins with execution 1");
    store.commit(first, {.metadata = named(), .history_delta = {started()}});
    run_execution(store, 2, {started()}, named());

    auto third = start_of("A");
    third.execution_id = 3;
    store.send(third);

    const auto turn = store.fetch_turn();
    expect_eq(turn.execution_id, 2, "the current execution is the last committed one");
    expect_eq(turn.history, store.read("A", 2), "and comes with its history");
}

void test_continue_as_new_creates_new_execution(Factory& factory) {
    const Store store{factory};
    store.start("A");
    auto continued = ended(ExecutionStatus::continued_as_new, "next input");
    store.take_turn(
        "A",
        {.metadata = continued,
         .history_delta = {started(1),
                           event(2, history::OrchestrationContinuedAsNew{.input = "next input"})},
         .orchestrator_items = {continue_as_new_of("A")}});

    const auto between = store.fetch_turn();
    expect_eq(between.execution_id, 1, "until its first commit the new execution is not current");
    expect_eq(types_of(between.messages), Types{"ContinueAsNew"}, "the successor is queued");
    store.commit(between, {.execution_id = 2, .metadata = named(), .history_delta = {started(1)}});

    store.poke("A");
    const auto turn = store.fetch_turn();
    expect_eq(turn.execution_id, 2, "the new execution is current");
    expect_eq(types_of(turn.history), Types{"OrchestrationStarted"}, "with its own history only");
    expect_eq(value_of(store.admin().list_executions("A")), Ids{1, 2}, "both executions are kept");
    expect_eq(value_of(store.admin().get_execution_info("A", 1)).status,
              "ContinuedAsNew",
              "the old execution has ended");
    expect_eq(
        value_of(store.admin().get_execution_info("A", 2)).status, "Running", "the new one runs");
}

void test_execution_history_persistence(Factory& factory) {
    const Store store{factory};
    run_execution(store, 1, {scheduled(1, "Activity-1")});
    run_execution(store, 2, {scheduled(1, "Activity-2")});
    run_execution(store, 3, {scheduled(1, "Activity-3")});

    expect_eq(scheduled_name(store.read("A", 1)), "Activity-1", "the first is kept");
    expect_eq(scheduled_name(store.read("A", 2)), "Activity-2", "the second is kept");
    expect_eq(scheduled_name(store.read("A", 3)), "Activity-3", "the third is kept");
    expect_eq(scheduled_name(store.read("A")), "Activity-3", "the last one is the current");
    expect(store.read("A", 4).empty(), "there is no fourth");
}

} // namespace

CheckList multi_execution_checks() {
    static constexpr Check list[] = {
        {"test_execution_isolation", "multi_execution", "P8", test_execution_isolation},
        {"test_latest_execution_detection",
         "multi_execution",
         "P8",
         test_latest_execution_detection},
        {"test_execution_id_sequencing", "multi_execution", "P8", test_execution_id_sequencing},
        {"test_continue_as_new_creates_new_execution",
         "multi_execution",
         "P8",
         test_continue_as_new_creates_new_execution},
        {"test_execution_history_persistence",
         "multi_execution",
         "P8",
         test_execution_history_persistence},
    };
    return list;
}

} // namespace durable::validation
