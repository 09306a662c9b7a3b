// P2, P3: a refused call changes nothing at all. Each check builds a store full of everything,
// makes one refused call, and compares all that can be read; then it empties the store and compares
// what comes out with a twin that never saw the call.

#include "validation/checks/categories.hpp"
#include "validation/support/observation.hpp"
#include "validation/support/scenarios.hpp"
#include "validation/support/session_scenarios.hpp"

#include <durable/provider_admin.hpp>

#include <chrono>
#include <functional>

namespace durable::validation {

namespace {

// Instance "A" in its second execution: values of both layers, a custom status, a child, two queued
// activities, one running activity of a session, a timer, a leased turn and a message behind it.
struct World {
    explicit World(Factory& factory);

    Store store;
    OrchestrationItem sealed; // of "A", committed long ago
    OrchestrationItem turn;   // of "A", leased
    WorkLease running;        // of session "S"
};

// Longer than any lease that a check lets run out.
constexpr Duration session_lease = std::chrono::hours{1};

const std::vector<std::string> all_instances{"A", "child", "leaked"};

OrchestrationItem lease_turn(const Store& store) {
    store.poke("A");
    auto turn = store.fetch_turn(store.lock_timeout());
    expect_eq(turn.instance, "A", "the story is about A");
    return turn;
}

WorkLease lease_work(const Store& store) {
    auto item = of_session(9, "S");
    item.tag = "S"; // to be fetched before the older ones
    store.enqueue(item);
    auto request = worker("owner", {.item = store.lock_timeout(), .session = session_lease});
    request.tags = value_of(TagFilter::tags({"S"}));
    return take(store, request, 9);
}

OrchestrationItem past_of(const Store& store) {
    make_running_with(store, "A", {kv_set(2, "old", "1"), status_set(3, "begun")});
    continue_as_new(store, "A", 2);
    auto child = ended(ExecutionStatus::completed);
    child.parent_instance_id = "A";
    store.start("child");
    store.take_turn("child", {.metadata = child, .history_delta = {started()}});
    store.poke("A");
    auto turn = store.fetch_turn();
    const auto due = to_epoch_ms(store.now() + store.lock_timeout() / 2);
    store.commit(
        turn,
        {.execution_id = 2,
         .history_delta = {kv_set(2, "new", "2"), kv_cleared(3, "old"), status_set(4, "half")},
         .worker_items = {activity("A", 5), activity("A", 6)},
         .orchestrator_items = {
             work::TimerFired{.instance = "A", .execution_id = 2, .id = 7, .fire_at_ms = due}}});
    return turn;
}

World::World(Factory& factory)
    : store{factory}, sealed{past_of(store)}, turn{lease_turn(store)}, running{lease_work(store)} {
    store.poke("A"); // a newcomer, behind the leased turn
}

// Every effect a commit can have, and one event that does not collide with anything.
TurnCommit commit_of_everything() {
    auto metadata = ended(ExecutionStatus::failed, "leaked");
    metadata.orchestration_name = "Leaked";
    metadata.orchestration_version = "9.9.9";
    metadata.parent_instance_id = "leaked";
    metadata.pinned_version = Version{9, 9, 9};
    return {.execution_id = 2,
            .metadata = metadata,
            .history_delta = {event(10, history::OrchestrationCancelRequested{.reason = "leaked"}),
                              kv_all_cleared(11),
                              kv_set(12, "leaked", "x"),
                              status_set(13, "leaked")},
            .worker_items = {activity("A", 14)},
            .cancelled_activities = {{"A", 1, 5}, {"A", 1, 6}, {"X", 1, 9}},
            .orchestrator_items = {start_of("leaked"), poke_of("A")},
            .cancelled_timers = {7}};
}

using Refused = std::function<void(World&)>;

void expect_no_trace(Factory& factory, const Refused& refused) {
    World world{factory};
    const auto before = observe(world.store, all_instances);

    refused(world);

    expect_same(observe(world.store, all_instances), before, "a refused call changes nothing");
    world.store.expect_no_turn("a refused call keeps the lease");
    const auto sessions =
        value_of(world.store->renew_session_lock({"owner"}, session_lease, session_lease));
    expect_eq(sessions, 1, "a refused call leaves the sessions");
    const auto drained = drain(world.store, "owner");
    const World twin{factory};
    expect_eq(drained, drain(twin.store, "owner"), "a refused call leaves the queues");
}

void refuse_commit(Factory& factory, const std::function<void(TurnCommit&)>& spoil) {
    expect_no_trace(factory, [&](World& world) {
        auto commit = commit_of_everything();
        spoil(commit);
        expect_error(world.store.try_commit(world.turn, commit),
                     ErrorCode::invalid_argument,
                     "a commit with a mistake is refused");
    });
}

void refuse_token(Factory& factory, const std::function<std::string(World&)>& token) {
    expect_no_trace(factory, [&](World& world) {
        auto commit = commit_of_everything();
        commit.lock_token = token(world);
        expect_error(world.store->ack_orchestration_item(commit),
                     ErrorCode::lock_lost,
                     "a token that leases nothing commits nothing");
    });
}

void a_commit_with_a_stored_event_id_leaves_no_trace(Factory& factory) {
    refuse_commit(
        factory, [](TurnCommit& commit) { commit.history_delta.push_back(scheduled(2, "taken")); });
}

void a_commit_with_the_same_event_id_twice_leaves_no_trace(Factory& factory) {
    refuse_commit(factory, [](TurnCommit& commit) {
        commit.history_delta.push_back(scheduled(10, "twice"));
    });
}

void a_commit_with_event_id_zero_leaves_no_trace(Factory& factory) {
    refuse_commit(
        factory, [](TurnCommit& commit) { commit.history_delta.push_back(scheduled(0, "unset")); });
}

void a_commit_with_an_activity_for_an_orchestration_leaves_no_trace(Factory& factory) {
    refuse_commit(factory, [](TurnCommit& commit) {
        commit.orchestrator_items.emplace_back(activity("A", 15));
    });
}

void a_commit_with_a_message_for_a_worker_leaves_no_trace(Factory& factory) {
    refuse_commit(
        factory, [](TurnCommit& commit) { commit.worker_items.emplace_back(completion("A", 15)); });
}

void a_commit_with_text_that_is_not_utf8_leaves_no_trace(Factory& factory) {
    refuse_commit(factory, [](TurnCommit& commit) {
        commit.history_delta.push_back(kv_set(15, "key", "\xff\xfe"));
    });
    refuse_commit(factory, [](TurnCommit& commit) {
        auto item = activity("A", 15);
        item.input = "\xc3";
        commit.worker_items.emplace_back(item);
    });
    refuse_commit(factory, [](TurnCommit& commit) {
        commit.orchestrator_items.emplace_back(
            work::ExternalRaised{.instance = "A", .name = "n", .data = "\xed\xa0\x80"});
    });
    for (const auto field : {&ExecutionMetadata::output,
                             &ExecutionMetadata::orchestration_name,
                             &ExecutionMetadata::orchestration_version,
                             &ExecutionMetadata::parent_instance_id}) {
        refuse_commit(factory, [&](TurnCommit& commit) { commit.metadata.*field = "\x80"; });
    }
}

void a_commit_with_an_unknown_token_leaves_no_trace(Factory& factory) {
    refuse_token(factory, [](World&) { return "nobody was given this"; });
    refuse_token(factory, [](World&) { return ""; });
}

void a_commit_with_a_spent_token_leaves_no_trace(Factory& factory) {
    refuse_token(factory, [](World& world) { return world.sealed.lock_token; });
}

// The token of an activity, and one from a store of the same kind that leases an instance of the
// same name.
void a_commit_with_a_foreign_token_leaves_no_trace(Factory& factory) {
    refuse_token(factory, [](World& world) { return world.running.lock_token; });
    const World elsewhere{factory};
    refuse_token(factory, [&](World&) { return elsewhere.turn.lock_token; });
}

void a_commit_with_an_expired_token_leaves_no_trace(Factory& factory) {
    const World world{factory};
    world.store.outlive_lease();
    const auto before = observe(world.store, all_instances);

    expect_error(world.store.try_commit(world.turn, commit_of_everything()),
                 ErrorCode::lock_lost,
                 "an expired lease commits nothing, even when no other fetch took over");

    expect_same(observe(world.store, all_instances), before, "a refused call changes nothing");
    const auto drained = drain(world.store, "owner");
    const World twin{factory};
    twin.store.outlive_lease();
    expect_eq(drained, drain(twin.store, "owner"), "a refused call leaves the queues");
}

// After the refusal the owner still holds the lease and can end the turn properly.
void a_refused_commit_can_be_corrected(Factory& factory) {
    const World world{factory};
    auto commit = commit_of_everything();
    commit.history_delta.push_back(scheduled(0, "unset"));
    expect_error(world.store.try_commit(world.turn, commit),
                 ErrorCode::invalid_argument,
                 "a commit with a mistake is refused");

    commit.history_delta.pop_back();
    world.store.commit(world.turn, commit);

    expect_eq(value_of(world.store.admin().get_instance_info("A")).output,
              "leaked",
              "the corrected commit counts");
    expect_eq(kv(world.store, "A", "leaked"), "x", "whole");
}

void a_refused_completion_leaves_no_trace(Factory& factory) {
    expect_no_trace(factory, [](World& world) {
        expect_error(world.store->ack_work_item(world.running.lock_token, poke_of("A")),
                     ErrorCode::invalid_argument,
                     "a completion is ActivityCompleted or ActivityFailed");
        expect_error(world.store->ack_work_item("unknown", completion("A", 9)),
                     ErrorCode::lock_lost,
                     "a token that leases nothing completes nothing");
        expect_error(world.store->ack_work_item(world.turn.lock_token, completion("A", 9)),
                     ErrorCode::lock_lost,
                     "nor does the token of a turn");
    });
}

void a_refused_message_leaves_no_trace(Factory& factory) {
    expect_no_trace(factory, [](World& world) {
        expect_error(world.store->enqueue_for_orchestrator(activity("A", 15), std::nullopt),
                     ErrorCode::invalid_argument,
                     "an activity is not for an orchestration");
        expect_error(world.store->enqueue_for_worker(poke_of("A")),
                     ErrorCode::invalid_argument,
                     "a message is not for a worker");
    });
}

void a_refused_append_leaves_no_trace(Factory& factory) {
    expect_no_trace(factory, [](World& world) {
        expect_error(world.store->append_with_execution(
                         "A", 2, {scheduled(10, "fine"), scheduled(2, "taken")}),
                     ErrorCode::invalid_argument,
                     "an event id that is taken is refused");
        expect_error(world.store->append_with_execution(
                         "A", 2, {scheduled(10, "fine"), scheduled(0, "unset")}),
                     ErrorCode::invalid_argument,
                     "event id 0 is refused");
    });
}

void a_refused_deletion_leaves_no_trace(Factory& factory) {
    expect_no_trace(factory, [](World& world) {
        auto& admin = world.store.admin();
        expect_error(admin.delete_instance("A", false),
                     ErrorCode::still_running,
                     "a running instance is not deleted");
        expect_error(admin.delete_instance("child", true),
                     ErrorCode::not_a_root,
                     "a child is not deleted alone");
        expect_error(admin.delete_instances_atomic({"child", "A"}, false),
                     ErrorCode::still_running,
                     "one that runs protects all");
        expect_error(admin.delete_instances_atomic({"A"}, true),
                     ErrorCode::has_children,
                     "no child is orphaned");
        expect_error(admin.prune_executions("unknown", {}),
                     ErrorCode::not_found,
                     "what is not there is not pruned");
    });
}

} // namespace

CheckList all_or_nothing_checks() {
    static constexpr Check list[] = {
        {"a_commit_with_a_stored_event_id_leaves_no_trace",
         "all_or_nothing",
         "P2",
         a_commit_with_a_stored_event_id_leaves_no_trace},
        {"a_commit_with_the_same_event_id_twice_leaves_no_trace",
         "all_or_nothing",
         "P2",
         a_commit_with_the_same_event_id_twice_leaves_no_trace},
        {"a_commit_with_event_id_zero_leaves_no_trace",
         "all_or_nothing",
         "P2",
         a_commit_with_event_id_zero_leaves_no_trace},
        {"a_commit_with_an_activity_for_an_orchestration_leaves_no_trace",
         "all_or_nothing",
         "P2",
         a_commit_with_an_activity_for_an_orchestration_leaves_no_trace},
        {"a_commit_with_a_message_for_a_worker_leaves_no_trace",
         "all_or_nothing",
         "P2",
         a_commit_with_a_message_for_a_worker_leaves_no_trace},
        {"a_commit_with_text_that_is_not_utf8_leaves_no_trace",
         "all_or_nothing",
         "P2",
         a_commit_with_text_that_is_not_utf8_leaves_no_trace},
        {"a_commit_with_an_unknown_token_leaves_no_trace",
         "all_or_nothing",
         "P3",
         a_commit_with_an_unknown_token_leaves_no_trace},
        {"a_commit_with_a_spent_token_leaves_no_trace",
         "all_or_nothing",
         "P3",
         a_commit_with_a_spent_token_leaves_no_trace},
        {"a_commit_with_a_foreign_token_leaves_no_trace",
         "all_or_nothing",
         "P3",
         a_commit_with_a_foreign_token_leaves_no_trace},
        {"a_commit_with_an_expired_token_leaves_no_trace",
         "all_or_nothing",
         "P3",
         a_commit_with_an_expired_token_leaves_no_trace},
        {"a_refused_commit_can_be_corrected",
         "all_or_nothing",
         "P2",
         a_refused_commit_can_be_corrected},
        {"a_refused_completion_leaves_no_trace",
         "all_or_nothing",
         "P2",
         a_refused_completion_leaves_no_trace},
        {"a_refused_message_leaves_no_trace",
         "all_or_nothing",
         "P2",
         a_refused_message_leaves_no_trace},
        {"a_refused_append_leaves_no_trace",
         "all_or_nothing",
         "P2",
         a_refused_append_leaves_no_trace},
        {"a_refused_deletion_leaves_no_trace",
         "all_or_nothing",
         "P2",
         a_refused_deletion_leaves_no_trace},
    };
    return list;
}

} // namespace durable::validation
