// P1, P4: an instance has one owner at a time, and a commit consumes exactly the messages of its
// fetch.

#include "validation/checks/categories.hpp"
#include "validation/support/support.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace durable::validation {

namespace {

using Ids = std::vector<std::uint64_t>;

void test_exclusive_instance_lock(Factory& factory) {
    const Store store{factory};
    store.start("A");
    const auto first = store.fetch_turn(store.lock_timeout());
    store.expect_no_turn("a leased instance is not handed out");

    store.outlive_lease();

    const auto second = store.fetch_turn();
    expect_eq(second.instance, "A", "an expired lease frees the instance");
    expect_ne(second.lock_token, first.lock_token, "every lease has a token of its own");
}

void test_lock_token_uniqueness(Factory& factory) {
    const Store store{factory};
    std::set<std::string> tokens;
    for (int index = 0; index < 5; ++index) {
        store.start("A" + std::to_string(index));
    }
    for (int index = 0; index < 5; ++index) {
        expect(tokens.insert(store.fetch_turn().lock_token).second, "no token is given twice");
    }
    store.enqueue(activity("A0", 1));
    expect(tokens.insert(store.fetch_work().lock_token).second, "nor to a worker");
}

void test_invalid_lock_token_rejection(Factory& factory) {
    const Store store{factory};
    store.start("A");
    const auto turn = store.fetch_turn();

    expect_error(store->ack_orchestration_item({.lock_token = "invalid-token"}),
                 ErrorCode::lock_lost,
                 "an unknown token commits nothing");
    expect_error(
        store->abandon_orchestration_item(
            {.lock_token = "invalid-token", .delay = std::nullopt, .ignore_attempt = false}),
        ErrorCode::lock_lost,
        "an unknown token abandons nothing");
    expect_error(store->renew_orchestration_item_lock("invalid-token", long_lease),
                 ErrorCode::lock_lost,
                 "an unknown token renews nothing");

    store.expect_no_turn("the instance is still leased");
    store.commit(turn);
}

// As many fetchers as ready instances: each gets one. "Nothing" must never mean "lost a race".
void test_concurrent_instance_fetching(Factory& factory) {
    const Store store{factory};
    constexpr std::size_t count = 10;
    for (int round = 0; round < 10; ++round) {
        for (std::size_t index = 0; index < count; ++index) {
            store.start(std::to_string(round) + "-" + std::to_string(index));
        }
        std::mutex mutex;
        std::set<std::string> claimed;

        all_at_once(count, [&](std::size_t) {
            const auto turn = store.try_fetch_turn();
            expect(turn.has_value(), "a fetcher finds work while an instance is ready");
            const std::scoped_lock lock{mutex};
            expect(claimed.insert(turn->instance).second, "no instance is handed out twice");
        });

        expect_eq(claimed.size(), count, "every ready instance is handed out");
    }
}

void test_completions_arriving_during_lock_blocked(Factory& factory) {
    const Store store{factory};
    store.start("A");
    const auto turn = store.fetch_turn(store.lock_timeout());
    for (const std::uint64_t id : {1U, 2U, 3U}) {
        store.send(completion("A", id));
    }
    store.expect_no_turn("newcomers do not break a lease");

    store.outlive_lease();

    const auto again = store.fetch_turn();
    expect_eq(again.instance, "A", "the instance is free again");
    expect_eq(again.messages.size(), 4, "the old message and the newcomers come together");
    expect_eq(again.messages.front(), turn.messages.front(), "the old message comes first");
    expect_eq(completion_ids(again.messages), Ids{1, 2, 3}, "completions come as they went in");
}

void test_cross_instance_lock_isolation(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    store.make_running("B");
    store.start("A");
    store.start("B");
    const auto held = store.fetch_turn();
    expect_eq(held.instance, "A", "the older message is served first");

    const auto other = store.fetch_turn();
    expect_eq(other.instance, "B", "a lease on one instance does not block another");
    store.commit(other);

    store.send(completion("B", 1));
    expect_eq(store.fetch_turn().instance, "B", "again and again");
}

void test_message_tagging_during_lock(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    store.send(completion("A", 1));
    store.send(completion("A", 2));
    const auto turn = store.fetch_turn();
    expect_eq(completion_ids(turn.messages), Ids{1, 2}, "a turn gets all that is there");

    store.send(completion("A", 3));
    store.commit(turn);

    expect_eq(completion_ids(store.fetch_turn().messages),
              Ids{3},
              "a commit consumes what the turn was given, not what came later");
}

void test_ack_only_affects_locked_messages(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    store.send(completion("A", 1));
    const auto turn = store.fetch_turn();
    expect_eq(completion_ids(turn.messages), Ids{1}, "a turn gets all that is there");
    store.send(completion("A", 2));
    store.send(completion("A", 3));
    store.expect_no_turn("newcomers wait for the lease");

    store.commit(turn);

    expect_eq(completion_ids(store.fetch_turn().messages),
              Ids{2, 3},
              "the commit frees the instance for the newcomers at once");
}

void test_multi_threaded_lock_contention(Factory& factory) {
    const Store store{factory};
    for (int round = 0; round < 10; ++round) {
        store.start("A" + std::to_string(round));
        std::atomic<int> winners = 0;

        all_at_once(10, [&](std::size_t) { winners += store.try_fetch_turn() ? 1 : 0; });

        expect_eq(winners.load(), 1, "one of ten fetchers gets the instance");
        store.expect_no_turn("the instance stays with the winner");
    }
}

// Twice as many fetchers as instances: each instance goes out once, and all of them go out.
void test_multi_threaded_no_duplicate_processing(Factory& factory) {
    const Store store{factory};
    constexpr std::size_t instances = 20;
    for (std::size_t index = 0; index < instances; ++index) {
        store.start("A" + std::to_string(index));
    }
    std::mutex mutex;
    std::vector<std::string> claimed;

    all_at_once(2 * instances, [&](std::size_t) {
        if (const auto turn = store.try_fetch_turn()) {
            const std::scoped_lock lock{mutex};
            claimed.push_back(turn->instance);
        }
    });

    std::ranges::sort(claimed);
    expect(std::ranges::adjacent_find(claimed) == claimed.end(),
           "no instance is handed out twice: " + show(claimed));
    expect_eq(claimed.size(), instances, "no instance is forgotten");
}

// The owner vanishes. Of the dispatchers that keep fetching, none gets the instance before the
// lease expires, and then exactly one does. The lease of the vanished owner is fenced off.
void test_multi_threaded_lock_expiration_recovery(Factory& factory) {
    const Store store{factory};
    store.start("A");
    const auto vanished = store.fetch_turn(store.lock_timeout());
    all_at_once(3, [&](std::size_t) {
        for (int attempt = 0; attempt < 10; ++attempt) {
            store.expect_no_turn("a live lease keeps all other fetches out");
        }
    });

    store.outlive_lease();
    std::mutex mutex;
    std::vector<OrchestrationItem> taken;
    all_at_once(3, [&](std::size_t) {
        if (auto turn = store.try_fetch_turn()) {
            const std::scoped_lock lock{mutex};
            taken.push_back(*std::move(turn));
        }
    });

    expect_eq(taken.size(), 1, "exactly one takes over");
    expect_ne(taken[0].lock_token, vanished.lock_token, "under a token of its own");
    expect_error(store.try_commit(vanished, {.history_delta = {started()}}),
                 ErrorCode::lock_lost,
                 "the old owner cannot commit");
    expect_error(
        store->abandon_orchestration_item(
            {.lock_token = vanished.lock_token, .delay = std::nullopt, .ignore_attempt = false}),
        ErrorCode::lock_lost,
        "nor give back what is no longer its own");
    store.commit(taken[0], {.metadata = named(), .history_delta = {started()}});
}

} // namespace

CheckList instance_locking_checks() {
    static constexpr Check list[] = {
        {"test_exclusive_instance_lock", "instance_locking", "P1", test_exclusive_instance_lock},
        {"test_lock_token_uniqueness", "instance_locking", "P3", test_lock_token_uniqueness},
        {"test_invalid_lock_token_rejection",
         "instance_locking",
         "P3",
         test_invalid_lock_token_rejection},
        {"test_concurrent_instance_fetching",
         "instance_locking",
         "P1",
         test_concurrent_instance_fetching},
        {"test_completions_arriving_during_lock_blocked",
         "instance_locking",
         "P4",
         test_completions_arriving_during_lock_blocked},
        {"test_cross_instance_lock_isolation",
         "instance_locking",
         "P6",
         test_cross_instance_lock_isolation},
        {"test_message_tagging_during_lock",
         "instance_locking",
         "P4",
         test_message_tagging_during_lock},
        {"test_ack_only_affects_locked_messages",
         "instance_locking",
         "P4",
         test_ack_only_affects_locked_messages},
        {"test_multi_threaded_lock_contention",
         "instance_locking",
         "P1",
         test_multi_threaded_lock_contention},
        {"test_multi_threaded_no_duplicate_processing",
         "instance_locking",
         "P1",
         test_multi_threaded_no_duplicate_processing},
        {"test_multi_threaded_lock_expiration_recovery",
         "instance_locking",
         "P3",
         test_multi_threaded_lock_expiration_recovery},
    };
    return list;
}

} // namespace durable::validation
