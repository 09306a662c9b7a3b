// P12: what a call reported as done is there after the store was closed and opened again. Either
// once, comparing everything; or before every call, with the checks of other promises.

#include "validation/checks/categories.hpp"
#include "validation/support/observation.hpp"
#include "validation/support/scenarios.hpp"

#include <durable/provider_admin.hpp>

#include <algorithm>
#include <chrono>
#include <initializer_list>

namespace durable::validation {

namespace {

using namespace std::chrono_literals;

void everything_committed_survives_a_reopen(Factory& factory) {
    Store store{factory};
    make_running_with(store, "A", {kv_set(2, "old", "1"), status_set(3, "begun")});
    continue_as_new(store, "A", 2);
    append_turn(
        store, "A", 2, {kv_set(2, "new", "2"), kv_cleared(3, "old"), status_set(4, "half")});
    store.make_ended("child", ExecutionStatus::failed, "A");
    store.start("queued");
    store.enqueue(activity("A", 5));
    const auto before = observe(store, {"A", "child", "queued"});

    store.reopen();

    expect_same(observe(store, {"A", "child", "queued"}), before, "a reopen changes nothing");
    expect_eq(store.fetch_turn().instance, "queued", "what was queued is delivered");
    expect_eq(store.fetch_work().item.id, 5, "and so is the activity");
    expect_eq(
        kv_snapshot(store, "A"), Values{{"old", "1"}}, "both layers of values are kept apart");
}

void attempts_survive_a_reopen(Factory& factory) {
    Store store{factory};
    store.start("A");
    store.enqueue(activity("A", 1));
    store.abandon(store.fetch_turn());
    store.abandon(store.fetch_work());

    store.reopen();

    expect_eq(store.fetch_turn().attempt_count, 2, "a crash does not forgive a poisonous message");
    expect_eq(store.fetch_work().attempt_count, 2, "nor a poisonous activity");
}

// Messages of children name the incarnation of their parent: it must be the same after a crash, and
// no later instance of an id gets one that was used before.
void incarnations_survive_a_reopen(Factory& factory) {
    Store store{factory};
    const auto told = [&](const std::string& id) {
        return value_of(store->watch_instance({.instance = id})).incarnation;
    };
    store.make_running("kept");
    store.make_running("reborn");
    const auto first = told("reborn");
    if (first == 0) {
        skip("this provider does not tell incarnations apart");
    }
    store.poke("ghost"); // forgotten again with its only activity
    store.enqueue(activity("nobody", 1));
    store.discard(store.fetch_work());
    expect_ok(store.admin().delete_instance("reborn", true), "one is deleted");
    const auto kept = told("kept");

    store.reopen();

    expect_eq(told("kept"), kept, "a reopen changes no incarnation");
    store.make_running("reborn");
    const auto second = told("reborn");
    expect(second != first && second != kept, "a later instance has a new incarnation");
    store.reopen();
    expect_eq(told("reborn"), second, "and keeps it");
    expect_eq(store.exists("kept"), true, "beside the others");
}

// The owner of the lease may be gone with its process: the work must not be lost.
void leased_work_is_not_lost_by_a_reopen(Factory& factory) {
    Store store{factory};
    store.start("A");
    store.enqueue(activity("A", 1));
    (void)store.fetch_turn(store.lock_timeout());
    (void)store.fetch_work(store.lock_timeout());

    store.reopen();
    store.outlive_lease();

    expect_eq(store.fetch_turn().instance, "A", "the turn is taken again");
    expect_eq(store.fetch_work().item.id, 1, "and so is the activity");
}

void what_was_consumed_stays_consumed(Factory& factory) {
    Store store{factory};
    store.make_running("A");
    store.enqueue(activity("A", 1));
    store.finish(store.fetch_work());
    store.take_turn("A");

    store.reopen();

    store.expect_no_turn("no message comes back");
    store.expect_no_work("no activity comes back");
}

void delays_and_timers_survive_a_reopen(Factory& factory) {
    Store store{factory};
    store.make_running("A");
    const auto due = to_epoch_ms(store.now() + 500ms);
    store.send(work::TimerFired{.instance = "A", .execution_id = 1, .id = 2, .fire_at_ms = due});
    store.send_later(start_of("B"), 500ms);

    store.reopen();

    store.expect_no_turn("neither is due");
    store.pass_time(600ms);
    expect_eq(store.fetch_turn().instance, "A", "the timer fires");
    expect_eq(store.fetch_turn().instance, "B", "the message comes");
}

void orphans_survive_a_reopen(Factory& factory) {
    Store store{factory};
    store.poke("late");

    store.reopen();

    store.expect_no_turn("an orphan waits");
    store.start("late");
    expect_eq(store.fetch_turn().messages.size(), 2, "and comes with the start");
}

void what_was_deleted_and_pruned_stays_gone(Factory& factory) {
    Store store{factory};
    store.make_ended("gone");
    make_executions(store, "pruned", 3);
    expect_ok(store.admin().delete_instance("gone", false), "deleted");
    expect_ok(store.admin().prune_executions("pruned", {.keep_last = 1}), "pruned");

    store.reopen();

    expect(!store.exists("gone"), "the instance is still gone");
    expect(store.read("gone").empty(), "and so is its history");
    expect_eq(value_of(store.admin().list_executions("pruned")),
              std::vector<std::uint64_t>{3},
              "and so are the old executions");
}

void quarantine_survives_a_reopen(Factory& factory) {
    Store store{factory};
    need(factory.inject_worker_row("not json"));
    store.expect_no_work("damage is never delivered");

    store.reopen();

    store.expect_no_work("damage is never delivered");
    const auto items = value_of(store.admin().list_quarantined());
    expect_eq(items.size(), 1, "it is still listed");
    expect_eq(items.front().text, "not json", "with its bytes");
}

// A client that waited across the restart must not mistake an old revision for a new one.
void revisions_go_on_after_a_reopen(Factory& factory) {
    Store store{factory};
    store.make_running("A");
    const auto seen = value_of(store->watch_instance({.instance = "A"})).revision;

    store.reopen();

    expect_eq(value_of(store->watch_instance({.instance = "A"})).revision, seen, "nothing changed");
    append_turn(store, "A", 1, {});
    expect_at_least(value_of(store->watch_instance({.instance = "A"})).revision,
                    seen + 1,
                    "a commit is a later revision");
}

void pending_and_parked_instances_survive_a_reopen(Factory& factory) {
    Store store{factory};
    store.start_pending("parked");
    store.park(store.fetch_turn(), "no code");
    store.hide(store.fetch_turn(), 500ms);
    store.start_pending("pending", 500ms);
    store.poke("pending");
    const auto before = observe(store, {"parked", "pending"});

    store.reopen();

    expect_same(observe(store, {"parked", "pending"}), before, "a reopen changes nothing");
    expect_error(store->start_instance(start_of("pending"), std::nullopt),
                 ErrorCode::already_exists,
                 "an id stays taken");
    store.expect_no_turn("one is hidden, the other waits for its start");
    store.pass_time(600ms);
    expect_eq(store.fetch_turn().instance, "parked", "they come as they went in");
    const auto turn = store.fetch_turn();
    expect_eq(turn.instance, "pending", "the other one, too");
    expect_eq(turn.messages.size(), 2, "with everything");
    expect_eq(turn.attempt_count, 1, "for the first time");
}

void what_an_abandon_hid_survives_a_reopen(Factory& factory) {
    Store store{factory};
    store.make_running("A");
    store.send(completion("A", 1));
    store.abandon(store.fetch_turn(), 500ms);
    store.send(completion("A", 2));

    store.reopen();

    const auto newcomer = store.fetch_turn();
    expect_eq(completion_ids(newcomer.messages),
              std::vector<std::uint64_t>{2},
              "what was hidden is hidden, and nothing else");
    store.commit(newcomer);
    store.pass_time(600ms);
    const auto hidden = store.fetch_turn();
    expect_eq(completion_ids(hidden.messages), std::vector<std::uint64_t>{1}, "until it is over");
    expect_eq(hidden.attempt_count, 2, "with its attempts");
}

// In a turn a timer stands by the moment it was due, whatever hid it since.
void where_a_delayed_timer_stands_survives_a_reopen(Factory& factory) {
    Store store{factory};
    store.make_running("A");
    const auto due = to_epoch_ms(store.now() + 100ms);
    store.send(work::TimerFired{.instance = "A", .execution_id = 1, .id = 2, .fire_at_ms = due});
    store.pass_time(200ms);
    store.abandon(store.fetch_turn(), 500ms);
    store.poke("A");

    store.reopen();

    store.pass_time(600ms);
    expect_eq(types_of(store.fetch_turn().messages),
              std::vector<std::string>{"TimerFired", "ExternalRaised"},
              "it was due first");
}

// Every check of these categories, on stores that are reopened before every call.
void rerun(Factory& factory, std::initializer_list<std::string_view> categories) {
    {
        Store store{factory};
        store.reopen(); // skips where that is not possible
    }
    const auto reopening = reopening_factory(factory);
    for (const auto& check : checks()) {
        if (std::ranges::find(categories, check.category) == categories.end()) {
            continue;
        }
        const auto verdict = run(check, *reopening);
        if (verdict.outcome == Outcome::failed) {
            fail_check(std::string{check.name} + " with reopening: " + verdict.message);
        }
    }
}

void turns_hold_when_the_store_is_reopened_before_every_call(Factory& factory) {
    rerun(factory, {"atomicity", "instance_creation", "multi_execution", "all_or_nothing"});
}

void queues_hold_when_the_store_is_reopened_before_every_call(Factory& factory) {
    rerun(factory,
          {"abandon",
           "code",
           "queue_semantics",
           "poison_message",
           "orphans",
           "timers",
           "round_trip"});
}

void state_holds_when_the_store_is_reopened_before_every_call(Factory& factory) {
    rerun(factory, {"custom_status", "kv_store", "tag_filtering", "strange_ids"});
}

void management_holds_when_the_store_is_reopened_before_every_call(Factory& factory) {
    rerun(factory,
          {"starting",
           "parked",
           "management",
           "deletion",
           "bulk_deletion",
           "prune",
           "error_classes"});
}

} // namespace

CheckList reopen_checks() {
    static constexpr Check list[] = {
        {"everything_committed_survives_a_reopen",
         "reopen",
         "P12",
         everything_committed_survives_a_reopen},
        {"attempts_survive_a_reopen", "reopen", "P7", attempts_survive_a_reopen},
        {"incarnations_survive_a_reopen", "reopen", "P12", incarnations_survive_a_reopen},
        {"leased_work_is_not_lost_by_a_reopen",
         "reopen",
         "P4",
         leased_work_is_not_lost_by_a_reopen},
        {"what_was_consumed_stays_consumed", "reopen", "P12", what_was_consumed_stays_consumed},
        {"delays_and_timers_survive_a_reopen", "reopen", "P12", delays_and_timers_survive_a_reopen},
        {"orphans_survive_a_reopen", "reopen", "P12", orphans_survive_a_reopen},
        {"what_was_deleted_and_pruned_stays_gone",
         "reopen",
         "P12",
         what_was_deleted_and_pruned_stays_gone},
        {"quarantine_survives_a_reopen", "reopen", "P10", quarantine_survives_a_reopen},
        {"revisions_go_on_after_a_reopen", "reopen", "P12", revisions_go_on_after_a_reopen},
        {"pending_and_parked_instances_survive_a_reopen",
         "reopen",
         "P12",
         pending_and_parked_instances_survive_a_reopen},
        {"what_an_abandon_hid_survives_a_reopen",
         "reopen",
         "P12",
         what_an_abandon_hid_survives_a_reopen},
        {"where_a_delayed_timer_stands_survives_a_reopen",
         "reopen",
         "P12",
         where_a_delayed_timer_stands_survives_a_reopen},
        {"turns_hold_when_the_store_is_reopened_before_every_call",
         "reopen",
         "P12",
         turns_hold_when_the_store_is_reopened_before_every_call},
        {"queues_hold_when_the_store_is_reopened_before_every_call",
         "reopen",
         "P12",
         queues_hold_when_the_store_is_reopened_before_every_call},
        {"state_holds_when_the_store_is_reopened_before_every_call",
         "reopen",
         "P12",
         state_holds_when_the_store_is_reopened_before_every_call},
        {"management_holds_when_the_store_is_reopened_before_every_call",
         "reopen",
         "P12",
         management_holds_when_the_store_is_reopened_before_every_call},
    };
    return list;
}

} // namespace durable::validation
