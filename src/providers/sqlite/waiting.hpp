// Waiting: the threads inside a fetch or a watch, and who of them gets or hears what.
//
// A transaction of this process hands what it made to those who wait in a fetch, before it commits:
// so they need no transaction of their own. Everything else that may have changed (another process,
// time moved by hand) wakes them all to look for themselves.

#pragma once

#include "base/deadline.hpp"
#include "base/mutex.hpp"
#include "base/try.hpp"
#include "providers/sqlite/seekers.hpp"
#include "providers/sqlite/transaction.hpp"
#include "providers/sqlite/writer.hpp"

#include <durable/provider.hpp>
#include <durable/time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace durable::sqlite {

// What one look at the store gave: something, or when to look again (nullopt: not before news).
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

class Waiting final : public Writer::Companion {
 public:
    // `occupied` is called when the first waiter comes, with no lock held.
    Waiting(std::shared_ptr<Clock> clock, std::function<void()> occupied);

    // Answers what `take(transaction)` or `take_fresh(transaction, fresh)` got, at once or within
    // the poll timeout. They are called in a transaction of its own, which `apply(announce,
    // change)` makes, or, while this one waits, in those of other threads.
    template <class Offer, class Request, class Applying, class Taking, class TakingFresh>
    [[nodiscard]] Result<std::optional<Offer>>
    seek(const Request& request, Applying&& apply, Taking&& take, TakingFresh&& take_fresh);

    // Answers the state once it is another, or when the time is up.
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
        std::optional<SeenState> told; // what it waits for: no need to look
        Parker* parker = nullptr;
    };
    // Wakes a thread that is asked to stop.
    struct Waker {
        Parker* parker;
        void operator()() const { parker->wake(); }
    };

    enum class Woken : std::uint8_t { to_look, with_something, to_stop };

    template <class Request>
    Seekers<Request>& seekers() DURABLE_REQUIRES(mutex_) {
        if constexpr (std::is_same_v<Request, FetchWork>) {
            return work_;
        } else {
            return turns_;
        }
    }

    // False: to look would be in vain.
    template <class Request>
    [[nodiscard]] bool enter(Seeker<Request>& self) DURABLE_EXCLUDES(mutex_);
    template <class Request>
    void note_look(SteadyInstant now) DURABLE_EXCLUDES(mutex_) {
        const MutexLock lock{mutex_};
        seekers<Request>().looks(now);
    }
    template <class Request>
    void note_due(SteadyInstant due) DURABLE_EXCLUDES(mutex_) {
        const MutexLock lock{mutex_};
        seekers<Request>().note_due(due);
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
        return seekers<Request>().all_alike();
    }
    // `empty_handed`: it leaves without anything.
    template <class Request>
    void leave(Seeker<Request>& self, bool empty_handed) DURABLE_EXCLUDES(mutex_);
    template <class Request>
    [[nodiscard]] Woken sleep(Seeker<Request>& self,
                              SteadyInstant deadline,
                              std::optional<SteadyInstant> due,
                              std::uint64_t jumps) DURABLE_EXCLUDES(mutex_);
    void stand_by(SeekerState& self) DURABLE_EXCLUDES(mutex_);
    // `looks`: at what there is by now, so it does what it was called for.
    void stand_down(SeekerState& self, bool looks) DURABLE_EXCLUDES(mutex_);
    void call_again(SeekerState& self) DURABLE_EXCLUDES(mutex_); // it could not look
    template <class Request>
    static const Due& due(const Transaction& tx) {
        if constexpr (std::is_same_v<Request, FetchWork>) {
            return tx.outlook.work;
        } else {
            return tx.outlook.turns;
        }
    }
    // Whether a seeker that suits got something: `give(seeker)` says so.
    template <class Request, class Suits, class Giving>
    [[nodiscard]] bool hand_over(Suits&& suits, Giving&& give) DURABLE_EXCLUDES(mutex_);
    // What it was told, or nothing when `changed` was true or the time is up.
    [[nodiscard]] std::optional<SeenState> watch_loop(const WatchInstance& request,
                                                      SteadyInstant deadline,
                                                      const std::function<bool()>& changed)
        DURABLE_EXCLUDES(mutex_);
    [[nodiscard]] bool take_call(Watcher& self) DURABLE_EXCLUDES(mutex_);
    [[nodiscard]] bool is_told(const Watcher& self) const DURABLE_EXCLUDES(mutex_);
    void count_sleeper(bool sleeps) DURABLE_EXCLUDES(mutex_);
    void note_arrival(bool first);
    [[nodiscard]] std::uint64_t jumps() const DURABLE_EXCLUDES(mutex_);
    [[nodiscard]] bool nobody() const DURABLE_REQUIRES(mutex_);

    const std::shared_ptr<Clock> clock_;
    const std::function<void()> occupied_;
    mutable Mutex mutex_;
    Seekers<FetchOrchestration> turns_ DURABLE_GUARDED_BY(mutex_);
    Seekers<FetchWork> work_ DURABLE_GUARDED_BY(mutex_);
    std::unordered_multimap<std::string, Watcher*> watchers_ DURABLE_GUARDED_BY(mutex_);
    std::vector<SeekerState*> handed_ DURABLE_GUARDED_BY(mutex_); // by the transaction under way
    std::size_t asleep_ DURABLE_GUARDED_BY(mutex_) = 0;
    std::uint64_t jumps_ DURABLE_GUARDED_BY(mutex_) = 0; // of the clock, by hand
    // Whether a cancelled instance may be ready: in time, those without its code may take it (P14).
    bool cancellations_ DURABLE_GUARDED_BY(mutex_) = false;
    std::shared_ptr<void> on_jump_; // last: destroyed first
};

template <class Offer, class Request, class Applying, class Taking, class TakingFresh>
Result<std::optional<Offer>>
Waiting::seek(const Request& request, Applying&& apply, Taking&& take, TakingFresh&& take_fresh) {
    if (request.stop.stop_requested()) {
        return std::nullopt;
    }
    const auto deadline = deadline_after(*clock_, request.poll_timeout);
    std::optional<Offer> handed;
    Seeker<Request> self;
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
    std::optional<std::stop_callback<Waker>> on_stop;
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
        if (!self.parker) {
            self.parker = std::make_unique<Parker>(*clock_);
            if (request.stop.stop_possible()) {
                on_stop.emplace(request.stop, Waker{self.parker.get()});
            }
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
bool Waiting::enter(Seeker<Request>& self) {
    bool first = false;
    bool looks = true;
    {
        const MutexLock lock{mutex_};
        first = nobody();
        looks = waits_for_cancellations(*self.request) ||
                !seekers<Request>().in_vain(*self.request, clock_->steady());
        seekers<Request>().add(self);
    }
    note_arrival(first);
    return looks;
}

template <class Request>
void Waiting::leave(Seeker<Request>& self, bool empty_handed) {
    Bells to_wake;
    {
        const MutexLock lock{mutex_};
        auto& others = seekers<Request>();
        others.remove(self);
        const auto like_self = [&](const Request& other) {
            return seek_the_same(other, *self.request);
        };
        constexpr auto all = std::numeric_limits<std::size_t>::max();
        // Called for work that it has not taken, or the one who would have looked when something
        // falls due.
        if ((self.called || (empty_handed && self.parker)) &&
            others.call(1, like_self, to_wake) > 0) {
            (void)others.call(all, [](const Request&) { return true; }, to_wake);
        }
        // Called for work, and perhaps it took something that those others may not.
        if (self.was_called) {
            (void)others.call(
                all, [&](const Request& other) { return !like_self(other); }, to_wake);
        }
        if (const auto next = others.due()) {
            others.cover(*next, to_wake);
        }
    }
    for (const auto& bell : to_wake) {
        bell->ring();
    }
}

template <class Request>
Waiting::Woken Waiting::sleep(Seeker<Request>& self,
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
            seekers<Request>().note_due(*due);
        }
        if (seekers<Request>().is_due(clock_->steady())) {
            return Woken::to_look;
        }
        const auto next = seekers<Request>().due();
        if (next && *next < deadline && !seekers<Request>().covered(*next)) {
            self.wakes_at = *next;
        }
        self.seeking = Seeking::asleep;
        left = self.wakes_at - clock_->steady();
        ++asleep_;
    }
    for (;;) {
        if (left > Duration::zero()) {
            self.parker->park(left);
        }
        const MutexLock lock{mutex_};
        if (self.seeking == Seeking::claimed) { // whoever claimed it says what became of that
            left = Duration::max();
            continue;
        }
        left = self.wakes_at - clock_->steady();
        const auto served = self.seeking == Seeking::served;
        if (!served && !self.called && jumps == jumps_ && left > Duration::zero() && !stopped()) {
            continue; // it may have to sleep no longer than it thought
        }
        --asleep_;
        self.seeking = Seeking::looking;
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
