// Journal: the order of all changes, and the only place where a change becomes durable (P12).
//
// FsProvider calls append() under its mutex, the rest from any thread. append() gives a record its
// number (LSN) and its place in a segment, in memory. ensure_written() hands it to the system: it
// survives a process crash. ensure_durable() syncs it: it survives a power loss. A crash loses the
// last records, never one in the middle.
//
// Group commit: one sync serves all records that were written before it began. The first caller
// that needs durability leads: it syncs itself, because waking another thread costs as much as a
// sync. Later callers wait for the next round. While waiters keep coming, the writer thread leads
// and syncs without a pause. Records that no caller waits for are synced a few milliseconds later.
//
// A write that finds the disk full is held and repeated at the same place; until it succeeds no
// record is taken. After any other failed write, and after every failed sync, the content of the
// disk is unknown: the journal stays failed.

#pragma once

#include "base/files.hpp"
#include "base/futex.hpp"
#include "base/mutex.hpp"
#include "providers/fs/format/frame.hpp"
#include "providers/fs/journal/journal_reader.hpp"
#include "providers/fs/journal/segments.hpp"

#include <durable/provider.hpp>
#include <durable/result.hpp>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace durable::fs {

struct JournalOptions {
    Durability durability = Durability::power_loss;
    // Without it callers do all the work: the same calls make the same file operations.
    bool writer_thread = true;
    std::chrono::milliseconds longest_unsynced{5};
    std::uint64_t longest_record = longest_json;
    std::chrono::microseconds longest_follow_up{400}; // see wait_for_follow_up
    std::function<void()> on_failure{}; // called once by the writer thread, after a failure
    Segments::Sizes segment_sizes;
};

struct JournalCounters { // since the journal was opened
    std::uint64_t bytes = 0;
    std::uint64_t writes = 0;
    std::uint64_t syncs = 0;
};

class Journal {
 public:
    // Continues, in a new segment, a journal that was read and is durable up to its end.
    Journal(Files& files,
            const std::string& directory,
            const JournalOptions& options,
            const JournalEnd& end);
    ~Journal();
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;

    // Adds a record whose members `encode` appends to a string. The caller orders the calls, and
    // may apply the record at once.
    //   invalid_argument  the record is too long; nothing happened
    //   unavailable       no space; nothing happened, a later try may succeed
    //   storage_failed    like every later call
    using Encode = std::function<Result<>(std::string&)>;
    [[nodiscard]] Result<Lsn> append(const Encode& encode) DURABLE_EXCLUDES(mutex_);

    // The three below answer
    //   unavailable     the disk is full: the record is held and will be written when there is
    //                   space, unless the process ends before
    //   storage_failed  like every later call

    // P12: waits until the record is as durable as the store promises.
    [[nodiscard]] Result<> ensure_durable(Lsn lsn);
    // Waits until the record survives a power loss, whatever the store promises.
    [[nodiscard]] Result<> ensure_synced(Lsn lsn);
    // Waits until the record survives a process crash.
    [[nodiscard]] Result<> ensure_written(Lsn lsn);

    // Sets the signal of a watcher when the record is durable: woken earlier, it would only wait
    // for the sync. false: no sync is in progress; the caller sets the signal at once, and the
    // watcher leads the sync. The signal may be set early.
    [[nodiscard]] bool set_once_durable(Lsn lsn, const std::shared_ptr<Signal>& signal);

    // For a caller that appended a record and thereby woke a fetch: the fetch will append a
    // follow-up, and one sync can serve both. Spins, not long, until the follow-up is appended
    // (see followed_up) or a sync begins.
    void wait_for_follow_up(Lsn lsn);
    // Every follow-up of records before `lsn` has been appended.
    void followed_up(Lsn lsn) noexcept { followed_up_.store(lsn, std::memory_order_release); }

    [[nodiscard]] Lsn last() const noexcept { return last_.load(); }
    [[nodiscard]] Lsn durable() const noexcept { return durable_.load(std::memory_order_acquire); }

    [[nodiscard]] std::optional<Error> failure() const;
    // storage_failed, once it failed for good.
    [[nodiscard]] Result<> working() const {
        return failed_.load(std::memory_order_acquire) ? Result<>{failed_error()} : Result<>{};
    }
    // For a caller that finds the store unusable: the journal has failed from now on.
    void give_up(Error error) { (void)fail_for_good(std::move(error)); }
    [[nodiscard]] JournalCounters counters() const;

    // Makes a spare segment and fills it. The housekeeper calls it when wants_spare() says so.
    [[nodiscard]] Result<> prepare_spare();
    [[nodiscard]] bool wants_spare() const noexcept { return wants_spare_.load(); }
    // Removes segments whose records are all below `lsn`. The segment with record `lsn` stays: so a
    // lost journal differs from one that was never used.
    [[nodiscard]] Result<> forget_through(Lsn lsn) DURABLE_EXCLUDES(mutex_);
    [[nodiscard]] bool holds(Lsn lsn) DURABLE_EXCLUDES(mutex_);
    // Bytes appended since the journal was opened.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_.load(); }

 private:
    struct Chunk { // bytes on their way to one segment
        std::shared_ptr<Segment> segment;
        std::uint64_t offset = 0;
        std::string bytes;
    };
    [[nodiscard]] Result<> place(std::size_t begin) DURABLE_REQUIRES(mutex_);
    [[nodiscard]] Result<Lsn> write_out() DURABLE_EXCLUDES(write_mutex_);
    [[nodiscard]] Result<> write_held(Lsn covered) DURABLE_REQUIRES(write_mutex_);
    std::unexpected<Error> fail_for_good(Error error);
    [[nodiscard]] std::unexpected<Error> failed_error() const;

    // ---- journal_sync.cpp

    [[nodiscard]] bool this_is_the_writer() const {
        return std::this_thread::get_id() == writer_.get_id();
    }
    [[nodiscard]] Result<> sync_round();
    void finish_round(Lsn covered);
    void set_signals(Lsn covered);
    [[nodiscard]] Result<> wait_for_round(std::unique_lock<std::mutex>& lock, Lsn lsn);
    void run_writer(const std::stop_token& stop);

    const JournalOptions options_;
    Segments segments_;

    // Appended, not yet written.
    Mutex mutex_;
    Chunk open_ DURABLE_GUARDED_BY(mutex_);
    std::vector<Chunk> full_ DURABLE_GUARDED_BY(mutex_); // earlier segments, oldest first
    std::vector<SegmentStart> starts_ DURABLE_GUARDED_BY(mutex_);
    Lsn claimed_ DURABLE_GUARDED_BY(mutex_) = 0; // highest "synced" in a record

    // Writing to files. Taken before mutex_.
    Mutex write_mutex_;
    std::string write_buffer_ DURABLE_GUARDED_BY(write_mutex_); // kept for its capacity
    std::deque<Chunk> held_ DURABLE_GUARDED_BY(write_mutex_);   // to be written, oldest first
    std::vector<std::shared_ptr<Segment>> unsynced_ DURABLE_GUARDED_BY(write_mutex_);

    std::atomic<Lsn> last_;
    std::atomic<Lsn> written_;
    std::atomic<Lsn> synced_;
    std::atomic<Lsn> durable_;          // synced_ or written_, whichever the store promises
    std::atomic<bool> no_space_{false}; // held_ waits for space
    std::atomic<std::uint64_t> bytes_{0};
    std::atomic<std::uint64_t> writes_{0};
    std::atomic<std::uint64_t> syncs_{0};
    std::atomic<bool> wants_spare_{true};

    // Sync rounds, numbered. Waiters of round k sleep on rounds_[k % 2], so that the end of a round
    // does not wake waiters of the next.
    mutable std::mutex round_mutex_;
    std::condition_variable writer_wake_;
    std::atomic<bool> syncing_{false};   // set under round_mutex_, like all below
    bool handed_over_ = false;           // the writer thread is to lead the next round
    std::uint32_t round_ = 0;            // the one in progress, or the last
    Lsn round_covers_ = 0;               // what the round in progress will make durable
    std::uint32_t waiting_for_next_ = 0; // threads that need the round after it
    std::vector<std::pair<Lsn, std::shared_ptr<Signal>>> signals_; // empty while no sync runs
    std::optional<Error> failure_;
    std::array<FutexWord, 2> rounds_{};
    std::atomic<bool> failed_{false};
    std::atomic<bool> writer_asleep_{false};
    std::atomic<Lsn> followed_up_{0};  // see followed_up
    std::atomic<int> not_worth_it_{0}; // so many calls do not wait for a follow-up

    std::jthread writer_; // last: stopped and joined before the other members are destroyed
};

} // namespace durable::fs
