// P10: work that does not go on is listed. Why an instance was given back is stored with it until
// its next commit; work that no node fetches is listed without a reason.

#include "validation/checks/categories.hpp"
#include "validation/support/scenarios.hpp"
#include "validation/support/waiting.hpp"

#include <durable/provider_admin.hpp>

#include <chrono>
#include <utility>

namespace durable::validation {

namespace {

using namespace std::chrono_literals;
using Kind = ParkedWork::Kind;

// A running instance that was given back with this reason.
void make_parked(const Store& store, const std::string& instance, const std::string& reason) {
    store.make_running(instance);
    store.poke(instance);
    store.park(store.fetch_turn(), reason);
}

// Those with a reason.
std::vector<ParkedWork> parked_in(const Store& store, Where where = Where::current()) {
    auto all = value_of(store.admin().list_parked(Duration::zero(), 1'000), where);
    std::erase_if(all, [](const ParkedWork& each) { return each.reason.empty(); });
    return all;
}

std::vector<ParkedWork>
waiting_in(const Store& store, Duration waited, Where where = Where::current()) {
    return value_of(store.admin().list_parked(waited, 1'000), where);
}

void a_reason_is_shown_wherever_one_looks(Factory& factory) {
    const Store store{factory};
    const auto before = store.now();
    make_parked(store, "A", "no code for TestOrch 1.0.0");
    const auto after = store.now();

    const auto state = store.state("A");
    expect(state.parked.has_value(), "watchers see it");
    expect_eq(state.parked->reason, "no code for TestOrch 1.0.0", "word by word");
    expect(before <= state.parked->since && state.parked->since <= after, "and since when");
    expect_eq(value_of(store.admin().get_instance_info("A")).parked, state.parked, "so do people");
    expect_eq(parked_in(store),
              std::vector<ParkedWork>{{.kind = Kind::turn,
                                       .instance = "A",
                                       .name = "TestOrch",
                                       .version = "1.0.0",
                                       .attempts = 1,
                                       .since = state.parked->since,
                                       .reason = "no code for TestOrch 1.0.0"}},
              "and it is listed");
    expect_eq(state.status, ExecutionStatus::running, "otherwise it is as it was");
}

void the_same_reason_keeps_its_time(Factory& factory) {
    const Store store{factory};
    make_parked(store, "A", "why");
    const auto since = store.state("A").parked.value_or(Parked{}).since;
    store.pass_time(10ms);
    store.park(store.fetch_turn(), "why");
    expect_eq(store.state("A").parked, Parked{"why", since}, "it is still the same");

    store.pass_time(10ms);
    store.park(store.fetch_turn(), "because");

    const auto parked = store.state("A").parked.value_or(Parked{});
    expect_eq(parked.reason, "because", "another reason replaces it");
    expect_at_least(parked.since, since + 20ms, "and has a time of its own");
}

void an_abandon_without_a_reason_leaves_it(Factory& factory) {
    const Store store{factory};
    make_parked(store, "A", "why");
    const auto before = store.state("A").parked;

    const auto turn = store.fetch_turn();
    expect_eq(store.state("A").parked, before, "a fetch does not take it away");
    store.abandon(turn, std::nullopt, true);

    expect_eq(store.state("A").parked, before, "nor does another abandon");
}

void a_commit_removes_the_reason(Factory& factory) {
    const Store store{factory};
    make_parked(store, "A", "why");

    store.take_turn("A");

    expect_eq(store.state("A").parked, std::nullopt, "it goes on");
    expect_eq(value_of(store.admin().get_instance_info("A")).parked, std::nullopt, "for people");
    expect(parked_in(store).empty(), "and is listed no longer");
}

void a_refused_commit_keeps_the_reason(Factory& factory) {
    const Store store{factory};
    make_parked(store, "A", "why");
    const auto turn = store.fetch_turn();

    expect_error(store.try_commit(turn, {.history_delta = {started(1)}}),
                 ErrorCode::invalid_argument,
                 "an event id that is taken is refused");

    expect(store.state("A").parked.has_value(), "nothing has changed");
}

void a_reason_that_is_no_text_is_refused(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    store.poke("A");
    const auto turn = store.fetch_turn();

    const auto error =
        expect_error(store->abandon_orchestration_item(
                         {.lock_token = turn.lock_token, .delay = 1h, .parked = "\xff\xfe"}),
                     ErrorCode::invalid_argument,
                     "not UTF-8");

    expect_eq(error.operation, "abandon_orchestration_item", "the error names the call");
    expect_eq(store.state("A").parked, std::nullopt, "nothing is stored");
    store.commit(turn); // the lease stays
}

void an_instance_that_does_not_exist_keeps_no_reason(Factory& factory) {
    const Store store{factory};
    store.start("A");

    store.park(store.fetch_turn(), "why");

    expect(!store.state("A").exists, "a reason makes no instance");
    expect_eq(store.state("A").parked, std::nullopt, "and has nowhere to stay");
    expect(parked_in(store).empty(), "nor is it listed");
    store.take_turn("A", {.metadata = named(), .history_delta = {started()}});
    expect_eq(store.state("A").parked, std::nullopt, "now or later");
}

void a_pending_instance_can_be_parked(Factory& factory) {
    const Store store{factory};
    store.start_pending("A");

    store.park(store.fetch_turn(), "why");

    expect_eq(store.state("A").status, ExecutionStatus::pending, "it is still pending");
    expect(store.state("A").parked.has_value(), "and says why");
    expect_eq(parked_in(store).size(), 1, "in the list, too");
}

void parking_is_a_new_revision(Factory& factory) {
    const auto store = long_polling_store(factory);
    store.make_running("A");
    store.poke("A");
    const auto turn = store.fetch_turn();
    const auto seen = store.state("A").revision;
    Waiting<InstanceState> watcher{store, [&](std::stop_token stop) {
                                       return value_of(
                                           store->watch_instance({.instance = "A",
                                                                  .seen_revision = seen,
                                                                  .timeout = long_poll,
                                                                  .stop = std::move(stop)}));
                                   }};
    watcher.expect_waiting("nothing has changed");

    store.park(turn, "why");

    const auto state = watcher.answer("its watcher is woken");
    expect_at_least(state.revision, seen + 1, "that is news");
    expect(state.parked.has_value(), "with the reason");
}

void a_reason_goes_with_its_instance(Factory& factory) {
    const Store store{factory};
    make_parked(store, "A", "why");
    (void)value_of(store.admin().delete_instance("A", true));
    expect(parked_in(store).empty(), "it is gone");

    store.start_pending("A");

    expect_eq(store.state("A").parked, std::nullopt, "the next of that id has none");
}

void a_hidden_instance_is_listed_with_its_reason(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    store.poke("A");
    store.give_back(store.fetch_turn(),
                    {.delay = 1h, .whole_instance = true, .parked = "waits for code"});

    expect_eq(parked_in(store).size(), 1, "hidden from fetches, not from people");
}

void what_nobody_fetches_is_listed(Factory& factory) {
    auto& clock = manual_clock(factory);
    const Store store{factory};
    const auto sent = store.now();
    store.send([] {
        auto start = start_of("A");
        start.version.reset();
        return start;
    }());
    clock.advance(10ms);
    store.enqueue(activity("B", 1));
    clock.advance(989ms);
    expect(waiting_in(store, 1s).empty(), "not before it has waited");

    clock.advance(1ms);

    const std::vector<ParkedWork> turn{
        {.kind = Kind::turn, .instance = "A", .name = "TestOrch", .since = sent}};
    expect_eq(waiting_in(store, 1s), turn, "a turn that could have been fetched");
    clock.advance(10ms);
    auto both = turn;
    both.push_back(
        {.kind = Kind::activity, .instance = "B", .name = "Activity1", .since = sent + 10ms});
    expect_eq(waiting_in(store, 1s), both, "and an activity, the oldest first");
}

void what_is_under_way_or_not_due_is_not_listed(Factory& factory) {
    auto& clock = manual_clock(factory);
    const Store store{factory};
    store.start("leased");
    (void)store.fetch_turn(1h);
    store.enqueue(activity("leased", 1));
    (void)store.fetch_work(1h);
    store.enqueue(activity("delayed", 2));
    store.abandon(store.fetch_work(), 1h);
    store.send_later(start_of("delayed"), 1h);
    store.start_pending("pending", 1h);
    store.poke("pending");
    store.poke("orphan");
    store.make_running("hidden");
    store.poke("hidden");
    store.hide(store.fetch_turn(), 1h);

    clock.advance(30min);

    expect_eq(waiting_in(store, 1s), std::vector<ParkedWork>{}, "no node could have fetched them");
}

void what_was_due_late_waits_since_then(Factory& factory) {
    auto& clock = manual_clock(factory);
    const Store store{factory};
    const auto due = store.now() + 10s;
    store.send_later(start_of("A"), 10s);
    clock.advance(12s);

    const auto listed = waiting_in(store, 1s);

    expect_eq(listed.size(), 1, "it has waited");
    expect_eq(listed.front().since, due, "since it was due");
    expect(waiting_in(store, 3s).empty(), "its delay is no waiting");
}

void an_ended_instance_that_waits_needs_no_code(Factory& factory) {
    const Store store{factory};
    store.make_ended("A");
    store.poke("A");

    const auto listed = waiting_in(store, Duration::zero());

    expect_eq(listed.size(), 1, "its message waits for any node");
    expect_eq(listed.front().name, "", "which needs no code");
}

void a_parked_instance_is_listed_once(Factory& factory) {
    const Store store{factory};
    make_parked(store, "A", "why");

    expect_eq(waiting_in(store, Duration::zero()).size(), 1, "though it could be fetched as well");
}

void the_oldest_are_listed_first_up_to_the_limit(Factory& factory) {
    const Store store{factory};
    for (const auto* instance : {"C", "A", "B"}) {
        make_parked(store, instance, "why");
        // Leased for the moment, so that the next instance has the queue for itself.
        store.hide(store.fetch_turn(), 1h);
        store.pass_time(10ms);
    }

    const auto two = value_of(store.admin().list_parked(Duration::zero(), 2));

    expect_eq(two.size(), 2, "no more than was asked for");
    expect_eq(two[0].instance + two[1].instance, "CA", "those that wait longest");
    expect_eq(value_of(store.admin().list_parked(Duration::zero(), 0)).size(), 0, "none, if none");
    expect_eq(parked_in(store).size(), 3, "all, if all");
}

} // namespace

CheckList parked_checks() {
    static constexpr Check list[] = {
        {"a_reason_is_shown_wherever_one_looks",
         "parked",
         "P10",
         a_reason_is_shown_wherever_one_looks},
        {"the_same_reason_keeps_its_time", "parked", "P10", the_same_reason_keeps_its_time},
        {"an_abandon_without_a_reason_leaves_it",
         "parked",
         "P10",
         an_abandon_without_a_reason_leaves_it},
        {"a_commit_removes_the_reason", "parked", "P10", a_commit_removes_the_reason},
        {"a_refused_commit_keeps_the_reason", "parked", "P2", a_refused_commit_keeps_the_reason},
        {"a_reason_that_is_no_text_is_refused",
         "parked",
         "P3",
         a_reason_that_is_no_text_is_refused},
        {"an_instance_that_does_not_exist_keeps_no_reason",
         "parked",
         "P10",
         an_instance_that_does_not_exist_keeps_no_reason},
        {"a_pending_instance_can_be_parked", "parked", "P15", a_pending_instance_can_be_parked},
        {"parking_is_a_new_revision", "parked", "P11", parking_is_a_new_revision},
        {"a_reason_goes_with_its_instance", "parked", "P10", a_reason_goes_with_its_instance},
        {"a_hidden_instance_is_listed_with_its_reason",
         "parked",
         "P10",
         a_hidden_instance_is_listed_with_its_reason},
        {"what_nobody_fetches_is_listed", "parked", "P10", what_nobody_fetches_is_listed},
        {"what_is_under_way_or_not_due_is_not_listed",
         "parked",
         "P10",
         what_is_under_way_or_not_due_is_not_listed},
        {"what_was_due_late_waits_since_then", "parked", "P10", what_was_due_late_waits_since_then},
        {"an_ended_instance_that_waits_needs_no_code",
         "parked",
         "P14",
         an_ended_instance_that_waits_needs_no_code},
        {"a_parked_instance_is_listed_once", "parked", "P10", a_parked_instance_is_listed_once},
        {"the_oldest_are_listed_first_up_to_the_limit",
         "parked",
         "P10",
         the_oldest_are_listed_first_up_to_the_limit},
    };
    return list;
}

} // namespace durable::validation
