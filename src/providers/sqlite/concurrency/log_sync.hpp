// LogSync: group sync of the write-ahead log; waits until a commit is on the disk (P12).
//
// Commits reach the log in their order and are visible at once. A power cut loses some of the last
// ones, never one in the middle. So a transaction may build upon a commit that is not on the disk
// yet, as long as no answer that depends on it leaves the process. A caller that is about to answer
// waits here first: Writer with add() and finish(), SqliteProvider with ensure().
//
// One sync serves every waiter that came before it began. The first waiter leads: it makes the sync
// and up to a number of further rounds, then calls another waiter to lead. The others sleep until
// their round has ended. A waiter that comes too late for the sync under way makes a second one in
// the other lane: the disk takes hardly longer for two, and the waiter need not sleep.

#pragma once

#include "providers/sqlite/concurrency/ticket.hpp"
#include "providers/sqlite/db/connection.hpp"

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
    // A caller that waits until this version of the store (Counters::change_version) is on the
    // disk, whichever process committed it; nullopt: everything that was committed so far.
    struct Waiter {
        std::optional<std::uint64_t> version{};
        bool occupied = false; // its owner is busy: it is not called to lead
        std::optional<Error> error{};
        Ticket ticket{};
        bool listed = false; // in next_: no round serves it yet
    };

    // How many syncs run at the same time.
    static constexpr std::size_t lanes = 2;
    // Connections that only read. Each has its own descriptor of the log's file: the system reports
    // a failed write once per descriptor.
    explicit LogSync(std::array<std::unique_ptr<Connection>, lanes> observers);

    // Writer: the version that it has committed, before the callers of that commit wait.
    void note_commit(std::uint64_t version) noexcept { committed_ = version; }

    // Returns when the version is on the disk. After a failed sync the content of the disk is
    // unknown: every later call fails.
    [[nodiscard]] Result<> ensure(std::optional<std::uint64_t> version);

    // The same in two steps. The leader of a Writer's batch adds its waiters at once; each caller
    // then finishes its own. A waiter is called when its version is on the disk, or to lead.
    void add(std::span<Waiter* const> waiters);
    [[nodiscard]] Result<> finish(Waiter& waiter);

 private:
    struct Lane {
        std::unique_ptr<Connection> observer; // used by the leader of this lane
        bool syncing = false;
        std::vector<Waiter*> served{}; // by the sync under way
        std::uint64_t covers = 0;      // the version that the sync brings to the disk; 0: unknown
    };

    // False: the waiter need not wait.
    [[nodiscard]] bool list(Waiter& waiter);
    [[nodiscard]] Lane* free_lane();
    void call_one_to_sync();
    // Leads. Returns with the lock released.
    void sync(std::unique_lock<std::mutex>& lock, Lane& lane, const Waiter& self);
    [[nodiscard]] std::vector<Waiter*> sync_once(std::unique_lock<std::mutex>& lock, Lane& lane);
    static void tell(const std::vector<Waiter*>& served);
    // The waiters that the round served.
    [[nodiscard]] std::vector<Waiter*> end_round(Lane& lane);

    std::atomic<std::uint64_t> committed_ = 0;

    WaitWords wait_words_;

    std::mutex mutex_; // guards what follows
    std::array<Lane, lanes> lanes_;
    std::vector<Waiter*> next_; // no sync serves them yet
    bool called_ = false;       // one of next_ was called to lead
    std::uint64_t synced_ = 0;  // the highest version on the disk
    std::optional<Error> broken_;
};

} // namespace durable::sqlite
