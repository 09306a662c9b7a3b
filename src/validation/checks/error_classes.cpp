// Every error of every call has a code that its caller can act on, is not retryable, and names the
// call: an engine must not retry what can never succeed.

#include "validation/checks/categories.hpp"
#include "validation/support/support.hpp"

#include <durable/provider_admin.hpp>

namespace durable::validation {

namespace {

template <class T>
void expect_class(const Result<T>& result,
                  ErrorCode code,
                  std::string_view operation,
                  Where where = Where::current()) {
    const auto error = expect_error(result, code, "the call is refused", where);
    expect_eq(error.operation, operation, "the error names the call", where);
    expect(!error.message.empty(), "the error says what is wrong", where);
    expect(!error.retryable(), "the error is not worth a retry", where);
}

// Items that only the other queue may carry.
std::vector<WorkItem> messages() {
    const ErrorDetails failed = details::Application{.message = "boom"};
    return {start_of("A"),
            continue_as_new_of("A"),
            completion("A", 1),
            work::ActivityFailed{.instance = "A", .execution_id = 1, .id = 1, .details = failed},
            work::TimerFired{.instance = "A", .execution_id = 1, .id = 1},
            poke_of("A"),
            work::QueueMessage{.instance = "A", .name = "n", .data = "d"},
            work::SubOrchCompleted{.parent_instance = "A", .parent_id = 1},
            work::SubOrchFailed{.parent_instance = "A", .parent_id = 1, .details = failed},
            work::CancelInstance{.instance = "A", .reason = "r"}};
}

bool completes(const WorkItem& item) {
    return std::holds_alternative<work::ActivityCompleted>(item) ||
           std::holds_alternative<work::ActivityFailed>(item);
}

const std::string not_utf8 = "\xff";

void errors_of_ack_orchestration_item(Factory& factory) {
    constexpr auto operation = "ack_orchestration_item";
    const Store store{factory};
    expect_class(
        store->ack_orchestration_item({.lock_token = "unknown"}), ErrorCode::lock_lost, operation);
    store.make_running("A");
    store.poke("A");
    const auto turn = store.fetch_turn(store.lock_timeout());

    const auto refuse = [&](TurnCommit commit, Where where = Where::current()) {
        expect_class(store.try_commit(turn, std::move(commit)),
                     ErrorCode::invalid_argument,
                     operation,
                     where);
    };
    refuse({.history_delta = {scheduled(0, "unset")}});
    refuse({.history_delta = {scheduled(1, "taken")}});
    refuse({.history_delta = {scheduled(2, "twice"), scheduled(2, "twice")}});
    refuse({.history_delta = {scheduled(2, not_utf8)}});
    refuse({.orchestrator_items = {activity("A", 2)}});
    for (const auto& message : messages()) {
        refuse({.worker_items = {message}});
    }

    store.outlive_lease();
    expect_class(store.try_commit(turn), ErrorCode::lock_lost, operation);
}

void errors_of_turn_leases(Factory& factory) {
    const Store store{factory};
    store.start("A");
    const auto turn = store.fetch_turn(store.lock_timeout());

    expect_class(store->abandon_orchestration_item(
                     {.lock_token = "unknown", .delay = std::nullopt, .ignore_attempt = false}),
                 ErrorCode::lock_lost,
                 "abandon_orchestration_item");
    expect_class(store->renew_orchestration_item_lock("unknown", long_lease),
                 ErrorCode::lock_lost,
                 "renew_orchestration_item_lock");
    store.outlive_lease();
    expect_class(store->renew_orchestration_item_lock(turn.lock_token, long_lease),
                 ErrorCode::lock_lost,
                 "renew_orchestration_item_lock");
    store.abandon(turn);
    expect_class(
        store->abandon_orchestration_item(
            {.lock_token = turn.lock_token, .delay = std::nullopt, .ignore_attempt = false}),
        ErrorCode::lock_lost,
        "abandon_orchestration_item");
}

void errors_of_append_with_execution(Factory& factory) {
    constexpr auto operation = "append_with_execution";
    const Store store{factory};
    store.make_running("A");

    for (const auto& refused :
         {scheduled(0, "unset"), scheduled(1, "taken"), scheduled(2, not_utf8)}) {
        expect_class(store->append_with_execution("A", 1, {refused}),
                     ErrorCode::invalid_argument,
                     operation);
    }
    expect_class(store->append_with_execution(not_utf8, 1, {scheduled(1, "fine")}),
                 ErrorCode::invalid_argument,
                 operation);
}

void errors_of_enqueueing(Factory& factory) {
    const Store store{factory};

    for (const auto& message : messages()) {
        expect_class(
            store->enqueue_for_worker(message), ErrorCode::invalid_argument, "enqueue_for_worker");
    }
    auto unreadable = activity("A", 1);
    unreadable.input = not_utf8;
    expect_class(
        store->enqueue_for_worker(unreadable), ErrorCode::invalid_argument, "enqueue_for_worker");
    expect_class(store->enqueue_for_orchestrator(activity("A", 1), std::nullopt),
                 ErrorCode::invalid_argument,
                 "enqueue_for_orchestrator");
    expect_class(store->enqueue_for_orchestrator(poke_of(not_utf8), std::nullopt),
                 ErrorCode::invalid_argument,
                 "enqueue_for_orchestrator");
}

void errors_of_ack_work_item(Factory& factory) {
    constexpr auto operation = "ack_work_item";
    const Store store{factory};
    expect_class(store->ack_work_item("unknown", std::nullopt), ErrorCode::lock_lost, operation);
    store.enqueue(activity("A", 1));
    const auto lease = store.fetch_work(store.lock_timeout());

    for (const auto& message : messages()) {
        if (!completes(message)) {
            expect_class(store->ack_work_item(lease.lock_token, message),
                         ErrorCode::invalid_argument,
                         operation);
        }
    }
    expect_class(store->ack_work_item(lease.lock_token, activity("A", 1)),
                 ErrorCode::invalid_argument,
                 operation);
    auto unreadable = completion("A", 1);
    unreadable.result = not_utf8;
    expect_class(
        store->ack_work_item(lease.lock_token, unreadable), ErrorCode::invalid_argument, operation);

    store.outlive_lease();
    expect_class(store->ack_work_item(lease.lock_token, completion("A", 1)),
                 ErrorCode::lock_lost,
                 operation);
    const auto again = store.fetch_work();
    store.discard(again);
    expect_class(
        store->ack_work_item(again.lock_token, std::nullopt), ErrorCode::lock_lost, operation);
}

void errors_of_activity_leases(Factory& factory) {
    const Store store{factory};
    store.enqueue(activity("A", 1));
    const auto lease = store.fetch_work(store.lock_timeout());

    expect_class(store->renew_work_item_lock("unknown", long_lease),
                 ErrorCode::lock_lost,
                 "renew_work_item_lock");
    expect_class(store->abandon_work_item("unknown", std::nullopt, false),
                 ErrorCode::lock_lost,
                 "abandon_work_item");
    store.outlive_lease();
    expect_class(store->renew_work_item_lock(lease.lock_token, long_lease),
                 ErrorCode::lock_lost,
                 "renew_work_item_lock");
    store.abandon(lease);
    expect_class(store->abandon_work_item(lease.lock_token, std::nullopt, false),
                 ErrorCode::lock_lost,
                 "abandon_work_item");
}

void errors_of_reading_damage(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    need(factory.corrupt_history("A"));

    expect_class(store->read("A"), ErrorCode::corrupt, "read");
    expect_class(store->read_with_execution("A", 1), ErrorCode::corrupt, "read_with_execution");
    auto& admin = store.admin();
    expect_class(admin.read_history("A"), ErrorCode::corrupt, "read_history");
    expect_class(admin.read_history_with_execution_id("A", 1),
                 ErrorCode::corrupt,
                 "read_history_with_execution_id");
}

void errors_of_looking_for_what_is_not_there(Factory& factory) {
    const Store store{factory};
    auto& admin = store.admin();
    store.make_running("A");

    expect_class(admin.get_instance_info("unknown"), ErrorCode::not_found, "get_instance_info");
    expect_class(
        admin.get_execution_info("unknown", 1), ErrorCode::not_found, "get_execution_info");
    expect_class(admin.get_execution_info("A", 2), ErrorCode::not_found, "get_execution_info");
    expect_class(admin.get_parent_id("unknown"), ErrorCode::not_found, "get_parent_id");
    expect_class(admin.delete_instance("unknown", true), ErrorCode::not_found, "delete_instance");
    expect_class(admin.prune_executions("unknown", {}), ErrorCode::not_found, "prune_executions");
}

void errors_of_deletion(Factory& factory) {
    const Store store{factory};
    auto& admin = store.admin();
    store.make_running("root");
    store.make_ended("child", ExecutionStatus::completed, "root");

    expect_class(admin.delete_instance("root", false), ErrorCode::still_running, "delete_instance");
    expect_class(admin.delete_instance("child", false), ErrorCode::not_a_root, "delete_instance");
    expect_class(admin.delete_instance("child", true), ErrorCode::not_a_root, "delete_instance");
    expect_class(admin.delete_instances_atomic({"root", "child"}, false),
                 ErrorCode::still_running,
                 "delete_instances_atomic");
    expect_class(admin.delete_instances_atomic({"root"}, true),
                 ErrorCode::has_children,
                 "delete_instances_atomic");
}

// For an instance that does not exist these answer "nothing" instead of an error, because their
// callers ask before anything exists.
void asking_early_is_no_error(Factory& factory) {
    const Store store{factory};
    expect_eq(store.read("unknown").size(), 0, "no history");
    expect_eq(store.read("unknown", 7).size(), 0, "no history");
    expect_eq(value_of(store->get_custom_status("unknown", 0)), std::nullopt, "no status");
    expect_eq(value_of(store->get_kv_value("unknown", "key")), std::nullopt, "no value");
    expect_eq(value_of(store->get_kv_all_values("unknown")).size(), 0, "no values");
    expect(!value_of(store->get_instance_stats("unknown")), "no statistics");
    expect_eq(value_of(store->renew_session_lock({"unknown"}, long_lease, long_lease)), 0, "none");
    expect_eq(value_of(store->cleanup_orphaned_sessions(long_lease)), 0, "no sessions");
    expect_ok(store->append_with_execution("unknown", 1, {}), "nothing can be appended");

    auto& admin = store.admin();
    expect_eq(value_of(admin.list_instances()).size(), 0, "no instances");
    expect_eq(value_of(admin.list_instances_by_status("NoSuchStatus")).size(), 0, "no instances");
    expect_eq(value_of(admin.list_executions("unknown")).size(), 0, "no executions");
    expect_eq(value_of(admin.read_history("unknown")).size(), 0, "no history");
    expect_eq(value_of(admin.latest_execution_id("unknown")), 1, "the first would be 1");
    expect_eq(value_of(admin.list_children("unknown")).size(), 0, "no children");
    expect_eq(value_of(admin.list_quarantined()).size(), 0, "no damage");
    expect_eq(value_of(admin.delete_instances_atomic({}, false)).instances_deleted, 0, "none");
    expect_eq(value_of(admin.delete_instances_atomic({"unknown"}, false)).instances_deleted,
              0,
              "ids that do not exist are tolerated");
    expect_eq(value_of(admin.delete_instance_bulk({})).instances_deleted, 0, "nothing to delete");
    expect_eq(value_of(admin.prune_executions_bulk({}, {})).instances_processed, 0, "to prune");
}

} // namespace

CheckList error_class_checks() {
    static constexpr Check list[] = {
        {"errors_of_ack_orchestration_item",
         "error_classes",
         "P3",
         errors_of_ack_orchestration_item},
        {"errors_of_turn_leases", "error_classes", "P3", errors_of_turn_leases},
        {"errors_of_append_with_execution", "error_classes", "P8", errors_of_append_with_execution},
        {"errors_of_enqueueing", "error_classes", "P2", errors_of_enqueueing},
        {"errors_of_ack_work_item", "error_classes", "P3", errors_of_ack_work_item},
        {"errors_of_activity_leases", "error_classes", "P3", errors_of_activity_leases},
        {"errors_of_reading_damage", "error_classes", "P10", errors_of_reading_damage},
        {"errors_of_looking_for_what_is_not_there",
         "error_classes",
         "P2",
         errors_of_looking_for_what_is_not_there},
        {"errors_of_deletion", "error_classes", "P2", errors_of_deletion},
        {"asking_early_is_no_error", "error_classes", "P13", asking_early_is_no_error},
    };
    return list;
}

} // namespace durable::validation
