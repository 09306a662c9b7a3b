// A failed call is reported, changes nothing, and never stops other work.

#include "validation/checks/categories.hpp"
#include "validation/support/support.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace durable::validation {

namespace {

// A commit with a token that no fetch returned is refused, and has no effect at all.
void test_invalid_lock_token_on_ack(Factory& factory) {
    const Store store{factory};

    const auto error =
        expect_error(store->ack_orchestration_item({.lock_token = "invalid-token",
                                                    .metadata = named(),
                                                    .history_delta = {started()},
                                                    .worker_items = {activity("A", 1)},
                                                    .orchestrator_items = {start_of("A")}}),
                     ErrorCode::lock_lost,
                     "an unknown token commits nothing");

    expect(error.message.contains("Invalid lock token") || error.message.contains("lock_token"),
           "the message says that the token is at fault, not: " + error.message);
    expect(!error.retryable(), "repeating a commit with an unknown token is pointless");
    store.expect_no_turn("nothing was sent");
    store.expect_no_work("no activity was queued");
}

// An event id is given once, whatever the event says.
void test_duplicate_event_id_rejection(Factory& factory) {
    const Store store{factory};
    store.start("A");
    store.take_turn("A", {.history_delta = {started()}});
    store.poke("A");
    const auto turn = store.fetch_turn();

    const auto stored = store.try_commit(turn, {.history_delta = {scheduled(1, "TooLate")}});
    const auto within =
        store.try_commit(turn, {.history_delta = {scheduled(2, "First"), scheduled(2, "Second")}});
    const auto zero = store.try_commit(turn, {.history_delta = {scheduled(0, "Unset")}});

    expect_error(stored, ErrorCode::invalid_argument, "an id of the history is taken");
    expect_error(within, ErrorCode::invalid_argument, "an id of the same commit is taken");
    expect_error(zero, ErrorCode::invalid_argument, "an event id is never 0");
    expect_eq(types_of(store.read("A")),
              std::vector<std::string>{"OrchestrationStarted"},
              "the history is as it was");
}

void test_missing_instance_metadata(Factory& factory) {
    const Store store{factory};

    expect(store.read("non-existent-instance").empty(), "an unknown instance has no history");
    expect(store.read("non-existent-instance", 1).empty(), "nor has any execution of it");
    expect(!value_of(store->watch_instance({.instance = "non-existent-instance"})).exists,
           "an unknown instance does not exist");
}

// Queue rows that do not decode are never delivered, never stop what is behind them, and stay in
// quarantine with their bytes intact.
void test_corrupted_serialization_data(Factory& factory) {
    const Store store{factory};
    const std::string damaged_turn = R"({"NoSuchMessage":{"instance":"A"}})";
    const std::string damaged_work = R"({"ActivityExecute":{"inst)";
    store.make_running("A");
    need(factory.inject_orchestrator_row("A", damaged_turn));
    need(factory.inject_orchestrator_row("unknown", damaged_turn));
    need(factory.inject_worker_row(damaged_work));
    store.expect_no_turn("a message that does not decode is no turn");
    store.expect_no_work("an activity that does not decode is not handed out");

    store.poke("A");
    store.enqueue(activity("A", 1));

    const auto turn = store.fetch_turn();
    expect_eq(turn.instance, "A", "the instance with the damaged message still runs");
    expect_eq(types_of(turn.messages),
              std::vector<std::string>{"ExternalRaised"},
              "a good message behind a damaged one is delivered, alone");
    expect_eq(turn.attempt_count, 1, "damage counts no attempt");
    expect_eq(store.fetch_work().item.id, 1, "a good activity behind a damaged one is delivered");

    const auto quarantined = value_of(store.admin().list_quarantined());
    expect_eq(quarantined.size(), 3, "every damaged row is in quarantine, once");
    const auto held = [&](std::string_view queue, const std::string& text) {
        return std::ranges::count_if(quarantined, [&](const QuarantinedItem& item) {
            return item.queue == queue && item.text == text && !item.reason.empty();
        });
    };
    expect_eq(held("orchestrator", damaged_turn), 2, "damaged messages keep their bytes");
    expect_eq(held("worker", damaged_work), 1, "a damaged activity keeps its bytes");
    expect_eq(value_of(store.admin().get_system_metrics()).quarantined_items,
              3,
              "the metrics count them");
}

// An expired lease commits nothing, even when no other fetch took over.
void test_lock_expiration_during_ack(Factory& factory) {
    const Store store{factory};
    store.start("A");
    const auto turn = store.fetch_turn(store.lock_timeout());
    store.outlive_lease();

    expect_error(store.try_commit(turn,
                                  {.metadata = named(),
                                   .history_delta = {started()},
                                   .worker_items = {activity("A", 2)},
                                   .orchestrator_items = {poke_of("A")}}),
                 ErrorCode::lock_lost,
                 "an expired lease commits nothing");

    expect(store.read("A").empty(), "the late commit appended nothing");
    store.expect_no_work("the late commit queued no activity");
    expect_eq(types_of(store.fetch_turn().messages),
              std::vector<std::string>{"StartOrchestration"},
              "the message waits for the next turn, and no other came");
}

void test_read_corrupted_history_returns_error(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    expect(!store.read("A").empty(), "the history can be read while it is whole");

    need(factory.corrupt_history("A"));

    expect_error(store->read("A"), ErrorCode::corrupt, "damage is told, not taken for emptiness");
}

void test_read_with_execution_corrupted_history_returns_error(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    expect(!store.read("A", 1).empty(), "the history can be read while it is whole");

    need(factory.corrupt_history("A"));

    expect_error(store->read_with_execution("A", 1),
                 ErrorCode::corrupt,
                 "damage is told, not taken for emptiness");
}

} // namespace

CheckList error_handling_checks() {
    static constexpr Check list[] = {
        {"test_invalid_lock_token_on_ack", "error_handling", "P3", test_invalid_lock_token_on_ack},
        {"test_duplicate_event_id_rejection",
         "error_handling",
         "P8",
         test_duplicate_event_id_rejection},
        {"test_missing_instance_metadata", "error_handling", "P13", test_missing_instance_metadata},
        {"test_corrupted_serialization_data",
         "error_handling",
         "P10",
         test_corrupted_serialization_data},
        {"test_lock_expiration_during_ack",
         "error_handling",
         "P3",
         test_lock_expiration_during_ack},
        {"test_read_corrupted_history_returns_error",
         "error_handling",
         "P10",
         test_read_corrupted_history_returns_error},
        {"test_read_with_execution_corrupted_history_returns_error",
         "error_handling",
         "P10",
         test_read_with_execution_corrupted_history_returns_error},
    };
    return list;
}

} // namespace durable::validation
