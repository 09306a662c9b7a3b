#include "providers/sqlite/concurrency/log_sync.hpp"

#include "providers/sqlite/db/sqlite_error.hpp"

#include <algorithm>
#include <utility>

namespace durable::sqlite {

namespace {

// How many syncs in a row one caller leads at most before its own call returns.
constexpr int most_syncs = 8;

} // namespace

LogSync::LogSync(std::array<std::unique_ptr<Connection>, lanes> observers) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        lanes_[lane].observer = std::move(observers[lane]);
    }
}

Result<> LogSync::ensure(std::optional<std::uint64_t> version) {
    Waiter self{.version = version};
    self.ticket.join(wait_words_);
    {
        const std::scoped_lock lock{mutex_};
        if (!list(self)) {
            if (self.error) {
                return std::unexpected{*std::move(self.error)};
            }
            return {};
        }
    }
    return finish(self);
}

void LogSync::add(std::span<Waiter* const> waiters) {
    std::vector<Waiter*> done;
    {
        const std::scoped_lock lock{mutex_};
        for (auto* waiter : waiters) {
            if (!list(*waiter)) {
                done.push_back(waiter);
            }
        }
        call_one_to_sync();
    }
    tell(done);
}

Result<> LogSync::finish(Waiter& waiter) {
    while (!waiter.ticket.is_done()) {
        std::unique_lock lock{mutex_};
        waiter.occupied = false;
        if (auto* lane = waiter.listed ? free_lane() : nullptr) {
            sync(lock, *lane, waiter);
            break;
        }
        lock.unlock();
        (void)waiter.ticket.wait();
    }
    if (waiter.error) {
        return std::unexpected{*std::move(waiter.error)};
    }
    return {};
}

bool LogSync::list(Waiter& waiter) {
    if (broken_) {
        waiter.error = broken_;
        return false;
    }
    if (waiter.version && *waiter.version <= synced_) {
        return false;
    }
    for (auto& lane : lanes_) {
        if (lane.syncing && waiter.version && *waiter.version <= lane.covers) {
            lane.served.push_back(&waiter);
            return true;
        }
    }
    waiter.listed = true; // syncs under way may have begun too early for it
    next_.push_back(&waiter);
    return true;
}

LogSync::Lane* LogSync::free_lane() {
    auto* const lane = std::ranges::find(lanes_, false, &Lane::syncing);
    return lane == lanes_.end() ? nullptr : lane;
}

// A leader serves waiters that come meanwhile. Only without a leader one of them has to be woken.
void LogSync::call_one_to_sync() {
    if (called_ || std::ranges::find(lanes_, true, &Lane::syncing) != lanes_.end()) {
        return;
    }
    const auto idle = std::ranges::find(next_, false, &Waiter::occupied);
    if (idle != next_.end()) {
        called_ = true;
        (*idle)->ticket.call_to_lead();
    }
}

// Leads further rounds while waiters come: the disk would be idle while another leader wakes up.
void LogSync::sync(std::unique_lock<std::mutex>& lock, Lane& lane, const Waiter& self) {
    lane.syncing = true;
    for (int rounds = 1;; ++rounds) {
        auto served = sync_once(lock, lane);
        std::erase(served, &self);
        const auto goes_on = !next_.empty() && rounds < most_syncs;
        if (!goes_on) {
            lane.syncing = false;
            call_one_to_sync();
        }
        lock.unlock();
        tell(served);
        if (!goes_on) {
            return;
        }
        lock.lock();
    }
}

std::vector<LogSync::Waiter*> LogSync::sync_once(std::unique_lock<std::mutex>& lock, Lane& lane) {
    called_ = false; // the called waiter is in this round
    lane.served.swap(next_);
    for (auto* waiter : lane.served) {
        waiter->listed = false;
    }
    // Later commits may or may not be in this sync. It also has the commits of other processes, but
    // under versions that this one may not know: a waiter for such a version is served by a round
    // that begins after it came.
    lane.covers = committed_;
    auto& observer = *lane.observer; // the leader's alone while `syncing` is set
    lock.unlock();
    observer.sync_log();
    // After the sync: so the file that was synced is the one with the store's name.
    if (!observer.failed() && observer.file_is_gone()) {
        observer.set_error(file_is_gone(observer.path()));
    }
    lock.lock();
    return end_round(lane);
}

void LogSync::tell(const std::vector<Waiter*>& served) {
    WakeList to_wake;
    for (auto* waiter : served) {
        waiter->ticket.call_done(to_wake);
    }
    to_wake.wake();
}

std::vector<LogSync::Waiter*> LogSync::end_round(Lane& lane) {
    auto served = std::exchange(lane.served, {});
    auto error = lane.observer->take_error();
    if (!broken_) {
        broken_ = std::move(error);
    }
    if (broken_) { // in any lane: what the disk holds is unknown
        served.insert(served.end(), next_.begin(), next_.end());
        next_.clear();
        for (auto* waiter : served) {
            waiter->error = broken_;
            waiter->listed = false;
        }
        return served;
    }
    synced_ = std::max(synced_, lane.covers);
    for (const auto* waiter : served) { // versions of other processes may be above `covers`
        synced_ = std::max(synced_, waiter->version.value_or(0));
    }
    return served;
}

} // namespace durable::sqlite
