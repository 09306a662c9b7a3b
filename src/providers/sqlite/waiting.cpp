#include "providers/sqlite/waiting.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace durable::sqlite {

namespace {

bool serves(const FetchWork& request, const News::Work& news) {
    if (!request.tags.matches(news.tag)) {
        return false;
    }
    if (!news.in_session) {
        return true;
    }
    if (!request.session) {
        return false;
    }
    return news.owner ? *news.owner == request.session->owner_id : request.session->claim_new;
}

} // namespace

Waiting::Waiting(std::shared_ptr<Clock> clock, std::function<void()> occupied)
    : clock_{std::move(clock)}, occupied_{std::move(occupied)}, on_jump_{clock_->on_jump([this] {
          const MutexLock lock{mutex_};
          ++jumps_;
      })} {}

std::uint64_t Waiting::jumps() const {
    const MutexLock lock{mutex_};
    return jumps_;
}

bool Waiting::nobody() const {
    return turns_.empty() && work_.empty() && watchers_.empty();
}

bool Waiting::empty() const {
    const MutexLock lock{mutex_};
    return nobody();
}

std::size_t Waiting::asleep() const {
    const MutexLock lock{mutex_};
    return asleep_;
}

void Waiting::note_arrival(bool first) {
    if (first && occupied_) {
        occupied_();
    }
}

void Waiting::flush(const MutexLock& lock) {
    turns_.flush(lock);
    work_.flush(lock);
    for (auto* sleeper : to_wake_) {
        sleeper->wake(lock);
    }
    to_wake_.clear();
}

void Waiting::call_watchers(const std::string& instance) {
    const auto [first, last] = watchers_.equal_range(instance);
    for (auto watcher = first; watcher != last; ++watcher) {
        watcher->second->called = true;
        if (watcher->second->asleep != nullptr) {
            to_wake_.push_back(watcher->second->asleep);
        }
    }
}

void Waiting::hear(const News& news) {
    const MutexLock lock{mutex_};
    if (nobody()) {
        return;
    }
    for (const auto& pinned : news.turns) {
        turns_.call(1, [&](const FetchOrchestration& request) {
            return !request.filter || !pinned || request.filter->matches(*pinned);
        });
    }
    for (const auto& work : news.work) {
        work_.call(work.items, [&](const FetchWork& request) { return serves(request, work); });
    }
    for (const auto& instance : news.instances) {
        call_watchers(instance);
    }
    const auto steady = clock_->steady();
    if (news.turn_due && !turns_.empty()) {
        turns_.cover(add_saturating(steady, *news.turn_due));
    }
    if (news.work_due && !work_.empty()) {
        work_.cover(add_saturating(steady, *news.work_due));
    }
    flush(lock);
}

void Waiting::wake_all() {
    const MutexLock lock{mutex_};
    constexpr auto all = std::numeric_limits<std::size_t>::max();
    turns_.call(all, [](const FetchOrchestration&) { return true; });
    work_.call(all, [](const FetchWork&) { return true; });
    for (auto& [instance, watcher] : watchers_) {
        watcher->called = true;
        if (watcher->asleep != nullptr) {
            to_wake_.push_back(watcher->asleep);
        }
    }
    flush(lock);
}

void Waiting::watch_loop(const WatchInstance& request,
                         Watcher& self,
                         SteadyInstant deadline,
                         const std::function<bool()>& changed) {
    Sleeper sleeper{*clock_, request.stop};
    bool first = false;
    {
        const MutexLock lock{mutex_};
        first = nobody();
        watchers_.emplace(request.instance, &self);
    }
    note_arrival(first);
    // Looked at once more: it may have changed before we were listed.
    for (auto over = changed(); !over; over = over || changed()) {
        const MutexLock lock{mutex_};
        while (!self.called && clock_->steady() < deadline && !request.stop.stop_requested()) {
            self.asleep = &sleeper;
            ++asleep_;
            sleeper.sleep(lock, deadline - clock_->steady());
            --asleep_;
            self.asleep = nullptr;
        }
        over = !self.called;
        self.called = false;
    }
    const MutexLock lock{mutex_};
    const auto [begin, end] = watchers_.equal_range(request.instance);
    watchers_.erase(
        std::find_if(begin, end, [&](const auto& watcher) { return watcher.second == &self; }));
}

} // namespace durable::sqlite
