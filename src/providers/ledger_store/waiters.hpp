// Waiters: the long polls of LedgerProvider (P11): the threads in a fetch or a watch, and which of
// them is woken.
//
// The ledger tells what changed (Listener); LedgerProvider adds its waiting threads and calls
// flush() before it unlocks its mutex, which guards all of this. Waking an idle core costs more
// than a turn. So a piece of work wakes one waiter that can take it, and none when one is already
// looking. Signals are set after the unlock: a woken waiter locks the mutex next. One sleeper has a
// timer for the next work that falls due; the others have none.

#pragma once

#include "base/check.hpp"
#include "base/mutex.hpp"
#include "base/sleeper.hpp"
#include "providers/ledger/listener.hpp"
#include "providers/ledger/work_queue.hpp"

#include <durable/provider.hpp>

#include <algorithm>
#include <atomic>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace durable::ledger {

// A thread in a fetch.
template <class Request>
struct FetchWaiter {
    const Request* request = nullptr;
    Sleeper* asleep = nullptr;       // nullptr: awake and looking
    SteadyInstant wakes_at;          // its own timer, while asleep
    std::atomic<bool> called{false}; // there is work for it; set under the mutex
};

// A thread in a watch. The call that changes the instance leaves the answer here, so that the
// watcher need not lock the mutex once more. From then on the watcher may be gone.
struct Watcher {
    const WatchInstance* request = nullptr;
    Sleeper* sleeper = nullptr;
    bool called = false; // its instance has changed; guarded by the mutex
    Result<InstanceState> state{InstanceState{}};
    std::uint64_t reached = 0; // where the journal stood then
    std::atomic<bool> answered{false};
};

template <class Request>
class FetchWaiters {
 public:
    void add(FetchWaiter<Request>& waiter) {
        waiters_.push_back(&waiter);
        ++uncalled_;
    }
    void remove(FetchWaiter<Request>& waiter) {
        DURABLE_CHECK(waiter.called || uncalled_ > 0,
                      "uncalled_ counts the waiters that were not called");
        uncalled_ -= waiter.called ? 0U : 1U;
        const auto removed = std::erase(waiters_, &waiter);
        DURABLE_CHECK(removed == 1, "a waiter is listed once, as long as it waits");
    }
    void look_again(FetchWaiter<Request>& waiter) {
        uncalled_ += waiter.called ? 1U : 0U;
        waiter.called = false;
        waiter.asleep = nullptr;
    }

    // For up to `pieces` pieces of work: calls as many waiters that `suits(request)` accepts. First
    // those that are awake, then the sleeper with the latest timer.
    template <class Suits>
    void call(std::size_t pieces, Suits&& suits) {
        for (; pieces > 0 && uncalled_ > 0; --pieces) {
            FetchWaiter<Request>* best = nullptr;
            for (auto* waiter : waiters_) {
                if (!waiter->called && (best == nullptr || better(*waiter, *best)) &&
                    suits(*waiter->request)) {
                    best = waiter;
                }
            }
            if (best == nullptr) {
                return;
            }
            best->called = true;
            any_called_ = true;
            --uncalled_;
            if (best->asleep != nullptr) {
                to_wake_.push_back(best->asleep);
            }
        }
    }

    // Makes sure that a waiter looks when `due` comes: wakes one to set its timer, unless one is
    // covered.
    void cover(SteadyInstant due) {
        FetchWaiter<Request>* candidate = nullptr;
        for (auto* waiter : waiters_) {
            if (waiter->asleep == nullptr || waiter->called || waiter->wakes_at <= due) {
                return; // this one will look by then
            }
            candidate = waiter;
        }
        if (candidate != nullptr) {
            candidate->wakes_at = due; // woken now, to look and sleep until then
            to_wake_.push_back(candidate->asleep);
        }
    }
    // Will a sleeper wake up by then?
    [[nodiscard]] bool covered(SteadyInstant due) const {
        return std::ranges::any_of(waiters_, [&](const auto* waiter) {
            return waiter->asleep != nullptr && waiter->wakes_at <= due;
        });
    }
    [[nodiscard]] bool empty() const noexcept { return waiters_.empty(); }
    // Whether a waiter was called since the last flush.
    [[nodiscard]] bool any_called() const noexcept { return any_called_; }

    void flush(const MutexLock& lock) {
        for (auto* sleeper : to_wake_) {
            sleeper->wake(lock);
        }
        to_wake_.clear();
        any_called_ = false;
    }

 private:
    static bool better(const FetchWaiter<Request>& a, const FetchWaiter<Request>& b) {
        if (a.asleep == nullptr || b.asleep == nullptr) {
            return a.asleep == nullptr && b.asleep != nullptr;
        }
        return a.wakes_at >= b.wakes_at; // of equals the last to fall asleep: its core is warm
    }

    std::vector<FetchWaiter<Request>*> waiters_;
    std::size_t uncalled_ = 0;
    bool any_called_ = false;
    std::vector<Sleeper*> to_wake_;
};

// Guarded by the provider's mutex. Marks the waiters for what the ledger announces; flush() wakes
// them.
class Waiters final : public Listener {
 public:
    explicit Waiters(const SuspectHold& suspects) : suspects_{suspects} {}

    FetchWaiters<FetchOrchestration> turns;
    FetchWaiters<durable::FetchWork> work;

    void add_watcher(Watcher& watcher);
    void remove_watcher(Watcher& watcher);
    [[nodiscard]] std::vector<Watcher*> watchers() const;
    // Watchers whose instance has changed since the last call, each once.
    [[nodiscard]] std::vector<Watcher*> take_called() { return std::exchange(called_, {}); }

    void flush(const MutexLock& lock);

    void turn_ready(const TurnClass& turn) override;
    void work_ready(const WorkGroup& group, std::size_t items) override;
    void instance_changed(std::string_view instance, bool ended) override;

 private:
    using Watchers = std::unordered_multimap<std::string, Watcher*, TextHash, std::equal_to<>>;

    const SuspectHold& suspects_;
    Watchers watchers_;
    std::vector<Watcher*> called_;
};

} // namespace durable::ledger
