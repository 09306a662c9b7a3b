// WorkQueue: the worker queue, the leases on its items, and sessions.
//
// Items that the same fetches may take form a group: one per shelf and session. A shelf is for one
// tag and one activity, suspects apart (P14, P16). It keeps its groups in three lists: open to
// every worker, open to the first claim of the session, and owned by a worker. A fetch compares the
// heads of the few shelves it may use; a claim moves a group, not its items. Items are durable;
// leases, sessions and shelves are not.

#pragma once

#include "base/blocks.hpp"
#include "base/link_table.hpp"
#include "providers/ledger/due_heap.hpp"
#include "providers/ledger/instance.hpp"
#include "providers/ledger/listener.hpp"
#include "providers/ledger/record.hpp"
#include "providers/ledger/string_pool.hpp"
#include "providers/ledger/turn_class.hpp"
#include "providers/rules/moment.hpp"

#include <durable/provider.hpp>

#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace durable::ledger {

struct WorkLease {
    Token token;
    WorkEntry* entry = nullptr;
    SteadyInstant until;
    bool suspect = false;         // P16: it counts in SuspectHold
    std::uint32_t slot = no_slot; // no_slot: known to be expired
};

// A row of the worker queue.
struct WorkEntry : InBlocks {
    enum class Place : std::uint8_t { delayed, ready, leased };

    Seq seq = 0;
    Instance* instance = nullptr;
    WorkEntry* previous = nullptr; // of the same instance
    WorkEntry* next = nullptr;
    WorkEntry* same_hash = nullptr;          // the queue's: by seq
    WorkEntry* same_activity_hash = nullptr; // by instance, execution and activity
    std::uint64_t execution_id = 0;
    std::uint64_t activity_id = 0;
    Instant visible_at;
    PackedText text;
    WorkGroup* group = nullptr;
    WorkLease* lease = nullptr;
    std::uint32_t attempts = 0;
    std::uint32_t slot = no_slot;
    Place place = Place::ready;

    [[nodiscard]] bool suspect() const noexcept { return attempts >= suspect_after; } // P16
};

struct Session {
    std::string id;
    bool claimed = false; // at any time: cleanup may forget it
    std::string owner;
    SteadyInstant until;
    SteadyInstant last_activity;
    std::vector<WorkGroup*> groups;
    std::uint64_t items = 0;
    std::uint32_t slot = no_slot; // no_slot: known to be expired

    [[nodiscard]] bool live() const noexcept { return slot != no_slot; }
};

struct WorkShelf;

struct WorkGroup {
    WorkShelf* shelf = nullptr;
    Session* session = nullptr;                 // nullptr: open to every worker
    DueHeap<WorkEntry, &WorkEntry::slot> ready; // by seq
    std::uint64_t items = 0;                    // in any place
    std::uint32_t slot = no_slot;
};

// The groups of one tag and activity that have ready items, by their lowest seq.
struct WorkShelf {
    using Groups = DueHeap<WorkGroup, &WorkGroup::slot>;

    std::optional<std::string> tag;
    std::string name;     // of the activity; empty: unknown, any fetch may take it
    bool suspect = false; // P16
    Groups open;
    Groups unclaimed;
    TextMap<Groups> owned; // by owner; never empty
    std::uint64_t groups = 0;
};

// May this request take items of this group?
[[nodiscard]] bool
serves(const durable::FetchWork& request, const WorkGroup& group, const SuspectHold& hold);

class WorkQueue {
 public:
    explicit WorkQueue(SuspectHold& suspects) : suspects_{suspects} {}
    WorkQueue(const WorkQueue&) = delete;
    WorkQueue& operator=(const WorkQueue&) = delete;
    ~WorkQueue();

    void listen(Listener* listener) noexcept { listener_ = listener; }

    // ---- Items

    void add(Instance& instance, const NewWork& work, Instant at, std::uint32_t attempts = 0);
    void count_attempt(WorkEntry& entry);
    void remove(WorkEntry& entry);
    void remove_all(Instance& instance);
    [[nodiscard]] WorkEntry* find(Seq seq);
    [[nodiscard]] std::vector<Seq>
    find(const Instance& instance, std::uint64_t execution_id, std::uint64_t activity_id) const;
    // Gives an item back: no lease, visible at that time.
    void put_back(WorkEntry& entry, Instant visible_at, Instant at);

    void advance(Moment now);
    [[nodiscard]] std::optional<Duration> until_next(Moment now) const;
    // The same, but the end of a session counts only if it has items.
    [[nodiscard]] std::optional<Duration> until_next_item(Moment now) const;

    // P5: the oldest item that the request may take.
    [[nodiscard]] WorkEntry* first_ready(const durable::FetchWork& request);
    // Tells the listener of every group of suspects that is ready.
    void announce_suspects() const;
    // fn(entry) for all that are ready, in no order.
    template <class Fn>
    void for_each_ready(Fn&& fn) const {
        for (const auto& [key, group] : groups_) {
            group.ready.visit_due(std::numeric_limits<std::int64_t>::max(),
                                  [&](const WorkEntry& entry) {
                                      fn(entry);
                                      return true;
                                  });
        }
    }

    // ---- Leases and sessions

    void lease(WorkEntry& entry, const Token& token, SteadyInstant until, bool suspect = false);
    void extend(WorkLease& lease, SteadyInstant until);
    [[nodiscard]] WorkLease* find_lease(const Token& token);

    void claim(Session& session, const std::string& owner, SteadyInstant until, SteadyInstant now);
    void touch(WorkEntry& entry, SteadyInstant now); // its session is in use
    std::uint64_t renew_sessions(const std::vector<std::string>& owners,
                                 SteadyInstant until,
                                 SteadyInstant active_after);
    std::uint64_t forget_sessions(SteadyInstant now);      // expired and without items
    [[nodiscard]] Session& session(const std::string& id); // made when missing

    // Items not under a live lease.
    [[nodiscard]] std::uint64_t depth() const noexcept {
        return entries_.size() - lease_ends_.size();
    }

    template <class Fn>
    void for_each_lease(Fn&& fn) const {
        for (const auto& [token, held] : leases_) {
            fn(held);
        }
    }
    template <class Fn>
    void for_each_session(Fn&& fn) const {
        for (const auto& [id, session] : sessions_) {
            fn(session);
        }
    }

    // As TurnQueue::check.
    [[nodiscard]] std::uint32_t check() const;

 private:
    [[nodiscard]] std::optional<Duration> until_next(Moment now, bool sessions) const;

    [[nodiscard]] static std::size_t hash_of(const WorkEntry& entry) noexcept;
    [[nodiscard]] static std::size_t activity_hash_of(const WorkEntry& entry) noexcept;
    using ShelfKey = std::tuple<std::optional<std::string>, std::string, bool>;

    // Puts the entry into a group; it is in none.
    void join(WorkEntry& entry, ShelfKey key, const std::optional<std::string>& session);
    void part(WorkGroup& group); // takes one item out of it
    // Into the group for suspects, or back.
    void regroup(WorkEntry& entry);
    [[nodiscard]] WorkGroup& group(ShelfKey key, const std::optional<std::string>& session);
    [[nodiscard]] static WorkShelf::Groups& place_of(WorkGroup& group);
    static void shelve(WorkGroup& group); // into the list of those that may take from it now
    static void unshelve(WorkGroup& group);
    void drop_group(WorkGroup& group);
    void drop_session(Session& session);
    void make_ready(WorkEntry& entry);
    void withdraw(WorkEntry& entry); // from the index of its place
    void release(WorkEntry& entry);
    void drop(WorkLease& lease); // out of lease_ends_
    void announce(const WorkGroup& group, std::size_t items) const;

    LinkTable<WorkEntry, &WorkEntry::same_hash, &WorkQueue::hash_of> entries_;
    LinkTable<WorkEntry, &WorkEntry::same_activity_hash, &WorkQueue::activity_hash_of> activities_;
    DueHeap<WorkEntry, &WorkEntry::slot> delayed_; // by visible_at
    SuspectHold& suspects_;
    std::map<ShelfKey, WorkShelf> shelves_;
    std::map<std::pair<const WorkShelf*, const Session*>, WorkGroup> groups_;
    TextMap<Session> sessions_;
    DueHeap<Session, &Session::slot> session_ends_; // live ones
    std::unordered_map<Token, WorkLease, TokenHash> leases_;
    DueHeap<WorkLease, &WorkLease::slot> lease_ends_; // live ones
    Listener* listener_ = nullptr;
};

} // namespace durable::ledger
