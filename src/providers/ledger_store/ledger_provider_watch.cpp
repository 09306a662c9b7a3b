#include "base/deadline.hpp"
#include "base/try.hpp"
#include "providers/ledger/queueing.hpp"
#include "providers/ledger/reading.hpp"
#include "providers/ledger_store/ledger_provider.hpp"

#include <algorithm>
#include <utility>

namespace durable::ledger {

void LedgerProvider::set_once_safe(const MutexLock& lock,
                                   std::uint64_t,
                                   const std::shared_ptr<Signal>& signal) {
    lock.set_later(signal);
}

bool LedgerProvider::changed(const WatchInstance& request) const {
    return ledger_.revision(request.instance) != request.seen_revision &&
           (!request.ended_only || has_ended(ledger_, request.instance));
}

void LedgerProvider::answer(Watcher& watcher) {
    watcher.state = state_of(ledger_, watcher.request->instance);
    watcher.reached = position();
    if (auto seen = looked(); !seen) {
        watcher.state = std::unexpected{std::move(seen).error()};
    }
}

std::uint64_t LedgerProvider::dismiss(Watcher& watcher) {
    waiters_.remove_watcher(watcher);
    answer(watcher);
    const auto reached = watcher.reached;
    watcher.answered.store(true, std::memory_order_release);
    return reached;
}

void LedgerProvider::answer_watchers(const MutexLock& lock) {
    for (auto* watcher : waiters_.take_called()) {
        watcher->called = false;
        if (!changed(*watcher->request)) {
            continue;
        }
        const auto signal = watcher->sleeper->signal();
        set_once_safe(lock, dismiss(*watcher), signal);
    }
}

void LedgerProvider::tell_watchers() {
    const MutexLock lock{mutex_};
    for (auto* watcher : waiters_.watchers()) {
        lock.set_later(watcher->sleeper->signal());
        dismiss(*watcher);
    }
}

Result<InstanceState> LedgerProvider::watch_instance(const WatchInstance& request) {
    const auto deadline = deadline_after(*clock_, std::max(request.timeout, Duration::zero()));
    Sleeper sleeper{*clock_, request.stop};
    Watcher self{.request = &request, .sleeper = &sleeper};
    bool over = false;
    auto seen = with_all_here([&](const MutexLock&) -> Result<> {
        mutex_.assert_held();
        over = clock_->steady() >= deadline || request.stop.stop_requested() || changed(request);
        answer(self);
        if (!self.state) {
            return std::unexpected{self.state.error()};
        }
        if (!over) {
            waiters_.add_watcher(self);
        }
        return {};
    });
    if (!seen) {
        return failed(std::move(seen).error(), "watch_instance");
    }
    while (!over && !self.answered.load(std::memory_order_acquire)) {
        const auto steady = clock_->steady();
        if (steady < deadline && !request.stop.stop_requested()) {
            sleeper.sleep(deadline - steady);
            continue;
        }
        over = true;
        const MutexLock lock{mutex_};
        if (!self.answered.load(std::memory_order_relaxed)) {
            waiters_.remove_watcher(self);
            answer(self);
        }
    }
    if (!self.state) {
        return failed(std::move(self.state).error(), "watch_instance");
    }
    if (auto safe = wait_until_safe(AnswerKind::state, self.reached, 0); !safe) {
        return failed(std::move(safe).error(), "watch_instance");
    }
    return std::move(self.state);
}

} // namespace durable::ledger
