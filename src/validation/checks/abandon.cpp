// P5, P6: giving a turn back. A delay hides the messages of that fetch and no others; with
// `whole_instance` it hides the instance, so that nothing overtakes the message that could not be
// handled. A cancellation is delivered either way, and hidden messages keep their place.

#include "validation/checks/categories.hpp"
#include "validation/support/scenarios.hpp"
#include "validation/support/waiting.hpp"

#include <chrono>
#include <optional>
#include <utility>

namespace durable::validation {

namespace {

using namespace std::chrono_literals;
using Ids = std::vector<std::uint64_t>;
using Types = std::vector<std::string>;

work::CancelInstance cancellation_of(const std::string& instance) {
    return {.instance = instance, .reason = "enough"};
}

// A running instance whose turn was given back, hidden as a whole for an hour.
void make_hidden(const Store& store, const std::string& instance) {
    store.make_running(instance);
    store.poke(instance);
    store.hide(store.fetch_turn(), 1h);
}

void orchestration_delayed_abandon_preserves_unlocked_rows(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    store.send(completion("A", 1));
    const auto turn = store.fetch_turn();
    store.send(completion("A", 2)); // during the turn

    store.abandon(turn, 500ms);

    store.send(completion("A", 3));
    const auto newcomers = store.fetch_turn();
    expect_eq(completion_ids(newcomers.messages), Ids{2, 3}, "what it did not hold is delivered");
    expect_eq(newcomers.attempt_count, 1, "for the first time");
    store.commit(newcomers);
    store.expect_no_turn("what it held is hidden");
    store.pass_time(600ms);
    const auto again = store.fetch_turn();
    expect_eq(completion_ids(again.messages), Ids{1}, "until its delay is over");
    expect_eq(again.attempt_count, 2, "for the second time");
}

// Without its start an instance that does not exist yet has nothing to do.
void orchestration_ignore_attempt_preserves_hidden_start(Factory& factory) {
    const Store store{factory};
    store.start("A");
    const auto turn = store.fetch_turn();
    store.poke("A"); // during the turn
    store.abandon(turn, 500ms, true);
    store.poke("A");
    store.expect_no_turn("the start is hidden, and so nothing can begin");

    store.pass_time(600ms);

    const auto again = store.fetch_turn();
    expect_eq(types_of(again.messages),
              Types{"StartOrchestration", "ExternalRaised", "ExternalRaised"},
              "then everything comes, in order");
    expect_eq(again.attempt_count, 1, "and the attempt did not count");
}

void a_delayed_message_keeps_its_place_in_the_turn(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    store.send(completion("A", 1));
    store.send(completion("A", 2));
    store.abandon(store.fetch_turn(), 500ms);
    store.pass_time(400ms);
    store.send(completion("A", 3));
    store.pass_time(200ms);

    expect_eq(completion_ids(store.fetch_turn().messages),
              Ids{1, 2, 3},
              "hidden or not, they come as they went in");
}

void a_delayed_message_keeps_the_place_of_its_instance(Factory& factory) {
    const Store store{factory};
    store.start("first");
    store.abandon(store.fetch_turn(), 500ms);
    store.start("second");

    store.pass_time(600ms);

    expect_eq(store.fetch_turn().instance, "first", "it is still the oldest");
    expect_eq(store.fetch_turn().instance, "second", "before what came meanwhile");
}

void a_delayed_timer_stands_where_it_was_due(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    const auto due = to_epoch_ms(store.now() + 100ms);
    store.send(work::TimerFired{.instance = "A", .execution_id = 1, .id = 2, .fire_at_ms = due});
    store.pass_time(200ms);
    store.abandon(store.fetch_turn(), 500ms);
    store.pass_time(100ms);
    store.poke("A"); // after the timer was due, before its delay is over

    store.pass_time(500ms);

    expect_eq(types_of(store.fetch_turn().messages),
              Types{"TimerFired", "ExternalRaised"},
              "giving it back does not make it due later");
}

void a_delay_hides_the_messages_of_an_expired_lease(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    store.send(completion("A", 1));
    const auto turn = store.fetch_turn(store.lock_timeout());
    store.outlive_lease();
    store.abandon(turn, 500ms);
    store.send(completion("A", 2));

    expect_eq(completion_ids(store.fetch_turn().messages), Ids{2}, "as those of a live one");
}

void a_delay_of_no_time_hides_no_instance(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    store.poke("A");
    store.hide(store.fetch_turn(), 0ms);
    expect_eq(store.fetch_turn(store.lock_timeout()).instance, "A", "no time is no delay");
    store.outlive_lease();
    store.hide(store.fetch_turn(), -1h);
    const auto turn = store.fetch_turn();
    expect_eq(turn.instance, "A", "nor is less");

    store.give_back(turn, {.whole_instance = true});

    expect_eq(store.fetch_turn().instance, "A", "without a delay there is nothing to hide for");
}

void a_cancellation_reaches_a_hidden_instance(Factory& factory) {
    const Store store{factory};
    make_hidden(store, "A");
    store.poke("A");
    store.expect_no_turn("newcomers are hidden");

    store.send(cancellation_of("A"));

    const auto turn = store.fetch_turn();
    expect_eq(types_of(turn.messages),
              Types{"ExternalRaised", "ExternalRaised", "CancelInstance"},
              "it brings everything along, in order");
    store.commit(turn);
    store.poke("A");
    expect_eq(store.fetch_turn().instance, "A", "the instance is hidden no longer");
}

void a_cancellation_sent_by_a_commit_reaches_a_hidden_instance(Factory& factory) {
    const Store store{factory};
    make_hidden(store, "A");

    store.start("B");
    store.take_turn("B",
                    {.metadata = named(),
                     .history_delta = {started()},
                     .orchestrator_items = {cancellation_of("A")}});

    expect_eq(store.fetch_turn().instance, "A", "also when a commit sends it");
}

void a_cancellation_that_becomes_due_ends_the_hiding(Factory& factory) {
    const Store store{factory};
    make_hidden(store, "A");
    store.send_later(cancellation_of("A"), 500ms);
    store.expect_no_turn("it is not due");

    store.pass_time(600ms);

    expect_eq(types_of(store.fetch_turn().messages),
              Types{"ExternalRaised", "CancelInstance"},
              "then it ends the hiding");
}

// The turn did not get it, so it is not the message that could not be handled.
void a_cancellation_that_came_during_the_turn_is_not_hidden(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    store.poke("A");
    const auto turn = store.fetch_turn();
    store.send(cancellation_of("A"));

    store.hide(turn, 1h);

    expect_eq(types_of(store.fetch_turn().messages),
              Types{"ExternalRaised", "CancelInstance"},
              "it gets through as if it had come later");
}

// Otherwise a turn that cannot be handled would be delivered again and again.
void a_cancellation_that_was_given_back_stays_hidden(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    store.send(cancellation_of("A"));

    store.hide(store.fetch_turn(), 500ms);

    store.expect_no_turn("it was there before, and could not be handled");
    store.pass_time(600ms);
    expect_eq(store.fetch_turn().instance, "A", "it comes when the time is over");
}

void a_cancellation_of_another_instance_ends_no_hiding(Factory& factory) {
    const Store store{factory};
    make_hidden(store, "A");
    store.make_running("B");

    store.send(cancellation_of("B"));

    expect_eq(store.fetch_turn().instance, "B", "the one that is cancelled comes");
    store.expect_no_turn("the hidden one does not");
}

void a_waiting_fetch_is_woken_by_a_cancellation_of_a_hidden_instance(Factory& factory) {
    const auto store = long_polling_store(factory);
    make_hidden(store, "A");
    Waiting<std::optional<OrchestrationItem>> waiting{
        store, [&](std::stop_token stop) {
            return store.try_fetch_turn(
                {.lock_timeout = long_lease, .poll_timeout = long_poll, .stop = std::move(stop)});
        }};
    waiting.expect_waiting("everything is hidden");
    store.poke("A");
    waiting.expect_waiting("newcomers as well");

    store.send(cancellation_of("A"));

    const auto turn = waiting.answer("the fetch is woken");
    expect(turn && turn->instance == "A", "with the instance that is cancelled");
}

void a_waiting_fetch_is_woken_when_an_instance_is_hidden_no_longer(Factory& factory) {
    const auto store = long_polling_store(factory);
    store.make_running("A");
    store.poke("A");
    store.hide(store.fetch_turn(), 500ms);
    Waiting<std::optional<OrchestrationItem>> waiting{
        store, [&](std::stop_token stop) {
            return store.try_fetch_turn(
                {.lock_timeout = long_lease, .poll_timeout = long_poll, .stop = std::move(stop)});
        }};
    waiting.expect_waiting("everything is hidden");

    store.pass_time(600ms);

    const auto turn = waiting.answer("the fetch is woken");
    expect(turn && turn->instance == "A", "with the instance that was hidden");
}

} // namespace

CheckList abandon_checks() {
    static constexpr Check list[] = {
        {"orchestration_delayed_abandon_preserves_unlocked_rows",
         "abandon",
         "P4",
         orchestration_delayed_abandon_preserves_unlocked_rows},
        {"orchestration_ignore_attempt_preserves_hidden_start",
         "abandon",
         "P7",
         orchestration_ignore_attempt_preserves_hidden_start},
        {"a_delayed_message_keeps_its_place_in_the_turn",
         "abandon",
         "P5",
         a_delayed_message_keeps_its_place_in_the_turn},
        {"a_delayed_message_keeps_the_place_of_its_instance",
         "abandon",
         "P5",
         a_delayed_message_keeps_the_place_of_its_instance},
        {"a_delayed_timer_stands_where_it_was_due",
         "abandon",
         "P5",
         a_delayed_timer_stands_where_it_was_due},
        {"a_delay_hides_the_messages_of_an_expired_lease",
         "abandon",
         "P3",
         a_delay_hides_the_messages_of_an_expired_lease},
        {"a_delay_of_no_time_hides_no_instance",
         "abandon",
         "P6",
         a_delay_of_no_time_hides_no_instance},
        {"a_cancellation_reaches_a_hidden_instance",
         "abandon",
         "P6",
         a_cancellation_reaches_a_hidden_instance},
        {"a_cancellation_sent_by_a_commit_reaches_a_hidden_instance",
         "abandon",
         "P6",
         a_cancellation_sent_by_a_commit_reaches_a_hidden_instance},
        {"a_cancellation_that_becomes_due_ends_the_hiding",
         "abandon",
         "P6",
         a_cancellation_that_becomes_due_ends_the_hiding},
        {"a_cancellation_that_came_during_the_turn_is_not_hidden",
         "abandon",
         "P6",
         a_cancellation_that_came_during_the_turn_is_not_hidden},
        {"a_cancellation_that_was_given_back_stays_hidden",
         "abandon",
         "P6",
         a_cancellation_that_was_given_back_stays_hidden},
        {"a_cancellation_of_another_instance_ends_no_hiding",
         "abandon",
         "P6",
         a_cancellation_of_another_instance_ends_no_hiding},
        {"a_waiting_fetch_is_woken_by_a_cancellation_of_a_hidden_instance",
         "abandon",
         "P11",
         a_waiting_fetch_is_woken_by_a_cancellation_of_a_hidden_instance},
        {"a_waiting_fetch_is_woken_when_an_instance_is_hidden_no_longer",
         "abandon",
         "P11",
         a_waiting_fetch_is_woken_when_an_instance_is_hidden_no_longer},
    };
    return list;
}

} // namespace durable::validation
