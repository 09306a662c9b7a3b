// P11: a waiting fetch or watch returns as soon as its work exists, by any cause: a message, a
// commit, an abandon, the end of a delay or of a lease. Each wait here lasts far longer than a
// check may take, so only a wake-up can end it.

#include "validation/checks/categories.hpp"
#include "validation/support/support.hpp"
#include "validation/support/waiting.hpp"

#include <optional>
#include <utility>

namespace durable::validation {

using namespace std::chrono_literals;

namespace {

using WaitingTurn = Waiting<std::optional<OrchestrationItem>>;
using WaitingWork = Waiting<std::optional<WorkLease>>;

// A thread that waits for a turn, or for an activity, and finds none yet.
class TurnWaiter {
 public:
    explicit TurnWaiter(const Store& store)
        : waiting_{store, [&store](std::stop_token stop) {
                       return store.try_fetch_turn({.lock_timeout = long_lease,
                                                    .poll_timeout = long_poll,
                                                    .stop = std::move(stop)});
                   }} {
        waiting_.expect_waiting("with nothing to fetch, a fetch waits");
    }
    void expect_woken_with(std::string_view instance, Where where = Where::current()) {
        const auto turn = waiting_.answer("the fetch is woken", where);
        expect(turn.has_value(), "a fetch that is woken has a turn", where);
        expect_eq(turn->instance, instance, "the turn is the one that became ready", where);
    }
    WaitingTurn& operator*() { return waiting_; }

 private:
    WaitingTurn waiting_;
};

class WorkWaiter {
 public:
    explicit WorkWaiter(const Store& store)
        : waiting_{store, [&store](std::stop_token stop) {
                       return store.try_fetch_work({.lock_timeout = long_lease,
                                                    .poll_timeout = long_poll,
                                                    .stop = std::move(stop)});
                   }} {
        waiting_.expect_waiting("with nothing to fetch, a fetch waits");
    }
    void expect_woken_with(std::uint64_t id, Where where = Where::current()) {
        const auto work = waiting_.answer("the fetch is woken", where);
        expect(work.has_value(), "a fetch that is woken has an activity", where);
        expect_eq(work->item.id, id, "the activity is the one that became ready", where);
    }
    WaitingWork& operator*() { return waiting_; }

 private:
    WaitingWork waiting_;
};

void turn_fetch_is_woken_by_a_message(Factory& factory) {
    const auto store = long_polling_store(factory);
    TurnWaiter waiter{store};

    store.start("A");

    waiter.expect_woken_with("A");
}

void turn_fetch_is_woken_by_a_finished_activity(Factory& factory) {
    const auto store = long_polling_store(factory);
    store.make_running("A");
    store.enqueue(activity("A", 1));
    const auto work = store.fetch_work();
    TurnWaiter waiter{store};

    store.finish(work);

    waiter.expect_woken_with("A");
}

// Messages that a commit sends to other instances, and those that waited for its own lease.
void turn_fetch_is_woken_by_a_commit(Factory& factory) {
    const auto store = long_polling_store(factory);
    store.start("A");
    const auto turn = store.fetch_turn();
    TurnWaiter sent{store};
    store.commit(turn,
                 {.metadata = named(),
                  .history_delta = {started()},
                  .orchestrator_items = {start_of("child")}});
    sent.expect_woken_with("child");

    store.poke("A");
    const auto next = store.fetch_turn();
    store.poke("A");
    TurnWaiter freed{store};
    store.commit(next);
    freed.expect_woken_with("A");
}

void turn_fetch_is_woken_by_an_abandoned_turn(Factory& factory) {
    const auto store = long_polling_store(factory);
    store.start("A");
    const auto turn = store.fetch_turn();
    TurnWaiter waiter{store};

    store.abandon(turn);

    waiter.expect_woken_with("A");
}

void turn_fetch_is_woken_when_a_message_becomes_due(Factory& factory) {
    const auto store = long_polling_store(factory);
    store.send_later(start_of("A"), 500ms);
    TurnWaiter waiter{store};

    store.pass_time(600ms);

    waiter.expect_woken_with("A");
}

// The wait was computed before the timer existed: a new, nearer one must shorten it.
void turn_fetch_is_woken_by_a_timer_made_while_it_waits(Factory& factory) {
    const auto store = long_polling_store(factory);
    store.make_running("A");
    TurnWaiter waiter{store};
    const auto due = to_epoch_ms(store.now() + 500ms);

    store.send(work::TimerFired{.instance = "A", .execution_id = 1, .id = 2, .fire_at_ms = due});
    store.pass_time(600ms);

    waiter.expect_woken_with("A");
}

void turn_fetch_is_woken_when_a_backoff_is_over(Factory& factory) {
    const auto store = long_polling_store(factory);
    store.start("A");
    store.abandon(store.fetch_turn(), 500ms);
    TurnWaiter waiter{store};

    store.pass_time(600ms);

    waiter.expect_woken_with("A");
}

void turn_fetch_is_woken_when_a_lease_is_over(Factory& factory) {
    const auto store = long_polling_store(factory);
    store.start("A");
    const auto lost = store.fetch_turn(store.lock_timeout());
    TurnWaiter waiter{store};

    store.outlive_lease();

    waiter.expect_woken_with("A");
}

void turn_fetch_ends_when_told_to_stop(Factory& factory) {
    const auto store = long_polling_store(factory);
    TurnWaiter waiter{store};

    (*waiter).request_stop();

    expect(!(*waiter).answer("a fetch that is told to stop returns"), "it has fetched nothing");
    store.start("A");
    expect_eq(store.fetch_turn().attempt_count, 1, "and counted nothing");
}

void work_fetch_is_woken_by_an_activity(Factory& factory) {
    const auto store = long_polling_store(factory);
    WorkWaiter waiter{store};

    store.enqueue(activity("A", 1));

    waiter.expect_woken_with(1);
}

void work_fetch_is_woken_by_a_commit(Factory& factory) {
    const auto store = long_polling_store(factory);
    store.start("A");
    const auto turn = store.fetch_turn();
    WorkWaiter waiter{store};

    store.commit(turn,
                 {.metadata = named(),
                  .history_delta = {started(), scheduled(2, "Activity2")},
                  .worker_items = {activity("A", 2)}});

    waiter.expect_woken_with(2);
}

void work_fetch_is_woken_by_an_abandoned_activity(Factory& factory) {
    const auto store = long_polling_store(factory);
    store.enqueue(activity("A", 1));
    const auto work = store.fetch_work();
    WorkWaiter waiter{store};

    store.abandon(work);

    waiter.expect_woken_with(1);
}

void work_fetch_is_woken_when_a_delay_is_over(Factory& factory) {
    const auto store = long_polling_store(factory);
    store.enqueue(activity("A", 1));
    store.abandon(store.fetch_work(), 500ms);
    WorkWaiter waiter{store};

    store.pass_time(600ms);

    waiter.expect_woken_with(1);
}

void work_fetch_is_woken_when_a_lease_is_over(Factory& factory) {
    const auto store = long_polling_store(factory);
    store.enqueue(activity("A", 1));
    const auto lost = store.fetch_work(store.lock_timeout());
    WorkWaiter waiter{store};

    store.outlive_lease();

    waiter.expect_woken_with(1);
}

void work_fetch_ends_when_told_to_stop(Factory& factory) {
    const auto store = long_polling_store(factory);
    WorkWaiter waiter{store};

    (*waiter).request_stop();

    expect(!(*waiter).answer("a fetch that is told to stop returns"), "it has fetched nothing");
    store.enqueue(activity("A", 1));
    expect_eq(store.fetch_work().attempt_count, 1, "and counted nothing");
}

void expect_one_each(WorkWaiter& first, WorkWaiter& second, Where where = Where::current()) {
    const auto one = (*first).answer("the first waiter is woken", where);
    const auto two = (*second).answer("the second waiter is woken", where);
    expect(one && two, "both have an activity", where);
    expect_ne(one->item.id, two->item.id, "not the same one", where);
}

// Several fetches wait and several items come: none sleeps on while there is work for it.
void every_waiting_fetch_gets_its_share(Factory& factory) {
    const auto store = long_polling_store(factory);
    WorkWaiter first{store};
    WorkWaiter second{store};

    store.enqueue(activity("A", 1));
    store.enqueue(activity("A", 2));

    expect_one_each(first, second);
}

// The same, when one commit brings all of them.
void a_commit_wakes_as_many_as_it_has_work_for(Factory& factory) {
    const auto store = long_polling_store(factory);
    store.start("A");
    const auto turn = store.fetch_turn();
    WorkWaiter first{store};
    WorkWaiter second{store};

    store.commit(turn,
                 {.metadata = named(),
                  .history_delta = {started()},
                  .worker_items = {activity("A", 2), activity("A", 3)}});

    expect_one_each(first, second);
}

} // namespace

CheckList wake_up_checks() {
    static constexpr Check list[] = {
        {"turn_fetch_is_woken_by_a_message",
         "long_polling",
         "P11",
         turn_fetch_is_woken_by_a_message},
        {"turn_fetch_is_woken_by_a_finished_activity",
         "long_polling",
         "P11",
         turn_fetch_is_woken_by_a_finished_activity},
        {"turn_fetch_is_woken_by_a_commit", "long_polling", "P11", turn_fetch_is_woken_by_a_commit},
        {"turn_fetch_is_woken_by_an_abandoned_turn",
         "long_polling",
         "P11",
         turn_fetch_is_woken_by_an_abandoned_turn},
        {"turn_fetch_is_woken_when_a_message_becomes_due",
         "long_polling",
         "P11",
         turn_fetch_is_woken_when_a_message_becomes_due},
        {"turn_fetch_is_woken_by_a_timer_made_while_it_waits",
         "long_polling",
         "P11",
         turn_fetch_is_woken_by_a_timer_made_while_it_waits},
        {"turn_fetch_is_woken_when_a_backoff_is_over",
         "long_polling",
         "P11",
         turn_fetch_is_woken_when_a_backoff_is_over},
        {"turn_fetch_is_woken_when_a_lease_is_over",
         "long_polling",
         "P11",
         turn_fetch_is_woken_when_a_lease_is_over},
        {"turn_fetch_ends_when_told_to_stop",
         "long_polling",
         "P13",
         turn_fetch_ends_when_told_to_stop},
        {"work_fetch_is_woken_by_an_activity",
         "long_polling",
         "P11",
         work_fetch_is_woken_by_an_activity},
        {"work_fetch_is_woken_by_a_commit", "long_polling", "P11", work_fetch_is_woken_by_a_commit},
        {"work_fetch_is_woken_by_an_abandoned_activity",
         "long_polling",
         "P11",
         work_fetch_is_woken_by_an_abandoned_activity},
        {"work_fetch_is_woken_when_a_delay_is_over",
         "long_polling",
         "P11",
         work_fetch_is_woken_when_a_delay_is_over},
        {"work_fetch_is_woken_when_a_lease_is_over",
         "long_polling",
         "P11",
         work_fetch_is_woken_when_a_lease_is_over},
        {"work_fetch_ends_when_told_to_stop",
         "long_polling",
         "P13",
         work_fetch_ends_when_told_to_stop},
        {"every_waiting_fetch_gets_its_share",
         "long_polling",
         "P11",
         every_waiting_fetch_gets_its_share},
        {"a_commit_wakes_as_many_as_it_has_work_for",
         "long_polling",
         "P11",
         a_commit_wakes_as_many_as_it_has_work_for},
    };
    return list;
}

} // namespace durable::validation
