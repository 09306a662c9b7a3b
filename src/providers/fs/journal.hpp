// Journal: the order of all changes, and the only place where a change becomes durable.
//
// append() gives a record its number (LSN) and its place in a segment, in memory; ensure_written()
// hands it to the system, which a process crash does not undo; ensure_durable() syncs it, which a
// power loss does not undo. A crash loses a suffix of the order, never something in the middle.
//
// Group commit: one sync serves all that was written before it began. Whoever needs durability
// first does the sync itself, because waking another thread costs as much as a sync; while waiters
// keep coming, the writer thread takes over and syncs without a pause in between. Records that
// nobody waits for are synced a few milliseconds later.
//
// A write that finds no space is held and repeated at the same place; until it succeeds nothing is
// taken behind it. After any other failed write, and after every failed sync, nobody knows what the
// disk holds: the journal stays failed.

#pragma once

#include "base/files.hpp"
#include "base/futex.hpp"
#include "base/mutex.hpp"
#include "providers/fs/frame.hpp"
#include "providers/fs/journal_reader.hpp"
#include "providers/fs/segments.hpp"

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
    // Without it, callers do all the work: the same calls give the same file operations.
    bool writer_thread = true;
    std::chrono::milliseconds longest_unsynced{5};
    std::uint64_t longest_record = longest_json;
    std::chrono::microseconds longest_courtesy{400}; // see give_way
    std::function<void()> on_failure{}; // once it failed for good; from the writer thread
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

    // Adds a record whose members `encode` appends to a string. Calls are ordered by the caller,
    // who may treat the record as made.
    //   invalid_argument  the record is too long; nothing happened
    //   unavailable       no space; nothing happened, a later try may succeed
    //   storage_failed    as everything from now on
    using Encode = std::function<Result<>(std::string&)>;
    [[nodiscard]] Result<Lsn> append(const Encode& encode) DURABLE_EXCLUDES(mutex_);

    // The three below answer
    //   unavailable     the disk is full: the record is held and will be written when there is
    //                   space, unless the process ends before
    //   storage_failed  as everything from now on

    // What the durability of the store demands of results that leave the process.
    [[nodiscard]] Result<> ensure_durable(Lsn lsn);
    // Survives a power loss, whatever the store promises.
    [[nodiscard]] Result<> ensure_synced(Lsn lsn);
    // Survives a process crash.
    [[nodiscard]] Result<> ensure_written(Lsn lsn);

    // Rings when the record is durable, for somebody who sleeps until then and would only have to
    // wait for a sync once woken. false: no sync is in progress; ring at once, and let who is woken
    // lead it. It may ring early as well.
    [[nodiscard]] bool ring_once_durable(Lsn lsn, const std::shared_ptr<Bell>& bell);

    // Whoever appended something and called another thread that goes on with it gives way before it
    // asks for durability: what comes of it needs a sync as well, and one can serve both. Waits
    // awake until the other tells that it came, or somebody syncs; not long.
    void give_way(Lsn lsn);
    // What came of the records before this one is appended, or nothing will be.
    void came(Lsn lsn) noexcept { came_.store(lsn, std::memory_order_release); }

    [[nodiscard]] Lsn last() const noexcept { return last_.load(); }
    [[nodiscard]] Lsn durable() const noexcept { return durable_.load(std::memory_order_acquire); }

    [[nodiscard]] std::optional<Error> failure() const;
    // storage_failed, once it failed for good.
    [[nodiscard]] Result<> working() const {
        return failed_.load(std::memory_order_acquire) ? Result<>{failed_error()} : Result<>{};
    }
    // For somebody who knows that nothing can be stored here any more: it has failed from now on.
    void give_up(Error error) { (void)fail_for_good(std::move(error)); }
    [[nodiscard]] JournalCounters counters() const;

    // Keeps a spare segment ready; from a housekeeping thread, again and again.
    [[nodiscard]] Result<> prepare_spare();
    [[nodiscard]] bool wants_spare() const noexcept { return wants_spare_.load(); }
    // Segments whose records are all below `lsn` are not needed any more. The one that has it
    // stays, so that a journal that is gone can be told from one that was never used.
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
    void ring_bells(Lsn covered);
    [[nodiscard]] Result<> wait_for_round(std::unique_lock<std::mutex>& lock, Lsn lsn);
    void run_writer(const std::stop_token& stop);

    const JournalOptions options_;
    Segments segments_;

    // What was appended and not yet written.
    Mutex mutex_;
    Chunk open_ DURABLE_GUARDED_BY(mutex_);
    std::vector<Chunk> full_ DURABLE_GUARDED_BY(mutex_); // earlier segments, oldest first
    std::vector<SegmentStart> starts_ DURABLE_GUARDED_BY(mutex_);
    Lsn claimed_ DURABLE_GUARDED_BY(mutex_) = 0; // highest "synced" told in a record

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

    // Rounds of syncing, numbered. Waiters of round k sleep on rounds_[k % 2], so that the end of a
    // round wakes nobody who must wait for the next.
    mutable std::mutex round_mutex_;
    std::condition_variable writer_wake_;
    std::atomic<bool> syncing_{false};   // set under round_mutex_, like all below
    bool handed_over_ = false;           // the writer thread is to lead the next round
    std::uint32_t round_ = 0;            // the one in progress, or the last
    Lsn round_covers_ = 0;               // what the round in progress will make durable
    std::uint32_t waiting_for_next_ = 0; // threads that need the round after it
    std::vector<std::pair<Lsn, std::shared_ptr<Bell>>> bells_; // empty while nobody syncs
    std::optional<Error> failure_;
    std::array<FutexWord, 2> rounds_{};
    std::atomic<bool> failed_{false};
    std::atomic<bool> writer_asleep_{false};
    std::atomic<Lsn> came_{0};         // what comes of the records before it
    std::atomic<int> not_worth_it_{0}; // so many times nobody gives way

    std::jthread writer_; // last: stopped and joined before anything else goes
};

} // namespace durable::fs
