// P4, P5, P6: both queues are in order, hide what is not due, and never lose or block.

#include "validation/checks/categories.hpp"
#include "validation/support/support.hpp"

#include <string>
#include <vector>

namespace durable::validation {

using namespace std::chrono_literals;

namespace {

using Types = std::vector<std::string>;

void test_worker_queue_fifo_ordering(Factory& factory) {
    const Store store{factory};
    for (std::uint64_t id = 0; id < 5; ++id) {
        store.enqueue(activity("A", id));
    }
    for (std::uint64_t id = 0; id < 5; ++id) {
        expect_eq(store.fetch_work().item, activity("A", id), "activities come as they went in");
    }
    store.expect_no_work("each activity comes once");
}

void test_worker_peek_lock_semantics(Factory& factory) {
    const Store store{factory};
    store.enqueue(activity("A", 1));
    const auto work = store.fetch_work(store.lock_timeout());
    store.expect_no_work("a leased activity is hidden, not gone");

    store.finish(work);

    store.expect_no_work("a finished activity is gone");
    store.outlive_lease();
    store.expect_no_work("for good");
}

void test_worker_ack_atomicity(Factory& factory) {
    const Store store{factory};
    store.start("A");
    store.take_turn("A", {.history_delta = {started()}});
    store.enqueue(activity("A", 1));

    store.finish(store.fetch_work());

    store.expect_no_work("the activity is gone");
    const auto turn = store.fetch_turn();
    expect_eq(turn.instance, "A", "the completion goes to the activity's instance");
    expect_eq(turn.messages,
              std::vector<WorkItem>{completion("A", 1)},
              "exactly one completion was sent");
}

void test_timer_delayed_visibility(Factory& factory) {
    const Store store{factory};
    store.start("A");
    store.take_turn("A", {.history_delta = {started()}});
    const work::TimerFired timer{.instance = "A", .execution_id = 1, .id = 2, .fire_at_ms = 0};
    const auto delay = store.lock_timeout();
    store.send_later(timer, delay);
    store.pass_time(delay / 2);
    store.expect_no_turn("a delayed message is hidden");

    store.pass_time(delay / 2 + 100ms);

    const auto turn = store.fetch_turn();
    expect_eq(turn.instance, "A", "a delayed message comes when it is due");
    expect_eq(turn.messages, std::vector<WorkItem>{timer}, "exactly as it was sent");
}

void test_lost_lock_token_handling(Factory& factory) {
    const Store store{factory};
    store.enqueue(activity("A", 1));
    const auto lost = store.fetch_work(store.lock_timeout());
    store.expect_no_work("a leased activity is hidden");

    store.outlive_lease();

    const auto again = store.fetch_work();
    expect_eq(again.item, lost.item, "an activity whose worker vanished comes again");
    expect_eq(again.attempt_count, 2, "as a second attempt");
}

void test_worker_item_immediate_visibility(Factory& factory) {
    const Store store{factory};
    store.enqueue(activity("A", 1));

    const auto work = store.fetch_work(store.lock_timeout());

    expect_eq(work.item, activity("A", 1), "an activity is ready as soon as it is queued");
    store.finish(work);
}

void test_worker_delayed_visibility_skips_future_items(Factory& factory) {
    const Store store{factory};
    store.enqueue(activity("A", 1));
    store.enqueue(activity("A", 2));
    const auto delayed = store.fetch_work();
    expect_eq(delayed.item.id, 1, "the oldest comes first");
    store.abandon(delayed, 500ms);

    const auto second = store.fetch_work();
    expect_eq(second.item.id, 2, "a delayed activity stops nothing behind it");
    store.expect_no_work("and is hidden itself");

    store.pass_time(600ms);
    const auto first = store.fetch_work();
    expect_eq(first.item.id, 1, "until its delay is over");
    store.finish(first);
    store.finish(second);
}

// Mailbox messages for an instance that has not started wait aside: they are never delivered
// alone, never stop others, and come with the start, in order. (The reference deletes them; here
// nothing is dropped silently.)
void test_orphan_queue_messages_dropped(Factory& factory) {
    const Store store{factory};
    const work::QueueMessage first{.instance = "late", .name = "inbox", .data = "1"};
    const work::QueueMessage second{.instance = "late", .name = "inbox", .data = "2"};
    const work::QueueMessage other{.instance = "existing", .name = "inbox", .data = "3"};
    store.send(first);
    store.send(second);
    store.expect_no_turn("messages alone are no turn");
    store.expect_no_turn("however often one asks");

    store.make_running("existing");
    store.send(other);
    const auto behind = store.fetch_turn();
    expect_eq(behind.instance, "existing", "waiting messages stop nothing behind them");
    expect_eq(behind.messages, std::vector<WorkItem>{other}, "a running instance gets its own");
    store.commit(behind);

    store.start("late");
    const auto turn = store.fetch_turn();
    expect_eq(turn.instance, "late", "the start makes them deliverable");
    expect_eq(turn.messages,
              std::vector<WorkItem>{first, second, start_of("late")},
              "they come with it, as they went in");
    expect_eq(turn.attempt_count, 1, "waiting counted no attempt");
}

} // namespace

CheckList queue_semantics_checks() {
    static constexpr Check list[] = {
        {"test_worker_queue_fifo_ordering",
         "queue_semantics",
         "P5",
         test_worker_queue_fifo_ordering},
        {"test_worker_peek_lock_semantics",
         "queue_semantics",
         "P4",
         test_worker_peek_lock_semantics},
        {"test_worker_ack_atomicity", "queue_semantics", "P2", test_worker_ack_atomicity},
        {"test_timer_delayed_visibility", "queue_semantics", "P4", test_timer_delayed_visibility},
        {"test_lost_lock_token_handling", "queue_semantics", "P4", test_lost_lock_token_handling},
        {"test_worker_item_immediate_visibility",
         "queue_semantics",
         "P5",
         test_worker_item_immediate_visibility},
        {"test_worker_delayed_visibility_skips_future_items",
         "queue_semantics",
         "P6",
         test_worker_delayed_visibility_skips_future_items},
        {"test_orphan_queue_messages_dropped",
         "queue_semantics",
         "P6",
         test_orphan_queue_messages_dropped},
    };
    return list;
}

} // namespace durable::validation
