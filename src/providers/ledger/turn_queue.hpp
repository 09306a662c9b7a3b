// TurnQueue: the orchestrator queue and the leases on instances, with the indexes that keep every
// call independent of how much is waiting.
//
// Durable are the messages and Inbox::hidden_until; where things stand in the indexes follows
// from them and from the time that `advance` was told last. An instance is *filed* by what it could
// do next (Instance::Place). Whoever changes what that depends on says hold() before, file() after.

#pragma once

#include "base/link_table.hpp"
#include "providers/ledger/due_heap.hpp"
#include "providers/ledger/instance.hpp"
#include "providers/ledger/listener.hpp"
#include "providers/ledger/moment.hpp"
#include "providers/ledger/queued_children.hpp"
#include "providers/ledger/record.hpp"

#include <durable/provider.hpp>

#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace durable::ledger {

class TurnQueue {
 public:
    TurnQueue() = default;
    TurnQueue(const TurnQueue&) = delete;
    TurnQueue& operator=(const TurnQueue&) = delete;
    ~TurnQueue();

    void listen(Listener* listener) noexcept { listener_ = listener; }

    // ---- Messages

    void add(Instance& instance, const NewMessage& message, Instant at);
    void remove(Instance& instance, std::span<const Seq> messages); // unknown ones are ignored
    void remove_all(Instance& instance);
    [[nodiscard]] Message* find(Seq seq);
    // Starts of children that this parent has sent, and that have not been taken. Ascending.
    [[nodiscard]] std::vector<Seq> starts_by(std::string_view parent) const {
        return children_.of(parent);
    }
    // TimerFired messages of that execution and timer, wherever they stand.
    [[nodiscard]] std::vector<Seq>
    find_timers(const Instance& instance, std::uint64_t execution_id, std::uint64_t timer_id) const;

    // ---- Filing

    void hold(Instance& instance);                 // off the indexes, whatever arrives
    void file(Instance& instance);                 // and back, by what it can do now
    void refile_after_removal(Instance& instance); // file(), cheaper: only messages are gone
    // Hidden until hidden_until has passed.
    void hide(Instance& instance, Instant until);
    void reveal(Instance& instance);

    // Files everything that became due or expired.
    void advance(Moment now);
    // When advance would next change something that a fetch could see; nullopt: never.
    [[nodiscard]] std::optional<Duration> until_next(Moment now) const;
    // Parked messages that have waited for `ttl`, at most `limit`.
    [[nodiscard]] std::vector<Seq> expired(Instant now, Duration ttl, std::size_t limit) const;

    // The instance with the lowest visible message that the filter accepts. Its `visible` is
    // sorted.
    [[nodiscard]] Instance* first_ready(const std::optional<CapabilityFilter>& filter);

    // ---- Leases

    void lease(Instance& instance, TurnLease lease);
    void release(Instance& instance); // forgets the lease, if any; the caller files
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

 private:
    [[nodiscard]] static std::size_t hash_of(const Message& message) noexcept;
    [[nodiscard]] static std::size_t timer_hash_of(const Message& message) noexcept;
    using Ready = DueHeap<Instance, &Instance::slot>;

    [[nodiscard]] Instance::Place place_of(Instance& instance) const;
    void leave(Instance& instance);
    void show(Message& message);
    void forget(Message& message);
    void compact(Instance& instance);

    LinkTable<Message, &Message::same_hash, &TurnQueue::hash_of> messages_;
    LinkTable<Message, &Message::same_timer_hash, &TurnQueue::timer_hash_of> timers_;
    QueuedChildren children_;
    DueHeap<Message, &Message::slot> delayed_;  // by visible_at
    DueHeap<Message, &Message::slot> parked_;   // by visible_at
    std::map<const Version*, Ready> ready_;     // by lowest visible seq; never empty heaps
    DueHeap<Instance, &Instance::slot> hidden_; // by hidden_until
    std::unordered_map<Token, TurnLease, TokenHash> leases_;
    DueHeap<TurnLease, &TurnLease::slot> lease_ends_; // live ones
    std::uint64_t leased_ = 0;                        // messages under live leases
    Listener* listener_ = nullptr;
};

// Can this message start an instance that does not exist yet?
[[nodiscard]] bool starts_instance(std::uint8_t kind) noexcept;

// Without a row: does the stored history of the latest execution decode and tell how the instance
// started? Returns that event.
[[nodiscard]] std::optional<history::OrchestrationStarted> stored_start(const Instance& instance);

} // namespace durable::ledger
