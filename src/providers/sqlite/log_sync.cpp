#include "providers/sqlite/log_sync.hpp"

#include "providers/sqlite/sqlite_error.hpp"

#include <algorithm>
#include <utility>

namespace durable::sqlite {

namespace {

// How many syncs in a row a caller makes at most before it goes on with its own life.
constexpr int most_syncs = 8;

} // namespace

LogSync::LogSync(std::array<std::unique_ptr<Connection>, lanes> observers) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        lanes_[lane].observer = std::move(observers[lane]);
    }
}

Result<> LogSync::ensure(std::optional<std::uint64_t> version) {
    Waiter self{.version = version};
    self.ticket.check_in(dormitories_);
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
    waiter.listed = true; // those under way may have begun too early for it
    next_.push_back(&waiter);
    return true;
}

LogSync::Lane* LogSync::free_lane() {
    auto* const lane = std::ranges::find(lanes_, false, &Lane::syncing);
    return lane == lanes_.end() ? nullptr : lane;
}

// Whoever syncs looks for those who came meanwhile: only if nobody does, one has to be woken.
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

// Goes on while others wait: calling one of them would leave the disk idle for that long.
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
    called_ = false; // whoever was is served
    lane.served.swap(next_);
    for (auto* waiter : lane.served) {
        waiter->listed = false;
    }
    // What is committed from here on may or may not be in this sync. What another process has
    // committed is in it, too, under a version that this one may not know: whoever asks for that
    // waits for the end of a round that began later.
    lane.covers = committed_;
    auto& observer = *lane.observer; // nobody else's, as long as it syncs
    lock.unlock();
    observer.sync_log();
    // Afterwards: then what is told was synced in the file that has the name.
    if (!observer.failed() && observer.file_is_gone()) {
        observer.set_error(file_is_gone(observer.path()));
    }
    lock.lock();
    return end_round(lane);
}

void LogSync::tell(const std::vector<Waiter*>& served) {
    Sleepers sleepers;
    for (auto* waiter : served) {
        waiter->ticket.call_done(sleepers);
    }
    sleepers.wake();
}

std::vector<LogSync::Waiter*> LogSync::end_round(Lane& lane) {
    auto served = std::exchange(lane.served, {});
    auto error = lane.observer->take_error();
    if (!broken_) {
        broken_ = std::move(error);
    }
    if (broken_) { // by whichever of them: nobody knows what the disk holds
        served.insert(served.end(), next_.begin(), next_.end());
        next_.clear();
        for (auto* waiter : served) {
            waiter->error = broken_;
            waiter->listed = false;
        }
        return served;
    }
    synced_ = std::max(synced_, lane.covers);
    for (const auto* waiter : served) { // another process's may be unknown so far
        synced_ = std::max(synced_, waiter->version.value_or(0));
    }
    return served;
}

} // namespace durable::sqlite
