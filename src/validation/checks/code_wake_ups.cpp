// P11 with P14: work wakes a waiting fetch that has its code. A fetch without the code must neither
// be woken nor keep another fetch from being woken. Each wait lasts longer than a check may take,
// so only a wake-up can end it.

#include "validation/checks/categories.hpp"
#include "validation/support/code_scenarios.hpp"
#include "validation/support/waiting.hpp"

#include <optional>
#include <utility>

namespace durable::validation {

namespace {

using namespace std::chrono_literals;

// A node that waits for turns of one orchestration, or for one activity, and finds none yet.
class TurnNode {
 public:
    TurnNode(const Store& store, const char* orchestration)
        : waiting_{store, [&store, orchestration](std::stop_token stop) {
                       auto request = having({{orchestration, {"1.0.0"}}});
                       request.poll_timeout = long_poll;
                       request.stop = std::move(stop);
                       return store.try_fetch_turn(request);
                   }} {
        waiting_.expect_waiting("with nothing that it can run, a fetch waits");
    }
    void expect_woken_with(std::string_view instance, Where where = Where::current()) {
        const auto turn = waiting_.answer("the node that has the code is woken", where);
        expect(turn.has_value(), "a fetch that is woken has a turn", where);
        expect_eq(turn->instance, instance, "the turn that it has the code of", where);
    }
    void expect_waiting(Where where = Where::current()) const {
        waiting_.expect_waiting("the node without the code waits on", where);
    }

 private:
    Waiting<std::optional<OrchestrationItem>> waiting_;
};

class WorkNode {
 public:
    WorkNode(const Store& store, const char* name)
        : waiting_{store, [&store, name](std::stop_token stop) {
                       auto request = having_activities({name});
                       request.poll_timeout = long_poll;
                       request.stop = std::move(stop);
                       return store.try_fetch_work(request);
                   }} {
        waiting_.expect_waiting("with nothing that it can run, a fetch waits");
    }
    void expect_woken_with(std::uint64_t id, Where where = Where::current()) {
        const auto work = waiting_.answer("the node that has the code is woken", where);
        expect(work.has_value(), "a fetch that is woken has an activity", where);
        expect_eq(work->item.id, id, "the activity that it has the code of", where);
    }
    void expect_waiting(Where where = Where::current()) const {
        waiting_.expect_waiting("the node without the code waits on", where);
    }

 private:
    Waiting<std::optional<WorkLease>> waiting_;
};

// In both orders of waiting: a store that wakes one waiter per message wakes the first or the last.
void a_turn_wakes_the_waiter_that_has_its_code(Factory& factory) {
    const auto store = long_polling_store(factory);
    TurnNode x{store, "X"};
    TurnNode y{store, "Y"};

    store.send(start_of("y", "Y", "1.0.0"));
    y.expect_woken_with("y");
    x.expect_waiting();
    TurnNode last{store, "Z"};
    store.send(start_of("x", "X", "1.0.0"));

    x.expect_woken_with("x");
    last.expect_waiting();
}

void an_activity_wakes_the_waiter_that_has_its_code(Factory& factory) {
    const auto store = long_polling_store(factory);
    WorkNode one{store, "Activity1"};
    WorkNode two{store, "Activity2"};

    store.enqueue(activity("A", 2));
    two.expect_woken_with(2);
    one.expect_waiting();
    WorkNode last{store, "Activity3"};
    store.enqueue(activity("A", 1));

    one.expect_woken_with(1);
    last.expect_waiting();
}

void a_commit_wakes_each_waiter_that_it_has_code_for(Factory& factory) {
    const auto store = long_polling_store(factory);
    store.start("A");
    const auto turn = store.fetch_turn();
    TurnNode x{store, "X"};
    TurnNode y{store, "Y"};
    WorkNode one{store, "Activity1"};
    WorkNode two{store, "Activity2"};

    store.commit(
        turn,
        {.metadata = named(),
         .history_delta = {started()},
         .worker_items = {activity("A", 2), activity("A", 1)},
         .orchestrator_items = {start_of("y", "Y", "1.0.0"), start_of("x", "X", "1.0.0")}});

    x.expect_woken_with("x");
    y.expect_woken_with("y");
    one.expect_woken_with(1);
    two.expect_woken_with(2);
}

void what_is_given_back_wakes_the_waiter_that_has_its_code(Factory& factory) {
    const auto store = long_polling_store(factory);
    store.send(start_of("y", "Y", "1.0.0"));
    store.enqueue(activity("A", 2));
    const auto turn = store.fetch_turn();
    const auto work = store.fetch_work();
    TurnNode x{store, "X"};
    TurnNode y{store, "Y"};
    WorkNode one{store, "Activity1"};
    WorkNode two{store, "Activity2"};

    store.abandon(turn);
    store.abandon(work);

    y.expect_woken_with("y");
    two.expect_woken_with(2);
    x.expect_waiting();
    one.expect_waiting();
}

void a_delay_that_is_over_wakes_the_waiter_that_has_the_code(Factory& factory) {
    const auto store = long_polling_store(factory);
    store.send_later(start_of("x", "X", "1.0.0"), 5s);
    store.send_later(start_of("y", "Y", "1.0.0"), 500ms);
    store.enqueue(activity("A", 2));
    store.abandon(store.fetch_work(), 500ms);
    TurnNode x{store, "X"};
    TurnNode y{store, "Y"};
    WorkNode one{store, "Activity1"};
    WorkNode two{store, "Activity2"};

    store.pass_time(600ms);

    y.expect_woken_with("y");
    two.expect_woken_with(2);
    x.expect_waiting();
    one.expect_waiting();
}

void a_lease_that_is_over_wakes_the_waiter_that_has_the_code(Factory& factory) {
    const auto store = long_polling_store(factory);
    store.send(start_of("y", "Y", "1.0.0"));
    store.enqueue(activity("A", 2));
    (void)store.fetch_turn(store.lock_timeout());
    (void)store.fetch_work(store.lock_timeout());
    TurnNode x{store, "X"};
    TurnNode y{store, "Y"};
    WorkNode one{store, "Activity1"};
    WorkNode two{store, "Activity2"};

    store.outlive_lease();

    y.expect_woken_with("y");
    two.expect_woken_with(2);
    x.expect_waiting();
    one.expect_waiting();
}

// Work that no node can run is queued first, and stays there.
void what_nobody_can_run_stops_no_wake_up(Factory& factory) {
    const auto store = long_polling_store(factory);
    store.send(start_of("other", "Other", "1.0.0"));
    store.enqueue(activity("A", 9));
    TurnNode x{store, "X"};
    WorkNode one{store, "Activity1"};

    store.send(start_of("x", "X", "1.0.0"));
    store.enqueue(activity("A", 1));

    x.expect_woken_with("x");
    one.expect_woken_with(1);
}

void a_pending_instance_wakes_the_waiter_that_has_its_code(Factory& factory) {
    const auto store = long_polling_store(factory);
    TurnNode y{store, "Y"};
    TurnNode x{store, "X"};

    expect_ok(store->start_instance(start_of("y", "Y", "1.0.0"), std::nullopt), "it is made");

    y.expect_woken_with("y");
    x.expect_waiting();
}

} // namespace

CheckList code_wake_up_checks() {
    static constexpr Check list[] = {
        {"a_turn_wakes_the_waiter_that_has_its_code",
         "code",
         "P11",
         a_turn_wakes_the_waiter_that_has_its_code},
        {"an_activity_wakes_the_waiter_that_has_its_code",
         "code",
         "P11",
         an_activity_wakes_the_waiter_that_has_its_code},
        {"a_commit_wakes_each_waiter_that_it_has_code_for",
         "code",
         "P11",
         a_commit_wakes_each_waiter_that_it_has_code_for},
        {"what_is_given_back_wakes_the_waiter_that_has_its_code",
         "code",
         "P11",
         what_is_given_back_wakes_the_waiter_that_has_its_code},
        {"a_delay_that_is_over_wakes_the_waiter_that_has_the_code",
         "code",
         "P11",
         a_delay_that_is_over_wakes_the_waiter_that_has_the_code},
        {"a_lease_that_is_over_wakes_the_waiter_that_has_the_code",
         "code",
         "P11",
         a_lease_that_is_over_wakes_the_waiter_that_has_the_code},
        {"what_nobody_can_run_stops_no_wake_up",
         "code",
         "P11",
         what_nobody_can_run_stops_no_wake_up},
        {"a_pending_instance_wakes_the_waiter_that_has_its_code",
         "code",
         "P11",
         a_pending_instance_wakes_the_waiter_that_has_its_code},
    };
    return list;
}

} // namespace durable::validation
