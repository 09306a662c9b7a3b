// Concurrent calls. Each round begins two or more of them at the same moment; the outcome must be
// that of some order of the calls (linearizable).

#include "validation/checks/categories.hpp"
#include "validation/support/scenarios.hpp"

#include <durable/provider_admin.hpp>

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>

namespace durable::validation {

namespace {

constexpr int rounds = 50;

// Lets the other threads end even when this one fails.
class AtEnd {
 public:
    explicit AtEnd(std::function<void()> action) : action_{std::move(action)} {}
    AtEnd(const AtEnd&) = delete;
    AtEnd& operator=(const AtEnd&) = delete;
    ~AtEnd() { action_(); }

 private:
    std::function<void()> action_;
};

// Deletion wins in both orders: an earlier commit is deleted, a later one has no lease.
void a_commit_and_a_deletion_leave_no_zombie(Factory& factory) {
    for (int round = 0; round < rounds; ++round) {
        const Store store{factory};
        store.make_running("A");
        store.poke("A");
        const auto turn = store.fetch_turn();
        Result<> committed;

        all_at_once(2, [&](std::size_t index) {
            if (index == 0) {
                committed = store.try_commit(turn,
                                             {.history_delta = {kv_set(2, "k", "v")},
                                              .worker_items = {activity("A", 3)},
                                              .orchestrator_items = {poke_of("A")}});
            } else {
                expect_ok(store.admin().delete_instance("A", true), "deletion by force succeeds");
            }
        });

        if (!committed) {
            expect_error(committed, ErrorCode::lock_lost, "a commit loses only its lease");
        }
        expect(!store.exists("A"), "the instance is gone");
        expect(store.read("A").empty(), "its history is gone");
        expect_eq(kv(store, "A", "k"), std::nullopt, "its values are gone");
        store.expect_no_work("its activities are gone");
        store.expect_no_turn("its messages are gone");
        expect_eq(value_of(store.admin().get_queue_depths()).orchestrator_queue, 0, "all of them");
    }
}

void a_completion_and_a_deletion_leave_no_stray_message(Factory& factory) {
    for (int round = 0; round < rounds; ++round) {
        const Store store{factory};
        store.start("A");
        store.take_turn("A",
                        {.metadata = named(),
                         .history_delta = {started()},
                         .worker_items = {activity("A", 2)}});
        const auto lease = store.fetch_work();
        Result<> completed;

        all_at_once(2, [&](std::size_t index) {
            if (index == 0) {
                completed = store->ack_work_item(lease.lock_token, completion_of(lease));
            } else {
                expect_ok(store.admin().delete_instance("A", true), "deletion by force succeeds");
            }
        });

        if (!completed) {
            expect_error(completed, ErrorCode::lock_lost, "a completion loses only its lease");
        }
        store.make_running("A");
        store.expect_no_turn("a namesake gets no answer to a question it never asked");
    }
}

// The execution that a commit has just made current is not pruned, and the one before it is pruned
// whole or not at all.
void a_commit_and_a_prune_keep_the_current_execution(Factory& factory) {
    for (int round = 0; round < rounds; ++round) {
        const Store store{factory};
        auto& admin = store.admin();
        store.make_running("A");
        store.poke("A");
        store.take_turn("A",
                        {.metadata = {.status = ExecutionStatus::continued_as_new},
                         .orchestrator_items = {continue_as_new_of("A")}});
        const auto turn = store.fetch_turn();

        all_at_once(2, [&](std::size_t index) {
            if (index == 0) {
                store.commit(turn, {.execution_id = 2, .history_delta = {started()}});
            } else {
                expect_ok(admin.prune_executions("A", {.keep_last = 1}), "pruning succeeds");
            }
        });

        expect_eq(value_of(admin.get_instance_info("A")).current_execution_id, 2, "the new one");
        expect_eq(store.read("A").size(), 1, "is whole");
        const auto left = value_of(admin.list_executions("A"));
        expect_eq(store.read("A", 1).size(), left.size() - 1, "the old one is there or gone");
    }
}

void a_message_that_meets_a_commit_is_not_lost(Factory& factory) {
    const Store store{factory};
    store.make_running("A");
    store.poke("A");
    for (int round = 0; round < 4 * rounds; ++round) {
        const auto turn = store.fetch_turn();
        expect_eq(turn.messages.size(), 1, "every message is delivered exactly once");

        all_at_once(2, [&](std::size_t index) {
            if (index == 0) {
                store.commit(turn);
            } else {
                store.poke("A");
            }
        });
    }
}

void two_owners_of_an_expired_lease_are_one(Factory& factory) {
    for (int round = 0; round < (factory.clock() != nullptr ? rounds : 2); ++round) {
        const Store store{factory};
        store.start("A");
        const auto slow = store.fetch_turn(store.lock_timeout());
        store.outlive_lease();
        Result<> committed;
        std::optional<OrchestrationItem> taken;

        all_at_once(2, [&](std::size_t index) {
            if (index == 0) {
                committed =
                    store.try_commit(slow, {.metadata = named(), .history_delta = {started()}});
            } else {
                taken = store.try_fetch_turn();
            }
        });

        expect_error(committed, ErrorCode::lock_lost, "an expired lease never commits");
        expect(taken.has_value(), "the fetch gets the instance");
        expect(taken->history.empty(), "as it was");
    }
}

// Several senders, several dispatchers: every message arrives in exactly one committed turn, and
// those of one sender in their order.
void a_crowd_delivers_every_message_once_and_in_order(Factory& factory) {
    constexpr std::size_t senders = 3;
    constexpr std::size_t dispatchers = 3;
    constexpr std::uint64_t each = 200;
    const Store store{factory};
    for (const auto* instance : {"A", "B", "C"}) {
        store.make_running(instance);
    }
    const std::vector<std::string> instances{"A", "B", "C"};
    std::mutex mutex;
    std::map<std::string, std::vector<std::uint64_t>> arrived; // by instance, guarded by mutex
    std::atomic<std::size_t> sending = senders;

    all_at_once(senders + dispatchers, [&](std::size_t index) {
        if (index < senders) {
            const AtEnd sent{[&] { --sending; }};
            for (std::uint64_t id = 0; id < each; ++id) {
                store.send(completion(instances[index], id));
            }
            return;
        }
        // Each dispatcher fetches again after a commit, so that in the end nothing is left.
        for (bool last_look = false; !last_look;) {
            last_look = sending == 0;
            const auto turn = store.try_fetch_turn();
            if (!turn) {
                continue;
            }
            last_look = false;
            const auto ids = completion_ids(turn->messages);
            {
                const std::scoped_lock lock{mutex};
                auto& all = arrived[turn->instance];
                all.insert(all.end(), ids.begin(), ids.end());
            }
            store.commit(*turn);
        }
    });

    for (const auto& instance : instances) {
        std::vector<std::uint64_t> wanted(each);
        for (std::uint64_t id = 0; id < each; ++id) {
            wanted[id] = id;
        }
        expect(arrived[instance] == wanted, "every message once, in the order of its sender");
    }
    store.expect_no_turn("and none twice");
}

// While executions end, their values move from one layer to the other. No reader sees the state in
// between.
void all_values_are_never_seen_half_moved(Factory& factory) {
    constexpr std::uint64_t executions = 100;
    const Store store{factory};
    make_running_with(store, "A", {kv_set(2, "left", "1"), kv_set(3, "right", "1")});
    std::atomic<bool> done = false;

    all_at_once(3, [&](std::size_t index) {
        if (index > 0) {
            while (!done) {
                const auto values = value_of(store->get_kv_all_values("A"));
                expect_eq(values.size(), 2, "both values are there at any time");
                expect_eq(values.at("left"), values.at("right"), "and of the same commit");
            }
            return;
        }
        const AtEnd finished{[&] { done = true; }};
        for (std::uint64_t next = 2; next <= executions; ++next) {
            continue_as_new(store, "A", next);
            const auto value = std::to_string(next);
            append_turn(store, "A", next, {kv_set(2, "left", value), kv_set(3, "right", value)});
        }
    });
}

// P15: the first caller makes the instance, and all others get already_exists.
void of_many_starts_exactly_one_makes_the_instance(Factory& factory) {
    constexpr std::size_t callers = 64;
    for (int round = 0; round < 10; ++round) {
        const Store store{factory};
        std::atomic<int> made = 0;
        std::atomic<std::size_t> winner = callers;

        all_at_once(callers, [&](std::size_t caller) {
            auto start = start_of("A");
            start.input = std::to_string(caller);
            const auto started = store->start_instance(start, std::nullopt);
            if (started) {
                ++made;
                winner = caller;
            } else {
                expect_error(started, ErrorCode::already_exists, "the others are told");
            }
        });

        expect_eq(made.load(), 1, "exactly one makes the instance");
        const auto turn = store.fetch_turn();
        auto wanted = start_of("A");
        wanted.input = std::to_string(winner.load());
        expect_eq(turn.messages, std::vector<WorkItem>{wanted}, "with the start that won");
        store.expect_no_turn("and no other");
    }
}

// In both orders: the instance is gone, or it is the one that the start has made.
void a_start_and_a_deletion_leave_one_of_both(Factory& factory) {
    for (int round = 0; round < rounds; ++round) {
        const Store store{factory};
        store.start_pending("A");
        Result<> again;

        all_at_once(2, [&](std::size_t index) {
            if (index == 0) {
                again = store->start_instance(start_of("A"), std::nullopt);
            } else {
                expect_ok(store.admin().delete_instance("A", true), "deletion by force succeeds");
            }
        });

        if (!again) {
            expect_error(again, ErrorCode::already_exists, "it was not deleted yet");
        }
        expect_eq(store.exists("A"), again.has_value(), "what was said is so");
        const auto turn = store.try_fetch_turn();
        expect_eq(turn.has_value(), again.has_value(), "and its start is there, or is not");
    }
}

} // namespace

CheckList race_checks() {
    static constexpr Check list[] = {
        {"a_commit_and_a_deletion_leave_no_zombie",
         "races",
         "P2",
         a_commit_and_a_deletion_leave_no_zombie},
        {"a_completion_and_a_deletion_leave_no_stray_message",
         "races",
         "P2",
         a_completion_and_a_deletion_leave_no_stray_message},
        {"a_commit_and_a_prune_keep_the_current_execution",
         "races",
         "P2",
         a_commit_and_a_prune_keep_the_current_execution},
        {"a_message_that_meets_a_commit_is_not_lost",
         "races",
         "P4",
         a_message_that_meets_a_commit_is_not_lost},
        {"two_owners_of_an_expired_lease_are_one",
         "races",
         "P1",
         two_owners_of_an_expired_lease_are_one},
        {"a_crowd_delivers_every_message_once_and_in_order",
         "races",
         "P5",
         a_crowd_delivers_every_message_once_and_in_order},
        {"all_values_are_never_seen_half_moved",
         "races",
         "P9",
         all_values_are_never_seen_half_moved},
        {"of_many_starts_exactly_one_makes_the_instance",
         "races",
         "P15",
         of_many_starts_exactly_one_makes_the_instance},
        {"a_start_and_a_deletion_leave_one_of_both",
         "races",
         "P15",
         a_start_and_a_deletion_leave_one_of_both},
    };
    return list;
}

} // namespace durable::validation
