// The wall clock is set while the store is in use, by NTP or by an operator. Timers follow the wall
// clock, because people choose their times; leases run on the steady clock, because mutual
// exclusion must not depend on the time of day.

#include "validation/checks/categories.hpp"
#include "validation/support/session_scenarios.hpp"
#include "validation/support/support.hpp"

#include <chrono>

namespace durable::validation {

namespace {

using namespace std::chrono_literals;

void leases_do_not_notice_a_clock_set_forward(Factory& factory) {
    auto& clock = manual_clock(factory);
    const Store store{factory};
    store.start("A");
    const auto turn = store.fetch_turn(1s);
    store.enqueue(activity("A", 1));
    const auto lease = store.fetch_work(1s);
    claim(store, of_session(2, "S"), worker("owner", {.session = 1s}));
    store.enqueue(of_session(3, "S"));

    clock.set_wall(clock.now() + 24h);

    store.expect_no_turn("no second owner of the instance");
    store.expect_no_work("nor of the activity");
    expect_nothing(store, worker("other"), "nor of the session");
    store.commit(turn, {.metadata = named(), .history_delta = {started()}});
    store.discard(lease);
}

void leases_run_out_although_the_clock_is_set_back(Factory& factory) {
    auto& clock = manual_clock(factory);
    const Store store{factory};
    store.start("A");
    const auto turn = store.fetch_turn(1s);
    store.enqueue(activity("A", 1));
    const auto lease = store.fetch_work(1s);

    clock.set_wall(clock.now() - 24h);
    clock.advance(1s);

    expect_error(store.try_commit(turn), ErrorCode::lock_lost, "the turn's second has passed");
    expect_error(store->ack_work_item(lease.lock_token, std::nullopt),
                 ErrorCode::lock_lost,
                 "the activity's second has passed");
    expect_eq(store.fetch_turn().instance, "A", "the instance is free");
    expect_eq(store.fetch_work().item.id, 1, "the activity is free");
}

// A message without a delay has no time of day: setting the clock back does not hide it.
void what_was_due_stays_due_when_the_clock_is_set_back(Factory& factory) {
    auto& clock = manual_clock(factory);
    const Store store{factory};
    store.make_running("A");
    store.poke("A");
    store.enqueue(activity("A", 1));
    store.start("B");

    clock.set_wall(clock.now() - 24h);

    expect_eq(store.fetch_turn().instance, "A", "the message is still there");
    expect_eq(store.fetch_turn().instance, "B", "and so is the start");
    expect_eq(store.fetch_work().item.id, 1, "and so is the activity");
}

void timers_follow_the_wall_clock(Factory& factory) {
    auto& clock = manual_clock(factory);
    const Store store{factory};
    store.make_running("A");
    const auto due = clock.now() + 24h;
    store.send(work::TimerFired{
        .instance = "A", .execution_id = 1, .id = 2, .fire_at_ms = to_epoch_ms(due)});
    clock.set_wall(clock.now() - 1h);
    clock.advance(24h);
    store.expect_no_turn("set back, the clock makes a timer wait longer");

    clock.set_wall(due);

    expect_eq(types_of(store.fetch_turn().messages),
              std::vector<std::string>{"TimerFired"},
              "set to its time, the clock makes it fire");
}

// Only timers have a time of day: other messages come in the order of sending.
void messages_stay_in_order_when_the_clock_is_set_back(Factory& factory) {
    auto& clock = manual_clock(factory);
    const Store store{factory};
    store.make_running("A");
    store.send(work::TimerFired{
        .instance = "A", .execution_id = 1, .id = 2, .fire_at_ms = to_epoch_ms(clock.now() + 1s)});
    store.send(completion("A", 7));
    clock.set_wall(clock.now() - 24h);
    store.send(completion("A", 8));
    clock.set_wall(clock.now() + 48h);
    store.send(completion("A", 9));

    std::vector<std::uint64_t> ids;
    for (const auto& message : store.fetch_turn().messages) {
        if (const auto* done = std::get_if<work::ActivityCompleted>(&message)) {
            ids.push_back(done->id);
        }
    }
    expect_eq(ids, std::vector<std::uint64_t>{7, 8, 9}, "as they were sent");
}

} // namespace

CheckList clock_jump_checks() {
    static constexpr Check list[] = {
        {"leases_do_not_notice_a_clock_set_forward",
         "time_boundaries",
         "P1",
         leases_do_not_notice_a_clock_set_forward},
        {"leases_run_out_although_the_clock_is_set_back",
         "time_boundaries",
         "P3",
         leases_run_out_although_the_clock_is_set_back},
        {"what_was_due_stays_due_when_the_clock_is_set_back",
         "time_boundaries",
         "P4",
         what_was_due_stays_due_when_the_clock_is_set_back},
        {"messages_stay_in_order_when_the_clock_is_set_back",
         "time_boundaries",
         "P5",
         messages_stay_in_order_when_the_clock_is_set_back},
        {"timers_follow_the_wall_clock", "time_boundaries", "P4", timers_follow_the_wall_clock},
    };
    return list;
}

} // namespace durable::validation
