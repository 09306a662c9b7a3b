// A dispatcher that already holds a history may get only the new events. A provider need not make
// use of that; if it does, prefix and rest must make the whole history.

#include "validation/checks/categories.hpp"
#include "validation/support/scenarios.hpp"

#include <durable/provider_admin.hpp>

#include <limits>

namespace durable::validation {

namespace {

constexpr std::uint64_t stored = 4;

// A running instance with events 1 to 4, a value of an earlier execution, and a message.
void make_story(const Store& store) {
    make_running_with(store, "A", {kv_set(2, "key", "value")});
    continue_as_new(store, "A", 2);
    append_turn(
        store, "A", 2, {scheduled(2, "Second"), scheduled(3, "Third"), scheduled(4, "Fourth")});
    store.poke("A");
}

FetchOrchestration holding(std::optional<CachedHistory> cached) {
    return {.lock_timeout = long_lease, .cached = [cached](std::string_view) { return cached; }};
}

// What came, put behind the prefix that the caller holds, is the history.
void expect_whole(const Store& store,
                  const OrchestrationItem& turn,
                  Where where = Where::current()) {
    auto whole = store.read("A", where);
    std::erase_if(whole, [&](const HistoryEvent& e) { return e.event_id <= turn.history_after; });
    expect_eq(turn.history, whole, "exactly the events after the cached ones come", where);
    const Values values = turn.history_after > 0 ? Values{} : Values{{"key", "value"}};
    Values got;
    for (const auto& [key, entry] : turn.kv_snapshot) {
        got.emplace(key, entry.value);
    }
    expect_eq(got, values, "values come with a whole history and only then", where);
}

OrchestrationItem fetch_holding(const Store& store,
                                std::optional<CachedHistory> cached,
                                Where where = Where::current()) {
    auto turn = store.try_fetch_turn(holding(cached), where);
    expect(turn.has_value(), "a turn is ready", where);
    expect_whole(store, *turn, where);
    return *turn;
}

void expect_uncached(Factory& factory,
                     std::optional<CachedHistory> cached,
                     std::string_view sentence,
                     Where where = Where::current()) {
    const Store store{factory, where};
    make_story(store);
    const auto turn = fetch_holding(store, cached, where);
    expect_eq(turn.history_after, 0, sentence, where);
    expect_eq(turn.history.size(), stored, sentence, where);
}

void a_cached_prefix_and_the_rest_make_the_whole(Factory& factory) {
    for (std::uint64_t last = 1; last <= stored; ++last) {
        const Store store{factory};
        make_story(store);

        const auto turn =
            fetch_holding(store, CachedHistory{.execution_id = 2, .last_event_id = last});

        expect(turn.history_after == 0 || turn.history_after == last,
               "a provider uses the cache or does not");
        expect_eq(turn.execution_id, 2, "the execution is told all the same");
        expect_eq(turn.messages, std::vector<WorkItem>{poke_of("A")}, "and the messages come");
        store.commit(turn, {.execution_id = 2, .history_delta = {scheduled(5, "Fifth")}});
        expect_eq(store.read("A").size(), stored + 1, "a commit is the same with and without");
    }
}

void a_cache_of_another_execution_is_not_used(Factory& factory) {
    expect_uncached(factory, CachedHistory{1, 2}, "an older execution is another history");
    expect_uncached(factory, CachedHistory{3, 2}, "and so is one that does not exist");
}

// The caller holds events that were never committed. They must not be taken for history.
void a_cache_ahead_of_the_store_is_not_used(Factory& factory) {
    expect_uncached(factory, CachedHistory{2, stored + 1}, "an event never stored is no history");
    expect_uncached(factory,
                    CachedHistory{2, std::numeric_limits<std::uint64_t>::max()},
                    "not the last one there could be either");
}

void an_empty_cache_changes_nothing(Factory& factory) {
    expect_uncached(factory, std::nullopt, "nothing cached is no cache");
    expect_uncached(factory, CachedHistory{2, 0}, "no events cached is no cache");
    const Store store{factory};
    make_story(store);
    const auto turn = store.fetch_turn(); // without a lookup at all
    expect_whole(store, turn);
    expect_eq(turn.history_after, 0, "nor is a lookup that is not there");
}

// The provider calls the lookup for the instance that it is about to hand out, and does not use
// the answer for another one.
void the_lookup_is_asked_by_instance(Factory& factory) {
    const Store store{factory};
    store.make_running("B");
    make_story(store);
    store.poke("B");
    const FetchOrchestration request{
        .lock_timeout = long_lease,
        .cached = [](std::string_view instance) -> std::optional<CachedHistory> {
            return instance == "A" ? std::optional{CachedHistory{2, 3}} : std::nullopt;
        }};

    const auto first = store.try_fetch_turn(request);
    const auto second = store.try_fetch_turn(request);

    expect(first && second, "two turns are ready");
    expect_eq(first->instance, "A", "the older message comes first");
    expect_whole(store, *first);
    expect_eq(second->history_after, 0, "B is not cached");
    expect_eq(second->history, store.read("B"), "so its history comes whole");
}

void a_new_instance_with_a_stale_cache_starts_from_nothing(Factory& factory) {
    const Store store{factory};
    store.start("A");

    const auto turn = store.try_fetch_turn(holding(CachedHistory{1, 7}));

    expect(turn.has_value(), "the start is ready");
    expect_eq(turn->history_after, 0, "a namesake's cached history is not this one's");
    expect(turn->history.empty(), "there is none yet");
}

// The same id, the same execution, the same event ids: only the incarnation shows that the cached
// history belongs to an earlier instance.
void a_cache_of_a_deleted_namesake_is_not_used(Factory& factory) {
    const Store store{factory};
    make_story(store);
    const auto before = store.fetch_turn();
    if (before.incarnation == 0) {
        skip("this provider does not tell incarnations apart");
    }
    expect_ok(store.admin().delete_instance("A", true), "a running instance is deleted by force");
    make_story(store);

    const auto turn = fetch_holding(
        store,
        CachedHistory{.execution_id = 2, .last_event_id = 3, .incarnation = before.incarnation});

    expect_ne(turn.incarnation, before.incarnation, "a namesake is another one");
    expect_eq(turn.history_after, 0, "whose history comes whole");
}

// The incarnation in a turn is the one that the next lookup may return.
void an_incarnation_stays_the_same_from_turn_to_turn(Factory& factory) {
    const Store store{factory};
    make_story(store);
    const auto first = store.fetch_turn();
    store.commit(first, {.execution_id = 2, .history_delta = {scheduled(5, "Fifth")}});
    store.poke("A");

    const auto turn = fetch_holding(
        store,
        CachedHistory{.execution_id = 2, .last_event_id = 5, .incarnation = first.incarnation});

    expect_eq(turn.incarnation, first.incarnation, "it is the same instance");
}

// A client that means this instance, and not a later one with its id, must get its incarnation.
void the_state_tells_the_incarnation(Factory& factory) {
    const Store store{factory};
    const auto told = [&] {
        return value_of(store->watch_instance({.instance = "A"})).incarnation;
    };
    expect_eq(told(), 0, "what does not exist has none");
    store.poke("A");
    expect_eq(told(), 0, "nor has what messages were sent to");
    store.start("A");
    const auto queued = told();
    const auto turn = store.fetch_turn();
    if (turn.incarnation == 0) {
        skip("this provider does not tell incarnations apart");
    }
    expect_eq(queued, turn.incarnation, "what is going to start has the one of its first turn");
    store.commit(turn, {.metadata = named(), .history_delta = {started()}});
    expect_eq(told(), turn.incarnation, "and keeps it");
    expect_ok(store.admin().delete_instance("A", true), "deleted,");
    expect_eq(told(), 0, "it has none,");
    store.send_later(start_of("A"), std::chrono::hours{1});
    expect(told() != 0 && told() != turn.incarnation, "and its successor has another");
}

} // namespace

CheckList cached_history_checks() {
    static constexpr Check list[] = {
        {"a_cached_prefix_and_the_rest_make_the_whole",
         "cached_history",
         "P8",
         a_cached_prefix_and_the_rest_make_the_whole},
        {"a_cache_of_another_execution_is_not_used",
         "cached_history",
         "P8",
         a_cache_of_another_execution_is_not_used},
        {"a_cache_ahead_of_the_store_is_not_used",
         "cached_history",
         "P8",
         a_cache_ahead_of_the_store_is_not_used},
        {"an_empty_cache_changes_nothing", "cached_history", "P8", an_empty_cache_changes_nothing},
        {"the_lookup_is_asked_by_instance",
         "cached_history",
         "P8",
         the_lookup_is_asked_by_instance},
        {"a_new_instance_with_a_stale_cache_starts_from_nothing",
         "cached_history",
         "P8",
         a_new_instance_with_a_stale_cache_starts_from_nothing},
        {"a_cache_of_a_deleted_namesake_is_not_used",
         "cached_history",
         "P8",
         a_cache_of_a_deleted_namesake_is_not_used},
        {"an_incarnation_stays_the_same_from_turn_to_turn",
         "cached_history",
         "P8",
         an_incarnation_stays_the_same_from_turn_to_turn},
        {"the_state_tells_the_incarnation",
         "cached_history",
         "P8",
         the_state_tells_the_incarnation},
    };
    return list;
}

} // namespace durable::validation
