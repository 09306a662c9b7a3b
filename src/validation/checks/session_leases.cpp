// P1, P3: a session's lease and the leases of its items run out independently of each other.

#include "validation/checks/categories.hpp"
#include "validation/support/session_scenarios.hpp"

#include <chrono>

namespace durable::validation {

namespace {

using namespace std::chrono_literals;

std::uint64_t renew(const Store& store,
                    const std::string& owner,
                    Duration extend_for,
                    Duration idle_timeout,
                    Where where = Where::current()) {
    return value_of(store->renew_session_lock({owner}, extend_for, idle_timeout), where);
}

std::uint64_t clean_up(const Store& store, Where where = Where::current()) {
    return value_of(store->cleanup_orphaned_sessions(300s), where);
}

// A owns S1 for 50 ms and has nothing in hand; 100 ms later.
void claim_and_outlive(const Store& store) {
    claim(store, of_session(1, "S1"), worker("A", {.session = 50ms}));
    store.pass_time(100ms);
}

void test_session_claimable_after_lock_expiry(Factory& factory) {
    const Store store{factory};
    claim_and_outlive(store);

    store.enqueue(of_session(2, "S1"));

    (void)take(store, worker("B"), 2);
    store.enqueue(of_session(3, "S1"));
    expect_nothing(store, worker("A"), "the session has a new owner");
}

void test_renew_session_lock_active(Factory& factory) {
    const Store store{factory};
    claim(store, of_session(1, "S1"), worker("A", {.session = 5s}));
    expect_eq(renew(store, "A", 30s, 300s), 1, "the owner's only session is renewed");

    claim(store, of_session(2, "S2"), worker("A", {.session = 5s}));
    expect_eq(renew(store, "A", 30s, 300s), 2, "all sessions of an owner are renewed at once");
    expect_eq(renew(store, "B", 30s, 300s), 0, "another owner has none");
}

void test_renew_session_lock_skips_idle(Factory& factory) {
    const Store store{factory};
    claim(store, of_session(1, "S1"), worker("A", {.session = 5s}));

    expect_eq(renew(store, "A", 30s, 0s), 0, "a session idle for that long is not renewed");
}

void test_renew_session_lock_no_sessions(Factory& factory) {
    const Store store{factory};

    expect_eq(renew(store, "nobody", 30s, 300s), 0, "an unknown owner has no sessions");
    expect_eq(value_of(store->renew_session_lock({}, 30s, 300s)), 0, "nor does an empty list");
}

void test_cleanup_removes_expired_no_items(Factory& factory) {
    const Store store{factory};
    claim_and_outlive(store);

    expect_eq(clean_up(store), 1, "an expired session without items is forgotten");
    expect_eq(clean_up(store), 0, "once");
}

void test_cleanup_keeps_sessions_with_pending_items(Factory& factory) {
    const Store store{factory};
    claim_and_outlive(store);

    store.enqueue(of_session(2, "S1"));

    expect_eq(clean_up(store), 0, "a session that a queued item names is kept");
}

void test_cleanup_keeps_active_sessions(Factory& factory) {
    const Store store{factory};
    claim(store, of_session(1, "S1"), worker("A", {.session = 300s}));

    expect_eq(clean_up(store), 0, "a live session is kept");
    store.enqueue(of_session(2, "S1"));
    expect_nothing(store, worker("B"), "and so is its owner");
}

void test_ack_updates_session_last_activity(Factory& factory) {
    const Store store{factory};
    store.enqueue(of_session(1, "S1"));
    const auto lease = take(store, worker("A"), 1);
    store.pass_time(250ms);
    expect_eq(renew(store, "A", 30s, 200ms), 0, "an item that only runs is no activity");

    store.finish(lease);

    expect_eq(renew(store, "A", 30s, 200ms), 1, "finishing one is");
}

void test_renew_work_item_updates_session_last_activity(Factory& factory) {
    const Store store{factory};
    store.enqueue(of_session(1, "S1"));
    const auto lease = take(store, worker("A"), 1);
    store.pass_time(250ms);
    expect_eq(renew(store, "A", 30s, 200ms), 0, "an item that only runs is no activity");

    expect_ok(store->renew_work_item_lock(lease.lock_token, 30s), "a live item is renewed");

    expect_eq(renew(store, "A", 30s, 200ms), 1, "renewing it is");
}

void test_session_takeover_after_lock_expiry(Factory& factory) {
    const Store store{factory};
    claim(store, of_session(1, "S1"), worker("A", {.session = 50ms}));
    store.enqueue(of_session(2, "S1"));
    store.pass_time(100ms);

    const auto lease = take(store, worker("B"), 2);

    expect_eq(lease.item.session_id, "S1", "the session changes hands");
}

void test_cleanup_then_new_item_recreates_session(Factory& factory) {
    const Store store{factory};
    claim_and_outlive(store);
    expect_eq(clean_up(store), 1, "the session is forgotten");

    store.enqueue(of_session(2, "S1"));

    (void)take(store, worker("B"), 2);
    store.enqueue(of_session(3, "S1"));
    expect_nothing(store, worker("A"), "the session is B's");
}

void test_renew_session_lock_after_expiry_returns_zero(Factory& factory) {
    const Store store{factory};
    claim_and_outlive(store);

    expect_eq(renew(store, "A", 30s, 300s), 0, "an expired lease is not revived");
    store.enqueue(of_session(2, "S1"));
    (void)take(store, worker("B"), 2);
}

void test_original_worker_reclaims_expired_session(Factory& factory) {
    const Store store{factory};
    claim(store, of_session(1, "S1"), worker("A", {.session = 50ms}));
    store.enqueue(of_session(2, "S1"));
    store.pass_time(100ms);

    (void)take(store, worker("A"), 2);
    store.enqueue(of_session(3, "S1"));
    expect_nothing(store, worker("B"), "the reclaimed session is owned again");
}

void test_activity_lock_expires_session_lock_valid_same_worker_refetches(Factory& factory) {
    const Store store{factory};
    store.enqueue(of_session(1, "S1"));
    (void)take(store, worker("A", {.item = 500ms}), 1);
    store.pass_time(600ms);

    expect_nothing(store, worker("B"), "an expired item of a live session is the owner's");
    const auto again = take(store, worker("A"), 1);
    expect_eq(again.attempt_count, 2, "its owner gets it as the second attempt");
    store.discard(again);
}

void test_session_lock_expires_new_owner_gets_redelivery(Factory& factory) {
    const Store store{factory};
    store.enqueue(of_session(1, "S1"));
    const auto slow = take(store, worker("A", {.session = 200ms}), 1);
    store.pass_time(300ms);
    store.enqueue(of_session(2, "S1"));

    store.discard(take(store, worker("B"), 2));
    store.abandon(slow);

    const auto again = take(store, worker("B"), 1);
    expect_eq(again.attempt_count, 2, "the item that A gave back is B's second attempt");
    store.discard(again);
}

void test_session_lock_expires_same_worker_reacquires(Factory& factory) {
    const Store store{factory};
    claim(store, of_session(1, "S1"), worker("A", {.session = 200ms}));
    store.pass_time(300ms);

    store.enqueue(of_session(2, "S1"));

    (void)take(store, worker("A"), 2);
    store.enqueue(of_session(3, "S1"));
    expect_nothing(store, worker("B"), "the session is A's again");
}

void test_both_locks_expire_different_worker_claims(Factory& factory) {
    const Store store{factory};
    store.enqueue(of_session(1, "S1"));
    const auto slow = take(store, worker("A", {.item = 200ms, .session = 200ms}), 1);
    store.pass_time(400ms);

    const auto again = take(store, worker("B"), 1);

    expect_eq(again.attempt_count, 2, "another worker takes over as the second attempt");
    expect_error(store->ack_work_item(slow.lock_token, std::nullopt),
                 ErrorCode::lock_lost,
                 "the first one has lost its lease");
    store.discard(again);
}

void test_session_lock_expires_activity_lock_valid_ack_succeeds(Factory& factory) {
    const Store store{factory};
    store.make_running("X");
    store.enqueue(of_session(1, "S1"));
    const auto lease = take(store, worker("A", {.session = 200ms}), 1);
    store.pass_time(300ms);

    store.finish(lease);

    expect_eq(completion_ids(store.fetch_turn().messages),
              std::vector<std::uint64_t>{1},
              "the item's own lease decides, not the session's");
}

void test_session_lock_renewal_extends_past_original_timeout(Factory& factory) {
    const Store store{factory};
    claim(store, of_session(1, "S1"), worker("A", {.session = 1s}));
    store.pass_time(600ms);
    expect_eq(renew(store, "A", 1s, 300s), 1, "the session is renewed");
    store.pass_time(600ms);

    store.enqueue(of_session(2, "S1"));

    expect_nothing(store, worker("B"), "past the first end the session is still A's");
    (void)take(store, worker("A"), 2);
}

} // namespace

CheckList session_lease_checks() {
    static constexpr Check list[] = {
        {"test_session_claimable_after_lock_expiry",
         "sessions",
         "P1",
         test_session_claimable_after_lock_expiry},
        {"test_renew_session_lock_active", "sessions", "P1", test_renew_session_lock_active},
        {"test_renew_session_lock_skips_idle",
         "sessions",
         "P1",
         test_renew_session_lock_skips_idle},
        {"test_renew_session_lock_no_sessions",
         "sessions",
         "P1",
         test_renew_session_lock_no_sessions},
        {"test_cleanup_removes_expired_no_items",
         "sessions",
         "P1",
         test_cleanup_removes_expired_no_items},
        {"test_cleanup_keeps_sessions_with_pending_items",
         "sessions",
         "P1",
         test_cleanup_keeps_sessions_with_pending_items},
        {"test_cleanup_keeps_active_sessions",
         "sessions",
         "P1",
         test_cleanup_keeps_active_sessions},
        {"test_ack_updates_session_last_activity",
         "sessions",
         "P1",
         test_ack_updates_session_last_activity},
        {"test_renew_work_item_updates_session_last_activity",
         "sessions",
         "P1",
         test_renew_work_item_updates_session_last_activity},
        {"test_session_takeover_after_lock_expiry",
         "sessions",
         "P1",
         test_session_takeover_after_lock_expiry},
        {"test_cleanup_then_new_item_recreates_session",
         "sessions",
         "P1",
         test_cleanup_then_new_item_recreates_session},
        {"test_renew_session_lock_after_expiry_returns_zero",
         "sessions",
         "P3",
         test_renew_session_lock_after_expiry_returns_zero},
        {"test_original_worker_reclaims_expired_session",
         "sessions",
         "P1",
         test_original_worker_reclaims_expired_session},
        {"test_activity_lock_expires_session_lock_valid_same_worker_refetches",
         "sessions",
         "P1",
         test_activity_lock_expires_session_lock_valid_same_worker_refetches},
        {"test_session_lock_expires_new_owner_gets_redelivery",
         "sessions",
         "P1",
         test_session_lock_expires_new_owner_gets_redelivery},
        {"test_session_lock_expires_same_worker_reacquires",
         "sessions",
         "P1",
         test_session_lock_expires_same_worker_reacquires},
        {"test_both_locks_expire_different_worker_claims",
         "sessions",
         "P3",
         test_both_locks_expire_different_worker_claims},
        {"test_session_lock_expires_activity_lock_valid_ack_succeeds",
         "sessions",
         "P3",
         test_session_lock_expires_activity_lock_valid_ack_succeeds},
        {"test_session_lock_renewal_extends_past_original_timeout",
         "sessions",
         "P1",
         test_session_lock_renewal_extends_past_original_timeout},
    };
    return list;
}

} // namespace durable::validation
