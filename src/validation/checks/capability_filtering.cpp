// P6: a dispatcher gets only executions that it can replay; the others wait aside, unchanged.

#include "validation/checks/categories.hpp"
#include "validation/support/scenarios.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <initializer_list>

namespace durable::validation {

namespace {

using namespace std::chrono_literals;

Version v(std::string_view text) {
    const auto version = Version::parse(text);
    expect(version.has_value(), "the check names a version");
    return *version;
}

// A fetch by a dispatcher that supports these ranges.
FetchOrchestration supporting(std::initializer_list<VersionRange> ranges,
                              Duration lease = long_lease) {
    return {.lock_timeout = lease, .filter = CapabilityFilter{.supported = ranges}};
}

FetchOrchestration between(std::string_view least, std::string_view most) {
    return supporting({{v(least), v(most)}});
}

// Leaves a running instance pinned to the version, with one message waiting.
void seed(const Store& store, const std::string& instance, std::optional<Version> pinned) {
    store.start(instance);
    auto first = started();
    auto metadata = named();
    metadata.pinned_version = pinned;
    if (pinned) {
        first.engine_version = pinned->text();
    }
    std::vector<OrchestrationItem> others; // older instances have messages waiting too
    auto turn = store.fetch_turn();
    for (; turn.instance != instance; turn = store.fetch_turn()) {
        others.push_back(turn);
    }
    store.commit(turn,
                 {.metadata = metadata,
                  .history_delta = {first},
                  .orchestrator_items = {poke_of(instance)}});
    for (const auto& other : others) {
        store.abandon(other, std::nullopt, true);
    }
}

std::optional<std::string>
fetched(const Store& store, const FetchOrchestration& request, Where where = Where::current()) {
    const auto turn = store.try_fetch_turn(request, where);
    return turn ? std::optional{turn->instance} : std::nullopt;
}

constexpr auto none = std::nullopt;
const FetchOrchestration unfiltered{.lock_timeout = long_lease};

void test_fetch_with_filter_none_returns_any_item(Factory& factory) {
    const Store store{factory};
    seed(store, "A", v("1.2.3"));

    expect_eq(fetched(store, unfiltered), "A", "without a filter every version comes");
}

void test_fetch_with_compatible_filter_returns_item(Factory& factory) {
    const Store store{factory};
    seed(store, "A", v("1.2.3"));

    expect_eq(fetched(store, between("1.0.0", "1.9.9")), "A", "a version in the range comes");
}

void test_fetch_with_incompatible_filter_skips_item(Factory& factory) {
    const Store store{factory};
    seed(store, "A", v("1.2.3"));

    expect_eq(fetched(store, between("2.0.0", "2.9.9")), none, "a version outside it does not");
}

void test_fetch_filter_skips_incompatible_selects_compatible(Factory& factory) {
    const Store store{factory};
    seed(store, "old", v("1.0.0"));
    seed(store, "new", v("2.0.0"));

    const auto turn = store.try_fetch_turn(between("2.0.0", "2.9.9"));
    expect(turn.has_value(), "an older instance of another version is no obstacle");
    expect_eq(turn->instance, "new", "the supported one comes");
    store.abandon(*turn, std::nullopt, true);
    expect_eq(fetched(store, between("1.0.0", "1.9.9")), "old", "the other for its dispatcher");
}

void test_fetch_filter_does_not_lock_skipped_instances(Factory& factory) {
    const Store store{factory};
    seed(store, "A", v("1.0.0"));

    expect_eq(fetched(store, between("2.0.0", "2.9.9")), none, "the version does not match");

    const auto turn = store.try_fetch_turn(between("0.0.0", "1.9.9"));
    expect(turn.has_value(), "the skipped instance was not leased");
    expect_eq(turn->attempt_count, 1, "nor counted");
}

void test_fetch_filter_null_pinned_version_always_compatible(Factory& factory) {
    const Store store{factory};
    seed(store, "A", std::nullopt);

    expect_eq(fetched(store, between("99.0.0", "99.9.9")), "A", "no pin matches every filter");
}

void test_fetch_filter_boundary_versions(Factory& factory) {
    const auto range = between("1.0.0", "1.9.99");
    const Store inside{factory};
    seed(inside, "least", v("1.0.0"));
    seed(inside, "most", v("1.9.99"));
    expect_eq(fetched(inside, range), "least", "the lower end belongs to the range");
    expect_eq(fetched(inside, range), "most", "and so does the upper");

    const Store outside{factory};
    seed(outside, "above", v("2.0.0"));
    expect_eq(fetched(outside, range), none, "what is above does not");
    expect_eq(fetched(outside, unfiltered), "above", "although it is there");
}

void test_pinned_version_stored_via_ack_metadata(Factory& factory) {
    const Store store{factory};
    seed(store, "A", v("3.1.4"));

    expect_eq(fetched(store, between("3.1.5", "3.9.9")), none, "the pin is kept exactly");
    expect_eq(fetched(store, between("3.0.0", "3.9.9")), "A", "and is found in its range");
}

void test_pinned_version_immutable_across_ack_cycles(Factory& factory) {
    const Store store{factory};
    seed(store, "A", v("1.0.0"));
    store.take_turn("A", {.metadata = named()});
    store.poke("A");

    expect_eq(fetched(store, between("2.0.0", "2.9.9")), none, "a turn without a pin keeps it");
    expect_eq(fetched(store, between("1.0.0", "1.9.9")), "A", "a turn without a pin keeps it");
}

void test_continue_as_new_execution_gets_own_pinned_version(Factory& factory) {
    const Store store{factory};
    seed(store, "A", v("1.0.0"));
    store.take_turn("A",
                    {.metadata = {.status = ExecutionStatus::continued_as_new},
                     .orchestrator_items = {continue_as_new_of("A")}});
    store.take_turn("A",
                    {.execution_id = 2,
                     .metadata = {.pinned_version = v("2.0.0")},
                     .history_delta = {started()}});
    store.poke("A");

    const auto turn = store.try_fetch_turn(between("2.0.0", "2.9.9"));
    expect(turn.has_value(), "the new execution's pin counts");
    store.abandon(*turn);
    expect_eq(fetched(store, between("1.0.0", "1.9.9")), none, "the old execution's does not");
}

void test_filter_with_empty_supported_versions_returns_nothing(Factory& factory) {
    const Store store{factory};
    seed(store, "A", v("1.0.0"));
    seed(store, "unpinned", std::nullopt);

    expect_eq(fetched(store, supporting({})), none, "a dispatcher that supports nothing gets none");
    expect_eq(store.fetch_turn().attempt_count, 1, "and counts none");
}

void test_concurrent_filtered_fetch_no_double_lock(Factory& factory) {
    constexpr int rounds = 20;
    constexpr std::size_t dispatchers = 4;
    for (int round = 0; round < rounds; ++round) {
        const Store store{factory};
        seed(store, "A", v("1.0.0"));
        std::atomic<int> leases = 0;

        all_at_once(dispatchers, [&](std::size_t) {
            leases += store.try_fetch_turn(between("1.0.0", "1.9.9")) ? 1 : 0;
        });

        expect_eq(leases.load(), 1, "one of several dispatchers gets the instance");
        expect_eq(fetched(store, between("1.0.0", "1.9.9")), none, "and keeps it");
    }
}

void test_ack_stores_pinned_version_via_metadata_update(Factory& factory) {
    const Store store{factory};
    seed(store, "A", std::nullopt);
    store.take_turn("A", {.metadata = {.pinned_version = v("1.2.3")}});
    store.poke("A");

    expect_eq(fetched(store, between("2.0.0", "2.9.9")), none, "a later turn can pin");
    expect_eq(fetched(store, between("1.0.0", "1.9.9")), "A", "a later turn can pin");
}

// The runtime writes a pin once; a provider does not check that.
void test_provider_updates_pinned_version_when_told(Factory& factory) {
    const Store store{factory};
    seed(store, "A", v("1.0.0"));
    store.take_turn("A", {.metadata = {.pinned_version = v("2.0.0")}});
    store.poke("A");

    const auto turn = store.try_fetch_turn(between("2.0.0", "2.0.0"));
    expect(turn.has_value(), "the new pin counts");
    store.abandon(*turn);
    expect_eq(fetched(store, between("1.0.0", "1.0.0")), none, "the old one does not");
}

// The dispatcher's list is a set of ranges, and every one of them counts. The reference looked at
// the first one only, which its check of this name wrote down; the name stays, the limit does not.
void test_fetch_single_range_only_uses_first_range(Factory& factory) {
    const Store store{factory};
    const auto both = supporting({{v("1.0.0"), v("1.5.0")}, {v("3.0.0"), v("3.5.0")}});
    seed(store, "one", v("1.0.0"));
    seed(store, "two", v("2.0.0"));
    seed(store, "three", v("3.0.0"));

    expect_eq(fetched(store, both), "one", "the first range matches");
    expect_eq(fetched(store, both), "three", "and so does the second");
    expect_eq(fetched(store, both), none, "what lies between them does not");
}

} // namespace

CheckList capability_filtering_checks() {
    static constexpr Check list[] = {
        {"test_fetch_with_filter_none_returns_any_item",
         "capability_filtering",
         "P6",
         test_fetch_with_filter_none_returns_any_item},
        {"test_fetch_with_compatible_filter_returns_item",
         "capability_filtering",
         "P6",
         test_fetch_with_compatible_filter_returns_item},
        {"test_fetch_with_incompatible_filter_skips_item",
         "capability_filtering",
         "P6",
         test_fetch_with_incompatible_filter_skips_item},
        {"test_fetch_filter_skips_incompatible_selects_compatible",
         "capability_filtering",
         "P6",
         test_fetch_filter_skips_incompatible_selects_compatible},
        {"test_fetch_filter_does_not_lock_skipped_instances",
         "capability_filtering",
         "P13",
         test_fetch_filter_does_not_lock_skipped_instances},
        {"test_fetch_filter_null_pinned_version_always_compatible",
         "capability_filtering",
         "P6",
         test_fetch_filter_null_pinned_version_always_compatible},
        {"test_fetch_filter_boundary_versions",
         "capability_filtering",
         "P6",
         test_fetch_filter_boundary_versions},
        {"test_pinned_version_stored_via_ack_metadata",
         "capability_filtering",
         "P2",
         test_pinned_version_stored_via_ack_metadata},
        {"test_pinned_version_immutable_across_ack_cycles",
         "capability_filtering",
         "P2",
         test_pinned_version_immutable_across_ack_cycles},
        {"test_continue_as_new_execution_gets_own_pinned_version",
         "capability_filtering",
         "P2",
         test_continue_as_new_execution_gets_own_pinned_version},
        {"test_filter_with_empty_supported_versions_returns_nothing",
         "capability_filtering",
         "P6",
         test_filter_with_empty_supported_versions_returns_nothing},
        {"test_concurrent_filtered_fetch_no_double_lock",
         "capability_filtering",
         "P1",
         test_concurrent_filtered_fetch_no_double_lock},
        {"test_ack_stores_pinned_version_via_metadata_update",
         "capability_filtering",
         "P2",
         test_ack_stores_pinned_version_via_metadata_update},
        {"test_provider_updates_pinned_version_when_told",
         "capability_filtering",
         "P2",
         test_provider_updates_pinned_version_when_told},
        {"test_fetch_single_range_only_uses_first_range",
         "capability_filtering",
         "P6",
         test_fetch_single_range_only_uses_first_range},
    };
    return list;
}

} // namespace durable::validation
