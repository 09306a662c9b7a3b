// P7: every fetch counts one attempt on what it returns; nothing else raises the count.

#include "validation/checks/categories.hpp"
#include "validation/support/support.hpp"

namespace durable::validation {

namespace {

constexpr bool ignore_attempt = true;

void orchestration_attempt_count_starts_at_one(Factory& factory) {
    const Store store{factory};
    store.start("A");
    const auto turn = store.fetch_turn(store.lock_timeout());

    expect_eq(turn.attempt_count, 1, "the first fetch is the first attempt");
    store.commit(turn);
}

void orchestration_attempt_count_increments_on_refetch(Factory& factory) {
    const Store store{factory};
    store.start("A");
    for (const std::uint32_t attempt : {1U, 2U}) {
        const auto turn = store.fetch_turn();
        expect_eq(turn.attempt_count, attempt, "every fetch is an attempt");
        store.abandon(turn);
    }

    const auto last = store.fetch_turn();
    expect_eq(last.attempt_count, 3, "every fetch is an attempt");
    store.commit(last);
}

void worker_attempt_count_starts_at_one(Factory& factory) {
    const Store store{factory};
    store.enqueue(activity("A", 1));

    const auto work = store.fetch_work(store.lock_timeout());

    expect_eq(work.attempt_count, 1, "the first fetch is the first attempt");
    store.finish(work);
}

void worker_attempt_count_increments_on_lock_expiry(Factory& factory) {
    const Store store{factory};
    store.enqueue(activity("A", 1));
    expect_eq(store.fetch_work(store.lock_timeout()).attempt_count, 1, "the first attempt");
    store.outlive_lease();

    const auto again = store.fetch_work();

    expect_eq(again.attempt_count, 2, "an attempt that vanished has counted");
    store.finish(again);
}

void attempt_count_is_per_message(Factory& factory) {
    const Store store{factory};
    store.enqueue(activity("A", 1));
    store.enqueue(activity("B", 2));
    store.abandon(store.fetch_work());

    const auto first = store.fetch_work();
    const auto second = store.fetch_work();

    expect_eq(first.item.id, 1, "what was given back keeps its place");
    expect_eq(first.attempt_count, 2, "and its count");
    expect_eq(second.item.id, 2, "the other one");
    expect_eq(second.attempt_count, 1, "has a count of its own");
    store.finish(first);
    store.finish(second);
}

void abandon_work_item_ignore_attempt_decrements(Factory& factory) {
    const Store store{factory};
    store.enqueue(activity("A", 1));
    store.abandon(store.fetch_work());
    const auto second = store.fetch_work();
    expect_eq(second.attempt_count, 2, "an attempt that failed counts");

    store.abandon(second, std::nullopt, ignore_attempt);

    const auto again = store.fetch_work();
    expect_eq(again.attempt_count, 2, "an attempt that is to be ignored does not");
    store.finish(again);
}

void abandon_orchestration_item_ignore_attempt_decrements(Factory& factory) {
    const Store store{factory};
    store.start("A");
    store.abandon(store.fetch_turn());
    const auto second = store.fetch_turn();
    expect_eq(second.attempt_count, 2, "an attempt that failed counts");

    store.abandon(second, std::nullopt, ignore_attempt);

    const auto again = store.fetch_turn();
    expect_eq(again.attempt_count, 2, "an attempt that is to be ignored does not");
    store.commit(again);
}

void ignore_attempt_never_goes_negative(Factory& factory) {
    const Store store{factory};
    store.enqueue(activity("A", 1));
    store.start("A");
    for (int round = 0; round < 3; ++round) {
        const auto work = store.fetch_work();
        expect_eq(work.attempt_count, 1, "the count is never below one at work");
        store.abandon(work, std::nullopt, ignore_attempt);
        const auto turn = store.fetch_turn();
        expect_eq(turn.attempt_count, 1, "nor at a turn");
        store.abandon(turn, std::nullopt, ignore_attempt);
    }
}

void max_attempt_count_across_message_batch(Factory& factory) {
    const Store store{factory};
    store.start("A");
    store.abandon(store.fetch_turn());
    const auto second = store.fetch_turn();
    expect_eq(second.attempt_count, 2, "the second attempt");
    store.send(completion("A", 1));
    store.abandon(second);

    const auto both = store.fetch_turn();

    expect_eq(both.messages.size(), 2, "the newcomer comes along");
    expect_eq(both.attempt_count, 3, "the batch is as old as its most tried message");
}

} // namespace

CheckList poison_message_checks() {
    static constexpr Check list[] = {
        {"orchestration_attempt_count_starts_at_one",
         "poison_message",
         "P7",
         orchestration_attempt_count_starts_at_one},
        {"orchestration_attempt_count_increments_on_refetch",
         "poison_message",
         "P7",
         orchestration_attempt_count_increments_on_refetch},
        {"worker_attempt_count_starts_at_one",
         "poison_message",
         "P7",
         worker_attempt_count_starts_at_one},
        {"worker_attempt_count_increments_on_lock_expiry",
         "poison_message",
         "P7",
         worker_attempt_count_increments_on_lock_expiry},
        {"attempt_count_is_per_message", "poison_message", "P7", attempt_count_is_per_message},
        {"abandon_work_item_ignore_attempt_decrements",
         "poison_message",
         "P7",
         abandon_work_item_ignore_attempt_decrements},
        {"abandon_orchestration_item_ignore_attempt_decrements",
         "poison_message",
         "P7",
         abandon_orchestration_item_ignore_attempt_decrements},
        {"ignore_attempt_never_goes_negative",
         "poison_message",
         "P7",
         ignore_attempt_never_goes_negative},
        {"max_attempt_count_across_message_batch",
         "poison_message",
         "P7",
         max_attempt_count_across_message_batch},
    };
    return list;
}

} // namespace durable::validation
