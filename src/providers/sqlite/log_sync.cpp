#include "providers/sqlite/log_sync.hpp"

#include <algorithm>
#include <utility>

namespace durable::sqlite {

LogSync::LogSync(std::unique_ptr<Connection> observer) : observer_{std::move(observer)} {}

Result<> LogSync::ensure(std::optional<std::uint64_t> version) {
    Waiter self{.version = version};
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
    for (auto* waiter : done) {
        waiter->ticket.call(Ticket::Call::done);
    }
}

Result<> LogSync::finish(Waiter& waiter) {
    for (;;) {
        std::unique_lock lock{mutex_};
        waiter.occupied = false;
        if (waiter.listed && !syncing_) {
            sync(lock, waiter);
            break;
        }
        lock.unlock();
        if (waiter.ticket.wait() == Ticket::Call::done) {
            break;
        }
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
    if (syncing_ && waiter.version && *waiter.version <= round_covers_) {
        served_.push_back(&waiter);
        return true;
    }
    waiter.listed = true; // a round that is under way may have begun too early for it
    next_.push_back(&waiter);
    return true;
}

void LogSync::call_one_to_sync() {
    if (syncing_ || called_) {
        return;
    }
    const auto idle = std::ranges::find(next_, false, &Waiter::occupied);
    if (idle != next_.end()) {
        called_ = true;
        (*idle)->ticket.call(Ticket::Call::lead);
    }
}

void LogSync::sync(std::unique_lock<std::mutex>& lock, const Waiter& self) {
    syncing_ = true;
    called_ = false; // whoever was is served
    served_.swap(next_);
    for (auto* waiter : served_) {
        waiter->listed = false;
    }
    // What is committed from here on may or may not be in this sync. What another process has
    // committed is in it, too, under a version that this one may not know: whoever asks for that
    // waits for the end of a round that began later.
    round_covers_ = committed_;
    lock.unlock();
    observer_->sync_log();
    lock.lock();
    const auto served = end_round();
    call_one_to_sync(); // first: the disk waits
    lock.unlock();
    for (auto* waiter : served) {
        if (waiter != &self) {
            waiter->ticket.call(Ticket::Call::done);
        }
    }
}

std::vector<LogSync::Waiter*> LogSync::end_round() {
    syncing_ = false;
    auto served = std::exchange(served_, {});
    broken_ = observer_->take_error();
    if (broken_) {
        served.insert(served.end(), next_.begin(), next_.end());
        next_.clear();
        for (auto* waiter : served) {
            waiter->error = broken_;
            waiter->listed = false;
        }
        return served;
    }
    synced_ = std::max(synced_, round_covers_);
    for (const auto* waiter : served) { // another process's may be unknown so far
        synced_ = std::max(synced_, waiter->version.value_or(0));
    }
    return served;
}

} // namespace durable::sqlite
