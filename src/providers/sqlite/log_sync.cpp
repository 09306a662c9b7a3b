#include "providers/sqlite/log_sync.hpp"

#include "providers/sqlite/sqlite_error.hpp"

#include <algorithm>
#include <utility>

namespace durable::sqlite {

namespace {

// How many syncs in a row a caller makes at most before it goes on with its own life.
constexpr int most_syncs = 8;

constexpr std::size_t first_told_by(std::size_t number) {
    return 2 * (number + 1);
}

} // namespace

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
            if (waiter.round) {
                tell_two(*waiter.round, first_told_by(waiter.number));
            }
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

// Goes on while others wait: calling one of them would leave the disk idle for that long.
void LogSync::sync(std::unique_lock<std::mutex>& lock, const Waiter& self) {
    syncing_ = true;
    for (int rounds = 1;; ++rounds) {
        auto served = sync_once(lock);
        std::erase(served, &self);
        // Last, where nobody is left to be woken: it does something else first.
        std::ranges::partition(served, [](const Waiter* waiter) { return !waiter->occupied; });
        const auto goes_on = !next_.empty() && rounds < most_syncs;
        if (!goes_on) {
            syncing_ = false;
            call_one_to_sync();
        }
        lock.unlock();
        tell(std::move(served));
        if (!goes_on) {
            return;
        }
        lock.lock();
    }
}

std::vector<LogSync::Waiter*> LogSync::sync_once(std::unique_lock<std::mutex>& lock) {
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
    // Afterwards: then what is told was synced in the file that has the name.
    if (!observer_->failed() && observer_->file_is_gone()) {
        observer_->set_error(file_is_gone(observer_->path()));
    }
    lock.lock();
    return end_round();
}

// Two of them, each of whom wakes two more: all cores wake, and the disk need not wait for that.
void LogSync::tell(std::vector<Waiter*> served) {
    const auto round = std::make_shared<const std::vector<Waiter*>>(std::move(served));
    for (std::size_t number = 0; first_told_by(number) < round->size(); ++number) {
        (*round)[number]->round = round;
        (*round)[number]->number = number;
    }
    tell_two(*round, 0);
}

void LogSync::tell_two(const std::vector<Waiter*>& round, std::size_t first) {
    for (auto number = first; number < std::min(first + 2, round.size()); ++number) {
        round[number]->ticket.call(Ticket::Call::done);
    }
}

std::vector<LogSync::Waiter*> LogSync::end_round() {
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
