#include "providers/ledger/waiters.hpp"

namespace durable::ledger {

void Waiters::add_watcher(const WatchInstance& request, Sleeper& sleeper) {
    watchers_.emplace(request.instance,
                      Watcher{.sleeper = &sleeper, .ended_only = request.ended_only});
}

void Waiters::remove_watcher(const WatchInstance& request, Sleeper& sleeper) {
    const auto [first, last] = watchers_.equal_range(request.instance);
    watchers_.erase(std::find_if(
        first, last, [&](const auto& watcher) { return watcher.second.sleeper == &sleeper; }));
}

void Waiters::flush(const MutexLock& lock) {
    turns.flush(lock);
    work.flush(lock);
    for (auto* sleeper : to_wake_) {
        sleeper->wake(lock);
    }
    to_wake_.clear();
}

void Waiters::turn_ready(const Version* pinned) {
    turns.call(1, [&](const FetchOrchestration& request) {
        return !request.filter || pinned == nullptr || request.filter->matches(*pinned);
    });
}

void Waiters::work_ready(const WorkGroup& group, std::size_t items) {
    work.call(items, [&](const durable::FetchWork& request) { return serves(request, group); });
}

void Waiters::instance_changed(std::string_view instance, bool ended) {
    const auto [first, last] = watchers_.equal_range(instance);
    for (auto watcher = first; watcher != last; ++watcher) {
        if (ended || !watcher->second.ended_only) {
            to_wake_.push_back(watcher->second.sleeper);
        }
    }
}

} // namespace durable::ledger
