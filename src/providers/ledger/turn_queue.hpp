// TurnQueue: the orchestrator queue and the leases on instances, with the indexes that keep every
// call independent of how much is waiting.
//
// Durable are the messages and Inbox::hidden_until; where things stand in the indexes follows
// from them and from the time that `advance` was told last. An instance is *filed* by what it could
// do next (Instance::Place). Whoever changes what that depends on says hold() before, file() after.

#pragma once

#include "providers/ledger/due_heap.hpp"
#include "providers/ledger/instance.hpp"
#include "providers/ledger/listener.hpp"
#include "providers/ledger/moment.hpp"
#include "providers/ledger/record.hpp"

#include <durable/provider.hpp>

#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace durable::ledger {

class TurnQueue {
 public:
    TurnQueue() = default;
    TurnQueue(const TurnQueue&) = delete;
    TurnQueue& operator=(const TurnQueue&) = delete;

    void listen(Listener* listener) noexcept { listener_ = listener; }

    // ---- Messages

    void add(Instance& instance, const NewMessage& message, Instant at);
    void remove(Instance& instance, std::span<const Seq> messages); // unknown ones are ignored
    void remove_all(Instance& instance);
    [[nodiscard]] Message* find(Seq seq);
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
    struct TimerKey {
        const Instance* instance;
        std::uint64_t execution_id;
        std::uint64_t timer_id;
        bool operator==(const TimerKey&) const = default;
    };
    struct TimerHash {
        using is_transparent = void;
        std::size_t operator()(const TimerKey& key) const noexcept;
        std::size_t operator()(const Message* message) const noexcept;
    };
    struct TimerEqual {
        using is_transparent = void;
        bool operator()(const Message* a, const Message* b) const noexcept;
        bool operator()(const TimerKey& key, const Message* message) const noexcept;
        bool operator()(const Message* message, const TimerKey& key) const noexcept;
    };
    using Ready = DueHeap<Instance, &Instance::slot>;

    [[nodiscard]] static TimerKey key_of_timer(const Message* message) noexcept;
    [[nodiscard]] Instance::Place place_of(Instance& instance) const;
    void leave(Instance& instance);
    void show(Message& message);
    void forget(Message& message);
    void compact(Instance& instance);

    std::unordered_map<Seq, Message> messages_;
    std::unordered_multiset<Message*, TimerHash, TimerEqual> timers_;
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
