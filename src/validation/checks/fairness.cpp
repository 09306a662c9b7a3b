// P5, P6: every instance with work gets a turn, and every fetch gets work while there is some.

#include "validation/checks/categories.hpp"
#include "validation/support/session_scenarios.hpp"
#include "validation/support/support.hpp"

#include <chrono>
#include <cstddef>
#include <set>

namespace durable::validation {

namespace {

using namespace std::chrono_literals;

// An instance that sends itself a message in every turn has one waiting at any time.
void a_hot_instance_does_not_starve_others(Factory& factory) {
    const Store store{factory};
    store.make_running("hot");
    store.poke("hot");
    const auto take_hot_turn = [&] {
        store.take_turn("hot", {.orchestrator_items = {poke_of("hot")}});
    };

    for (int round = 0; round < 50; ++round) {
        take_hot_turn();
        const auto other = "other-" + std::to_string(round);
        store.start(other);
        take_hot_turn(); // its message was there before
        store.take_turn(other, {.metadata = named(), .history_delta = {started()}});
    }
}

void an_instance_in_backoff_does_not_delay_its_neighbours(Factory& factory) {
    const Store store{factory};
    store.start("poisoned");
    store.start("A");
    store.start("B");
    store.abandon(store.fetch_turn(), 1h);

    expect_eq(store.fetch_turn().instance, "A", "the next in line");
    expect_eq(store.fetch_turn().instance, "B", "and the one after");
}

void an_abandoned_turn_keeps_its_place(Factory& factory) {
    const Store store{factory};
    store.start("first");
    store.start("second");

    store.abandon(store.fetch_turn());

    expect_eq(store.fetch_turn().instance, "first", "what was given back is still the oldest");
}

void an_abandoned_activity_keeps_its_place(Factory& factory) {
    const Store store{factory};
    store.enqueue(activity("A", 1));
    store.enqueue(activity("A", 2));

    store.abandon(store.fetch_work());

    expect_eq(store.fetch_work().item.id, 1, "what was given back is still the oldest");
}

void twenty_thousand_messages_come_in_one_turn(Factory& factory) {
    constexpr std::uint64_t count = 20'000;
    const Store store{factory};
    std::vector<WorkItem> many;
    std::vector<std::uint64_t> wanted;
    for (std::uint64_t id = 1; id <= count; ++id) {
        many.emplace_back(completion("A", id));
        wanted.push_back(id);
    }
    store.start("A");
    store.take_turn(
        "A",
        {.metadata = named(), .history_delta = {started()}, .orchestrator_items = std::move(many)});

    const auto turn = store.fetch_turn();

    expect(completion_ids(turn.messages) == wanted, "every message once, in order");
    store.commit(turn);
    store.expect_no_turn("one commit consumes them all");
}

// While there is work for all fetches, each one gets some: "none" never means that another fetch
// was quicker.
void as_many_fetchers_as_instances_get_one_each(Factory& factory) {
    constexpr std::size_t count = 8;
    constexpr int rounds = 200;
    const Store store{factory};
    for (std::size_t index = 0; index < count; ++index) {
        store.make_running("instance-" + std::to_string(index));
    }

    for (int round = 0; round < rounds; ++round) {
        for (std::size_t index = 0; index < count; ++index) {
            store.poke("instance-" + std::to_string(index));
        }
        std::vector<std::optional<OrchestrationItem>> turns(count);
        all_at_once(count, [&](std::size_t index) { turns[index] = store.try_fetch_turn(); });

        std::set<std::string> distinct;
        for (const auto& turn : turns) {
            expect(turn.has_value(), "there is an instance for every fetcher");
            distinct.insert(turn->instance);
            store.commit(*turn);
        }
        expect_eq(distinct.size(), count, "no instance is handed out twice");
    }
}

void as_many_workers_as_activities_get_one_each(Factory& factory) {
    constexpr std::size_t count = 8;
    constexpr int rounds = 200;
    const Store store{factory};

    for (int round = 0; round < rounds; ++round) {
        for (std::size_t index = 0; index < count; ++index) {
            store.enqueue(activity("A", index));
        }
        std::vector<std::optional<WorkLease>> leases(count);
        all_at_once(count, [&](std::size_t index) { leases[index] = store.try_fetch_work(); });

        std::set<std::uint64_t> distinct;
        for (const auto& lease : leases) {
            expect(lease.has_value(), "there is an activity for every worker");
            distinct.insert(lease->item.id);
            store.discard(*lease);
        }
        expect_eq(distinct.size(), count, "no activity is handed out twice");
    }
}

work::ActivityExecute
item(std::uint64_t id, std::optional<std::string> session, std::optional<std::string> tag) {
    auto made = activity("X", id);
    made.session_id = std::move(session);
    made.tag = std::move(tag);
    return made;
}

// A worker must both serve the tag and be allowed the session.
void tags_and_sessions_both_have_to_match(Factory& factory) {
    const Store store{factory};
    auto owner_gpu = worker("owner");
    owner_gpu.tags = value_of(TagFilter::tags({"gpu"}));
    auto other_gpu = worker("other");
    other_gpu.tags = owner_gpu.tags;
    auto nobody_gpu = FetchWork{.lock_timeout = long_lease, .tags = owner_gpu.tags};
    store.enqueue(item(1, "S", "gpu"));
    store.enqueue(item(2, "S", "cpu"));
    store.enqueue(item(3, "S", std::nullopt));
    store.enqueue(item(4, std::nullopt, "gpu"));
    store.enqueue(item(5, "S", "gpu"));

    store.discard(take(store, owner_gpu, 1));
    (void)take(store, nobody_gpu, 4);
    expect_nothing(store, other_gpu, "the right tag does not open another owner's session");
    (void)take(store, worker("owner"), 3);
    (void)take(store, owner_gpu, 5);
    expect_nothing(store, owner_gpu, "the own session does not open another tag");
}

// A session is claimed by taking an item of it, not by looking at one.
void a_tag_that_does_not_match_claims_no_session(Factory& factory) {
    const Store store{factory};
    store.enqueue(item(1, "S", "gpu"));

    expect_nothing(store, worker("wrong tag"), "the tag does not match");

    auto right = worker("right tag");
    right.tags = value_of(TagFilter::tags({"gpu"}));
    (void)take(store, right, 1);
}

void a_worker_at_its_limit_serves_the_sessions_it_holds(Factory& factory) {
    const Store store{factory};
    claim(store, of_session(1, "mine"), worker("owner"));
    auto at_limit = worker("owner");
    at_limit.session->claim_new = false;
    store.enqueue(of_session(2, "new"));
    store.enqueue(of_session(3, "mine"));
    store.enqueue(activity("X", 4));

    (void)take(store, at_limit, 3);
    (void)take(store, at_limit, 4);
    expect_nothing(store, at_limit, "it claims no further session");
    (void)take(store, worker("owner"), 2);
}

} // namespace

CheckList fairness_checks() {
    static constexpr Check list[] = {
        {"a_hot_instance_does_not_starve_others",
         "fairness",
         "P5",
         a_hot_instance_does_not_starve_others},
        {"an_instance_in_backoff_does_not_delay_its_neighbours",
         "fairness",
         "P6",
         an_instance_in_backoff_does_not_delay_its_neighbours},
        {"an_abandoned_turn_keeps_its_place", "fairness", "P5", an_abandoned_turn_keeps_its_place},
        {"an_abandoned_activity_keeps_its_place",
         "fairness",
         "P5",
         an_abandoned_activity_keeps_its_place},
        {"twenty_thousand_messages_come_in_one_turn",
         "fairness",
         "P5",
         twenty_thousand_messages_come_in_one_turn},
        {"as_many_fetchers_as_instances_get_one_each",
         "fairness",
         "P6",
         as_many_fetchers_as_instances_get_one_each},
        {"as_many_workers_as_activities_get_one_each",
         "fairness",
         "P6",
         as_many_workers_as_activities_get_one_each},
        {"tags_and_sessions_both_have_to_match",
         "fairness",
         "P6",
         tags_and_sessions_both_have_to_match},
        {"a_tag_that_does_not_match_claims_no_session",
         "fairness",
         "P13",
         a_tag_that_does_not_match_claims_no_session},
        {"a_worker_at_its_limit_serves_the_sessions_it_holds",
         "fairness",
         "P6",
         a_worker_at_its_limit_serves_the_sessions_it_holds},
    };
    return list;
}

} // namespace durable::validation
