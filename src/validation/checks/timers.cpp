// Timers are messages that are hidden until they are due, and can be called back.

#include "validation/checks/categories.hpp"
#include "validation/support/scenarios.hpp"

#include <chrono>

namespace durable::validation {

namespace {

using namespace std::chrono_literals;

constexpr auto delay = 500ms;
constexpr auto past_delay = 600ms;

work::TimerFired
timer(const Store& store, const std::string& instance, std::uint64_t id, Duration in = delay) {
    return {.instance = instance,
            .execution_id = 1,
            .id = id,
            .fire_at_ms = to_epoch_ms(store.now() + in)};
}

// A running instance with these timers.
void make_with_timers(const Store& store,
                      const std::string& instance,
                      std::vector<WorkItem> timers) {
    store.start(instance);
    store.take_turn(instance,
                    {.metadata = named(),
                     .history_delta = {started()},
                     .orchestrator_items = std::move(timers)});
}

std::vector<std::uint64_t> timers_in(const OrchestrationItem& turn) {
    std::vector<std::uint64_t> ids;
    for (const auto& message : turn.messages) {
        if (const auto* fired = std::get_if<work::TimerFired>(&message)) {
            ids.push_back(fired->id);
        }
    }
    return ids;
}

using Ids = std::vector<std::uint64_t>;

void a_cancelled_timer_does_not_fire(Factory& factory) {
    const Store store{factory};
    make_with_timers(store, "A", {timer(store, "A", 2), timer(store, "A", 3)});
    store.poke("A");
    store.take_turn("A", {.cancelled_timers = {2, 999}}); // unknown ids are no error

    store.pass_time(past_delay);

    expect_eq(timers_in(store.fetch_turn()), Ids{3}, "only the other one fires");
}

// It was due, and waits behind the very turn that cancels it.
void a_timer_that_is_due_can_still_be_cancelled(Factory& factory) {
    const Store store{factory};
    make_with_timers(store, "A", {timer(store, "A", 2)});
    store.poke("A");
    const auto turn = store.fetch_turn();
    store.pass_time(past_delay);

    store.commit(turn, {.cancelled_timers = {2}});

    store.expect_no_turn("a cancelled timer does not come, however late it was cancelled");
}

void a_timer_made_and_cancelled_in_one_turn_does_not_fire(Factory& factory) {
    const Store store{factory};
    store.start("A");
    store.take_turn("A",
                    {.metadata = named(),
                     .history_delta = {started()},
                     .orchestrator_items = {timer(store, "A", 2), timer(store, "A", 3, 0ms)},
                     .cancelled_timers = {2, 3}});

    store.pass_time(past_delay);

    store.expect_no_turn("made and cancelled is nothing");
}

void cancelling_a_timer_spares_other_instances_and_messages(Factory& factory) {
    const Store store{factory};
    make_with_timers(store, "B", {timer(store, "B", 2)});
    make_with_timers(store, "A", {timer(store, "A", 2)});
    store.poke("A");
    const auto turn = store.fetch_turn();
    store.send(completion("A", 2)); // the same id, but not a timer

    store.commit(turn, {.cancelled_timers = {2}});
    store.pass_time(past_delay);

    const auto first = store.fetch_turn();
    const auto second = store.fetch_turn();
    const auto& a = first.instance == "A" ? first : second;
    const auto& b = first.instance == "A" ? second : first;
    expect_eq(types_of(a.messages), std::vector<std::string>{"ActivityCompleted"}, "A's activity");
    expect_eq(timers_in(b), Ids{2}, "B's timer");
}

void cancelling_a_timer_spares_other_executions(Factory& factory) {
    const Store store{factory};
    make_with_timers(store, "A", {timer(store, "A", 2)});
    continue_as_new(store, "A", 2);
    auto second = timer(store, "A", 2);
    second.execution_id = 2;
    store.poke("A");
    store.take_turn("A", {.execution_id = 2, .orchestrator_items = {second}});
    store.poke("A");
    store.take_turn("A", {.execution_id = 2, .cancelled_timers = {2}});

    store.pass_time(past_delay);

    const auto messages = store.fetch_turn().messages;
    expect_eq(messages.size(), 1, "one of two timers with the same id is cancelled");
    expect_eq(std::get<work::TimerFired>(messages.front()).execution_id,
              1,
              "the one of the execution that cancelled");
}

// However late the turn is fetched: the shorter sleep is over first.
void timers_come_in_the_order_in_which_they_were_due(Factory& factory) {
    const Store store{factory};
    make_with_timers(store,
                     "A",
                     {timer(store, "A", 2, 400ms),
                      timer(store, "A", 3, 100ms),
                      timer(store, "A", 4, 250ms),
                      poke_of("A")});
    store.take_turn("A");
    store.pass_time(past_delay);

    expect_eq(timers_in(store.fetch_turn()), Ids{3, 4, 2}, "all are due, the earliest first");
}

// An answer that came before a deadline stays before it, however late the turn is fetched.
void what_came_before_a_timer_was_due_comes_before_it(Factory& factory) {
    const Store store{factory};
    make_with_timers(store, "A", {timer(store, "A", 2, delay)});
    store.send(completion("A", 9));
    store.pass_time(past_delay);

    expect_eq(types_of(store.fetch_turn().messages),
              std::vector<std::string>{"ActivityCompleted", "TimerFired"},
              "the answer was in time");
}

void what_came_after_a_timer_was_due_comes_after_it(Factory& factory) {
    const Store store{factory};
    make_with_timers(store, "A", {timer(store, "A", 2, delay)});
    store.send(completion("A", 8));
    store.pass_time(past_delay);
    store.send(completion("A", 9));

    const auto abandoned = store.fetch_turn();
    store.abandon(abandoned);
    const auto turn = store.fetch_turn();

    const std::vector<std::string> wanted{"ActivityCompleted", "TimerFired", "ActivityCompleted"};
    expect_eq(types_of(abandoned.messages), wanted, "the second answer was late");
    expect_eq(types_of(turn.messages), wanted, "also in the next turn");
}

void many_timers_of_one_millisecond_come_in_one_turn(Factory& factory) {
    constexpr std::uint64_t count = 2'000;
    const Store store{factory};
    std::vector<WorkItem> timers;
    Ids wanted;
    for (std::uint64_t id = 2; id < 2 + count; ++id) {
        timers.emplace_back(timer(store, "A", id, delay));
        wanted.push_back(id);
    }
    make_with_timers(store, "A", std::move(timers));
    store.pass_time(past_delay);

    expect_eq(timers_in(store.fetch_turn()), wanted, "all of them, in order");
}

void a_delayed_timer_waits_for_both_its_delay_and_its_time(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    store.send_later(timer(store, "A", 2, 0ms), delay);
    store.send_later(timer(store, "A", 3, delay), 0ms);
    store.expect_no_turn("neither is due");

    store.pass_time(past_delay);

    expect_eq(timers_in(store.fetch_turn()), Ids{2, 3}, "both are");
}

} // namespace

CheckList timer_checks() {
    static constexpr Check list[] = {
        {"a_cancelled_timer_does_not_fire", "timers", "P2", a_cancelled_timer_does_not_fire},
        {"a_timer_that_is_due_can_still_be_cancelled",
         "timers",
         "P2",
         a_timer_that_is_due_can_still_be_cancelled},
        {"a_timer_made_and_cancelled_in_one_turn_does_not_fire",
         "timers",
         "P2",
         a_timer_made_and_cancelled_in_one_turn_does_not_fire},
        {"cancelling_a_timer_spares_other_instances_and_messages",
         "timers",
         "P2",
         cancelling_a_timer_spares_other_instances_and_messages},
        {"cancelling_a_timer_spares_other_executions",
         "timers",
         "P2",
         cancelling_a_timer_spares_other_executions},
        {"timers_come_in_the_order_in_which_they_were_due",
         "timers",
         "P5",
         timers_come_in_the_order_in_which_they_were_due},
        {"what_came_before_a_timer_was_due_comes_before_it",
         "timers",
         "P5",
         what_came_before_a_timer_was_due_comes_before_it},
        {"what_came_after_a_timer_was_due_comes_after_it",
         "timers",
         "P5",
         what_came_after_a_timer_was_due_comes_after_it},
        {"many_timers_of_one_millisecond_come_in_one_turn",
         "timers",
         "P5",
         many_timers_of_one_millisecond_come_in_one_turn},
        {"a_delayed_timer_waits_for_both_its_delay_and_its_time",
         "timers",
         "P4",
         a_delayed_timer_waits_for_both_its_delay_and_its_time},
    };
    return list;
}

} // namespace durable::validation
