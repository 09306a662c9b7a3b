// P2: a turn commit applies every effect, or none and keeps the lease.

#include "validation/checks/categories.hpp"
#include "validation/support/support.hpp"

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

namespace durable::validation {

namespace {

// A commit whose last event collides is refused whole: no event, activity, message, status, KV
// value or metadata of it is ever seen, and the lease stays.
void test_atomicity_failure_rollback(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    const auto before = value_of(store->watch_instance({.instance = "A"}));
    store.poke("A");
    const auto turn = store.fetch_turn();

    const TurnCommit collides{
        .metadata = ended(ExecutionStatus::completed, "leaked"),
        .history_delta = {event(2, history::CustomStatusUpdated{.status = "leaked"}),
                          event(3, history::KeyValueSet{.key = "leaked", .value = "x"}),
                          started(1)},
        .worker_items = {activity("A", 2)},
        .orchestrator_items = {start_of("leaked")}};
    expect_error(store.try_commit(turn, collides),
                 ErrorCode::invalid_argument,
                 "an event id that is taken is refused");

    expect_eq(types_of(store.read("A")),
              std::vector<std::string>{"OrchestrationStarted"},
              "a refused commit appends nothing");
    store.expect_no_turn("a refused commit keeps the lease and queues no message");
    store.expect_no_work("a refused commit queues no activity");
    const auto after = value_of(store->watch_instance({.instance = "A"}));
    expect_eq(after.status, before.status, "a refused commit leaves the status");
    expect_eq(after.output, before.output, "a refused commit leaves the output");
    expect_eq(after.revision, before.revision, "a refused commit is no change");
    expect_eq(value_of(store->get_custom_status("A", 0)),
              std::nullopt,
              "a refused commit leaves the custom status");
    expect_eq(value_of(store->get_kv_value("A", "leaked")),
              std::nullopt,
              "a refused commit leaves the key-value store");

    store.commit(turn, {.history_delta = {completed(2)}});
    store.expect_no_turn("the corrected commit consumed the message");
}

// Every part of a big commit arrives.
void test_multi_operation_atomic_ack(Factory& factory) {
    const Store store{factory};
    constexpr std::uint64_t long_ago = 1'234'567'890;
    store.start("A");
    store.take_turn(
        "A",
        {.history_delta = {started(1),
                           scheduled(2, "Activity2"),
                           scheduled(3, "Activity3"),
                           scheduled(4, "Activity4"),
                           event(5, history::TimerCreated{.fire_at_ms = long_ago})},
         .worker_items = {activity("A", 2), activity("A", 3), activity("A", 4)},
         .orchestrator_items = {
             work::TimerFired{.instance = "A", .execution_id = 1, .id = 5, .fire_at_ms = long_ago},
             work::ExternalRaised{.instance = "A", .name = "TestEvent", .data = "{}"}}});

    expect_eq(store.read("A").size(), 5, "all events are stored");
    for (const std::uint64_t id : {2U, 3U, 4U}) {
        expect_eq(store.fetch_work().item.id, id, "the activities are queued in order");
    }
    store.expect_no_work("each activity is queued once");
    const auto turn = store.fetch_turn();
    expect_eq(turn.instance, "A", "the messages are the instance's");
    expect_eq(types_of(turn.messages),
              std::vector<std::string>{"TimerFired", "ExternalRaised"},
              "both messages are queued in order");
}

// Neither a second fetch nor a commit with a wrong token frees an instance; time does.
void test_lock_released_only_on_successful_ack(Factory& factory) {
    const Store store{factory};
    store.start("A");
    const auto turn = store.fetch_turn(store.lock_timeout());
    store.expect_no_turn("a leased instance is not handed out");

    expect_error(store->ack_orchestration_item({.lock_token = "invalid-lock-token"}),
                 ErrorCode::lock_lost,
                 "a token that no fetch returned commits nothing");
    store.expect_no_turn("a commit with a wrong token frees nothing");

    store.outlive_lease();
    expect_eq(store.fetch_turn().instance, "A", "an expired lease frees the instance");
}

// Of two commits of one lease exactly one succeeds, whichever comes first.
void test_concurrent_ack_prevention(Factory& factory) {
    const Store store{factory};
    for (int round = 0; round < 20; ++round) {
        const auto instance = "A" + std::to_string(round);
        store.start(instance);
        const auto turn = store.fetch_turn();
        std::atomic<int> committed = 0;
        std::atomic<int> lost = 0;

        all_at_once(2, [&](std::size_t) {
            const auto result =
                store.try_commit(turn, {.metadata = named(), .history_delta = {started()}});
            if (result) {
                ++committed;
            } else {
                expect_error(result, ErrorCode::lock_lost, "the slower commit lost its lease");
                ++lost;
            }
        });

        expect_eq(committed.load(), 1, "one of two commits succeeds");
        expect_eq(lost.load(), 1, "the other is refused");
        expect_eq(store.read(instance).size(), 1, "the event is stored once");
    }
}

} // namespace

CheckList atomicity_checks() {
    static constexpr Check list[] = {
        {"test_atomicity_failure_rollback", "atomicity", "P2", test_atomicity_failure_rollback},
        {"test_multi_operation_atomic_ack", "atomicity", "P2", test_multi_operation_atomic_ack},
        {"test_lock_released_only_on_successful_ack",
         "atomicity",
         "P1",
         test_lock_released_only_on_successful_ack},
        {"test_concurrent_ack_prevention", "atomicity", "P2", test_concurrent_ack_prevention},
    };
    return list;
}

} // namespace durable::validation
