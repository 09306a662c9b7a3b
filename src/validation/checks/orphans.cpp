// P6, P10: messages for an instance that has not started wait aside and stop nothing. They are
// delivered when it starts, or expire and are counted.

#include "validation/checks/categories.hpp"
#include "validation/support/scenarios.hpp"

#include <durable/provider_admin.hpp>

#include <chrono>

namespace durable::validation {

namespace {

using namespace std::chrono_literals;

// One message of every kind that cannot start an instance.
std::vector<WorkItem> orphans_of(const std::string& ghost) {
    const ErrorDetails failed = details::Application{.message = "boom"};
    return {
        work::ActivityCompleted{.instance = ghost, .execution_id = 1, .id = 2, .result = "r"},
        work::ActivityFailed{.instance = ghost, .execution_id = 1, .id = 3, .details = failed},
        work::TimerFired{.instance = ghost, .execution_id = 1, .id = 4, .fire_at_ms = 1},
        work::ExternalRaised{.instance = ghost, .name = "event", .data = "d"},
        work::QueueMessage{.instance = ghost, .name = "inbox", .data = "d"},
        work::SubOrchCompleted{
            .parent_instance = ghost, .parent_execution_id = 1, .parent_id = 5, .result = "r"},
        work::SubOrchFailed{
            .parent_instance = ghost, .parent_execution_id = 1, .parent_id = 6, .details = failed},
        work::CancelInstance{.instance = ghost, .reason = "mistyped"},
    };
}

void an_orphan_of_any_kind_lets_real_work_pass(Factory& factory) {
    for (const auto& orphan : orphans_of("ghost")) {
        const Store store{factory};
        store.send(orphan);
        store.start("real");

        const auto turn = store.fetch_turn();

        expect_eq(turn.instance, "real", "an orphan " + std::string{type_name(orphan)} + " waits");
        store.commit(turn, {.metadata = named(), .history_delta = {started()}});
        store.expect_no_turn("and is not delivered alone");
    }
}

void orphans_come_with_the_start_as_they_went_in(Factory& factory) {
    const Store store{factory};
    auto wanted = orphans_of("ghost");
    for (const auto& orphan : wanted) {
        store.send(orphan);
    }
    store.expect_no_turn("orphans alone are no turn");
    store.expect_no_turn("however often one asks");

    store.start("ghost");

    wanted.emplace_back(start_of("ghost"));
    const auto turn = store.fetch_turn();
    expect_eq(turn.messages, wanted, "everything that waited comes, in its order");
    expect_eq(turn.attempt_count, 1, "waiting counted no attempt");
}

void orphans_sent_by_a_commit_wait_as_well(Factory& factory) {
    const Store store{factory};
    auto wanted = orphans_of("ghost");
    store.start("sender");
    store.take_turn(
        "sender",
        {.metadata = named(), .history_delta = {started()}, .orchestrator_items = wanted});
    store.expect_no_turn("orphans alone are no turn");

    store.send(continue_as_new_of("ghost"));

    wanted.emplace_back(continue_as_new_of("ghost"));
    expect_eq(store.fetch_turn().messages, wanted, "they come, in their order");
}

void orphans_make_no_instance(Factory& factory) {
    const Store store{factory};
    for (const auto& orphan : orphans_of("ghost")) {
        store.send(orphan);
    }
    store.expect_no_turn("orphans alone are no turn");

    expect(!store.exists("ghost"), "messages alone do not make an instance");
    expect(!value_of(store->watch_instance({.instance = "ghost"})).exists, "not for watchers");
    expect(!value_of(store->get_instance_stats("ghost")), "nor for statistics");
    expect_eq(value_of(store.admin().get_queue_depths()).orchestrator_queue,
              orphans_of("ghost").size(),
              "they are in the queue");
}

void a_crowd_of_orphans_lets_real_work_pass(Factory& factory) {
    constexpr int ghosts = 1'000;
    const Store store{factory};
    for (int ghost = 0; ghost < ghosts; ++ghost) {
        store.poke("ghost-" + std::to_string(ghost));
    }

    store.make_running("real");
    store.poke("real");

    expect_eq(store.fetch_turn().instance, "real", "one turn or the next, orphans wait aside");
    store.start("ghost-500");
    expect_eq(store.fetch_turn().messages.size(), 2, "each of them still waits for its start");
}

void orphans_expire_and_are_counted(Factory& factory) {
    if (factory.clock() == nullptr) {
        skip("needs a clock that moves by hand");
    }
    const Store store{factory};
    const auto orphans = orphans_of("ghost");
    for (const auto& orphan : orphans) {
        store.send(orphan);
    }

    store.pass_time(factory.unstarted_message_ttl() + 1s);

    store.expect_no_turn("there is nothing to deliver");
    expect_eq(value_of(store.admin().get_system_metrics()).expired_messages,
              orphans.size(),
              "what expired is counted");
    store.start("ghost");
    expect_eq(store.fetch_turn().messages, std::vector<WorkItem>{start_of("ghost")}, "and is gone");
}

// A message that can be delivered does not expire, however long no fetch takes it.
void messages_of_an_instance_that_can_run_never_expire(Factory& factory) {
    if (factory.clock() == nullptr) {
        skip("needs a clock that moves by hand");
    }
    const Store store{factory};
    const auto lifetime = factory.unstarted_message_ttl();
    store.make_running("running");
    store.poke("running");
    store.poke("late");
    store.pass_time(lifetime - 1s);
    store.start("late"); // just in time

    store.pass_time(lifetime + 1s);

    expect_eq(store.fetch_turn().instance, "running", "a running instance keeps its message");
    const auto late = store.fetch_turn();
    expect_eq(late.instance, "late", "and so does one whose start is queued");
    expect_eq(late.messages.size(), 2, "with what had waited for it");
    expect_eq(value_of(store.admin().get_system_metrics()).expired_messages, 0, "nothing expired");
}

// The answers of activities and children may arrive after their instance was deleted.
void messages_for_a_deleted_instance_wait_aside(Factory& factory) {
    const Store store{factory};
    store.make_ended("gone");
    expect_ok(store.admin().delete_instance("gone", false), "an ended instance is deleted");
    store.send(completion("gone", 2));
    store.start("real");

    expect_eq(store.fetch_turn().instance, "real", "late answers stop no other work");
    store.start("gone");
    const auto reborn = store.fetch_turn();
    expect_eq(reborn.instance, "gone", "the id can be used again");
    expect_eq(reborn.execution_id, 1, "from the beginning");
    expect(reborn.history.empty(), "without a past");
}

} // namespace

CheckList orphan_checks() {
    static constexpr Check list[] = {
        {"an_orphan_of_any_kind_lets_real_work_pass",
         "orphans",
         "P6",
         an_orphan_of_any_kind_lets_real_work_pass},
        {"orphans_come_with_the_start_as_they_went_in",
         "orphans",
         "P6",
         orphans_come_with_the_start_as_they_went_in},
        {"orphans_sent_by_a_commit_wait_as_well",
         "orphans",
         "P6",
         orphans_sent_by_a_commit_wait_as_well},
        {"orphans_make_no_instance", "orphans", "P6", orphans_make_no_instance},
        {"a_crowd_of_orphans_lets_real_work_pass",
         "orphans",
         "P6",
         a_crowd_of_orphans_lets_real_work_pass},
        {"orphans_expire_and_are_counted", "orphans", "P10", orphans_expire_and_are_counted},
        {"messages_of_an_instance_that_can_run_never_expire",
         "orphans",
         "P4",
         messages_of_an_instance_that_can_run_never_expire},
        {"messages_for_a_deleted_instance_wait_aside",
         "orphans",
         "P6",
         messages_for_a_deleted_instance_wait_aside},
    };
    return list;
}

} // namespace durable::validation
