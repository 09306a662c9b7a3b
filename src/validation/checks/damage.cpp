// P10: what cannot be decoded is quarantined with its bytes intact, listed and counted. It is never
// delivered, never lost, and never blocks other work.

#include "validation/checks/categories.hpp"
#include "validation/support/scenarios.hpp"

#include <durable/codec.hpp>
#include <durable/provider_admin.hpp>

#include <algorithm>

namespace durable::validation {

namespace {

// Bytes of every kind of damage; the last ones are not even text.
const std::vector<std::string>& damaged_texts() {
    static const std::vector<std::string> texts{
        "not json",
        "",
        "{}",
        "null",
        "[1,2]",
        R"({"FromTheFuture":{"instance":"A"}})",
        R"({"ExternalRaised":{"instance":"A"}})",
        R"({"ExternalRaised":{"instance":"A","name":"n","da)",
        R"({"ExternalRaised":{"instance":7,"name":"n","data":"d"}})",
        "\xff\xfe\x80",
        std::string{"nul\0inside", 10},
    };
    return texts;
}

// Puts every damaged text into a queue; gives those that this store can hold at all.
template <class Inject>
std::vector<std::string> inject_all(Inject inject) {
    std::vector<std::string> stored;
    for (const auto& text : damaged_texts()) {
        const auto injected = inject(text);
        if (injected || injected.error().code != ErrorCode::invalid_argument) {
            need(injected);
            stored.push_back(text);
        }
    }
    std::ranges::sort(stored);
    return stored;
}

// The texts in quarantine that came from this queue, sorted.
std::vector<std::string> quarantined(const Store& store, std::string_view queue) {
    std::vector<std::string> texts;
    for (const auto& item : value_of(store.admin().list_quarantined())) {
        if (item.queue == queue) {
            texts.push_back(item.text);
        }
    }
    std::ranges::sort(texts);
    return texts;
}

void damaged_messages_stop_neither_their_instance_nor_others(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    const auto damaged = inject_all(
        [&](const std::string& text) { return factory.inject_orchestrator_row("A", text); });
    store.poke("A");
    store.start("B");

    const auto turn = store.fetch_turn();
    expect_eq(turn.instance, "A", "the instance goes on");
    expect_eq(turn.messages, std::vector<WorkItem>{poke_of("A")}, "with what is readable");
    store.commit(turn);
    expect_eq(store.fetch_turn().instance, "B", "and so does its neighbour");
    expect_eq(quarantined(store, "orchestrator"),
              damaged,
              "no commit consumes what was never delivered, and no byte is changed");
}

void damaged_messages_of_unknown_instances_are_set_aside(Factory& factory) {
    const Store store{factory};
    need(factory.inject_orchestrator_row("ghost", "not json"));
    store.start("real");

    expect_eq(store.fetch_turn().instance, "real", "real work passes");
    store.expect_no_turn("damage is never delivered");
    const auto items = value_of(store.admin().list_quarantined());
    expect_eq(items.size(), 1, "it is set aside");
    expect_eq(items.front().instance, "ghost", "under the instance it was stored for");
    expect_eq(items.front().text, "not json", "with its bytes");
}

void damaged_activities_stop_no_worker(Factory& factory) {
    const Store store{factory};
    const auto damaged =
        inject_all([&](const std::string& text) { return factory.inject_worker_row(text); });
    store.enqueue(activity("A", 1));

    const auto lease = store.fetch_work();
    expect_eq(lease.item, activity("A", 1), "a worker is given what is readable");
    expect_eq(lease.attempt_count, 1, "as usual");
    store.discard(lease);
    store.expect_no_work("damage is never delivered");
    expect_eq(quarantined(store, "worker"), damaged, "it is kept, byte by byte");
}

// Readable, but not what the queue carries: a worker could not run it.
void rows_in_the_wrong_queue_are_set_aside(Factory& factory) {
    const Store store{factory};
    const auto start = value_of(encode(WorkItem{start_of("A")}));
    const auto execute = value_of(encode(WorkItem{activity("A", 1)}));
    need(factory.inject_worker_row(start));
    need(factory.inject_orchestrator_row("A", execute));

    store.expect_no_work("a worker cannot run a message");
    store.expect_no_turn("an orchestration cannot receive an activity");
    expect_eq(quarantined(store, "worker"), std::vector{start}, "the message is set aside");
    expect_eq(quarantined(store, "orchestrator"), std::vector{execute}, "and so is the activity");
}

void quarantined_items_are_counted_dated_and_explained(Factory& factory) {
    const Store store{factory};
    const auto before = store.now();
    need(factory.inject_orchestrator_row("A", "first"));
    need(factory.inject_worker_row("second"));
    store.expect_no_turn("damage is never delivered");
    store.expect_no_work("damage is never delivered");

    const auto items = value_of(store.admin().list_quarantined());
    expect_eq(items.size(), 2, "both are listed");
    expect_eq(value_of(store.admin().get_system_metrics()).quarantined_items, 2, "and counted");
    expect_ne(items[0].id, items[1].id, "each has its own id");
    for (const auto& item : items) {
        expect(!item.reason.empty(), "each says what is wrong with it");
        expect(before <= item.quarantined_at && item.quarantined_at <= store.now(),
               "each says since when");
    }
    const auto depths = value_of(store.admin().get_queue_depths());
    expect_eq(depths.orchestrator_queue + depths.worker_queue, 0, "none of them waits in a queue");
}

void damage_to_an_old_execution_spares_the_current_one(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {scheduled(2, "First"), scheduled(3, "Second")});
    continue_as_new(store, "A", 2);
    need(factory.corrupt_event("A", 1, 2));

    expect_error(store->read_with_execution("A", 1),
                 ErrorCode::corrupt,
                 "a history with one unreadable event is not read");
    expect_error(
        store.admin().read_history_with_execution_id("A", 1), ErrorCode::corrupt, "nor listed");
    expect_eq(store.read("A").size(), 1, "the current execution is whole");
    store.poke("A");
    const auto turn = store.fetch_turn();
    expect_eq(turn.history_error, std::nullopt, "and takes its turns");
    store.commit(turn, {.execution_id = 2});
}

void damage_to_one_event_hides_the_whole_history_from_turns(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(2, "key", "value")});
    complete(store, "A");
    append_turn(store, "A", 1, {scheduled(3, "Second")});
    store.make_running("B");
    need(factory.corrupt_event("A", 1, 3));
    store.poke("A");
    store.poke("B");

    const auto damaged = store.fetch_turn();
    expect_eq(damaged.instance, "A", "the damaged instance is handed out");
    expect(damaged.history_error.has_value(), "with the error");
    expect(damaged.history.empty(), "and not with the readable part, which would replay wrongly");
    expect(damaged.kv_snapshot.empty(), "nor with values");
    const auto whole = store.fetch_turn();
    expect_eq(whole.instance, "B", "other instances are whole");
    expect_eq(whole.history_error, std::nullopt, "other instances are whole");
    store.commit(damaged, {.history_delta = {scheduled(4, "Third")}});
    expect_error(store->read("A"), ErrorCode::corrupt, "what is appended mends nothing");
}

void a_damaged_instance_can_be_deleted_and_pruned(Factory& factory) {
    const Store store{factory};
    make_executions(store, "A", 2);
    need(factory.corrupt_history("A"));

    const auto pruned = value_of(store.admin().prune_executions("A", {.keep_last = 1}));
    expect_eq(pruned.executions_deleted, 1, "damage does not keep an execution alive");
    const auto deleted = value_of(store.admin().delete_instance("A", true));
    expect_eq(deleted.instances_deleted, 1, "nor an instance");
    store.make_running("A");
    expect_eq(store.read("A").size(), 1, "and a namesake is whole");
}

} // namespace

CheckList damage_checks() {
    static constexpr Check list[] = {
        {"damaged_messages_stop_neither_their_instance_nor_others",
         "damage",
         "P10",
         damaged_messages_stop_neither_their_instance_nor_others},
        {"damaged_messages_of_unknown_instances_are_set_aside",
         "damage",
         "P10",
         damaged_messages_of_unknown_instances_are_set_aside},
        {"damaged_activities_stop_no_worker", "damage", "P10", damaged_activities_stop_no_worker},
        {"rows_in_the_wrong_queue_are_set_aside",
         "damage",
         "P10",
         rows_in_the_wrong_queue_are_set_aside},
        {"quarantined_items_are_counted_dated_and_explained",
         "damage",
         "P10",
         quarantined_items_are_counted_dated_and_explained},
        {"damage_to_an_old_execution_spares_the_current_one",
         "damage",
         "P8",
         damage_to_an_old_execution_spares_the_current_one},
        {"damage_to_one_event_hides_the_whole_history_from_turns",
         "damage",
         "P8",
         damage_to_one_event_hides_the_whole_history_from_turns},
        {"a_damaged_instance_can_be_deleted_and_pruned",
         "damage",
         "P10",
         a_damaged_instance_can_be_deleted_and_pruned},
    };
    return list;
}

} // namespace durable::validation
