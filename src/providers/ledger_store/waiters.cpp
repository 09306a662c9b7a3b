#include "providers/ledger_store/waiters.hpp"

namespace durable::ledger {

void Waiters::add_watcher(Watcher& watcher) {
    watchers_.emplace(watcher.request->instance, &watcher);
}

void Waiters::remove_watcher(Watcher& watcher) {
    const auto [first, last] = watchers_.equal_range(watcher.request->instance);
    watchers_.erase(
        std::find_if(first, last, [&](const auto& other) { return other.second == &watcher; }));
    std::erase(called_, &watcher);
}

std::vector<Watcher*> Waiters::watchers() const {
    std::vector<Watcher*> all;
    all.reserve(watchers_.size());
    for (const auto& watcher : watchers_) {
        all.push_back(watcher.second);
    }
    return all;
}

void Waiters::flush(const MutexLock& lock) {
    turns.flush(lock);
    work.flush(lock);
}

void Waiters::turn_ready(const TurnClass& turn) {
    turns.call(1, [&](const FetchOrchestration& request) {
        return suits(request, turn, suspects_) == Suits::yes;
    });
}

void Waiters::work_ready(const WorkGroup& group, std::size_t items) {
    work.call(items,
              [&](const durable::FetchWork& request) { return serves(request, group, suspects_); });
}

void Waiters::instance_changed(std::string_view instance, bool ended) {
    const auto [first, last] = watchers_.equal_range(instance);
    for (auto watcher = first; watcher != last; ++watcher) {
        if ((ended || !watcher->second->request->ended_only) && !watcher->second->called) {
            watcher->second->called = true;
            called_.push_back(watcher->second);
        }
    }
}

} // namespace durable::ledger
