// LogSync: whether what was committed is on the disk.
//
// Commits reach the write-ahead log in their order and are seen at once; a crash of the machine
// loses some of the last ones, never one in the middle. So a commit may be built upon before it is
// on the disk, as long as nothing that depends on it leaves the process. Whoever is about to tell
// the world something asks here first.
//
// One sync serves all who asked before it began, and one of those makes it: whoever comes while
// nobody does. It makes the next ones as well, up to a number; then one of those who wait is woken
// for that. The others sleep until theirs is over, and wake each other.

#pragma once

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/ticket.hpp"

#include <durable/result.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace durable::sqlite {

class LogSync {
 public:
    // Somebody for whom the store of this version (Counters::version) has to be on the disk,
    // whichever process made it; nullopt: everything that was committed so far.
    struct Waiter {
        std::optional<std::uint64_t> version{};
        bool occupied = false; // its owner does something else first: it is not called to sync
        std::optional<Error> error{};
        Ticket ticket{};
        bool listed = false; // by LogSync: no round serves it yet
        // By LogSync, of those whose owner wakes others of the same round.
        std::shared_ptr<const std::vector<Waiter*>> round{};
        std::size_t number = 0;
    };

    // A connection that only looks.
    explicit LogSync(std::unique_ptr<Connection> observer);

    // The version of a commit of this process, before those who made it wait.
    void note_commit(std::uint64_t version) noexcept { committed_ = version; }

    // Returns when it is on the disk. After a sync has failed nobody knows what the disk holds:
    // from then on it only fails.
    [[nodiscard]] Result<> ensure(std::optional<std::uint64_t> version);

    // The same in two steps, the first of which is for many. Whoever was added is called when it
    // need not wait any more, or to lead: then, as at any time, it finishes.
    void add(std::span<Waiter* const> waiters);
    [[nodiscard]] Result<> finish(Waiter& waiter);

 private:
    // False: it need not wait.
    [[nodiscard]] bool list(Waiter& waiter);
    void call_one_to_sync();
    void sync(std::unique_lock<std::mutex>& lock, const Waiter& self); // returns without the lock
    [[nodiscard]] std::vector<Waiter*> sync_once(std::unique_lock<std::mutex>& lock);
    static void tell(std::vector<Waiter*> served);
    static void tell_two(const std::vector<Waiter*>& round, std::size_t first);
    // Those who need not wait any more.
    [[nodiscard]] std::vector<Waiter*> end_round();

    const std::unique_ptr<Connection> observer_; // used by whoever syncs: one at most
    std::atomic<std::uint64_t> committed_ = 0;

    std::mutex mutex_;            // guards what follows
    std::vector<Waiter*> served_; // by the round under way
    std::vector<Waiter*> next_;   // by the one after it
    bool syncing_ = false;
    bool called_ = false;            // one of the next, to sync
    std::uint64_t round_covers_ = 0; // the version that the round under way will sync; 0: unknown
    std::uint64_t synced_ = 0;       // the highest version on the disk
    std::optional<Error> broken_;
};

} // namespace durable::sqlite
