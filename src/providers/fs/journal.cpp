#include "providers/fs/journal.hpp"

#include "base/stay_awake.hpp"
#include "base/try.hpp"
#include "providers/fs/frame.hpp"
#include "providers/fs/fs_error.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

namespace durable::fs {

namespace {

void append_number(std::string& out, std::uint64_t number) {
    std::array<char, 20> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    out.append(digits.data(), end);
}

// What the waiters of a round wait for: that it is over, or that one of them should lead it.
constexpr std::uint32_t over(std::uint32_t round) {
    return 2 * round;
}
constexpr std::uint32_t to_be_led(std::uint32_t round) {
    return 2 * round - 1;
}

// Signed distance: the numbers may wrap.
bool reached(std::uint32_t seen, std::uint32_t target) {
    return static_cast<std::int32_t>(seen - target) >= 0;
}

void announce(FutexWord& word, std::uint32_t value) {
    word.store(value, std::memory_order_release);
    wake_all(word);
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
        DURABLE_TRY(write_out()); // nothing is placed behind what finds no place itself
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
    last_.store(lsn); // before the exchange, as run_writer looks the other way round
    if (writer_asleep_.exchange(false)) {
        const std::scoped_lock wake{round_mutex_};
        writer_wake_.notify_one();
    }
    return lsn;
}

// Finds room for the frame that begins there in open_: here, or in the next segment.
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
        return failed_error(); // also for what is durable: a store that failed answers nothing
    }
    if (durable() >= lsn) {
        return {};
    }
    return options_.durability == Durability::power_loss ? ensure_synced(lsn) : ensure_written(lsn);
}

Result<> Journal::ensure_synced(Lsn lsn) {
    std::unique_lock lock{round_mutex_};
    while (synced_.load(std::memory_order_acquire) < lsn) {
        if (failure_) {
            return std::unexpected{*failure_};
        }
        if (!syncing_) {
            syncing_ = true;
            lock.unlock();
            DURABLE_TRY(sync_round());
            lock.lock();
        } else {
            DURABLE_TRY(wait_for_round(lock, lsn));
        }
    }
    return {};
}

bool Journal::ring_once_durable(Lsn lsn, const std::shared_ptr<Bell>& bell) {
    if (options_.durability != Durability::power_loss) {
        return false;
    }
    const std::scoped_lock lock{round_mutex_};
    if (!syncing_ || failure_) {
        return false;
    }
    bells_.emplace_back(lsn, bell);
    return true;
}

void Journal::give_way(Lsn lsn) {
    constexpr int not_worth_it = 16;
    if (options_.durability != Durability::power_loss || !writer_.joinable()) {
        return;
    }
    if (not_worth_it_.load(std::memory_order_relaxed) > 0) {
        not_worth_it_.fetch_sub(1, std::memory_order_relaxed);
        return;
    }
    const auto over = [&] {
        return syncing_.load(std::memory_order_acquire) || durable() >= lsn ||
               came_.load(std::memory_order_acquire) > lsn;
    };
    const auto longest = options_.longest_courtesy;
    if (!stay_awake_until(over, {.longest = longest, .others_run = longest})) {
        not_worth_it_.store(not_worth_it, std::memory_order_relaxed);
    }
}

// One sync by this thread. The caller has set syncing_.
Result<> Journal::sync_round() {
    do {
        if (this_is_the_writer()) {
            // It leads where many wait. Whoever could run now may append something first, and
            // needs no sync of its own then.
            std::this_thread::yield();
        }
        {
            const std::scoped_lock lock{round_mutex_};
            ++round_;
            waiting_for_next_ = 0;
            round_covers_ = UINT64_MAX; // until it is known: most likely, yes
        }
        const auto covered = write_out();
        if (!covered) {
            finish_round(0);
            return std::unexpected{covered.error()};
        }
        {
            const std::scoped_lock lock{round_mutex_};
            round_covers_ = *covered;
        }
        std::vector<std::shared_ptr<Segment>> dirty;
        {
            const MutexLock lock{write_mutex_};
            dirty = unsynced_;
            // The newest one stays: later writes go there and must be synced again.
            unsynced_.erase(unsynced_.begin(),
                            unsynced_.empty() ? unsynced_.end() : unsynced_.end() - 1);
        }
        for (const auto& segment : dirty) {
            if (auto done = segment->file->sync(); !done) {
                auto failed = fail_for_good(to_error(std::move(done).error()));
                finish_round(0);
                return failed;
            }
            syncs_.fetch_add(1, std::memory_order_relaxed);
        }
        finish_round(*covered);
        const std::scoped_lock lock{round_mutex_};
        const auto waiting = waiting_for_next_ + bells_.size();
        if (waiting == 0) {
            syncing_ = false;
            return {};
        }
        if (writer_.joinable() && !this_is_the_writer()) {
            if (waiting == 1 && !bells_.empty()) {
                syncing_ = false;
                bells_.back().second->ring();
                bells_.clear();
                return {};
            }
            if (waiting == 1) { // who must be woken anyway leads: nobody else wakes up
                syncing_ = false;
                const auto next = round_ + 1;
                announce(rounds_[next % 2], to_be_led(next));
                return {};
            }
            handed_over_ = true; // and syncing_ stays: the next round is taken
            writer_asleep_.store(false);
            writer_wake_.notify_one();
            return {};
        }
    } while (true);
}

// Publishes what the round achieved (0: it failed) and wakes its waiters.
void Journal::finish_round(Lsn covered) {
    if (covered != 0) {
        synced_.store(covered, std::memory_order_release);
        if (options_.durability == Durability::power_loss) {
            durable_.store(covered, std::memory_order_release);
        }
    }
    std::uint32_t round = 0;
    {
        const std::scoped_lock lock{round_mutex_};
        round = round_;
    }
    announce(rounds_[round % 2], over(round));
    ring_bells(covered);
    if (covered == 0) {
        // The next round is called off: whoever waits for it tries for itself.
        announce(rounds_[(round + 1) % 2], over(round + 1));
        const std::scoped_lock lock{round_mutex_};
        ++round_;
        for (const auto& [lsn, bell] : bells_) {
            bell->ring();
        }
        bells_.clear();
        syncing_ = false; // last: from here on another thread may begin a round
    }
}

void Journal::ring_bells(Lsn covered) {
    std::vector<std::pair<Lsn, std::shared_ptr<Bell>>> safe;
    {
        const std::scoped_lock lock{round_mutex_};
        const auto first = bells_.begin(); // in the order of their records
        const auto later = std::find_if(
            first, bells_.end(), [&](const auto& bell) { return bell.first > covered; });
        safe.assign(std::make_move_iterator(first), std::make_move_iterator(later));
        bells_.erase(first, later);
    }
    for (const auto& [lsn, bell] : safe) {
        bell->ring();
    }
}

Result<> Journal::wait_for_round(std::unique_lock<std::mutex>& lock, Lsn lsn) {
    const bool covered = round_covers_ >= lsn;
    const std::uint32_t round = covered ? round_ : round_ + 1;
    const std::uint32_t target = covered ? over(round) : to_be_led(round);
    if (!covered) {
        ++waiting_for_next_;
    }
    lock.unlock();
    auto& word = rounds_[round % 2];
    for (auto seen = word.load(std::memory_order_acquire); !reached(seen, target);
         seen = word.load(std::memory_order_acquire)) {
        sleep_while(word, seen);
    }
    lock.lock();
    return {};
}

Result<> Journal::ensure_written(Lsn lsn) {
    while (written_.load(std::memory_order_acquire) < lsn) {
        DURABLE_TRY(write_out());
    }
    return {};
}

// Hands everything appended so far to the system; tells up to where.
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

// Everything or an error: what was not written stays where it is, and comes first the next time.
Result<> Journal::write_held(Lsn covered) {
    while (!held_.empty()) {
        auto& chunk = held_.front();
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
    written_.store(covered, std::memory_order_release);
    if (options_.durability != Durability::power_loss) {
        durable_.store(covered, std::memory_order_release);
    }
    return {};
}

void Journal::run_writer(const std::stop_token& stop) {
    const std::stop_callback on_stop{stop, [this] {
                                         const std::scoped_lock lock{round_mutex_};
                                         writer_wake_.notify_one();
                                     }};
    // Looks again and again while there is something to do: being woken by an append would cost
    // whoever appends too much.
    constexpr int looks_before_sleep = 40;
    int quiet_looks = 0;
    Lsn seen = last();
    std::unique_lock lock{round_mutex_};
    bool told = false;
    while (!stop.stop_requested() || handed_over_) {
        if (failure_ && !std::exchange(told, true) && options_.on_failure) {
            lock.unlock();
            options_.on_failure();
            lock.lock();
            continue;
        }
        if (handed_over_) {
            handed_over_ = false;
            lock.unlock();
            (void)sync_round(); // an error is told to those who wait
            lock.lock();
            continue;
        }
        const Lsn unsynced = last();
        const bool all_safe = durable() >= unsynced || failure_;
        quiet_looks = all_safe && unsynced == std::exchange(seen, unsynced) ? quiet_looks + 1 : 0;
        if (quiet_looks > looks_before_sleep) {
            quiet_looks = 0;
            writer_asleep_.store(true);
            // An append between the check and the store has not seen us asleep.
            if (last() == unsynced) {
                writer_wake_.wait(lock);
            }
            writer_asleep_.store(false);
            continue;
        }
        writer_wake_.wait_for(lock, options_.longest_unsynced / 2);
        // Never waits for a round of somebody else: the next one may be handed over to this thread.
        if (all_safe || syncing_ || stop.stop_requested() || durable() >= unsynced) {
            continue;
        }
        const bool sync = options_.durability == Durability::power_loss;
        syncing_ = sync;
        lock.unlock();
        if (sync) {
            (void)sync_round(); // a failure is kept for whoever asks, what finds no space is tried
                                // again
        } else {
            (void)ensure_written(unsynced);
        }
        lock.lock();
    }
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
        writer_wake_.notify_one(); // it tells those who wait for something else
    }
    return std::unexpected{*failure_};
}

std::unexpected<Error> Journal::failed_error() const {
    return std::unexpected{*failure()};
}

} // namespace durable::fs
