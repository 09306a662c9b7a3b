// Journal's group sync: rounds that serve many waiters, led by a caller or by the writer thread.

#include "base/check.hpp"
#include "base/stay_awake.hpp"
#include "base/try.hpp"
#include "providers/fs/files/fs_error.hpp"
#include "providers/fs/journal/journal.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace durable::fs {

namespace {

// Values of a round's futex word: the round is over; or a waiter has to lead it.
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

bool Journal::set_once_durable(Lsn lsn, const std::shared_ptr<Signal>& signal) {
    if (options_.durability != Durability::power_loss) {
        return false;
    }
    const std::scoped_lock lock{round_mutex_};
    if (!syncing_ || failure_) {
        return false;
    }
    signals_.emplace_back(lsn, signal);
    return true;
}

void Journal::wait_for_follow_up(Lsn lsn) {
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
               followed_up_.load(std::memory_order_acquire) > lsn;
    };
    const auto longest = options_.longest_follow_up;
    if (!stay_awake_until(over, {.longest = longest, .others_run = longest})) {
        not_worth_it_.store(not_worth_it, std::memory_order_relaxed);
    }
}

// One sync by this thread. The caller has set syncing_.
Result<> Journal::sync_round() {
    do {
        if (this_is_the_writer()) {
            // The writer leads where many wait. Callers that can run now may append first, and
            // share this sync.
            std::this_thread::yield();
        }
        {
            const std::scoped_lock lock{round_mutex_};
            ++round_;
            waiting_for_next_ = 0;
            round_covers_ = UINT64_MAX; // until write_out(): it takes most records that come now
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
            // The newest segment stays listed: later writes go there and must be synced again.
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
        const auto waiting = waiting_for_next_ + signals_.size();
        if (waiting == 0) {
            syncing_ = false;
            return {};
        }
        if (writer_.joinable() && !this_is_the_writer()) {
            if (waiting == 1 && !signals_.empty()) {
                syncing_ = false;
                signals_.back().second->set();
                signals_.clear();
                return {};
            }
            if (waiting == 1) { // the one waiter, woken anyway, leads the next round
                syncing_ = false;
                const auto next = round_ + 1;
                announce(rounds_[next % 2], to_be_led(next));
                return {};
            }
            handed_over_ = true; // syncing_ stays set: the writer leads the next round
            writer_asleep_.store(false);
            writer_wake_.notify_one();
            return {};
        }
    } while (true);
}

// Publishes the last record that the round made durable (0: it failed) and wakes its waiters.
void Journal::finish_round(Lsn covered) {
    if (covered != 0) {
        DURABLE_CHECK(covered >= synced_.load(std::memory_order_relaxed) &&
                          covered <= written_.load(std::memory_order_relaxed),
                      "what is synced only grows, and was written before");
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
    set_signals(covered);
    if (covered == 0) {
        // The next round will not come: each of its waiters tries again for itself.
        announce(rounds_[(round + 1) % 2], over(round + 1));
        const std::scoped_lock lock{round_mutex_};
        ++round_;
        for (const auto& [lsn, signal] : signals_) {
            signal->set();
        }
        signals_.clear();
        syncing_ = false; // last: from here on another thread may begin a round
    }
}

void Journal::set_signals(Lsn covered) {
    std::vector<std::pair<Lsn, std::shared_ptr<Signal>>> safe;
    {
        const std::scoped_lock lock{round_mutex_};
        const auto first = signals_.begin(); // in the order of their records
        const auto later = std::find_if(
            first, signals_.end(), [&](const auto& signal) { return signal.first > covered; });
        safe.assign(std::make_move_iterator(first), std::make_move_iterator(later));
        signals_.erase(first, later);
    }
    for (const auto& [lsn, signal] : safe) {
        signal->set();
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

void Journal::run_writer(const std::stop_token& stop) {
    const std::stop_callback on_stop{stop, [this] {
                                         const std::scoped_lock lock{round_mutex_};
                                         writer_wake_.notify_one();
                                     }};
    // Polls while records come: a wake-up by each append would cost the appending caller too much.
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
            (void)sync_round(); // its waiters report an error
            lock.lock();
            continue;
        }
        const Lsn unsynced = last();
        const bool all_safe = durable() >= unsynced || failure_;
        quiet_looks = all_safe && unsynced == std::exchange(seen, unsynced) ? quiet_looks + 1 : 0;
        if (quiet_looks > looks_before_sleep) {
            quiet_looks = 0;
            writer_asleep_.store(true);
            // An append between the check and the store did not see writer_asleep_.
            if (last() == unsynced) {
                writer_wake_.wait(lock);
            }
            writer_asleep_.store(false);
            continue;
        }
        writer_wake_.wait_for(lock, options_.longest_unsynced / 2);
        // Never waits for a round of another leader: that one may hand the next to this thread.
        if (all_safe || syncing_ || stop.stop_requested() || durable() >= unsynced) {
            continue;
        }
        const bool sync = options_.durability == Durability::power_loss;
        syncing_ = sync;
        lock.unlock();
        if (sync) {
            (void)sync_round(); // later calls report a failure; a full disk is tried again
        } else {
            (void)ensure_written(unsynced);
        }
        lock.lock();
    }
}

} // namespace durable::fs
