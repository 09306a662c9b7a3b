// Cancelling an activity removes its item, nothing else does; its worker gets lock_lost. The state
// of the orchestration does not matter to the worker queue.

#include "validation/checks/categories.hpp"
#include "validation/support/support.hpp"

#include <string>
#include <vector>

namespace durable::validation {

namespace {

// "A", whose first turn left one activity behind and this status.
void make_with_activity(const Store& store, std::optional<ExecutionStatus> status) {
    auto metadata = named();
    metadata.status = status;
    store.start("A");
    store.take_turn("A",
                    {.metadata = metadata,
                     .history_delta = {started(), scheduled(2, "Activity2")},
                     .worker_items = {activity("A", 2)}});
}

// The activity is delivered whole whatever the status of its orchestration, and its completion is
// accepted.
void expect_delivered(Factory& factory, ExecutionStatus status) {
    const Store store{factory};
    make_with_activity(store, status);
    expect_eq(value_of(store->watch_instance({.instance = "A"})).status,
              status,
              "the orchestration stands as the commit says");

    const auto work = store.fetch_work();

    expect_eq(work.item, activity("A", 2), "the activity comes as it was queued");
    expect_eq(work.attempt_count, 1, "as a first attempt");
    store.expect_no_work("once");
    store.finish(work);
    expect_eq(store.fetch_turn().messages,
              std::vector<WorkItem>{completion("A", 2)},
              "its completion is sent");
}

void test_fetch_returns_running_state_for_active_orchestration(Factory& factory) {
    expect_delivered(factory, ExecutionStatus::running);
}

void test_fetch_returns_terminal_state_when_orchestration_completed(Factory& factory) {
    expect_delivered(factory, ExecutionStatus::completed);
}

void test_fetch_returns_terminal_state_when_orchestration_failed(Factory& factory) {
    expect_delivered(factory, ExecutionStatus::failed);
}

void test_fetch_returns_terminal_state_when_orchestration_continued_as_new(Factory& factory) {
    expect_delivered(factory, ExecutionStatus::continued_as_new);
}

void test_fetch_returns_missing_state_when_instance_deleted(Factory& factory) {
    const Store store{factory};
    store.enqueue(activity("never existed", 1));

    const auto work = store.fetch_work();

    expect_eq(work.item, activity("never existed", 1), "an activity needs no instance");
    store.finish(work);
    store.expect_no_work("and is gone when finished");
}

// Renews a lease past its first end and sees that it holds.
void expect_renewable(const Store& store, const WorkLease& work, Where where = Where::current()) {
    store.pass_time(store.lock_timeout() / 2);
    expect_ok(
        store->renew_work_item_lock(work.lock_token, long_lease), "the lease is renewed", where);
    store.outlive_lease();
    store.expect_no_work("the renewed lease holds past its first end", where);
    store.finish(work, where);
}

void test_renew_returns_running_when_orchestration_active(Factory& factory) {
    const Store store{factory};
    make_with_activity(store, ExecutionStatus::running);

    expect_renewable(store, store.fetch_work(store.lock_timeout()));
}

void test_renew_returns_terminal_when_orchestration_completed(Factory& factory) {
    const Store store{factory};
    make_with_activity(store, ExecutionStatus::running);
    const auto work = store.fetch_work(store.lock_timeout());
    store.poke("A");
    store.take_turn("A",
                    {.metadata = {.status = ExecutionStatus::completed, .output = "done"},
                     .history_delta = {completed(3)}});
    expect_eq(value_of(store->watch_instance({.instance = "A"})).status,
              ExecutionStatus::completed,
              "the orchestration has ended");

    expect_renewable(store, work);
}

void test_renew_returns_missing_when_instance_deleted(Factory& factory) {
    const Store store{factory};
    store.enqueue(activity("never existed", 1));

    expect_renewable(store, store.fetch_work(store.lock_timeout()));
}

void test_ack_work_item_none_deletes_without_enqueue(Factory& factory) {
    const Store store{factory};
    make_with_activity(store, ExecutionStatus::running);

    store.discard(store.fetch_work());

    store.expect_no_work("the activity is gone");
    store.expect_no_turn("and no completion was sent");
}

// A turn of "A" that does nothing but cancel.
void cancel(const Store& store, std::vector<std::uint64_t> ids, Where where = Where::current()) {
    std::vector<ActivityId> cancelled;
    for (const auto id : ids) {
        cancelled.push_back({.instance = "A", .execution_id = 1, .activity_id = id});
    }
    store.poke("A", where);
    store.take_turn("A", {.cancelled_activities = std::move(cancelled)}, where);
}

// "A", whose first turn queued these activities.
void make_with_activities(const Store& store, std::uint64_t count) {
    std::vector<WorkItem> items;
    for (std::uint64_t id = 1; id <= count; ++id) {
        items.emplace_back(activity("A", id));
    }
    store.start("A");
    store.take_turn("A",
                    {.metadata = named(), .history_delta = {started()}, .worker_items = items});
}

// Cancellation removes exactly the named activities, leased or not.
void test_cancelled_activities_deleted_from_worker_queue(Factory& factory) {
    const Store store{factory};
    make_with_activities(store, 3);
    auto same_number_elsewhere = activity("B", 1);
    store.enqueue(same_number_elsewhere);
    const auto running = store.fetch_work();
    expect_eq(running.item.id, 1, "the first one is at work");

    cancel(store, {1, 2});

    expect_error(store->renew_work_item_lock(running.lock_token, long_lease),
                 ErrorCode::lock_lost,
                 "the worker learns of it when it renews");
    expect_error(store->ack_work_item(running.lock_token, completion_of(running)),
                 ErrorCode::lock_lost,
                 "or when it finishes");
    expect_eq(store.fetch_work().item.id, 3, "what was not named stays");
    expect_eq(store.fetch_work().item, same_number_elsewhere, "also of other instances");
    store.expect_no_work("what was named is gone");
    store.expect_no_turn("and sends no completion");
}

void test_ack_work_item_fails_when_entry_deleted(Factory& factory) {
    const Store store{factory};
    make_with_activity(store, ExecutionStatus::running);
    const auto work = store.fetch_work();
    store.discard(work);

    const auto error = expect_error(store->ack_work_item(work.lock_token, completion_of(work)),
                                    ErrorCode::lock_lost,
                                    "an activity that is gone cannot be finished");

    expect(!error.retryable(), "and trying again is pointless");
    store.expect_no_turn("no completion was sent");
}

void test_renew_fails_when_entry_deleted(Factory& factory) {
    const Store store{factory};
    store.enqueue(activity("A", 1));
    const auto work = store.fetch_work();
    store.discard(work);

    expect_error(store->renew_work_item_lock(work.lock_token, long_lease),
                 ErrorCode::lock_lost,
                 "an activity that is gone has no lease");
}

void test_cancelling_nonexistent_activities_is_idempotent(Factory& factory) {
    const Store store{factory};
    make_with_activities(store, 1);

    cancel(store, {999, 1});
    cancel(store, {999, 1});

    store.expect_no_work("the one that existed is gone");
    expect_eq(store.read("A").size(), 1, "the history is as it was");
}

void test_batch_cancellation_deletes_multiple_activities(Factory& factory) {
    const Store store{factory};
    make_with_activities(store, 5);

    cancel(store, {1, 2, 3, 4, 5});

    store.expect_no_work("all of them are gone");
}

// Scheduled and cancelled in one turn nets to nothing.
void test_same_activity_in_worker_items_and_cancelled_is_noop(Factory& factory) {
    const Store store{factory};
    auto dropped = activity("A", 2);
    dropped.name = "DroppedActivity";
    auto normal = activity("A", 3);
    normal.name = "NormalActivity";
    store.start("A");
    store.take_turn(
        "A",
        {.metadata = named(),
         .history_delta = {started()},
         .worker_items = {dropped, normal},
         .cancelled_activities = {{.instance = "A", .execution_id = 1, .activity_id = 2}}});

    const auto work = store.fetch_work();

    expect_eq(work.item, normal, "the other activity is there");
    store.finish(work);
    store.expect_no_work("the cancelled one never was");
}

// Deletion removes the instance's activities. One that is queued afterwards is an orphan, and is
// delivered like any other.
void test_orphan_activity_after_instance_force_deletion(Factory& factory) {
    const Store store{factory};
    make_with_activity(store, ExecutionStatus::running);
    expect_eq(value_of(store.admin().delete_instance("A", true)).instances_deleted, 1, "deleted");
    expect(!store.exists("A"), "the instance is gone");
    store.expect_no_work("and so is its activity");

    store.enqueue(activity("A", 3));

    const auto orphan = store.fetch_work();
    expect_eq(orphan.item.id, 3, "an activity needs no instance");
    store.finish(orphan);
    store.expect_no_turn("its completion finds no instance and makes none");
    expect(!store.exists("A"), "the instance stays gone");
}

} // namespace

CheckList cancellation_checks() {
    static constexpr Check list[] = {
        {"test_fetch_returns_running_state_for_active_orchestration",
         "cancellation",
         "P4",
         test_fetch_returns_running_state_for_active_orchestration},
        {"test_fetch_returns_terminal_state_when_orchestration_completed",
         "cancellation",
         "P4",
         test_fetch_returns_terminal_state_when_orchestration_completed},
        {"test_fetch_returns_terminal_state_when_orchestration_failed",
         "cancellation",
         "P4",
         test_fetch_returns_terminal_state_when_orchestration_failed},
        {"test_fetch_returns_terminal_state_when_orchestration_continued_as_new",
         "cancellation",
         "P4",
         test_fetch_returns_terminal_state_when_orchestration_continued_as_new},
        {"test_fetch_returns_missing_state_when_instance_deleted",
         "cancellation",
         "P4",
         test_fetch_returns_missing_state_when_instance_deleted},
        {"test_renew_returns_running_when_orchestration_active",
         "cancellation",
         "P1",
         test_renew_returns_running_when_orchestration_active},
        {"test_renew_returns_terminal_when_orchestration_completed",
         "cancellation",
         "P1",
         test_renew_returns_terminal_when_orchestration_completed},
        {"test_renew_returns_missing_when_instance_deleted",
         "cancellation",
         "P1",
         test_renew_returns_missing_when_instance_deleted},
        {"test_ack_work_item_none_deletes_without_enqueue",
         "cancellation",
         "P2",
         test_ack_work_item_none_deletes_without_enqueue},
        {"test_cancelled_activities_deleted_from_worker_queue",
         "cancellation",
         "P2",
         test_cancelled_activities_deleted_from_worker_queue},
        {"test_ack_work_item_fails_when_entry_deleted",
         "cancellation",
         "P3",
         test_ack_work_item_fails_when_entry_deleted},
        {"test_renew_fails_when_entry_deleted",
         "cancellation",
         "P3",
         test_renew_fails_when_entry_deleted},
        {"test_cancelling_nonexistent_activities_is_idempotent",
         "cancellation",
         "P2",
         test_cancelling_nonexistent_activities_is_idempotent},
        {"test_batch_cancellation_deletes_multiple_activities",
         "cancellation",
         "P2",
         test_batch_cancellation_deletes_multiple_activities},
        {"test_same_activity_in_worker_items_and_cancelled_is_noop",
         "cancellation",
         "P2",
         test_same_activity_in_worker_items_and_cancelled_is_noop},
        {"test_orphan_activity_after_instance_force_deletion",
         "cancellation",
         "P6",
         test_orphan_activity_after_instance_force_deletion},
    };
    return list;
}

} // namespace durable::validation
