// TurnQueue: the orchestrator queue and the leases on instances, with the indexes that keep the
// cost of every call independent of how much is queued.
//
// Messages and Inbox::hidden_until are durable; the indexes follow from them and from the time of
// the last `advance`. An instance is *filed* in the index of its Instance::Place: ready, hidden,
// leased, parked. A function that changes what the place depends on calls hold() before and file()
// after.

#pragma once

#include "base/link_table.hpp"
#include "providers/ledger/due_heap.hpp"
#include "providers/ledger/instance.hpp"
#include "providers/ledger/listener.hpp"
#include "providers/ledger/queued_children.hpp"
#include "providers/ledger/record.hpp"
#include "providers/ledger/turn_class.hpp"
#include "providers/rules/moment.hpp"

#include <durable/provider.hpp>

#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace durable::ledger {

// The instances of one class that are ready, by their lowest visible message.
struct ReadyTurns {
    TurnClass turn;
    DueHeap<Instance, &Instance::slot> instances; // never empty
    // All of them by their oldest cancellation, if the class is a cancelled one (P14).
    std::set<std::pair<Instant, Instance*>> by_cancellation;
};

class TurnQueue {
 public:
    explicit TurnQueue(SuspectHold& suspects) : suspects_{suspects} {}
    TurnQueue(const TurnQueue&) = delete;
    TurnQueue& operator=(const TurnQueue&) = delete;
    ~TurnQueue();

    void listen(Listener* listener) noexcept { listener_ = listener; }

    // ---- Messages

    void add(Instance& instance, const NewMessage& message, Instant at, Instant hidden_until = {});
    void remove(Instance& instance, std::span<const Seq> messages); // unknown ones are ignored
    void remove_all(Instance& instance);
    [[nodiscard]] Message* find(Seq seq);
    // Queued starts of children that this parent has sent. Ascending.
    [[nodiscard]] std::vector<Seq> starts_by(std::string_view parent) const {
        return children_.of(parent);
    }
    // TimerFired messages of that execution and timer, delayed and visible ones.
    [[nodiscard]] std::vector<Seq>
    find_timers(const Instance& instance, std::uint64_t execution_id, std::uint64_t timer_id) const;

    // ---- Filing

    void hold(Instance& instance);                 // out of the indexes
    void file(Instance& instance);                 // into the index of its place
    void refile_after_removal(Instance& instance); // file(), cheaper: only messages are gone
    // Hides the whole instance.
    void hide(Instance& instance, Instant until, Instant at, Seq next);
    void reveal(Instance& instance);
    // Hides single messages of an instance that is held. Unknown ones are ignored.
    void hide(Instance& instance, std::span<const Seq> messages, Instant until, Instant at);
    // Counts an attempt on each message.
    void count_attempt(Instance& instance, std::span<const Seq> messages);

    // Files everything that became due or expired.
    void advance(Moment now);
    // When advance would next change something that a fetch could see; nullopt: never.
    [[nodiscard]] std::optional<Duration> until_next(Moment now) const;
    // Parked messages that have waited for `ttl`, at most `limit`.
    [[nodiscard]] std::vector<Seq> expired(Instant now, Duration ttl, std::size_t limit) const;

    // P5: of the instances that the request may take the one with the lowest visible message. Sorts
    // its `visible`.
    [[nodiscard]] Instance* first_ready(const FetchOrchestration& request, Instant now);
    // Tells the listener of every class of suspects that is ready.
    void announce_suspects() const;
    // fn(instance, class) for all that are ready, in no order.
    template <class Fn>
    void for_each_ready(Fn&& fn) const {
        for (const auto& [turn, ready] : ready_) {
            ready.instances.visit_due(std::numeric_limits<std::int64_t>::max(),
                                      [&](const Instance& instance) {
                                          fn(instance, ready.turn);
                                          return true;
                                      });
        }
    }

    // ---- Leases

    void lease(Instance& instance, TurnLease lease);
    void release(Instance& instance); // forgets the lease, if any; the caller calls file()
    void extend(TurnLease& lease, SteadyInstant until);
    [[nodiscard]] TurnLease* find_lease(const Token& token);

    // Messages not under a live lease.
    [[nodiscard]] std::uint64_t depth() const noexcept { return messages_.size() - leased_; }

    template <class Fn>
    void for_each_lease(Fn&& fn) const {
        for (const auto& [token, held] : leases_) {
            fn(held);
        }
    }

    // DURABLE_CHECKs that indexes and instances agree; walks over all of them. Returns how many
    // suspects are under live leases.
    [[nodiscard]] std::uint32_t check() const;

 private:
    [[nodiscard]] static std::size_t hash_of(const Message& message) noexcept;
    [[nodiscard]] static std::size_t timer_hash_of(const Message& message) noexcept;

    [[nodiscard]] Instance::Place place_of(Instance& instance) const;
    void leave(Instance& instance);
    void show(Message& message);
    void forget(Message& message);
    void compact(Instance& instance);
    void push_ready(Instance& instance);
    void drop(TurnLease& lease); // out of lease_ends_

    SuspectHold& suspects_;
    LinkTable<Message, &Message::same_hash, &TurnQueue::hash_of> messages_;
    LinkTable<Message, &Message::same_timer_hash, &TurnQueue::timer_hash_of> timers_;
    QueuedChildren children_;
    DueHeap<Message, &Message::slot> delayed_; // by deliverable_at
    DueHeap<Message, &Message::slot> parked_;  // by deliverable_at
    std::map<TurnClass, ReadyTurns, TurnClassLess> ready_;
    DueHeap<Instance, &Instance::slot> hidden_; // by hidden_until
    std::unordered_map<Token, TurnLease, TokenHash> leases_;
    DueHeap<TurnLease, &TurnLease::slot> lease_ends_; // live ones
    std::uint64_t leased_ = 0;                        // messages under live leases
    Listener* listener_ = nullptr;
};

} // namespace durable::ledger
