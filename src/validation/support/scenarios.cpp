#include "validation/support/scenarios.hpp"

#include <utility>

namespace durable::validation {

namespace {

// Above every id that a check gives its own events.
constexpr std::uint64_t last_event = 9'999;

} // namespace

HistoryEvent kv_set(std::uint64_t id, const std::string& key, const std::string& value) {
    return event(id, history::KeyValueSet{.key = key, .value = value, .last_updated_at_ms = id});
}

HistoryEvent kv_cleared(std::uint64_t id, const std::string& key) {
    return event(id, history::KeyValueCleared{.key = key});
}

HistoryEvent kv_all_cleared(std::uint64_t id) {
    return event(id, history::KeyValuesCleared{});
}

HistoryEvent status_set(std::uint64_t id, std::optional<std::string> status) {
    return event(id, history::CustomStatusUpdated{.status = std::move(status)});
}

void append_turn(const Store& store,
                 const std::string& instance,
                 std::uint64_t execution_id,
                 std::vector<HistoryEvent> events,
                 Where where) {
    store.poke(instance, where);
    store.take_turn(
        instance, {.execution_id = execution_id, .history_delta = std::move(events)}, where);
}

void make_running_with(const Store& store,
                       const std::string& instance,
                       std::vector<HistoryEvent> events,
                       Where where) {
    store.make_running(instance, where);
    append_turn(store, instance, 1, std::move(events), where);
}

void continue_as_new(const Store& store,
                     const std::string& instance,
                     std::uint64_t next,
                     Where where) {
    store.poke(instance, where);
    store.take_turn(
        instance,
        {.execution_id = next - 1,
         .metadata = {.status = ExecutionStatus::continued_as_new, .output = "{}"},
         .history_delta = {event(last_event, history::OrchestrationContinuedAsNew{.input = "{}"})},
         .orchestrator_items = {continue_as_new_of(instance)}},
        where);
    store.take_turn(instance, {.execution_id = next, .history_delta = {started()}}, where);
}

void complete(const Store& store,
              const std::string& instance,
              std::uint64_t execution_id,
              Where where) {
    store.poke(instance, where);
    store.take_turn(instance,
                    {.execution_id = execution_id,
                     .metadata = {.status = ExecutionStatus::completed, .output = "done"},
                     .history_delta = {completed(last_event)}},
                    where);
}

void make_executions(const Store& store,
                     const std::string& instance,
                     std::uint64_t executions,
                     Where where) {
    store.make_running(instance, where);
    for (std::uint64_t next = 2; next <= executions; ++next) {
        continue_as_new(store, instance, next, where);
    }
}

std::optional<std::string>
kv(const Store& store, const std::string& instance, const std::string& key, Where where) {
    return value_of(store->get_kv_value(instance, key), where);
}

Values kv_snapshot(const Store& store, const std::string& instance, Where where) {
    store.poke(instance, where);
    const auto turn = store.fetch_turn(long_lease, where);
    expect_eq(turn.instance, instance, "the next turn is of the instance at hand", where);
    Values values;
    for (const auto& [key, entry] : turn.kv_snapshot) {
        values.emplace(key, entry.value);
    }
    store.commit(turn, {.execution_id = turn.execution_id}, where);
    return values;
}

} // namespace durable::validation
