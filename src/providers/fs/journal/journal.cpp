#include "providers/fs/journal/journal.hpp"

#include "base/check.hpp"
#include "base/try.hpp"
#include "providers/fs/files/fs_error.hpp"
#include "providers/fs/format/frame.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace durable::fs {

namespace {

void append_number(std::string& out, std::uint64_t number) {
    std::array<char, 20> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    out.append(digits.data(), end);
}

} // namespace

Journal::Journal(Files& files,
                 const std::string& directory,
                 const JournalOptions& options,
                 const JournalEnd& end)
    : options_{options},
      segments_{files, directory, end.next_segment, options.segment_sizes},
      starts_{end.segments},
      last_{end.last},
      written_{end.last},
      synced_{end.last},
      durable_{end.last} {
    if (options.writer_thread) {
        writer_ = std::jthread{[this](const std::stop_token& stop) { run_writer(stop); }};
    }
}

Journal::~Journal() {
    if (writer_.joinable()) {
        writer_.request_stop();
        writer_.join();
    }
}

Result<Lsn> Journal::append(const Encode& encode) {
    if (no_space_.load(std::memory_order_acquire)) {
        DURABLE_TRY(write_out()); // held records come first
    }
    const MutexLock lock{mutex_};
    if (failed_.load(std::memory_order_acquire)) {
        return failed_error();
    }
    const Lsn lsn = last_.load(std::memory_order_relaxed) + 1;
    auto& out = open_.bytes;
    const auto begin = out.size();
    const Lsn synced = synced_.load(std::memory_order_acquire);
    DURABLE_TRY(append_frame(
        out,
        [&](std::string& json) -> Result<> {
            mutex_.assert_held();
            json += "{\"lsn\":";
            append_number(json, lsn);
            // Tells recovery up to where a damaged record cannot be the torn end of the journal.
            if (synced != claimed_) {
                json += ",\"synced\":";
                append_number(json, synced);
            }
            json += ',';
            DURABLE_TRY(encode(json));
            json += '}';
            return {};
        },
        options_.longest_record));
    const auto size = out.size() - begin;
    if (auto placed = place(begin); !placed) {
        open_.bytes.resize(begin);
        return std::unexpected{std::move(placed).error()};
    }
    claimed_ = synced;
    bytes_.fetch_add(size, std::memory_order_relaxed);
    last_.store(lsn); // before the exchange: run_writer uses the opposite order
    if (writer_asleep_.exchange(false)) {
        const std::scoped_lock wake{round_mutex_};
        writer_wake_.notify_one();
    }
    return lsn;
}

// Finds room for the frame at `begin` of open_.bytes: in this segment, or in the next.
Result<> Journal::place(std::size_t begin) {
    if (open_.segment && open_.offset + open_.bytes.size() <= open_.segment->size) {
        return {};
    }
    auto next = segments_.next(open_.bytes.size() - begin);
    wants_spare_.store(true);
    if (!next) {
        if (next.error().code == ErrorCode::storage_failed) {
            return fail_for_good(std::move(next).error());
        }
        return std::unexpected{std::move(next).error()};
    }
    Chunk fresh{.segment = *next, .offset = 0, .bytes = open_.bytes.substr(begin)};
    open_.bytes.resize(begin);
    if (open_.segment) {
        full_.push_back(std::move(open_));
    }
    open_ = std::move(fresh);
    starts_.push_back({open_.segment->number, last_.load(std::memory_order_relaxed) + 1});
    return {};
}

Result<> Journal::ensure_durable(Lsn lsn) {
    if (failed_.load(std::memory_order_acquire)) {
        return failed_error(); // also for a durable record: a failed store answers nothing
    }
    if (durable() >= lsn) {
        return {};
    }
    return options_.durability == Durability::power_loss ? ensure_synced(lsn) : ensure_written(lsn);
}

Result<> Journal::ensure_written(Lsn lsn) {
    while (written_.load(std::memory_order_acquire) < lsn) {
        DURABLE_TRY(write_out());
    }
    return {};
}

// Writes everything appended so far; answers the last record that is written.
Result<Lsn> Journal::write_out() {
    const MutexLock writing{write_mutex_};
    Lsn covered = 0;
    {
        const MutexLock lock{mutex_};
        if (failed_.load(std::memory_order_acquire)) {
            return failed_error();
        }
        covered = last_.load(std::memory_order_relaxed);
        for (auto& chunk : full_) {
            held_.push_back(std::move(chunk));
        }
        full_.clear();
        if (!open_.bytes.empty()) {
            auto& last = held_.emplace_back(open_.segment, open_.offset, std::move(write_buffer_));
            last.bytes.clear();
            last.bytes.swap(open_.bytes);
            open_.offset += last.bytes.size();
        }
    }
    DURABLE_TRY(write_held(covered));
    return covered;
}

// Writes all held chunks. After an error the rest stays held, and the next call begins with it.
Result<> Journal::write_held(Lsn covered) {
    while (!held_.empty()) {
        auto& chunk = held_.front();
        DURABLE_CHECK(chunk.offset + chunk.bytes.size() <= chunk.segment->size,
                      "records lie inside their segment");
        auto done = write_at(*chunk.segment->file, chunk.bytes, chunk.offset);
        if (!done && done.error().out_of_resources()) {
            no_space_.store(true, std::memory_order_release);
            return std::unexpected{to_error(std::move(done).error())};
        }
        if (!done) {
            return fail_for_good(to_error(std::move(done).error()));
        }
        writes_.fetch_add(1, std::memory_order_relaxed);
        if (unsynced_.empty() || unsynced_.back() != chunk.segment) {
            unsynced_.push_back(chunk.segment);
        }
        constexpr std::size_t worth_keeping = 1U << 20U;
        if (held_.size() == 1 && chunk.bytes.capacity() <= worth_keeping) {
            write_buffer_ = std::move(chunk.bytes);
        }
        held_.pop_front();
    }
    no_space_.store(false, std::memory_order_release);
    DURABLE_CHECK(covered >= written_.load(std::memory_order_relaxed),
                  "what is written only grows");
    written_.store(covered, std::memory_order_release);
    if (options_.durability != Durability::power_loss) {
        durable_.store(covered, std::memory_order_release);
    }
    return {};
}

Result<> Journal::prepare_spare() {
    wants_spare_.store(false);
    for (bool more = true; more;) {
        DURABLE_TRY_ASSIGN(more, segments_.work_on_spare());
    }
    return {};
}

Result<> Journal::forget_through(Lsn lsn) {
    std::uint64_t keep = 0;
    {
        const MutexLock lock{mutex_};
        // A segment ends where the next one starts.
        const auto ends_before = [&](std::size_t index) {
            mutex_.assert_held();
            return index + 1 < starts_.size() && starts_[index + 1].first <= lsn;
        };
        std::size_t gone = 0;
        while (gone < starts_.size() && ends_before(gone)) {
            keep = starts_[gone].number + 1;
            ++gone;
        }
        starts_.erase(starts_.begin(), starts_.begin() + static_cast<std::ptrdiff_t>(gone));
    }
    return segments_.remove_below(keep);
}

bool Journal::holds(Lsn lsn) {
    const MutexLock lock{mutex_};
    return !starts_.empty() && starts_.front().first <= lsn && lsn <= last();
}

std::optional<Error> Journal::failure() const {
    const std::scoped_lock lock{round_mutex_};
    return failure_;
}

JournalCounters Journal::counters() const {
    return {.bytes = bytes_.load(), .writes = writes_.load(), .syncs = syncs_.load()};
}

std::unexpected<Error> Journal::fail_for_good(Error error) {
    const std::scoped_lock lock{round_mutex_};
    if (!failure_) {
        failure_ =
            Error{.code = ErrorCode::storage_failed,
                  .message = "the journal failed and the store must be reopened: " + error.message,
                  .operation = {}};
        failed_.store(true, std::memory_order_release);
        writer_asleep_.store(false);
        writer_wake_.notify_one(); // it calls on_failure
    }
    return std::unexpected{*failure_};
}

std::unexpected<Error> Journal::failed_error() const {
    return std::unexpected{*failure()};
}

} // namespace durable::fs
