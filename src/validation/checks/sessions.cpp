// P1, P6: the items of a session go to one worker while its lease on the session lives, and stop no
// other worker. session_leases.cpp checks how that lease and the items' own leases expire.

#include "validation/checks/categories.hpp"
#include "validation/support/session_scenarios.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>

namespace durable::validation {

namespace {

using namespace std::chrono_literals;

void test_non_session_items_fetchable_by_any_worker(Factory& factory) {
    const Store store{factory};
    store.enqueue(activity("X", 1));
    store.enqueue(activity("X", 2));

    (void)take(store, worker("A"), 1);
    (void)take(store, worker("B"), 2);
}

void test_session_item_claimable_when_no_session(Factory& factory) {
    const Store store{factory};
    store.enqueue(of_session(1, "S1"));

    const auto lease = take(store, worker("A"), 1);

    expect_eq(lease.item.session_id, "S1", "the item says which session it belongs to");
}

void test_session_affinity_same_worker(Factory& factory) {
    const Store store{factory};
    claim(store, of_session(1, "S1"), worker("A"));

    store.enqueue(of_session(2, "S1"));

    (void)take(store, worker("A"), 2);
}

void test_session_affinity_blocks_other_worker(Factory& factory) {
    const Store store{factory};
    claim(store, of_session(1, "S1"), worker("A"));

    store.enqueue(of_session(2, "S1"));

    expect_nothing(store, worker("B"), "a session has one owner");
    expect_eq(take(store, worker("A"), 2).attempt_count, 1, "a refused fetch counts nothing");
}

void test_different_sessions_different_workers(Factory& factory) {
    const Store store{factory};
    claim(store, of_session(1, "S1"), worker("A"));
    claim(store, of_session(2, "S2"), worker("B"));

    store.enqueue(of_session(3, "S2"));
    store.enqueue(of_session(4, "S1"));

    (void)take(store, worker("A"), 4);
    (void)take(store, worker("B"), 3);
}

void test_mixed_session_and_non_session_items(Factory& factory) {
    const Store store{factory};
    claim(store, of_session(1, "S1"), worker("A"));

    store.enqueue(of_session(2, "S1"));
    store.enqueue(activity("X", 3));

    (void)take(store, worker("B"), 3);
}

void test_none_session_skips_session_items(Factory& factory) {
    const Store store{factory};
    store.enqueue(of_session(1, "S1"));
    store.enqueue(activity("X", 2));

    expect_eq(store.fetch_work().item.id, 2, "a worker without sessions skips their items");
    store.expect_no_work("and finds nothing else");
    (void)take(store, worker("A"), 1);
}

void test_some_session_returns_all_items(Factory& factory) {
    const Store store{factory};
    store.enqueue(of_session(1, "S1"));
    store.enqueue(activity("X", 2));
    store.enqueue(of_session(3, "S2"));
    store.enqueue(of_session(4, "S3"));

    for (const std::uint64_t id : {1U, 2U, 3U, 4U}) {
        store.discard(take(store, worker("A"), id));
    }
    expect_nothing(store, worker("A"), "each item came once");
}

void test_session_items_processed_in_order(Factory& factory) {
    const Store store{factory};
    for (const std::uint64_t id : {1U, 2U, 3U}) {
        store.enqueue(of_session(id, "S1"));
    }

    for (const std::uint64_t id : {1U, 2U, 3U}) {
        store.discard(take(store, worker("A"), id));
    }
}

void test_non_session_items_returned_with_session_config(Factory& factory) {
    const Store store{factory};
    claim(store, of_session(1, "S1"), worker("A"));

    store.enqueue(activity("X", 2));

    (void)take(store, worker("A"), 2);
}

// The owner is a name, not a connection: all threads of a process may share it.
void test_shared_worker_id_any_caller_can_fetch_owned_session(Factory& factory) {
    const Store store{factory};
    claim(store, of_session(1, "S1"), worker("process-1"));
    claim(store, of_session(2, "S1"), worker("process-1"));

    store.enqueue(of_session(3, "S1"));
    store.enqueue(of_session(4, "S1"));

    expect_nothing(store, worker("process-2"), "another process is not the owner");
    (void)take(store, worker("process-1"), 3);
    (void)take(store, worker("process-1"), 4);
}

// Two workers fetch from an unclaimed session at the same moment. One claims it; the other gets
// nothing until the session's lease expires.
void test_concurrent_session_claim_only_one_wins(Factory& factory) {
    constexpr int rounds = 20;
    for (int round = 0; round < rounds; ++round) {
        const Store store{factory};
        const Leases leases{.session = store.lock_timeout()};
        const FetchWork workers[] = {worker("A", leases), worker("B", leases)};
        store.enqueue(of_session(1, "S1"));
        store.enqueue(of_session(2, "S1"));
        std::optional<WorkLease> got[2];

        all_at_once(2,
                    [&](std::size_t index) { got[index] = store.try_fetch_work(workers[index]); });

        expect_ne(got[0].has_value(), got[1].has_value(), "exactly one of two claims wins");
        const std::size_t winner = got[0] ? 0 : 1;
        expect_eq(got[winner]->item.id, 1, "and is given the oldest item");
        store.discard(*got[winner]);
        if (factory.clock() != nullptr || round == 0) {
            store.outlive_lease();
            (void)take(store, workers[1 - winner], 2);
        }
    }
}

void test_abandoned_session_item_retryable(Factory& factory) {
    const Store store{factory};
    store.enqueue(of_session(1, "S1"));
    const auto first = take(store, worker("A"), 1);
    expect_eq(first.attempt_count, 1, "the first fetch is the first attempt");

    store.abandon(first);

    const auto second = take(store, worker("A"), 1);
    expect_eq(second.attempt_count, 2, "the next is the second");
    store.discard(second);
    expect_nothing(store, worker("A"), "a finished item is gone");
}

void test_abandoned_session_item_ignore_attempt(Factory& factory) {
    const Store store{factory};
    store.enqueue(of_session(1, "S1"));
    const auto first = take(store, worker("A"), 1);
    expect_eq(first.attempt_count, 1, "the first fetch is the first attempt");

    store.abandon(first, 1ms, true);
    store.pass_time(10ms);

    const auto second = take(store, worker("A"), 1);
    expect_eq(second.attempt_count, 1, "an attempt that does not count is not counted");
    store.discard(second);
}

} // namespace

CheckList session_checks() {
    static constexpr Check list[] = {
        {"test_non_session_items_fetchable_by_any_worker",
         "sessions",
         "P6",
         test_non_session_items_fetchable_by_any_worker},
        {"test_session_item_claimable_when_no_session",
         "sessions",
         "P6",
         test_session_item_claimable_when_no_session},
        {"test_session_affinity_same_worker", "sessions", "P6", test_session_affinity_same_worker},
        {"test_session_affinity_blocks_other_worker",
         "sessions",
         "P1",
         test_session_affinity_blocks_other_worker},
        {"test_different_sessions_different_workers",
         "sessions",
         "P6",
         test_different_sessions_different_workers},
        {"test_mixed_session_and_non_session_items",
         "sessions",
         "P6",
         test_mixed_session_and_non_session_items},
        {"test_none_session_skips_session_items",
         "sessions",
         "P6",
         test_none_session_skips_session_items},
        {"test_some_session_returns_all_items",
         "sessions",
         "P5",
         test_some_session_returns_all_items},
        {"test_session_items_processed_in_order",
         "sessions",
         "P5",
         test_session_items_processed_in_order},
        {"test_non_session_items_returned_with_session_config",
         "sessions",
         "P6",
         test_non_session_items_returned_with_session_config},
        {"test_shared_worker_id_any_caller_can_fetch_owned_session",
         "sessions",
         "P1",
         test_shared_worker_id_any_caller_can_fetch_owned_session},
        {"test_concurrent_session_claim_only_one_wins",
         "sessions",
         "P1",
         test_concurrent_session_claim_only_one_wins},
        {"test_abandoned_session_item_retryable",
         "sessions",
         "P7",
         test_abandoned_session_item_retryable},
        {"test_abandoned_session_item_ignore_attempt",
         "sessions",
         "P7",
         test_abandoned_session_item_ignore_attempt},
    };
    return list;
}

} // namespace durable::validation
