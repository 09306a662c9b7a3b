// P16: work that was fetched suspect_after times and never ended may have killed its process.
// Fetches that ask for it get one suspect at a time, of turns and activities together, so that no
// healthy work is lost when a suspect kills the process.

#include "validation/checks/categories.hpp"
#include "validation/support/scenarios.hpp"
#include "validation/support/waiting.hpp"

#include <durable/provider_admin.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <utility>

namespace durable::validation {

namespace {

using namespace std::chrono_literals;

std::optional<OrchestrationItem> careful_turn(const Store& store, Duration lease = long_lease) {
    return store.try_fetch_turn({.lock_timeout = lease, .one_suspect = true});
}

std::optional<WorkLease> careful_work(const Store& store, Duration lease = long_lease) {
    return store.try_fetch_work({.lock_timeout = lease, .one_suspect = true});
}

// Started, tried suspect_after times each, and free again. Nothing else may be ready.
void make_suspect_turns(const Store& store, const std::vector<std::string>& instances) {
    std::vector<OrchestrationItem> held;
    for (const auto& instance : instances) {
        store.start_pending(instance);
        for (std::uint32_t attempt = 1; attempt < suspect_after; ++attempt) {
            store.abandon(store.fetch_turn());
        }
        held.push_back(store.fetch_turn());
        expect_eq(held.back().instance, instance, "each is tried alone");
    }
    for (const auto& turn : held) {
        store.abandon(turn);
    }
}

void make_suspect_activities(const Store& store, const std::vector<std::uint64_t>& ids) {
    std::vector<WorkLease> held;
    for (const auto id : ids) {
        store.enqueue(activity("work", id));
        for (std::uint32_t attempt = 1; attempt < suspect_after; ++attempt) {
            store.abandon(store.fetch_work());
        }
        held.push_back(store.fetch_work());
        expect_eq(held.back().item.id, id, "each is tried alone");
    }
    for (const auto& lease : held) {
        store.abandon(lease);
    }
}

void one_suspect_turn_is_given_at_a_time(Factory& factory) {
    const Store store{factory};
    make_suspect_turns(store, {"A", "B"});
    store.start("healthy");

    const auto first = careful_turn(store);
    expect(first && first->instance == "A", "the oldest suspect is given");
    const auto next = careful_turn(store);
    expect(next && next->instance == "healthy", "healthy work passes the other");
    expect(!careful_turn(store), "which waits");

    store.commit(*first, {.metadata = named(), .history_delta = {started()}});

    const auto second = careful_turn(store);
    expect(second && second->instance == "B", "until the first has ended");
    expect_eq(second->attempt_count, suspect_after + 1, "passing it over counted nothing");
}

void one_suspect_activity_is_given_at_a_time(Factory& factory) {
    const Store store{factory};
    make_suspect_activities(store, {1, 2});
    store.enqueue(activity("work", 3));

    const auto first = careful_work(store);
    expect(first && first->item.id == 1, "the oldest suspect is given");
    const auto next = careful_work(store);
    expect(next && next->item.id == 3, "healthy work passes the other");
    expect(!careful_work(store), "which waits");

    store.discard(*first);

    const auto second = careful_work(store);
    expect(second && second->item.id == 2, "until the first has ended");
    expect_eq(second->attempt_count, suspect_after + 1, "passing it over counted nothing");
}

void a_suspect_of_one_queue_holds_back_those_of_the_other(Factory& factory) {
    const Store store{factory};
    make_suspect_turns(store, {"A"});
    make_suspect_activities(store, {1});

    const auto turn = careful_turn(store);
    expect(turn.has_value(), "a suspect turn is given");
    expect(!careful_work(store), "so no suspect activity is");
    store.abandon(*turn);
    const auto work = careful_work(store);
    expect(work.has_value(), "then the other way round: a suspect activity is given");
    expect(!careful_turn(store), "so no suspect turn is");
}

void what_was_tried_less_often_is_no_suspect(Factory& factory) {
    const Store store{factory};
    std::vector<OrchestrationItem> turns;
    std::vector<WorkLease> works;
    for (const std::uint64_t id : {1U, 2U}) {
        store.start("A" + std::to_string(id));
        turns.push_back(store.fetch_turn());
        store.enqueue(activity("work", id));
        works.push_back(store.fetch_work());
    }
    for (const auto& turn : turns) {
        store.abandon(turn); // tried once
    }
    for (const auto& work : works) {
        store.abandon(work);
    }

    expect(careful_turn(store) && careful_turn(store), "both turns are given");
    expect(careful_work(store) && careful_work(store), "and both activities");
}

// A message that cannot be delivered now makes no turn a suspect.
void hidden_messages_make_no_suspect(Factory& factory) {
    const Store store{factory};
    make_suspect_turns(store, {"guilty"});
    const auto held = careful_turn(store);
    expect(held.has_value(), "a suspect is under way");
    store.make_running("A");
    store.poke("A");
    store.abandon(store.fetch_turn());
    store.abandon(store.fetch_turn(), 1h);
    expect(!careful_turn(store), "its message is hidden");

    store.poke("A");

    const auto turn = careful_turn(store);
    expect(turn && turn->instance == "A", "a newcomer is healthy");
    expect_eq(turn->messages.size(), 1, "and comes alone");
}

void the_most_tried_message_makes_the_suspect(Factory& factory) {
    const Store store{factory};
    make_suspect_turns(store, {"guilty", "A"});
    store.poke("A"); // never tried
    const auto held = careful_turn(store);
    expect(held && held->instance == "guilty", "a suspect is under way");

    expect(!careful_turn(store), "one message that was tried often is enough");
}

// What ends the hold of a suspect turn, and of a suspect activity.
struct Release {
    const char* how;
    std::function<void(const Store&, const OrchestrationItem& suspect)> turn;
    std::function<void(const Store&, const WorkLease& suspect, const OrchestrationItem& canceller)>
        work;
};

void begin_running(const Store& store, const OrchestrationItem& turn) {
    store.commit(turn, {.metadata = named(), .history_delta = {started()}});
}

std::vector<Release> releases() {
    return {
        {"an end",
         begin_running,
         [](const Store& store, const WorkLease& work, const auto&) { store.discard(work); }},
        {"giving it back",
         [](const Store& store, const OrchestrationItem& turn) { store.abandon(turn, 1h); },
         [](const Store& store, const WorkLease& work, const auto&) { store.abandon(work, 1h); }},
        {"expiry",
         [](const Store& store, const OrchestrationItem&) { store.outlive_lease(); },
         [](const Store& store, const WorkLease&, const auto&) { store.outlive_lease(); }},
        {"cancellation or deletion",
         [](const Store& store, const OrchestrationItem& turn) {
             (void)value_of(store.admin().delete_instance(turn.instance, true));
         },
         [](const Store& store, const WorkLease& work, const OrchestrationItem& canceller) {
             store.commit(canceller,
                          {.metadata = named(),
                           .history_delta = {started()},
                           .cancelled_activities = {{.instance = work.item.instance,
                                                     .execution_id = work.item.execution_id,
                                                     .activity_id = work.item.id}}});
         }},
    };
}

// A store with one suspect of each queue, and a turn under way that can cancel.
struct Accused {
    explicit Accused(Store fresh) : store{std::move(fresh)} {
        store.start("canceller");
        canceller = store.fetch_turn();
        make_suspect_turns(store, {"A"});
        make_suspect_activities(store, {1});
    }
    Store store;
    OrchestrationItem canceller;
};

void a_suspect_turn_that_is_over_lets_the_next_come(Factory& factory) {
    for (const auto& release : releases()) {
        const Accused accused{Store{factory}};
        const auto& store = accused.store;
        const auto held = careful_turn(store, store.lock_timeout());
        expect(held.has_value(), "a suspect is given");
        expect(!careful_work(store), "and the only one");

        release.turn(store, *held);

        expect(careful_work(store).has_value(), std::string{release.how} + " lets the next come");
    }
}

void a_suspect_activity_that_is_over_lets_the_next_come(Factory& factory) {
    for (const auto& release : releases()) {
        const Accused accused{Store{factory}};
        const auto& store = accused.store;
        const auto held = careful_work(store, store.lock_timeout());
        expect(held.has_value(), "a suspect is given");
        expect(!careful_turn(store), "and the only one");

        release.work(store, *held, accused.canceller);

        expect(careful_turn(store).has_value(), std::string{release.how} + " lets the next come");
    }
}

void renewing_keeps_the_others_waiting(Factory& factory) {
    const Store store{factory};
    const auto lease = store.lock_timeout();
    make_suspect_turns(store, {"A", "B"});
    const auto turn = careful_turn(store, lease);
    expect(turn.has_value(), "a suspect is given");
    store.pass_time(lease * 6 / 10);
    expect_ok(store->renew_orchestration_item_lock(turn->lock_token, lease), "and renewed");

    store.pass_time(lease * 6 / 10);

    expect(!careful_turn(store), "it still runs");
}

void renewing_a_suspect_activity_keeps_the_others_waiting(Factory& factory) {
    const Store store{factory};
    const auto lease = store.lock_timeout();
    make_suspect_activities(store, {1, 2});
    const auto work = careful_work(store, lease);
    expect(work.has_value(), "a suspect is given");
    store.pass_time(lease * 6 / 10);
    expect_ok(store->renew_work_item_lock(work->lock_token, lease), "and renewed");

    store.pass_time(lease * 6 / 10);

    expect(!careful_work(store), "it still runs");
}

void fetches_that_do_not_ask_are_not_held_back(Factory& factory) {
    const Store store{factory};
    make_suspect_turns(store, {"A", "B"});
    make_suspect_activities(store, {1, 2});

    expect(careful_turn(store).has_value(), "a suspect is under way");

    expect_eq(store.fetch_turn().instance, "B", "a fetch without one_suspect gets the next turn");
    expect_eq(store.fetch_work().item.id, 1, "and activities");
    expect_eq(store.fetch_work().item.id, 2, "all of them");
}

void fetches_that_do_not_ask_hold_nobody_back(Factory& factory) {
    const Store store{factory};
    make_suspect_turns(store, {"A", "B"});
    make_suspect_activities(store, {1, 2});
    expect_eq(store.fetch_turn().instance, "A", "given to a fetch that did not ask");
    expect_eq(store.fetch_work().item.id, 1, "and so is this");

    const auto turn = careful_turn(store);

    expect(turn && turn->instance == "B", "those do not count");
    expect(!careful_work(store), "this one does");
}

void a_turn_fetch_is_woken_when_the_suspect_is_over(Factory& factory) {
    for (const auto& release : releases()) {
        const Accused accused{long_polling_store(factory)};
        const auto& store = accused.store;
        const auto held = careful_work(store, store.lock_timeout());
        expect(held.has_value(), "a suspect is given");
        Waiting<std::optional<OrchestrationItem>> waiting{store, [&](std::stop_token stop) {
                                                              return store.try_fetch_turn(
                                                                  {.lock_timeout = long_lease,
                                                                   .poll_timeout = long_poll,
                                                                   .stop = std::move(stop),
                                                                   .one_suspect = true});
                                                          }};
        waiting.expect_waiting("the other suspect waits");

        release.work(store, *held, accused.canceller);

        const auto turn = waiting.answer(std::string{release.how} + " wakes the fetch that waits");
        expect(turn && turn->instance == "A", "and it is given the other suspect");
    }
}

void a_work_fetch_is_woken_when_the_suspect_is_over(Factory& factory) {
    for (const auto& release : releases()) {
        const Accused accused{long_polling_store(factory)};
        const auto& store = accused.store;
        const auto held = careful_turn(store, store.lock_timeout());
        expect(held.has_value(), "a suspect is given");
        Waiting<std::optional<WorkLease>> waiting{store, [&](std::stop_token stop) {
                                                      return store.try_fetch_work(
                                                          {.lock_timeout = long_lease,
                                                           .poll_timeout = long_poll,
                                                           .stop = std::move(stop),
                                                           .one_suspect = true});
                                                  }};
        waiting.expect_waiting("the other suspect waits");

        release.turn(store, *held);

        const auto work = waiting.answer(std::string{release.how} + " wakes the fetch that waits");
        expect(work && work->item.id == 1, "and it is given the other suspect");
    }
}

} // namespace

CheckList suspect_checks() {
    static constexpr Check list[] = {
        {"one_suspect_turn_is_given_at_a_time",
         "suspects",
         "P16",
         one_suspect_turn_is_given_at_a_time},
        {"one_suspect_activity_is_given_at_a_time",
         "suspects",
         "P16",
         one_suspect_activity_is_given_at_a_time},
        {"a_suspect_of_one_queue_holds_back_those_of_the_other",
         "suspects",
         "P16",
         a_suspect_of_one_queue_holds_back_those_of_the_other},
        {"what_was_tried_less_often_is_no_suspect",
         "suspects",
         "P16",
         what_was_tried_less_often_is_no_suspect},
        {"hidden_messages_make_no_suspect", "suspects", "P16", hidden_messages_make_no_suspect},
        {"the_most_tried_message_makes_the_suspect",
         "suspects",
         "P16",
         the_most_tried_message_makes_the_suspect},
        {"a_suspect_turn_that_is_over_lets_the_next_come",
         "suspects",
         "P16",
         a_suspect_turn_that_is_over_lets_the_next_come},
        {"a_suspect_activity_that_is_over_lets_the_next_come",
         "suspects",
         "P16",
         a_suspect_activity_that_is_over_lets_the_next_come},
        {"renewing_keeps_the_others_waiting", "suspects", "P16", renewing_keeps_the_others_waiting},
        {"renewing_a_suspect_activity_keeps_the_others_waiting",
         "suspects",
         "P16",
         renewing_a_suspect_activity_keeps_the_others_waiting},
        {"fetches_that_do_not_ask_are_not_held_back",
         "suspects",
         "P16",
         fetches_that_do_not_ask_are_not_held_back},
        {"fetches_that_do_not_ask_hold_nobody_back",
         "suspects",
         "P16",
         fetches_that_do_not_ask_hold_nobody_back},
        {"a_turn_fetch_is_woken_when_the_suspect_is_over",
         "suspects",
         "P11",
         a_turn_fetch_is_woken_when_the_suspect_is_over},
        {"a_work_fetch_is_woken_when_the_suspect_is_over",
         "suspects",
         "P11",
         a_work_fetch_is_woken_when_the_suspect_is_over},
    };
    return list;
}

} // namespace durable::validation
