// LogSync: whether what was committed is on the disk.
//
// Commits reach the write-ahead log in their order and are seen at once; a crash of the machine
// loses some of the last ones, never one in the middle. So a commit may be built upon before it is
// on the disk, as long as nothing that depends on it leaves the process. Whoever is about to tell
// the world something asks here first.
//
// One sync serves all who asked before it began, and one of those makes it: whoever comes while
// nobody does. It makes the next ones as well, up to a number; then one of those who wait is woken
// for that. The others sleep until theirs is over. Whoever comes too late for a sync that is under
// way, and is awake, makes a second one beside it, which takes the disk hardly longer: it has to
// wait neither for the end of the first one nor to be woken.

#pragma once

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/ticket.hpp"

#include <durable/result.hpp>

#include <array>
#include <atomic>
#include <cstddef>
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
    };

    // How many syncs are made at the same time.
    static constexpr std::size_t lanes = 2;
    // Connections that only look. Each has opened the log's file for itself: of an error while the
    // system writes, everybody who has is told once.
    explicit LogSync(std::array<std::unique_ptr<Connection>, lanes> observers);

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
    struct Lane {
        std::unique_ptr<Connection> observer; // used by whoever syncs
        bool syncing = false;
        std::vector<Waiter*> served{}; // by the sync under way
        std::uint64_t covers = 0;      // the version that it will sync; 0: unknown
    };

    // False: it need not wait.
    [[nodiscard]] bool list(Waiter& waiter);
    [[nodiscard]] Lane* free_lane();
    void call_one_to_sync();
    // Returns without the lock.
    void sync(std::unique_lock<std::mutex>& lock, Lane& lane, const Waiter& self);
    [[nodiscard]] std::vector<Waiter*> sync_once(std::unique_lock<std::mutex>& lock, Lane& lane);
    static void tell(const std::vector<Waiter*>& served);
    // Those who need not wait any more.
    [[nodiscard]] std::vector<Waiter*> end_round(Lane& lane);

    std::atomic<std::uint64_t> committed_ = 0;

    Dormitories dormitories_;

    std::mutex mutex_; // guards what follows
    std::array<Lane, lanes> lanes_;
    std::vector<Waiter*> next_; // no sync serves them yet
    bool called_ = false;       // one of the next, to sync
    std::uint64_t synced_ = 0;  // the highest version on the disk
    std::optional<Error> broken_;
};

} // namespace durable::sqlite
