// P15: of all callers of start_instance for one id, exactly one makes the instance. It exists from
// then on: pending until its first turn, and nothing that is meant for it gets lost or comes early.

#include "validation/checks/categories.hpp"
#include "validation/support/observation.hpp"
#include "validation/support/scenarios.hpp"
#include "validation/support/waiting.hpp"

#include <durable/provider_admin.hpp>

#include <chrono>

namespace durable::validation {

namespace {

using namespace std::chrono_literals;
using Types = std::vector<std::string>;

void expect_refused(const Store& store,
                    const std::string& instance,
                    std::string_view sentence,
                    Where where = Where::current()) {
    const auto error = expect_error(store->start_instance(start_of(instance), std::nullopt),
                                    ErrorCode::already_exists,
                                    sentence,
                                    where);
    expect_eq(error.operation, "start_instance", "the error names the call", where);
}

void a_started_instance_exists_at_once(Factory& factory) {
    const Store store{factory};
    const auto before = store.now();

    store.start_pending("A");

    const auto state = store.state("A");
    expect(state.exists, "it exists");
    expect_eq(state.status, ExecutionStatus::pending, "and has not had a turn");
    expect_eq(state.orchestration_name, "TestOrch", "it has a name");
    expect_eq(state.orchestration_version, "1.0.0", "a version");
    expect_eq(state.execution_id, 1, "a first execution to come");
    expect_eq(state.output, std::nullopt, "no output");
    const auto info = value_of(store.admin().get_instance_info("A"));
    expect_eq(info.status, "Pending", "as people read it");
    expect_eq(info.current_execution_id, 1, "with the first execution to come");
    expect_at_least(info.created_at, before, "created by the call");
    expect_eq(info.updated_at, info.created_at, "and not changed since");
}

void the_start_is_its_first_message(Factory& factory) {
    const Store store{factory};
    store.start_pending("A");
    store.poke("A");

    const auto turn = store.fetch_turn();

    expect_eq(turn.instance, "A", "it has a turn");
    expect_eq(turn.messages, std::vector<WorkItem>{start_of("A"), poke_of("A")}, "in order");
    expect_eq(turn.orchestration_name, "TestOrch", "of its orchestration");
    expect_eq(turn.version, "1.0.0", "and version");
    expect_eq(turn.execution_id, 1, "for its first execution");
    expect_eq(turn.attempt_count, 1, "for the first time");
    expect(turn.history.empty(), "there is no history yet");
}

void the_first_commit_makes_a_pending_instance_run(Factory& factory) {
    const Store store{factory};
    store.start_pending("A");
    const auto created = value_of(store.admin().get_instance_info("A")).created_at;
    store.pass_time(10ms);

    store.take_turn("A", {.metadata = named("Chosen", "2.0.0"), .history_delta = {started()}});

    const auto info = value_of(store.admin().get_instance_info("A"));
    expect_eq(info.status, "Running", "it runs");
    expect_eq(info.orchestration_name, "Chosen", "under the name that was committed");
    expect_eq(info.orchestration_version, "2.0.0", "and the version");
    expect_eq(info.created_at, created, "it is as old as it was");
    expect_at_least(info.updated_at, created + 10ms, "and has changed");
    expect_eq(value_of(store.admin().list_executions("A")).size(), 1, "its execution is stored");
}

void a_start_that_names_no_version_makes_an_unknown_one(Factory& factory) {
    const Store store{factory};
    auto start = start_of("A");
    start.version.reset();
    expect_ok(store->start_instance(start, std::nullopt), "an instance is made");

    expect_eq(value_of(store.admin().get_instance_info("A")).orchestration_version,
              "unknown",
              "the first turn will choose");
}

void an_id_is_started_once(Factory& factory) {
    const Store store{factory};
    store.start_pending("pending", 1h);
    store.make_running("running");
    store.make_ended("ended");

    expect_refused(store, "pending", "a pending instance exists");
    expect_refused(store, "running", "a running one");
    expect_refused(store, "ended", "an ended one as well");
}

// For example a parent's start of a child: it was queued first, so it makes the instance.
void a_start_that_is_queued_keeps_its_id(Factory& factory) {
    const Store store{factory};
    store.send_later(start_of("delayed"), 1h);
    store.start("leased");
    const auto turn = store.fetch_turn();
    store.start("queued");

    expect_refused(store, "queued", "a start is queued");
    expect_refused(store, "delayed", "though it is delayed");
    expect_refused(store, "leased", "or under way");

    store.commit(turn, {.metadata = named(), .history_delta = {started()}});
    expect(!store.exists("queued"), "the refusal made nothing");
}

void other_messages_keep_no_id(Factory& factory) {
    const Store store{factory};
    store.poke("A");
    store.send(work::CancelInstance{.instance = "A", .reason = "early"});

    store.start_pending("A");

    expect_eq(types_of(store.fetch_turn().messages),
              Types{"ExternalRaised", "CancelInstance", "StartOrchestration"},
              "what was sent before waited for it");
}

void a_refused_start_leaves_no_trace(Factory& factory) {
    const Store store{factory};
    store.start_pending("A");
    const auto before = observe(store, {"A"});
    auto second = start_of("A");
    second.orchestration = "Other";
    second.input = "2";

    expect_error(store->start_instance(second, 1s), ErrorCode::already_exists, "it is there");

    expect_same(observe(store, {"A"}), before, "a refused start changes nothing");
    expect_eq(store.fetch_turn().messages, std::vector<WorkItem>{start_of("A")}, "nor is it sent");
}

void a_start_that_is_no_text_is_refused(Factory& factory) {
    const Store store{factory};
    auto start = start_of("A");
    start.input = "\xff\xfe";

    const auto error = expect_error(
        store->start_instance(start, std::nullopt), ErrorCode::invalid_argument, "not UTF-8");

    expect_eq(error.operation, "start_instance", "the error names the call");
    expect(!store.exists("A"), "and nothing was made");
    store.start_pending("A");
}

// All messages of the instance wait for its start, which will come: none may expire meanwhile.
void a_raise_before_a_delayed_start_waits_for_it(Factory& factory) {
    (void)manual_clock(factory);
    const Store store{factory};
    const auto lifetime = factory.unstarted_message_ttl();
    store.poke("A"); // before the instance is there
    store.start_pending("A", 2 * lifetime);
    store.poke("A");
    store.pass_time(2 * lifetime - 1ms);
    store.expect_no_turn("nothing comes before the start");

    store.pass_time(1ms);

    expect_eq(types_of(store.fetch_turn().messages),
              Types{"ExternalRaised", "StartOrchestration", "ExternalRaised"},
              "then all of it comes");
    expect_eq(value_of(store.admin().get_system_metrics()).expired_messages, 0, "none expired");
}

// It would begin the instance early, with another input.
void a_second_start_waits_for_the_first(Factory& factory) {
    const Store store{factory};
    store.start_pending("A", 500ms);
    auto second = start_of("A");
    second.input = "2";
    store.send(second);
    store.expect_no_turn("the start that made the instance is still to come");

    store.pass_time(600ms);

    expect_eq(store.fetch_turn().messages, std::vector<WorkItem>{start_of("A"), second}, "both");
}

void a_delayed_abandon_hides_a_pending_instance_with_its_start(Factory& factory) {
    const Store store{factory};
    store.start_pending("A");
    store.abandon(store.fetch_turn(), 500ms);
    store.poke("A");
    store.expect_no_turn("what came later does not come before the start");

    store.pass_time(600ms);

    expect_eq(types_of(store.fetch_turn().messages),
              Types{"StartOrchestration", "ExternalRaised"},
              "then both come");
}

void a_commit_cannot_make_an_instance_pending(Factory& factory) {
    const Store store{factory};
    store.start("A");
    const auto turn = store.fetch_turn();

    expect_error(store.try_commit(turn, {.metadata = ended(ExecutionStatus::pending)}),
                 ErrorCode::invalid_argument,
                 "pending is what comes before the first commit");

    expect(!store.exists("A"), "it is not stored");
    store.commit(turn, {.metadata = named(), .history_delta = {started()}});
}

void a_deleted_id_is_started_anew(Factory& factory) {
    const Store store{factory};
    store.start_pending("A");
    const auto first = store.state("A").incarnation;
    (void)value_of(store.admin().delete_instance("A", true));
    expect(!store.exists("A"), "it is gone");
    store.expect_no_turn("with its start");

    store.start_pending("A");

    const auto second = store.state("A").incarnation;
    expect(second == 0 || second != first, "the next of that id is another one");
    const auto turn = store.fetch_turn();
    expect_eq(turn.messages.size(), 1, "with a start of its own");
    expect_eq(turn.incarnation, second, "which its turn is told of");
    store.commit(turn, {.metadata = named(), .history_delta = {started()}});
    expect_eq(store.state("A").incarnation, second, "it stays the same when it runs");
}

void an_instance_that_ended_and_was_deleted_can_start(Factory& factory) {
    const Store store{factory};
    store.make_ended("A");
    (void)value_of(store.admin().delete_instance("A", false));

    store.start_pending("A");

    expect_eq(store.state("A").status, ExecutionStatus::pending, "it is a new one");
    expect(store.read("A").empty(), "without the history of the old one");
}

void starting_is_a_new_revision(Factory& factory) {
    const auto store = long_polling_store(factory);
    Waiting<InstanceState> watcher{store, [&](std::stop_token stop) {
                                       return value_of(
                                           store->watch_instance({.instance = "A",
                                                                  .seen_revision = 0,
                                                                  .timeout = long_poll,
                                                                  .stop = std::move(stop)}));
                                   }};
    watcher.expect_waiting("it has not been started");

    store.start_pending("A");

    const auto state = watcher.answer("a watcher of an instance sees it start");
    expect(state.exists, "it is there");
    expect_at_least(state.revision, 1, "that is news");
}

void a_start_wakes_a_waiting_fetch(Factory& factory) {
    const auto store = long_polling_store(factory);
    Waiting<std::optional<OrchestrationItem>> fetch{
        store, [&](std::stop_token stop) {
            return store.try_fetch_turn(
                {.lock_timeout = long_lease, .poll_timeout = long_poll, .stop = std::move(stop)});
        }};
    fetch.expect_waiting("there is nothing to fetch");

    store.start_pending("A", 500ms);
    fetch.expect_waiting("it is not due");
    store.pass_time(600ms);

    const auto turn = fetch.answer("the fetch is woken");
    expect(turn && turn->instance == "A", "with its turn");
}

} // namespace

CheckList starting_checks() {
    static constexpr Check list[] = {
        {"a_started_instance_exists_at_once", "starting", "P15", a_started_instance_exists_at_once},
        {"the_start_is_its_first_message", "starting", "P15", the_start_is_its_first_message},
        {"the_first_commit_makes_a_pending_instance_run",
         "starting",
         "P15",
         the_first_commit_makes_a_pending_instance_run},
        {"a_start_that_names_no_version_makes_an_unknown_one",
         "starting",
         "P15",
         a_start_that_names_no_version_makes_an_unknown_one},
        {"an_id_is_started_once", "starting", "P15", an_id_is_started_once},
        {"a_start_that_is_queued_keeps_its_id",
         "starting",
         "P15",
         a_start_that_is_queued_keeps_its_id},
        {"other_messages_keep_no_id", "starting", "P15", other_messages_keep_no_id},
        {"a_refused_start_leaves_no_trace", "starting", "P15", a_refused_start_leaves_no_trace},
        {"a_start_that_is_no_text_is_refused",
         "starting",
         "P15",
         a_start_that_is_no_text_is_refused},
        {"a_raise_before_a_delayed_start_waits_for_it",
         "starting",
         "P15",
         a_raise_before_a_delayed_start_waits_for_it},
        {"a_second_start_waits_for_the_first",
         "starting",
         "P15",
         a_second_start_waits_for_the_first},
        {"a_delayed_abandon_hides_a_pending_instance_with_its_start",
         "starting",
         "P15",
         a_delayed_abandon_hides_a_pending_instance_with_its_start},
        {"a_commit_cannot_make_an_instance_pending",
         "starting",
         "P15",
         a_commit_cannot_make_an_instance_pending},
        {"a_deleted_id_is_started_anew", "starting", "P15", a_deleted_id_is_started_anew},
        {"an_instance_that_ended_and_was_deleted_can_start",
         "starting",
         "P15",
         an_instance_that_ended_and_was_deleted_can_start},
        {"starting_is_a_new_revision", "starting", "P11", starting_is_a_new_revision},
        {"a_start_wakes_a_waiting_fetch", "starting", "P11", a_start_wakes_a_waiting_fetch},
    };
    return list;
}

} // namespace durable::validation
