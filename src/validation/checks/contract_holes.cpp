// Calls that the reference suite never makes, or makes without checking the answer.

#include "validation/checks/categories.hpp"
#include "validation/support/scenarios.hpp"

#include <durable/provider_admin.hpp>

#include <chrono>

namespace durable::validation {

namespace {

using namespace std::chrono_literals;
using Types = std::vector<std::string>;

void a_provider_says_who_it_is(Factory& factory) {
    const Store store{factory};

    expect(!store->name().empty(), "it has a name");
    expect(!store->version().empty(), "it has a version");
    const auto durability = store->durability();
    expect(durability == Durability::none || durability == Durability::process_crash ||
               durability == Durability::power_loss,
           "it says what its promises survive");
    expect_eq(store->durability(), durability, "and stands by it");
}

void appended_events_are_history(Factory& factory) {
    const Store store{factory};
    store.make_running("A");

    expect_ok(store->append_with_execution("A", 1, {scheduled(3, "Third"), scheduled(2, "Second")}),
              "events are appended without a lease");

    expect_eq(types_of(store.read("A")),
              Types{"OrchestrationStarted", "ActivityScheduled", "ActivityScheduled"},
              "they are history");
    expect_eq(store.read("A")[1].event_id, 2, "in the order of their ids");
    store.poke("A");
    expect_eq(store.fetch_turn().history, store.read("A"), "for turns as well");
}

void appended_events_make_no_instance(Factory& factory) {
    const Store store{factory};

    expect_ok(store->append_with_execution("A", 1, {started()}), "events are appended");

    expect_eq(store.read("A", 1).size(), 1, "they can be read");
    expect(!store.exists("A"), "but an instance comes to be by commits alone");
    expect(!value_of(store->get_instance_stats("A")), "and has no statistics before");
}

void events_appended_during_a_turn_collide_with_its_commit(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    store.poke("A");
    const auto turn = store.fetch_turn();
    expect_ok(store->append_with_execution("A", 1, {scheduled(2, "First")}), "appended");

    expect_error(store.try_commit(turn, {.history_delta = {scheduled(2, "Second")}}),
                 ErrorCode::invalid_argument,
                 "an event id is used once, by any writer");
}

void histories_are_read_by_execution(Factory& factory) {
    const Store store{factory};
    auto& admin = store.admin();
    make_running_with(store, "A", {scheduled(2, "Old")});
    continue_as_new(store, "A", 2);

    expect_eq(value_of(admin.latest_execution_id("A")), 2, "the latest execution");
    expect_eq(value_of(admin.read_history("A")), store.read("A"), "is what reading means");
    expect_eq(value_of(admin.read_history_with_execution_id("A", 2)), store.read("A"), "by id too");
    expect_eq(value_of(admin.read_history_with_execution_id("A", 1)),
              store.read("A", 1),
              "the earlier one is still there");
    expect_eq(store.read("A", 1).size(), 3, "whole");
    expect_eq(
        value_of(admin.read_history_with_execution_id("A", 3)).size(), 0, "there is no third");
}

void all_values_are_one_view_of_both_layers(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {kv_set(2, "kept", "1"), kv_set(3, "hidden", "2")});
    continue_as_new(store, "A", 2);
    append_turn(store, "A", 2, {kv_cleared(2, "hidden"), kv_set(3, "added", "3")});

    expect_eq(value_of(store->get_kv_all_values("A")),
              Values{{"added", "3"}, {"kept", "1"}},
              "both layers, without what was cleared");
    append_turn(store, "A", 2, {kv_all_cleared(4)});
    expect_eq(value_of(store->get_kv_all_values("A")), Values{}, "nothing after clearing all");
}

void a_renewed_turn_outlives_its_first_lease(Factory& factory) {
    const Store store{factory};
    const auto lease = store.lock_timeout();
    store.start("A");
    const auto turn = store.fetch_turn(lease);
    store.pass_time(lease * 6 / 10);
    expect_ok(store->renew_orchestration_item_lock(turn.lock_token, lease),
              "a live lease is renewed");

    store.pass_time(lease * 6 / 10);

    store.expect_no_turn("past its first end the lease lives");
    store.commit(turn, {.metadata = named(), .history_delta = {started()}});
}

void renewing_counts_no_attempt(Factory& factory) {
    const Store store{factory};
    store.start("A");
    store.enqueue(activity("A", 1));
    const auto turn = store.fetch_turn();
    const auto lease = store.fetch_work();
    expect_ok(store->renew_orchestration_item_lock(turn.lock_token, long_lease), "renewed");
    expect_ok(store->renew_work_item_lock(lease.lock_token, long_lease), "renewed");

    store.abandon(turn);
    store.abandon(lease);

    expect_eq(store.fetch_turn().attempt_count, 2, "two fetches are two attempts");
    expect_eq(store.fetch_work().attempt_count, 2, "two fetches are two attempts");
}

// A later message must not overtake the one that could not be handled.
void a_backoff_hides_the_whole_instance(Factory& factory) {
    const Store store{factory};
    store.start("A");
    const auto turn = store.fetch_turn();
    store.poke("A"); // during the turn
    store.hide(turn, 500ms);
    store.poke("A"); // during the backoff
    store.start("B");

    expect_eq(store.fetch_turn().instance, "B", "other instances go on");
    store.expect_no_turn("nothing of the hidden instance comes, newcomers included");

    store.pass_time(600ms);

    const auto again = store.fetch_turn();
    expect_eq(again.instance, "A", "then it is back");
    expect_eq(types_of(again.messages),
              Types{"StartOrchestration", "ExternalRaised", "ExternalRaised"},
              "with everything, in order");
    expect_eq(again.attempt_count, 2, "as the second attempt of the oldest message");
}

// The same for an instance that has started: there is no hidden start that would hide the rest.
void a_backoff_hides_newcomers_of_a_running_instance(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    store.poke("A");
    const auto turn = store.fetch_turn();
    store.poke("A"); // during the turn
    store.hide(turn, 500ms);
    store.poke("A"); // during the backoff

    store.expect_no_turn("nothing of the hidden instance comes");
    store.pass_time(600ms);

    expect_eq(store.fetch_turn().messages.size(), 3, "then it comes with everything");
}

void a_backoff_ends_with_its_instance(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    store.poke("A");
    store.hide(store.fetch_turn(), 1h);
    (void)value_of(store.admin().delete_instance("A", true));

    store.start("A");

    expect_eq(store.fetch_turn().instance, "A", "a new instance of that id is not hidden");
}

void an_abandoned_turn_can_be_ended_by_nobody(Factory& factory) {
    const Store store{factory};
    store.start("A");
    const auto turn = store.fetch_turn();
    store.abandon(turn);

    expect_error(store.try_commit(turn), ErrorCode::lock_lost, "it cannot commit");
    expect_error(store->renew_orchestration_item_lock(turn.lock_token, long_lease),
                 ErrorCode::lock_lost,
                 "nor be renewed");
    expect_eq(store.fetch_turn().instance, "A", "it is free");
}

void an_expired_lease_can_be_given_back_until_somebody_takes_over(Factory& factory) {
    const Store store{factory};
    store.start("A");
    store.enqueue(activity("A", 1));
    const auto turn = store.fetch_turn(store.lock_timeout());
    const auto lease = store.fetch_work(store.lock_timeout());
    store.outlive_lease();

    store.abandon(turn, std::nullopt, true);
    store.abandon(lease, std::nullopt, true);

    const auto second = store.fetch_turn(store.lock_timeout());
    const auto again = store.fetch_work(store.lock_timeout());
    expect_eq(second.attempt_count, 1, "an attempt that does not count is not counted");
    expect_eq(again.attempt_count, 1, "an attempt that does not count is not counted");
    store.outlive_lease();
    const auto owner = store.fetch_turn();
    const auto worker = store.fetch_work();
    expect_error(
        store->abandon_orchestration_item(
            {.lock_token = second.lock_token, .delay = std::nullopt, .ignore_attempt = false}),
        ErrorCode::lock_lost,
        "a turn that another fetch took over is not given back");
    expect_error(store->abandon_work_item(again.lock_token, std::nullopt, false),
                 ErrorCode::lock_lost,
                 "nor an activity");
    store.commit(owner, {.metadata = named(), .history_delta = {started()}});
    store.discard(worker);
}

void a_custom_status_survives_continue_as_new(Factory& factory) {
    const Store store{factory};
    make_running_with(store, "A", {status_set(2, "kept")});

    continue_as_new(store, "A", 2);

    expect_eq(value_of(store->get_custom_status("A", 0)),
              CustomStatus{"kept", 1},
              "it belongs to the instance");
    append_turn(store, "A", 2, {status_set(2, "next")});
    expect_eq(value_of(store->get_custom_status("A", 1)),
              CustomStatus{"next", 2},
              "and its version goes on");
}

// Two starts of one id are two messages: the provider delivers both, the runtime decides.
void a_second_start_is_delivered_like_any_message(Factory& factory) {
    const Store store{factory};
    auto second = start_of("A");
    second.orchestration = "Other";
    second.input = "2";
    store.start("A");
    store.send(second);

    const auto turn = store.fetch_turn();

    expect_eq(turn.messages, std::vector<WorkItem>{start_of("A"), second}, "both come");
    expect_eq(turn.orchestration_name, "TestOrch", "the first one names the instance");
}

void the_parent_of_an_instance_is_told_once(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    auto late = named();
    late.parent_instance_id = "P";
    store.poke("A");
    store.take_turn("A", {.metadata = late});
    expect_eq(value_of(store.admin().get_parent_id("A")), "P", "a missing parent is filled in");
    late.parent_instance_id = "Q";
    store.poke("A");
    store.take_turn("A", {.metadata = late});
    store.poke("A");
    store.take_turn("A", {.metadata = named()});

    expect_eq(value_of(store.admin().get_parent_id("A")), "P", "and never replaced or removed");
}

} // namespace

CheckList contract_hole_checks() {
    static constexpr Check list[] = {
        {"a_provider_says_who_it_is", "contract_holes", "P12", a_provider_says_who_it_is},
        {"appended_events_are_history", "contract_holes", "P8", appended_events_are_history},
        {"appended_events_make_no_instance",
         "contract_holes",
         "P8",
         appended_events_make_no_instance},
        {"events_appended_during_a_turn_collide_with_its_commit",
         "contract_holes",
         "P8",
         events_appended_during_a_turn_collide_with_its_commit},
        {"histories_are_read_by_execution",
         "contract_holes",
         "P8",
         histories_are_read_by_execution},
        {"all_values_are_one_view_of_both_layers",
         "contract_holes",
         "P9",
         all_values_are_one_view_of_both_layers},
        {"a_renewed_turn_outlives_its_first_lease",
         "contract_holes",
         "P3",
         a_renewed_turn_outlives_its_first_lease},
        {"renewing_counts_no_attempt", "contract_holes", "P7", renewing_counts_no_attempt},
        {"a_backoff_hides_the_whole_instance",
         "contract_holes",
         "P5",
         a_backoff_hides_the_whole_instance},
        {"a_backoff_hides_newcomers_of_a_running_instance",
         "contract_holes",
         "P6",
         a_backoff_hides_newcomers_of_a_running_instance},
        {"a_backoff_ends_with_its_instance",
         "contract_holes",
         "P6",
         a_backoff_ends_with_its_instance},
        {"an_abandoned_turn_can_be_ended_by_nobody",
         "contract_holes",
         "P3",
         an_abandoned_turn_can_be_ended_by_nobody},
        {"an_expired_lease_can_be_given_back_until_somebody_takes_over",
         "contract_holes",
         "P3",
         an_expired_lease_can_be_given_back_until_somebody_takes_over},
        {"a_custom_status_survives_continue_as_new",
         "contract_holes",
         "P2",
         a_custom_status_survives_continue_as_new},
        {"a_second_start_is_delivered_like_any_message",
         "contract_holes",
         "P4",
         a_second_start_is_delivered_like_any_message},
        {"the_parent_of_an_instance_is_told_once",
         "contract_holes",
         "P2",
         the_parent_of_an_instance_is_told_once},
    };
    return list;
}

} // namespace durable::validation
