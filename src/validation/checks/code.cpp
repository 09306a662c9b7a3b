// P14: a fetch that says which code its node has gets nothing else. What it is not given is neither
// counted nor hidden nor reordered, and goes to the fetch that has its code.

#include "validation/checks/categories.hpp"
#include "validation/support/code_scenarios.hpp"
#include "validation/support/scenarios.hpp"

#include <durable/provider_admin.hpp>

#include <chrono>

namespace durable::validation {

namespace {

using namespace std::chrono_literals;

// What the next fetch of a node with this code gets; "" when that is nothing.
std::string next_for(const Store& store, const FetchOrchestration& node) {
    const auto turn = store.try_fetch_turn(node);
    return turn ? turn->instance : "";
}

std::vector<std::string> all_for(const Store& store, const FetchOrchestration& node) {
    std::vector<std::string> instances;
    while (const auto turn = store.try_fetch_turn(node)) {
        instances.push_back(turn->instance);
        expect(instances.size() < 100, "a leased instance is not given out again");
    }
    return instances;
}

void a_turn_goes_to_a_fetch_that_has_its_code(Factory& factory) {
    const Store store{factory};
    store.send(start_of("A", "First", "1.0.0"));
    store.send(start_of("B", "Second", "1.0.0"));

    expect_eq(next_for(store, having({{"Second", {"1.0.0"}}})), "B", "it is given its own");
    expect_eq(next_for(store, having({{"Second", {"1.0.0"}}})), "", "and nothing else");
    expect_eq(next_for(store, having({{"First", {"1.0.0"}}})), "A", "the other gets the rest");
}

void what_a_fetch_has_no_code_for_is_not_counted(Factory& factory) {
    const Store store{factory};
    store.start("A");
    for (int fetch = 0; fetch < 5; ++fetch) {
        expect_eq(next_for(store, having({{"Other", {"1.0.0"}}})), "", "it has other code");
    }

    const auto turn = store.fetch_turn();

    expect_eq(turn.instance, "A", "what was passed over is not hidden");
    expect_eq(turn.attempt_count, 1, "and was never tried");
}

void a_fetch_that_names_no_code_gets_all(Factory& factory) {
    const Store store{factory};
    store.send(start_of("A", "First", "1.0.0"));
    store.send(start_of("B", "Second", std::nullopt));

    expect_eq(all_for(store, {.lock_timeout = long_lease}),
              std::vector<std::string>{"A", "B"},
              "a node that does not say what it has gets everything");
}

void a_node_without_code_gets_nothing_that_needs_any(Factory& factory) {
    const Store store{factory};
    store.make_running("running");
    store.poke("running");
    store.start("starting");
    store.start_pending("pending");

    expect_eq(next_for(store, having({})), "", "all of them need code");
}

void the_version_has_to_be_there_too(Factory& factory) {
    const Store store{factory};
    store.start("A"); // TestOrch 1.0.0

    expect_eq(next_for(store, having({{"TestOrch", {"2.0.0", "0.9.0"}}})), "", "other versions");
    expect_eq(next_for(store, having({{"TestOrch", {}}})), "", "no version at all");
    expect_eq(next_for(store, having({{"TestOrch", {"2.0.0", "1.0.0"}}})), "A", "its version");
}

void a_start_that_names_no_version_goes_to_any(Factory& factory) {
    const Store store{factory};
    store.send(start_of("A", "TestOrch", std::nullopt));
    expect_ok(store->start_instance(start_of("B", "TestOrch", std::nullopt), std::nullopt),
              "an instance is made");

    expect_eq(all_for(store, having({{"Other", {"7.0.0"}}})),
              std::vector<std::string>{},
              "the name counts all the same");
    expect_eq(all_for(store, having({{"TestOrch", {"7.0.0"}}})),
              std::vector<std::string>{"A", "B"},
              "a node with any version of it may choose one");
}

void a_running_instance_needs_the_code_of_its_row(Factory& factory) {
    const Store store{factory};
    store.start("A");
    store.take_turn("A", {.metadata = named("Chosen", "3.0.0"), .history_delta = {started()}});
    store.poke("A");

    expect_eq(next_for(store, having({{"TestOrch", {"1.0.0"}}})), "", "not what its start named");
    expect_eq(next_for(store, having({{"Chosen", {"3.0.0"}}})), "A", "what was committed");
}

void an_ended_instance_needs_no_code(Factory& factory) {
    const Store store{factory};
    store.make_ended("completed");
    store.make_ended("failed", ExecutionStatus::failed);
    store.poke("completed");
    store.poke("failed");

    expect_eq(all_for(store, having({})),
              std::vector<std::string>{"completed", "failed"},
              "any node can remove its messages");
}

// The row still names the version that ended.
void the_next_execution_needs_what_its_message_names(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    auto next = continue_as_new_of("A");
    next.version = "2.0.0";
    store.poke("A");
    store.take_turn(
        "A",
        {.metadata = {.status = ExecutionStatus::continued_as_new}, .orchestrator_items = {next}});

    expect_eq(next_for(store, having({{"TestOrch", {"1.0.0"}}})), "", "not the code that ended");
    expect_eq(next_for(store, having({{"TestOrch", {"2.0.0"}}})), "A", "the code that goes on");
}

void an_instance_between_executions_without_a_message_to_go_on_needs_none(Factory& factory) {
    const Store store{factory};
    store.make_ended("A", ExecutionStatus::continued_as_new);
    store.poke("A");

    expect_eq(next_for(store, having({})), "A", "there is no code that it could be waiting for");
}

// Written by append_with_execution: history without an instance.
void a_stored_start_tells_the_code_where_no_instance_is(Factory& factory) {
    const Store store{factory};
    expect_ok(store->append_with_execution("A", 1, {started()}), "appended");
    store.send(start_of("A", "Other", "1.0.0"));

    expect_eq(next_for(store, having({{"Other", {"1.0.0"}}})), "", "a message tells less");
    expect_eq(next_for(store, having({{"TestOrch", {"1.0.0"}}})), "A", "than what is stored");
}

void the_first_of_two_starts_tells_the_code(Factory& factory) {
    const Store store{factory};
    store.send(start_of("A", "First", "1.0.0"));
    store.send(start_of("A", "Second", "1.0.0"));

    expect_eq(next_for(store, having({{"Second", {"1.0.0"}}})), "", "the second does not count");
    expect_eq(next_for(store, having({{"First", {"1.0.0"}}})), "A", "the first names it");
}

void a_damaged_start_is_set_aside_by_any_fetch(Factory& factory) {
    const Store store{factory};
    need(factory.inject_orchestrator_row("ghost", "not json"));

    expect_eq(next_for(store, having({{"Other", {"1.0.0"}}})), "", "there is nothing to run");

    expect_eq(value_of(store.admin().list_quarantined()).size(), 1, "and it is in quarantine");
}

void order_is_kept_among_those_who_have_the_code(Factory& factory) {
    const Store store{factory};
    store.send(start_of("x1", "X", "1.0.0"));
    store.send(start_of("y1", "Y", "1.0.0"));
    store.send(start_of("x2", "X", "1.0.0"));
    store.send(start_of("y2", "Y", "1.0.0"));
    store.send(start_of("x3", "X", "1.0.0"));
    expect_eq(next_for(store, having({{"Y", {"1.0.0"}}})), "y1", "the oldest that it can run");

    expect_eq(next_for(store, having({{"X", {"1.0.0"}}, {"Y", {"1.0.0"}}})),
              "x1",
              "with more code, the oldest of all");
    expect_eq(all_for(store, having({{"Y", {"1.0.0"}}})), std::vector<std::string>{"y2"}, "then");
    expect_eq(all_for(store, having({{"X", {"1.0.0"}}})),
              std::vector<std::string>{"x2", "x3"},
              "each as they went in");
}

// Many items that need other code, queued first, must not hide what is behind them.
void a_crowd_of_other_code_lets_work_pass(Factory& factory) {
    const Store store{factory};
    for (int other = 0; other < 500; ++other) {
        store.send(start_of("other-" + std::to_string(other), "Other", "1.0.0"));
    }
    store.start("A");

    expect_eq(next_for(store, having({{"TestOrch", {"1.0.0"}}})), "A", "work that can run runs");
}

void code_and_capabilities_both_have_to_match(Factory& factory) {
    const Store store{factory};
    store.start("A");
    auto metadata = named();
    metadata.pinned_version = Version{.major = 2};
    store.take_turn("A", {.metadata = metadata, .history_delta = {started()}});
    store.poke("A");
    auto node = having({{"TestOrch", {"1.0.0"}}});
    node.filter = CapabilityFilter{{{.min = {.major = 1}, .max = {.major = 1, .minor = 9}}}};
    expect_eq(next_for(store, node), "", "the code alone is not enough");

    node.filter->supported[0] = {.min = {.major = 2}, .max = {.major = 2, .minor = 9}};

    expect_eq(next_for(store, node), "A", "with both it is given out");
}

void a_cancellation_that_waited_needs_no_code(Factory& factory) {
    auto& clock = manual_clock(factory);
    const Store store{factory};
    auto node = having({});
    auto patient = std::make_shared<OrchestrationCode>();
    patient->cancelled_for = 1s;
    const FetchOrchestration helper{.lock_timeout = long_lease, .code = patient};
    store.make_running("A");
    store.make_running("B");
    store.poke("B");
    store.send(work::CancelInstance{.instance = "A", .reason = "enough"});

    clock.advance(999ms);
    expect_eq(next_for(store, helper), "", "a node with its code may still come");
    clock.advance(1ms);

    expect_eq(next_for(store, node), "", "a node that does not offer it is not asked");
    expect_eq(next_for(store, helper), "A", "ending needs no code");
    expect_eq(next_for(store, helper), "", "other messages that waited do");
}

void a_cancellation_waits_from_when_it_can_be_delivered(Factory& factory) {
    auto& clock = manual_clock(factory);
    const Store store{factory};
    auto patient = std::make_shared<OrchestrationCode>();
    patient->cancelled_for = 1s;
    const FetchOrchestration helper{.lock_timeout = long_lease, .code = patient};
    store.make_running("A");
    store.send_later(work::CancelInstance{.instance = "A", .reason = "later"}, 10s);

    clock.advance(10s + 999ms);
    expect_eq(next_for(store, helper), "", "its delay is not part of its wait");
    clock.advance(1ms);

    expect_eq(next_for(store, helper), "A", "then it has waited");
}

// The older instance is cancelled, too, but not long enough ago.
void a_cancellation_that_waited_is_found_behind_a_fresh_one(Factory& factory) {
    auto& clock = manual_clock(factory);
    const Store store{factory};
    auto patient = std::make_shared<OrchestrationCode>();
    patient->cancelled_for = 1s;
    store.make_running("older");
    store.make_running("A");
    store.poke("older");
    store.send(work::CancelInstance{.instance = "A", .reason = "enough"});
    clock.advance(1s);
    store.send(work::CancelInstance{.instance = "older", .reason = "enough"});

    expect_eq(next_for(store, {.lock_timeout = long_lease, .code = patient}),
              "A",
              "each waits for itself");
}

void an_activity_goes_to_a_fetch_that_has_its_name(Factory& factory) {
    const Store store{factory};
    for (const auto id : {1, 2, 3}) {
        store.enqueue(activity("A", static_cast<std::uint64_t>(id)));
    }
    expect(!store.try_fetch_work(having_activities({})), "a node without activities gets none");
    expect(!store.try_fetch_work(having_activities({"Activity", "activity1"})),
           "names are compared whole");

    expect_eq(store.fetch_work(having_activities({"Activity3"})).item.id, 3, "its own");
    expect(!store.try_fetch_work(having_activities({"Activity3"})), "and nothing else");
    const auto first = store.fetch_work(having_activities({"Activity2", "Activity1"}));
    expect_eq(first.item.id, 1, "the oldest that it can run");
    expect_eq(first.attempt_count, 1, "passing it over counted nothing");
    expect_eq(store.fetch_work().item.id, 2, "a node that names no code gets everything");
}

void tags_sessions_and_code_all_have_to_match(Factory& factory) {
    const Store store{factory};
    auto item = activity("A", 1);
    item.tag = "gpu";
    item.session_id = "s";
    store.enqueue(item);
    auto worker = having_activities({"Other"});
    worker.tags = TagFilter::any();
    worker.session = SessionClaim{.owner_id = "first", .lock_timeout = long_lease};
    expect(!store.try_fetch_work(worker), "the code is not there");

    auto owner = having_activities({"Activity1"});
    owner.session = SessionClaim{.owner_id = "second", .lock_timeout = long_lease};
    expect(!store.try_fetch_work(owner), "the tag does not match");
    owner.tags = TagFilter::any();

    expect_eq(store.fetch_work(owner).item.id, 1, "no other fetch claimed the session");
}

} // namespace

CheckList code_checks() {
    static constexpr Check list[] = {
        {"a_turn_goes_to_a_fetch_that_has_its_code",
         "code",
         "P14",
         a_turn_goes_to_a_fetch_that_has_its_code},
        {"what_a_fetch_has_no_code_for_is_not_counted",
         "code",
         "P14",
         what_a_fetch_has_no_code_for_is_not_counted},
        {"a_fetch_that_names_no_code_gets_all", "code", "P14", a_fetch_that_names_no_code_gets_all},
        {"a_node_without_code_gets_nothing_that_needs_any",
         "code",
         "P14",
         a_node_without_code_gets_nothing_that_needs_any},
        {"the_version_has_to_be_there_too", "code", "P14", the_version_has_to_be_there_too},
        {"a_start_that_names_no_version_goes_to_any",
         "code",
         "P14",
         a_start_that_names_no_version_goes_to_any},
        {"a_running_instance_needs_the_code_of_its_row",
         "code",
         "P14",
         a_running_instance_needs_the_code_of_its_row},
        {"an_ended_instance_needs_no_code", "code", "P14", an_ended_instance_needs_no_code},
        {"the_next_execution_needs_what_its_message_names",
         "code",
         "P14",
         the_next_execution_needs_what_its_message_names},
        {"an_instance_between_executions_without_a_message_to_go_on_needs_none",
         "code",
         "P14",
         an_instance_between_executions_without_a_message_to_go_on_needs_none},
        {"a_stored_start_tells_the_code_where_no_instance_is",
         "code",
         "P14",
         a_stored_start_tells_the_code_where_no_instance_is},
        {"the_first_of_two_starts_tells_the_code",
         "code",
         "P14",
         the_first_of_two_starts_tells_the_code},
        {"a_damaged_start_is_set_aside_by_any_fetch",
         "code",
         "P10",
         a_damaged_start_is_set_aside_by_any_fetch},
        {"order_is_kept_among_those_who_have_the_code",
         "code",
         "P5",
         order_is_kept_among_those_who_have_the_code},
        {"a_crowd_of_other_code_lets_work_pass",
         "code",
         "P6",
         a_crowd_of_other_code_lets_work_pass},
        {"code_and_capabilities_both_have_to_match",
         "code",
         "P14",
         code_and_capabilities_both_have_to_match},
        {"a_cancellation_that_waited_needs_no_code",
         "code",
         "P14",
         a_cancellation_that_waited_needs_no_code},
        {"a_cancellation_waits_from_when_it_can_be_delivered",
         "code",
         "P14",
         a_cancellation_waits_from_when_it_can_be_delivered},
        {"a_cancellation_that_waited_is_found_behind_a_fresh_one",
         "code",
         "P14",
         a_cancellation_that_waited_is_found_behind_a_fresh_one},
        {"an_activity_goes_to_a_fetch_that_has_its_name",
         "code",
         "P14",
         an_activity_goes_to_a_fetch_that_has_its_name},
        {"tags_sessions_and_code_all_have_to_match",
         "code",
         "P13",
         tags_sessions_and_code_all_have_to_match},
    };
    return list;
}

} // namespace durable::validation
