// P8, P13: a history that does not decode is handed out with an error, counted like any turn, and
// can still be ended, because a commit never reads what is stored.

#include "validation/checks/categories.hpp"
#include "validation/support/support.hpp"

#include <durable/error_details.hpp>
#include <durable/provider_admin.hpp>

#include <chrono>

namespace durable::validation {

namespace {

using namespace std::chrono_literals;

// A running instance pinned to the version, one message waiting, its history unreadable.
void seed_corrupt(const Store& store, const Version& pinned) {
    auto metadata = named();
    metadata.pinned_version = pinned;
    store.start("A");
    store.take_turn(
        "A",
        {.metadata = metadata, .history_delta = {started()}, .orchestrator_items = {poke_of("A")}});
    need(store.factory().corrupt_history("A"));
}

FetchOrchestration supporting(Version least, Version most) {
    return {.lock_timeout = long_lease, .filter = CapabilityFilter{.supported = {{least, most}}}};
}

void expect_unreadable(const OrchestrationItem& turn, Where where = Where::current()) {
    expect_eq(turn.instance, "A", "the damaged instance is handed out", where);
    expect(turn.history_error.has_value(), "with the error in place of its history", where);
    expect(turn.history.empty(), "none of its events is made up or skipped", where);
    expect(turn.kv_snapshot.empty(), "no values come with it", where);
    expect_eq(turn.messages.size(), 1, "its messages do", where);
}

void test_fetch_corrupted_history_filtered_vs_unfiltered(Factory& factory) {
    const Store store{factory};
    seed_corrupt(store, {1, 0, 0});

    expect(!store.try_fetch_turn(supporting({2, 0, 0}, {2, 9, 9})),
           "another version's damage is not this dispatcher's business");
    const auto turn = store.fetch_turn();
    expect_unreadable(turn);
    store.abandon(turn);
}

void test_fetch_deserialization_error_increments_attempt_count(Factory& factory) {
    const Store store{factory};
    seed_corrupt(store, {1, 0, 0});

    for (const int attempt : {1, 2}) {
        const auto turn = store.fetch_turn(50ms);
        expect_unreadable(turn);
        expect_eq(turn.attempt_count, attempt, "every fetch counts");
        store.abandon(turn);
        store.pass_time(100ms);
    }

    expect_eq(need(factory.max_attempt_count("A")), 2, "the count is stored");
}

void test_fetch_deserialization_error_eventually_reaches_poison(Factory& factory) {
    const Store store{factory};
    seed_corrupt(store, {1, 0, 0});

    for (int cycle = 0; cycle < 5; ++cycle) {
        const auto turn = store.fetch_turn(50ms);
        expect_unreadable(turn);
        store.pass_time(100ms); // the turn is not given back: its lease expires
    }

    expect_eq(need(factory.max_attempt_count("A")), 5, "five failures are five attempts");
}

void test_fetch_filter_applied_before_history_deserialization(Factory& factory) {
    const Store store{factory};
    seed_corrupt(store, {99, 0, 0});

    expect(!store.try_fetch_turn(supporting({1, 0, 0}, {2, 0, 0})),
           "a skipped instance's history is not read");
    expect_unreadable(store.fetch_turn());
    expect_eq(need(factory.max_attempt_count("A")), 1, "only the real fetch counted");
}

void test_ack_appends_event_to_corrupted_history(Factory& factory) {
    const Store store{factory};
    seed_corrupt(store, {1, 0, 0});
    const auto turn = store.fetch_turn();
    expect_unreadable(turn);
    const ErrorDetails poison = details::Poison{.attempt_count = 11,
                                                .max_attempts = 10,
                                                .kind = details::PoisonKind::failed_deserialization,
                                                .instance = "A",
                                                .execution_id = 1,
                                                .error = *turn.history_error};

    store.commit(turn,
                 {.metadata = {.status = ExecutionStatus::failed, .output = display_text(poison)},
                  .history_delta = {event(99'999, history::OrchestrationFailed{poison})}});

    const auto info = value_of(store.admin().get_instance_info("A"));
    expect_eq(info.status, "Failed", "the damaged instance ended");
    expect_mentions(info.output.value_or(""), "deserialization failed", "and says why");
    expect_error(store->read("A"), ErrorCode::corrupt, "its history is as unreadable as before");
    store.expect_no_turn("and its message is consumed");
}

} // namespace

CheckList corrupt_history_checks() {
    static constexpr Check list[] = {
        {"test_fetch_corrupted_history_filtered_vs_unfiltered",
         "capability_filtering",
         "P6",
         test_fetch_corrupted_history_filtered_vs_unfiltered},
        {"test_fetch_deserialization_error_increments_attempt_count",
         "capability_filtering",
         "P7",
         test_fetch_deserialization_error_increments_attempt_count},
        {"test_fetch_deserialization_error_eventually_reaches_poison",
         "capability_filtering",
         "P7",
         test_fetch_deserialization_error_eventually_reaches_poison},
        {"test_fetch_filter_applied_before_history_deserialization",
         "capability_filtering",
         "P13",
         test_fetch_filter_applied_before_history_deserialization},
        {"test_ack_appends_event_to_corrupted_history",
         "capability_filtering",
         "P8",
         test_ack_appends_event_to_corrupted_history},
    };
    return list;
}

} // namespace durable::validation
