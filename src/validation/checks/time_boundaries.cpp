// What happens exactly when something ends, and at the ends of time. `now == locked_until` is
// expired, `now == visible_at` is visible, and no duration is too long to be added to a time.

#include "validation/checks/categories.hpp"
#include "validation/support/session_scenarios.hpp"
#include "validation/support/support.hpp"

#include <chrono>
#include <limits>

namespace durable::validation {

namespace {

using namespace std::chrono_literals;

constexpr auto never = std::numeric_limits<std::uint64_t>::max();
constexpr auto forever = Duration::max();
constexpr auto century = std::chrono::hours{24 * 365 * 100};

work::TimerFired timer(std::uint64_t id, std::uint64_t fire_at_ms) {
    return {.instance = "A", .execution_id = 1, .id = id, .fire_at_ms = fire_at_ms};
}

void a_turn_lease_is_over_exactly_when_its_time_is(Factory& factory) {
    auto& clock = manual_clock(factory);
    const Store store{factory};
    store.start("A");
    const auto turn = store.fetch_turn(1s);
    clock.advance(999ms);
    store.expect_no_turn("a millisecond earlier the lease lives");

    clock.advance(1ms);

    expect_error(store.try_commit(turn), ErrorCode::lock_lost, "at its end it commits nothing");
    expect_error(store->renew_orchestration_item_lock(turn.lock_token, 1s),
                 ErrorCode::lock_lost,
                 "and is not renewed");
    expect_eq(store.fetch_turn().instance, "A", "the instance is free");
}

void a_renewed_lease_is_over_exactly_when_its_time_is(Factory& factory) {
    auto& clock = manual_clock(factory);
    const Store store{factory};
    store.start("A");
    const auto turn = store.fetch_turn(1s);
    clock.advance(999ms);
    expect_ok(store->renew_orchestration_item_lock(turn.lock_token, 1s),
              "the last moment to renew");
    clock.advance(999ms);
    store.expect_no_turn("a millisecond earlier the lease lives");

    clock.advance(1ms);

    expect_error(store.try_commit(turn), ErrorCode::lock_lost, "at its end it commits nothing");
    expect_eq(store.fetch_turn().instance, "A", "the instance is free");
}

void a_turn_commits_in_the_last_millisecond_of_its_lease(Factory& factory) {
    auto& clock = manual_clock(factory);
    const Store store{factory};
    store.start("A");
    const auto turn = store.fetch_turn(1s);

    clock.advance(999ms);

    store.commit(turn, {.metadata = named(), .history_delta = {started()}});
}

void an_activity_lease_is_over_exactly_when_its_time_is(Factory& factory) {
    auto& clock = manual_clock(factory);
    const Store store{factory};
    store.enqueue(activity("A", 1));
    const auto lease = store.fetch_work(1s);
    clock.advance(999ms);
    store.expect_no_work("a millisecond earlier the lease lives");

    clock.advance(1ms);

    expect_error(store->renew_work_item_lock(lease.lock_token, 1s),
                 ErrorCode::lock_lost,
                 "at its end it is not renewed");
    expect_error(store->ack_work_item(lease.lock_token, std::nullopt),
                 ErrorCode::lock_lost,
                 "and completes nothing");
    expect_eq(store.fetch_work().attempt_count, 2, "the activity is free");
}

void a_session_lease_is_over_exactly_when_its_time_is(Factory& factory) {
    auto& clock = manual_clock(factory);
    const Store store{factory};
    claim(store, of_session(1, "S"), worker("owner", {.session = 1s}));
    store.enqueue(of_session(2, "S"));
    clock.advance(999ms);
    expect_nothing(store, worker("other"), "a millisecond earlier the session is the owner's");

    clock.advance(1ms);

    expect_eq(value_of(store->renew_session_lock({"owner"}, 1s, 1h)), 0, "it is not renewed");
    (void)take(store, worker("other"), 2);
}

void a_delay_is_over_exactly_when_its_time_is(Factory& factory) {
    auto& clock = manual_clock(factory);
    const Store store{factory};
    store.send_later(start_of("A"), 500ms);
    store.enqueue(activity("A", 1));
    store.abandon(store.fetch_work(), 500ms);
    clock.advance(499ms);
    store.expect_no_turn("a millisecond earlier the message is hidden");
    store.expect_no_work("and so is the activity");

    clock.advance(1ms);

    expect_eq(store.fetch_turn().instance, "A", "then the message is visible");
    expect_eq(store.fetch_work().item.id, 1, "and so is the activity");
}

void a_backoff_is_over_exactly_when_its_time_is(Factory& factory) {
    auto& clock = manual_clock(factory);
    const Store store{factory};
    store.start("A");
    store.abandon(store.fetch_turn(), 500ms);
    clock.advance(499ms);
    store.expect_no_turn("a millisecond earlier the instance is hidden");

    clock.advance(1ms);

    expect_eq(store.fetch_turn().instance, "A", "then it is visible");
}

void a_timer_fires_exactly_when_it_is_due(Factory& factory) {
    auto& clock = manual_clock(factory);
    const Store store{factory};
    store.make_running("A");
    store.send(timer(1, to_epoch_ms(store.now() + 500ms)));
    clock.advance(499ms);
    store.expect_no_turn("a millisecond earlier it is hidden");

    clock.advance(1ms);

    expect_eq(types_of(store.fetch_turn().messages),
              std::vector<std::string>{"TimerFired"},
              "then it fires");
}

void timers_at_the_ends_of_time_are_harmless(Factory& factory) {
    auto& clock = manual_clock(factory);
    const Store store{factory};
    store.make_running("A");
    store.send(timer(1, never));
    store.send(timer(2, never - 1));
    store.send(timer(3, 0));

    const auto turn = store.fetch_turn();

    expect_eq(turn.messages, std::vector<WorkItem>{timer(3, 0)}, "1970 is past");
    store.commit(turn, {.orchestrator_items = {timer(4, never), timer(5, 0)}});
    store.take_turn("A");
    clock.advance(century);
    store.expect_no_turn("the last millisecond of time never comes");
}

void the_longest_durations_do_not_wrap(Factory& factory) {
    auto& clock = manual_clock(factory);
    const Store store{factory};
    store.start("leased");
    const auto turn = store.fetch_turn(forever);
    store.enqueue(activity("A", 1));
    const auto lease = store.fetch_work(forever);
    expect_ok(store->renew_orchestration_item_lock(turn.lock_token, forever), "a renewal is long");
    expect_ok(store->renew_work_item_lock(lease.lock_token, forever), "a renewal is long");
    store.send_later(start_of("delayed"), forever);
    store.start("hidden");
    store.abandon(store.fetch_turn(), forever);
    store.enqueue(activity("A", 2));
    store.abandon(store.fetch_work(), forever);
    claim(store, of_session(3, "S"), worker("owner", {.session = forever}));
    store.enqueue(of_session(4, "S"));

    clock.advance(century);

    store.expect_no_turn("nothing that is leased, delayed or hidden forever comes");
    store.expect_no_work("nor any such activity");
    expect_nothing(store, worker("other"), "a session owned forever has no other owner");
    store.commit(turn, {.metadata = named(), .history_delta = {started()}});
    store.discard(lease);
    store.start("at once");
    expect_eq(store.try_fetch_turn({.lock_timeout = long_lease, .poll_timeout = forever})->instance,
              "at once",
              "a long poll that has something to give does not wait");
}

void a_lease_of_no_time_is_over_at_once(Factory& factory) {
    (void)manual_clock(factory);
    const Store store{factory};
    store.start("A");
    const auto turn = store.fetch_turn(0ms);
    expect_error(store.try_commit(turn), ErrorCode::lock_lost, "it cannot commit");
    const auto late = store.fetch_turn(-1s);
    expect_error(store.try_commit(late), ErrorCode::lock_lost, "less than no time neither");
    expect_eq(store.fetch_turn().attempt_count, 3, "but each fetch counts");
}

void a_delay_of_no_time_hides_nothing(Factory& factory) {
    (void)manual_clock(factory);
    const Store store{factory};
    store.send_later(start_of("A"), 0ms);
    store.send_later(start_of("B"), -1h);
    const auto first = store.fetch_turn();
    const auto second = store.fetch_turn();
    expect_eq(first.instance + second.instance, "AB", "both come at once");

    store.abandon(first, 0ms);
    store.abandon(second, -1h);

    expect_eq(store.fetch_turn().instance, "A", "abandoned for no time, it is back");
    expect_eq(store.fetch_turn().instance, "B", "and so is the other");
}

void renewing_for_less_shortens_the_lease(Factory& factory) {
    auto& clock = manual_clock(factory);
    const Store store{factory};
    store.start("A");
    const auto turn = store.fetch_turn(1h);
    store.enqueue(activity("A", 1));
    const auto lease = store.fetch_work(1h);

    expect_ok(store->renew_orchestration_item_lock(turn.lock_token, 1s), "a turn is renewed");
    expect_ok(store->renew_work_item_lock(lease.lock_token, 1s), "an activity is renewed");
    clock.advance(1s);

    expect_eq(store.fetch_turn().instance, "A", "a lease ends `extend_for` from its renewal");
    expect_eq(store.fetch_work().item.id, 1, "a lease ends `extend_for` from its renewal");
}

} // namespace

CheckList time_boundary_checks() {
    static constexpr Check list[] = {
        {"a_turn_lease_is_over_exactly_when_its_time_is",
         "time_boundaries",
         "P3",
         a_turn_lease_is_over_exactly_when_its_time_is},
        {"a_renewed_lease_is_over_exactly_when_its_time_is",
         "time_boundaries",
         "P3",
         a_renewed_lease_is_over_exactly_when_its_time_is},
        {"a_turn_commits_in_the_last_millisecond_of_its_lease",
         "time_boundaries",
         "P3",
         a_turn_commits_in_the_last_millisecond_of_its_lease},
        {"an_activity_lease_is_over_exactly_when_its_time_is",
         "time_boundaries",
         "P3",
         an_activity_lease_is_over_exactly_when_its_time_is},
        {"a_session_lease_is_over_exactly_when_its_time_is",
         "time_boundaries",
         "P1",
         a_session_lease_is_over_exactly_when_its_time_is},
        {"a_delay_is_over_exactly_when_its_time_is",
         "time_boundaries",
         "P4",
         a_delay_is_over_exactly_when_its_time_is},
        {"a_backoff_is_over_exactly_when_its_time_is",
         "time_boundaries",
         "P4",
         a_backoff_is_over_exactly_when_its_time_is},
        {"a_timer_fires_exactly_when_it_is_due",
         "time_boundaries",
         "P4",
         a_timer_fires_exactly_when_it_is_due},
        {"timers_at_the_ends_of_time_are_harmless",
         "time_boundaries",
         "P4",
         timers_at_the_ends_of_time_are_harmless},
        {"the_longest_durations_do_not_wrap",
         "time_boundaries",
         "P1",
         the_longest_durations_do_not_wrap},
        {"a_lease_of_no_time_is_over_at_once",
         "time_boundaries",
         "P3",
         a_lease_of_no_time_is_over_at_once},
        {"a_delay_of_no_time_hides_nothing",
         "time_boundaries",
         "P4",
         a_delay_of_no_time_hides_nothing},
        {"renewing_for_less_shortens_the_lease",
         "time_boundaries",
         "P3",
         renewing_for_less_shortens_the_lease},
    };
    return list;
}

} // namespace durable::validation
