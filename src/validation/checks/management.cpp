// The management half shows committed state: instances, executions, numbers.

#include "validation/checks/categories.hpp"
#include "validation/support/support.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace durable::validation {

using namespace std::chrono_literals;

namespace {

using Names = std::vector<std::string>;

void test_list_instances(Factory& factory) {
    const Store store{factory};
    for (const auto* id : {"first", "second", "third"}) {
        store.make_running(id);
        store.pass_time(2ms);
    }
    store.start("only queued");

    expect_eq(value_of(store.admin().list_instances()),
              Names{"third", "second", "first"},
              "the list has every instance, newest first, and nothing else");
}

void test_list_instances_by_status(Factory& factory) {
    const Store store{factory};
    store.make_ended("completed");
    store.make_ended("failed", ExecutionStatus::failed);
    store.make_running("running");
    auto& admin = store.admin();

    expect_eq(value_of(admin.list_instances_by_status("Completed")), Names{"completed"}, "ended");
    expect_eq(value_of(admin.list_instances_by_status("Failed")), Names{"failed"}, "failed");
    expect_eq(value_of(admin.list_instances_by_status("Running")), Names{"running"}, "running");
    expect_eq(value_of(admin.list_instances_by_status("Resting")), Names{}, "an unknown status");
}

// Executions exist from their first commit, also those of an instance without a name.
void test_list_executions(Factory& factory) {
    const Store store{factory};
    store.start("A");
    store.take_turn("A", {.history_delta = {started()}});

    expect_eq(value_of(store.admin().list_executions("A")),
              std::vector<std::uint64_t>{1},
              "a committed execution is listed");
    expect(value_of(store.admin().list_executions("unknown")).empty(), "unknown: none");
}

void test_get_instance_info(Factory& factory) {
    const Store store{factory};
    const auto created = store.now();
    store.start("A");
    store.take_turn("A", {.metadata = named("InfoOrch", "2.0.0"), .history_delta = {started()}});
    store.pass_time(50ms);
    store.poke("A");
    store.take_turn("A");

    const auto info = value_of(store.admin().get_instance_info("A"));

    expect_eq(info.instance_id, "A", "the instance");
    expect_eq(info.orchestration_name, "InfoOrch", "its orchestration");
    expect_eq(info.orchestration_version, "2.0.0", "its version");
    expect_eq(info.current_execution_id, 1, "its execution");
    expect_eq(info.status, "Running", "its status");
    expect_eq(info.output, std::nullopt, "no output before the end");
    expect_eq(info.parent_instance_id, std::nullopt, "no parent");
    expect_at_least(info.created_at, created, "created with the first commit");
    expect_at_least(info.updated_at, info.created_at + 40ms, "updated with the last commit");
    expect_error(store.admin().get_instance_info("unknown"),
                 ErrorCode::not_found,
                 "an unknown instance is not found");
}

// A commit belongs to the instance of its lease; what the events say of themselves is ignored.
void test_get_execution_info(Factory& factory) {
    const Store store{factory};
    const auto before = store.now();
    store.start("A");
    auto foreign = started();
    foreign.instance_id = "somebody else";
    foreign.execution_id = 7;
    store.take_turn("A",
                    {.metadata = {.status = ExecutionStatus::completed, .output = "result"},
                     .history_delta = {foreign}});

    const auto info = value_of(store.admin().get_execution_info("A", 1));

    expect_eq(info.execution_id, 1, "the execution");
    expect_eq(info.status, "Completed", "its status");
    expect_eq(info.output, "result", "its output");
    expect_eq(info.event_count, 1, "the number of its events");
    expect_at_least(info.started_at, before, "when it began");
    expect(info.completed_at && *info.completed_at >= info.started_at, "when it ended");
    expect_error(store.admin().get_execution_info("A", 2),
                 ErrorCode::not_found,
                 "an unknown execution is not found");
    expect(store.read("somebody else").empty(), "the named stranger got nothing");
}

void test_get_system_metrics(Factory& factory) {
    const Store store{factory};
    expect_eq(value_of(store.admin().get_system_metrics()).total_instances, 0, "a fresh store");

    store.make_ended("completed");
    store.make_ended("failed", ExecutionStatus::failed);
    store.start("running");
    auto foreign = started();
    foreign.instance_id = "somebody else";
    store.take_turn("running",
                    {.metadata = named(), .history_delta = {foreign, scheduled(2, "Activity2")}});

    const auto metrics = value_of(store.admin().get_system_metrics());
    expect_eq(metrics.total_instances, 3, "all instances");
    expect_eq(metrics.total_executions, 3, "all executions");
    expect_eq(metrics.running_instances, 1, "running ones");
    expect_eq(metrics.completed_instances, 1, "completed ones");
    expect_eq(metrics.failed_instances, 1, "failed ones");
    expect_eq(metrics.total_events, 4, "all events");
    expect_eq(metrics.quarantined_items, 0, "nothing in quarantine");
    expect_eq(metrics.expired_messages, 0, "nothing expired");
}

// A depth counts the items without a lease, due or not.
void test_get_queue_depths(Factory& factory) {
    const Store store{factory};
    const auto depths = [&] { return value_of(store.admin().get_queue_depths()); };
    expect_eq(depths().orchestrator_queue, 0, "a fresh store");
    expect_eq(depths().worker_queue, 0, "a fresh store");
    expect(!depths().next_due, "nothing is due in a fresh store");

    store.start("A");
    store.send_later(poke_of("A"), 1h);
    store.enqueue(activity("A", 1));
    store.enqueue(activity("A", 2));
    expect_eq(depths().orchestrator_queue, 2, "delayed messages count");
    expect_eq(depths().worker_queue, 2, "activities count");

    const auto turn = store.fetch_turn();
    const auto work = store.fetch_work();
    expect_eq(depths().orchestrator_queue, 1, "a leased message does not count");
    expect_eq(depths().worker_queue, 1, "nor does a leased activity");

    store.abandon(turn);
    store.abandon(work);
    expect_eq(depths().orchestrator_queue, 2, "what is given back counts again");
    expect_eq(depths().worker_queue, 2, "also among activities");
    expect_eq(depths().timer_queue, 0, "timers are delayed messages");
}

void what_was_leased_in_vain_counts_as_waiting(Factory& factory) {
    const Store store{factory};
    store.start("A");
    store.enqueue(activity("A", 1));
    (void)store.fetch_turn(200ms);
    (void)store.fetch_work(200ms);

    store.pass_time(300ms);

    const auto depths = value_of(store.admin().get_queue_depths());
    expect_eq(depths.orchestrator_queue, 1, "a message whose lease is over");
    expect_eq(depths.worker_queue, 1, "an activity whose lease is over");
}

// A failure is an end like any other.
void an_execution_that_failed_has_ended(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    store.poke("A");
    store.take_turn("A", {.metadata = ended(ExecutionStatus::failed, "no truck")});

    const auto info = value_of(store.admin().get_execution_info("A", 1));
    expect_eq(info.status, "Failed", "how it ended");
    expect_eq(info.output, "no truck", "with what");
    expect(info.completed_at && *info.completed_at >= info.started_at, "and when");
}

} // namespace

CheckList management_checks() {
    static constexpr Check list[] = {
        {"test_list_instances", "management", "P2", test_list_instances},
        {"test_list_instances_by_status", "management", "P2", test_list_instances_by_status},
        {"test_list_executions", "management", "P2", test_list_executions},
        {"test_get_instance_info", "management", "P2", test_get_instance_info},
        {"test_get_execution_info", "management", "P2", test_get_execution_info},
        {"test_get_system_metrics", "management", "P2", test_get_system_metrics},
        {"test_get_queue_depths", "management", "P4", test_get_queue_depths},
        {"what_was_leased_in_vain_counts_as_waiting",
         "management",
         "P4",
         what_was_leased_in_vain_counts_as_waiting},
        {"an_execution_that_failed_has_ended",
         "management",
         "P2",
         an_execution_that_failed_has_ended},
    };
    return list;
}

} // namespace durable::validation
