// P1, P3: leases end by time, by commit and by being given back; renewal moves the end.

#include "validation/checks/categories.hpp"
#include "validation/support/support.hpp"

#include <atomic>
#include <cstddef>

namespace durable::validation {

using namespace std::chrono_literals;

namespace {

void test_lock_expires_after_timeout(Factory& factory) {
    const Store store{factory};
    store.start("A");
    const auto first = store.fetch_turn(store.lock_timeout());
    store.expect_no_turn("a live lease is exclusive");

    store.outlive_lease();

    const auto second = store.fetch_turn();
    expect_ne(second.lock_token, first.lock_token, "every lease has a token of its own");
    expect_error(store.try_commit(first, {.history_delta = {started()}}),
                 ErrorCode::lock_lost,
                 "a lease that was taken over commits nothing");
    store.commit(second, {.history_delta = {started()}});
}

void test_abandon_releases_lock_immediately(Factory& factory) {
    const Store store{factory};
    store.start("A");
    const auto turn = store.fetch_turn(store.lock_timeout());
    store.expect_no_turn("a live lease is exclusive");

    store.abandon(turn);

    const auto again = store.fetch_turn();
    expect_eq(again.instance, "A", "what is given back is ready at once");
    expect_eq(again.messages, turn.messages, "with the same messages");
    expect_error(store.try_commit(turn), ErrorCode::lock_lost, "the old token is dead");
}

void test_lock_renewal_on_ack(Factory& factory) {
    const Store store{factory};
    store.start("A");
    const auto turn = store.fetch_turn();
    store.start("A");
    store.expect_no_turn("a newcomer waits for the lease");

    store.commit(turn, {.metadata = named(), .history_delta = {started()}});

    expect_eq(store.fetch_turn().instance, "A", "a commit frees the instance at once");
}

void test_concurrent_lock_attempts_respect_expiration(Factory& factory) {
    const Store store{factory};
    store.start("A");
    const auto first = store.fetch_turn(store.lock_timeout());
    all_at_once(5, [&](std::size_t) {
        for (int attempt = 0; attempt < 5; ++attempt) {
            store.expect_no_turn("no fetch breaks a live lease");
        }
    });

    store.outlive_lease();
    std::atomic<int> winners = 0;
    all_at_once(5, [&](std::size_t) { winners += store.try_fetch_turn() ? 1 : 0; });

    expect_eq(winners.load(), 1, "one of five takes the expired lease over");
}

void test_worker_lock_renewal_success(Factory& factory) {
    const Store store{factory};
    store.enqueue(activity("A", 1));
    const auto work = store.fetch_work(store.lock_timeout());
    store.expect_no_work("a leased activity is not handed out");

    store.pass_time(store.lock_timeout() / 10);
    expect_ok(store->renew_work_item_lock(work.lock_token, store.lock_timeout()),
              "a live lease is renewed");

    store.expect_no_work("a renewed lease is exclusive");
    store.finish(work);
}

void test_worker_lock_renewal_invalid_token(Factory& factory) {
    const Store store{factory};

    expect_error(store->renew_work_item_lock("invalid-token-123", long_lease),
                 ErrorCode::lock_lost,
                 "an unknown token renews nothing");
}

void test_worker_lock_renewal_after_expiration(Factory& factory) {
    const Store store{factory};
    store.enqueue(activity("A", 1));
    const auto work = store.fetch_work(store.lock_timeout());
    store.outlive_lease();

    expect_error(store->renew_work_item_lock(work.lock_token, long_lease),
                 ErrorCode::lock_lost,
                 "an expired lease is not revived, even when no other fetch took over");

    expect_eq(store.fetch_work().item.id, 1, "the activity is ready for another worker");
}

// A renewal counts from now: not from the fetch, and not on top of what was left.
void test_worker_lock_renewal_extends_timeout(Factory& factory) {
    const Store store{factory};
    const auto lease = store.lock_timeout();
    store.start("A");
    store.take_turn("A",
                    {.metadata = named(),
                     .history_delta = {started(), scheduled(2, "Activity2")},
                     .worker_items = {activity("A", 2)}});
    const auto work = store.fetch_work(lease);

    store.pass_time(lease * 6 / 10);
    expect_ok(store->renew_work_item_lock(work.lock_token, lease), "a live lease is renewed");
    store.pass_time(lease * 6 / 10);
    store.expect_no_work("past its first end, a renewed lease lives");
    store.pass_time(lease * 6 / 10);

    expect_eq(store.fetch_work().item.id, 2, "past its second end, it is over");
}

void test_worker_lock_renewal_after_ack(Factory& factory) {
    const Store store{factory};
    store.enqueue(activity("A", 1));
    const auto work = store.fetch_work();
    store.finish(work);

    expect_error(store->renew_work_item_lock(work.lock_token, long_lease),
                 ErrorCode::lock_lost,
                 "a finished activity has no lease");
}

void test_abandon_work_item_releases_lock(Factory& factory) {
    const Store store{factory};
    store.enqueue(activity("A", 1));
    const auto first = store.fetch_work();
    store.expect_no_work("a leased activity is not handed out");

    store.abandon(first);

    const auto second = store.fetch_work();
    expect_eq(second.item, first.item, "what is given back is ready at once");
    expect_ne(second.lock_token, first.lock_token, "every lease has a token of its own");
    expect_error(store->ack_work_item(first.lock_token, completion_of(first)),
                 ErrorCode::lock_lost,
                 "the old token is dead");
    store.finish(second);
}

void test_abandon_work_item_with_delay(Factory& factory) {
    const Store store{factory};
    store.enqueue(activity("A", 1));
    store.abandon(store.fetch_work(), 500ms);
    store.expect_no_work("what is given back with a delay stays hidden");

    store.pass_time(600ms);

    const auto again = store.fetch_work();
    expect_eq(again.item.id, 1, "until the delay is over");
    store.finish(again);
}

void test_worker_ack_fails_after_lock_expiry(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    store.enqueue(activity("A", 1));
    const auto late = store.fetch_work(store.lock_timeout());
    store.outlive_lease();

    expect_error(store->ack_work_item(late.lock_token, completion_of(late)),
                 ErrorCode::lock_lost,
                 "an expired lease finishes nothing, even when no other fetch took over");

    store.expect_no_turn("the late completion was not sent");
    const auto again = store.fetch_work();
    expect_eq(again.item, late.item, "the activity is still there");
    store.finish(again);
}

void test_orchestration_lock_renewal_after_expiration(Factory& factory) {
    const Store store{factory};
    store.start("A");
    const auto turn = store.fetch_turn(store.lock_timeout());
    store.outlive_lease();

    expect_error(store->renew_orchestration_item_lock(turn.lock_token, long_lease),
                 ErrorCode::lock_lost,
                 "an expired lease is not revived, even when no other fetch took over");

    expect_eq(store.fetch_turn().instance, "A", "the instance is ready for another dispatcher");
}

std::vector<std::string>
renew(const Store& store, const std::vector<LeaseRenewal>& leases, Where where = Where::current()) {
    return value_of(store->renew_leases(leases), where);
}

void many_leases_are_renewed_in_one_call(Factory& factory) {
    using Of = LeaseRenewal::Of;
    const Store store{factory};
    store.start("A");
    store.start("B");
    store.enqueue(activity("A", 1));
    const auto a = store.fetch_turn(store.lock_timeout());
    const auto b = store.fetch_turn(store.lock_timeout());
    const auto work = store.fetch_work(store.lock_timeout());

    const auto lost = renew(store,
                            {{Of::turn, a.lock_token, store.lock_timeout() * 3},
                             {Of::activity, work.lock_token, store.lock_timeout() * 3},
                             {Of::turn, b.lock_token, store.lock_timeout() * 3}});

    expect(lost.empty(), "live leases are not lost");
    store.outlive_lease();
    store.expect_no_turn("both turns outlive their first lease");
    store.expect_no_work("and so does the activity");
    store.commit(b, {.metadata = named(), .history_delta = {started()}});
    store.commit(a, {.metadata = named(), .history_delta = {started()}});
    store.finish(work);
}

void lost_leases_are_named_and_do_not_stop_the_others(Factory& factory) {
    using Of = LeaseRenewal::Of;
    const Store store{factory};
    store.start("A");
    store.enqueue(activity("A", 1));
    const auto turn = store.fetch_turn(store.lock_timeout());
    store.outlive_lease();
    const auto work = store.fetch_work(store.lock_timeout());

    const auto lost = renew(store,
                            {{Of::turn, turn.lock_token, store.lock_timeout() * 3},
                             {Of::activity, "no such token", store.lock_timeout() * 3},
                             {Of::activity, work.lock_token, store.lock_timeout() * 3},
                             {Of::turn, work.lock_token, store.lock_timeout() * 3}});

    expect_eq(lost,
              std::vector<std::string>{turn.lock_token, "no such token", work.lock_token},
              "expired, unknown, and an activity's token for a turn: in their order");
    store.outlive_lease();
    store.expect_no_work("what comes after a lost lease is renewed");
    expect_eq(store.fetch_turn().instance, "A", "a lost lease is not brought back");
    expect(renew(store, {}).empty(), "no leases, nothing lost");
}

} // namespace

CheckList lock_expiration_checks() {
    static constexpr Check list[] = {
        {"test_lock_expires_after_timeout",
         "lock_expiration",
         "P3",
         test_lock_expires_after_timeout},
        {"test_abandon_releases_lock_immediately",
         "lock_expiration",
         "P1",
         test_abandon_releases_lock_immediately},
        {"test_lock_renewal_on_ack", "lock_expiration", "P1", test_lock_renewal_on_ack},
        {"test_concurrent_lock_attempts_respect_expiration",
         "lock_expiration",
         "P1",
         test_concurrent_lock_attempts_respect_expiration},
        {"test_worker_lock_renewal_success",
         "lock_expiration",
         "P1",
         test_worker_lock_renewal_success},
        {"test_worker_lock_renewal_invalid_token",
         "lock_expiration",
         "P3",
         test_worker_lock_renewal_invalid_token},
        {"test_worker_lock_renewal_after_expiration",
         "lock_expiration",
         "P3",
         test_worker_lock_renewal_after_expiration},
        {"test_worker_lock_renewal_extends_timeout",
         "lock_expiration",
         "P1",
         test_worker_lock_renewal_extends_timeout},
        {"test_worker_lock_renewal_after_ack",
         "lock_expiration",
         "P3",
         test_worker_lock_renewal_after_ack},
        {"test_abandon_work_item_releases_lock",
         "lock_expiration",
         "P1",
         test_abandon_work_item_releases_lock},
        {"test_abandon_work_item_with_delay",
         "lock_expiration",
         "P5",
         test_abandon_work_item_with_delay},
        {"test_worker_ack_fails_after_lock_expiry",
         "lock_expiration",
         "P3",
         test_worker_ack_fails_after_lock_expiry},
        {"test_orchestration_lock_renewal_after_expiration",
         "lock_expiration",
         "P3",
         test_orchestration_lock_renewal_after_expiration},
        {"many_leases_are_renewed_in_one_call",
         "lock_expiration",
         "P3",
         many_leases_are_renewed_in_one_call},
        {"lost_leases_are_named_and_do_not_stop_the_others",
         "lock_expiration",
         "P3",
         lost_leases_are_named_and_do_not_stop_the_others},
    };
    return list;
}

} // namespace durable::validation
