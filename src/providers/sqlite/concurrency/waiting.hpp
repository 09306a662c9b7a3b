// Waiting: the long polls of SqliteProvider (P11): threads inside a fetch or a watch.
//
// Fetches and watches call fetch() and watch(). The leader of the Writer calls the rest, as its
// Listener: before a transaction commits it hands the work that it made to waiting fetches, so that
// they need no transaction of their own (hand-off). Any other change (by another process, or a jump
// of the clock) wakes all waiters to look for themselves.

#pragma once

#include "base/deadline.hpp"
#include "base/mutex.hpp"
#include "base/try.hpp"
#include "providers/sqlite/concurrency/fetch_waiters.hpp"
#include "providers/sqlite/concurrency/writer.hpp"
#include "providers/sqlite/store/transaction.hpp"

#include <durable/provider.hpp>
#include <durable/time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace durable::sqlite {

// The result of one look at the store: an offer, or when to look again (nullopt: when called).
template <class Offer>
struct Look {
    std::optional<Offer> offer;
    std::optional<Duration> due;
};

// The state of an instance, and the version of the store that it was seen in.
struct SeenState {
    InstanceState state;
    std::optional<std::uint64_t> version;
};

class Waiting final : public Writer::Listener {
 public:
    // `occupied` is called when the first waiter comes, with no lock held.
    Waiting(std::shared_ptr<Clock> clock, std::function<void()> occupied);

    // Answers what `take(transaction)` or `take_fresh(transaction, fresh)` took, at once or within
    // the poll timeout. Both run in a transaction of this thread, which `apply(announce, change)`
    // makes, or, while this thread waits, in transactions of other threads.
    template <class Offer, class Request, class Applying, class Taking, class TakingFresh>
    [[nodiscard]] Result<std::optional<Offer>>
    fetch(const Request& request, Applying&& apply, Taking&& take, TakingFresh&& take_fresh);

    // Answers the state once it has changed, or when the time is up.
    template <class Reading>
    [[nodiscard]] Result<SeenState> watch(const WatchInstance& request, Reading&& read);

    [[nodiscard]] bool take(Transaction& tx, FreshTurn& fresh) override DURABLE_EXCLUDES(mutex_);
    [[nodiscard]] bool take(Transaction& tx, FreshWork& fresh) override DURABLE_EXCLUDES(mutex_);
    void before_commit(Transaction& tx) override DURABLE_EXCLUDES(mutex_);
    void committed(const News& news) override DURABLE_EXCLUDES(mutex_);
    void undone() override DURABLE_EXCLUDES(mutex_);
    void broken() override DURABLE_EXCLUDES(mutex_) { wake_all(); }

    void wake_all() DURABLE_EXCLUDES(mutex_);
    [[nodiscard]] bool empty() const DURABLE_EXCLUDES(mutex_);
    [[nodiscard]] std::size_t asleep() const DURABLE_EXCLUDES(mutex_); // how many

 private:
    struct Watcher {
        bool ended_only = false;
        bool called = false;
        std::optional<SeenState> told; // the answer: it need not look
        Sleeper* sleeper = nullptr;
    };
    enum class Woken : std::uint8_t { to_look, with_something, to_stop };

    template <class Request>
    FetchWaiters<Request>& fetch_waiters() DURABLE_REQUIRES(mutex_) {
        if constexpr (std::is_same_v<Request, FetchWork>) {
            return work_;
        } else {
            return turns_;
        }
    }

    // False: a look would find nothing.
    template <class Request>
    [[nodiscard]] bool enter(FetchWaiter<Request>& self) DURABLE_EXCLUDES(mutex_);
    template <class Request>
    void note_look(SteadyInstant now) DURABLE_EXCLUDES(mutex_) {
        const MutexLock lock{mutex_};
        fetch_waiters<Request>().looks(now);
    }
    template <class Request>
    void note_due(SteadyInstant due) DURABLE_EXCLUDES(mutex_) {
        const MutexLock lock{mutex_};
        fetch_waiters<Request>().note_due(due);
    }
    // P14: time alone makes an instance, cancelled long ago, one that the request may take.
    [[nodiscard]] bool waits_for_cancellations(const FetchOrchestration& request) const
        DURABLE_REQUIRES(mutex_) {
        return cancellations_ && request.code && request.code->cancelled_for;
    }
    [[nodiscard]] static bool waits_for_cancellations(const FetchWork&) { return false; }
    void note_cancellations(const FetchOrchestration&, const Transaction& tx)
        DURABLE_EXCLUDES(mutex_) {
        const MutexLock lock{mutex_};
        cancellations_ = tx.outlook.cancellations;
    }
    static void note_cancellations(const FetchWork&, const Transaction&) {}
    template <class Request>
    [[nodiscard]] bool are_alike() DURABLE_EXCLUDES(mutex_) {
        const MutexLock lock{mutex_};
        return fetch_waiters<Request>().all_alike();
    }
    // `empty_handed`: the fetch answers nothing. Passes its calls and its timer on to the others.
    template <class Request>
    void leave(FetchWaiter<Request>& self, bool empty_handed) DURABLE_EXCLUDES(mutex_);
    template <class Request>
    [[nodiscard]] Woken sleep(FetchWaiter<Request>& self,
                              SteadyInstant deadline,
                              std::optional<SteadyInstant> due,
                              std::uint64_t jumps) DURABLE_EXCLUDES(mutex_);
    void stand_by(FetchWaiterState& self) DURABLE_EXCLUDES(mutex_);
    // `looks`: it looks now, which answers the calls for it.
    void stand_down(FetchWaiterState& self, bool looks) DURABLE_EXCLUDES(mutex_);
    void call_again(FetchWaiterState& self) DURABLE_EXCLUDES(mutex_); // its look failed
    template <class Request>
    static const Due& due(const Transaction& tx) {
        if constexpr (std::is_same_v<Request, FetchWork>) {
            return tx.outlook.work;
        } else {
            return tx.outlook.turns;
        }
    }
    // Claims a waiter that suits and calls `give(waiter)`; answers whether the waiter got
    // something.
    template <class Request, class Suits, class Giving>
    [[nodiscard]] bool hand_over(Suits&& suits, Giving&& give) DURABLE_EXCLUDES(mutex_);
    // The answer that a commit left, or nullopt when `changed` was true or the time is up.
    [[nodiscard]] std::optional<SeenState> watch_loop(const WatchInstance& request,
                                                      SteadyInstant deadline,
                                                      const std::function<bool()>& changed)
        DURABLE_EXCLUDES(mutex_);
    [[nodiscard]] bool take_call(Watcher& self) DURABLE_EXCLUDES(mutex_);
    [[nodiscard]] bool is_told(const Watcher& self) const DURABLE_EXCLUDES(mutex_);
    void count_sleeper(bool sleeps) DURABLE_EXCLUDES(mutex_);
    void note_arrival(bool first);
    [[nodiscard]] std::uint64_t jumps() const DURABLE_EXCLUDES(mutex_);
    [[nodiscard]] bool no_waiters() const DURABLE_REQUIRES(mutex_);

    const std::shared_ptr<Clock> clock_;
    const std::function<void()> occupied_;
    mutable Mutex mutex_;
    FetchWaiters<FetchOrchestration> turns_ DURABLE_GUARDED_BY(mutex_);
    FetchWaiters<FetchWork> work_ DURABLE_GUARDED_BY(mutex_);
    std::unordered_multimap<std::string, Watcher*> watchers_ DURABLE_GUARDED_BY(mutex_);
    std::vector<FetchWaiterState*>
        handed_ DURABLE_GUARDED_BY(mutex_); // by the transaction under way
    std::size_t asleep_ DURABLE_GUARDED_BY(mutex_) = 0;
    std::uint64_t jumps_ DURABLE_GUARDED_BY(mutex_) = 0; // of the clock, by hand
    // Whether a cancelled instance may be ready: later, fetches without its code may take it (P14).
    bool cancellations_ DURABLE_GUARDED_BY(mutex_) = false;
    std::shared_ptr<void> on_jump_; // last: destroyed first
};

template <class Offer, class Request, class Applying, class Taking, class TakingFresh>
Result<std::optional<Offer>>
Waiting::fetch(const Request& request, Applying&& apply, Taking&& take, TakingFresh&& take_fresh) {
    if (request.stop.stop_requested()) {
        return std::nullopt;
    }
    const auto deadline = deadline_after(*clock_, request.poll_timeout);
    std::optional<Offer> handed;
    FetchWaiter<Request> self;
    self.request = &request;
    self.take = [&](Transaction& tx) {
        handed = take(tx);
        return handed.has_value();
    };
    self.take_fresh = [&](Transaction& tx, auto& fresh) {
        handed = take_fresh(tx, fresh);
        return handed.has_value();
    };
    const auto look = [&]() -> Result<Look<Offer>> {
        Look<Offer> seen;
        DURABLE_TRY(apply(
            [&] {
                handed.reset();
                stand_by(self);
            },
            [&](Transaction& tx) -> Result<> {
                stand_down(self, !handed);
                seen.offer = handed ? std::exchange(handed, std::nullopt) : take(tx);
                seen.due = due<Request>(tx).wait(tx.now);
                note_cancellations(request, tx);
                return {};
            }));
        return seen;
    };
    for (auto looks = enter(self);; looks = true) {
        const auto jumped = jumps();
        const auto steady = clock_->steady();
        Result<Look<Offer>> seen;
        if (looks || steady >= deadline) {
            note_look<Request>(steady);
            seen = look();
        }
        if (!seen || seen->offer || steady >= deadline) {
            if (!seen) {
                call_again(self);
            } else if (seen->due) {
                note_due<Request>(add_saturating(steady, *seen->due));
            }
            leave(self, !seen || !seen->offer);
            if (!seen) {
                return std::unexpected{std::move(seen).error()};
            }
            return std::move(seen->offer);
        }
        if (!self.sleeper) {
            self.sleeper = std::make_unique<Sleeper>(*clock_, request.stop);
        }
        const auto due =
            seen->due ? std::optional{add_saturating(steady, *seen->due)} : std::nullopt;
        const auto woken = sleep(self, deadline, due, jumped);
        if (woken != Woken::to_look) {
            leave(self, woken == Woken::to_stop);
            return woken == Woken::with_something ? std::move(handed) : std::nullopt;
        }
    }
}

template <class Request>
bool Waiting::enter(FetchWaiter<Request>& self) {
    bool first = false;
    bool looks = true;
    {
        const MutexLock lock{mutex_};
        first = no_waiters();
        looks = waits_for_cancellations(*self.request) ||
                !fetch_waiters<Request>().in_vain(*self.request, clock_->steady());
        fetch_waiters<Request>().add(self);
    }
    note_arrival(first);
    return looks;
}

template <class Request>
void Waiting::leave(FetchWaiter<Request>& self, bool empty_handed) {
    Signals to_wake;
    {
        const MutexLock lock{mutex_};
        auto& others = fetch_waiters<Request>();
        others.remove(self);
        const auto like_self = [&](const Request& other) {
            return fetch_the_same(other, *self.request);
        };
        constexpr auto all = std::numeric_limits<std::size_t>::max();
        // It was called for work that it has not taken, or it has the timer for the next due time:
        // another waiter has to look.
        if ((self.called || (empty_handed && self.sleeper)) &&
            others.call(1, like_self, to_wake) > 0) {
            (void)others.call(all, [](const Request&) { return true; }, to_wake);
        }
        // It was called for work, and may have taken other work: call the waiters that may take the
        // first but not the second.
        if (self.was_called) {
            (void)others.call(
                all, [&](const Request& other) { return !like_self(other); }, to_wake);
        }
        if (const auto next = others.due()) {
            others.cover(*next, to_wake);
        }
    }
    for (const auto& signal : to_wake) {
        signal->set();
    }
}

template <class Request>
Waiting::Woken Waiting::sleep(FetchWaiter<Request>& self,
                              SteadyInstant deadline,
                              std::optional<SteadyInstant> due,
                              std::uint64_t jumps) {
    const auto stopped = [&] { return self.request->stop.stop_requested(); };
    auto left = Duration::zero();
    {
        const MutexLock lock{mutex_};
        if (self.called || jumps != jumps_ || stopped()) {
            return stopped() ? Woken::to_stop : Woken::to_look;
        }
        self.wakes_at = deadline;
        if (due) {
            fetch_waiters<Request>().note_due(*due);
        }
        if (fetch_waiters<Request>().is_due(clock_->steady())) {
            return Woken::to_look;
        }
        const auto next = fetch_waiters<Request>().due();
        if (next && *next < deadline && !fetch_waiters<Request>().covered(*next)) {
            self.wakes_at = *next;
        }
        self.phase = FetchPhase::asleep;
        left = self.wakes_at - clock_->steady();
        ++asleep_;
    }
    for (;;) {
        if (left > Duration::zero()) {
            self.sleeper->sleep(left);
        }
        const MutexLock lock{mutex_};
        if (self.phase == FetchPhase::claimed) { // the thread that claimed it ends that
            left = Duration::max();
            continue;
        }
        left = self.wakes_at - clock_->steady();
        const auto served = self.phase == FetchPhase::served;
        if (!served && !self.called && jumps == jumps_ && left > Duration::zero() && !stopped()) {
            continue; // cover() may have set an earlier timer
        }
        --asleep_;
        self.phase = FetchPhase::looking;
        return served ? Woken::with_something : stopped() ? Woken::to_stop : Woken::to_look;
    }
}

template <class Reading>
Result<SeenState> Waiting::watch(const WatchInstance& request, Reading&& read) {
    const auto deadline = deadline_after(*clock_, request.timeout);
    Result<SeenState> seen;
    const auto changed = [&] {
        seen = read();
        if (!seen || seen->state.revision == request.seen_revision) {
            return !seen;
        }
        return !request.ended_only || !seen->state.exists ||
               seen->state.status == ExecutionStatus::completed ||
               seen->state.status == ExecutionStatus::failed;
    };
    if (request.timeout <= Duration::zero()) {
        (void)changed();
    } else if (auto told = watch_loop(request, deadline, changed)) {
        return *std::move(told);
    }
    return seen;
}

} // namespace durable::sqlite
