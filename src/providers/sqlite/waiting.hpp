// Waiting: the threads inside a fetch or a watch, and who of them gets or hears what.
//
// A transaction of this process hands what it made to those who wait in a fetch, before it commits:
// so they need no transaction of their own. Everything else that may have changed (another process,
// time moved by hand) wakes them all to look for themselves.

#pragma once

#include "base/mutex.hpp"
#include "providers/sqlite/seekers.hpp"
#include "providers/sqlite/transaction.hpp"
#include "providers/sqlite/writer.hpp"

#include <durable/provider.hpp>
#include <durable/time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
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

    // Answers what `look()` finds, at once or within the poll timeout, or what `take(transaction)`
    // got meanwhile: it is called from other threads while this one waits.
    template <class Offer, class Request, class Looking, class Taking>
    [[nodiscard]] Result<std::optional<Offer>>
    seek(const Request& request, Looking&& look, Taking&& take);

    // Answers the state once it is another, or when the time is up.
    template <class Reading>
    [[nodiscard]] Result<SeenState> watch(const WatchInstance& request, Reading&& read);

    void before_commit(Transaction& tx) override DURABLE_EXCLUDES(mutex_);
    void committed(const News& news) override DURABLE_EXCLUDES(mutex_);
    void undone() override DURABLE_EXCLUDES(mutex_);

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

    template <class Request>
    void enter(Seeker<Request>& self) DURABLE_EXCLUDES(mutex_);
    // `empty_handed`: it leaves without anything.
    template <class Request>
    void leave(Seeker<Request>& self, bool empty_handed) DURABLE_EXCLUDES(mutex_);
    template <class Request>
    [[nodiscard]] Woken sleep(Seeker<Request>& self,
                              SteadyInstant deadline,
                              std::optional<SteadyInstant> due,
                              std::uint64_t jumps) DURABLE_EXCLUDES(mutex_);
    // Whether a seeker that suits got something.
    template <class Request, class Suits>
    [[nodiscard]] bool hand_over(Transaction& tx, Suits&& suits) DURABLE_EXCLUDES(mutex_);
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
    std::shared_ptr<void> on_jump_;                      // last: destroyed first
};

template <class Offer, class Request, class Looking, class Taking>
Result<std::optional<Offer>> Waiting::seek(const Request& request, Looking&& look, Taking&& take) {
    if (request.stop.stop_requested()) {
        return std::nullopt;
    }
    const auto deadline =
        add_saturating(clock_->steady(), std::max(request.poll_timeout, Duration::zero()));
    std::optional<Offer> handed;
    Seeker<Request> self;
    self.request = &request;
    self.take = [&](Transaction& tx) {
        handed = take(tx);
        return handed.has_value();
    };
    enter(self);
    std::optional<std::stop_callback<Waker>> on_stop;
    for (;;) {
        const auto jumped = jumps();
        const auto steady = clock_->steady();
        Result<Look<Offer>> seen = look();
        if (!seen || seen->offer || steady >= deadline) {
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
void Waiting::enter(Seeker<Request>& self) {
    bool first = false;
    {
        const MutexLock lock{mutex_};
        first = nobody();
        seekers<Request>().add(self);
    }
    note_arrival(first);
}

template <class Request>
void Waiting::leave(Seeker<Request>& self, bool empty_handed) {
    Bells to_wake;
    {
        const MutexLock lock{mutex_};
        auto& others = seekers<Request>();
        others.remove(self);
        // Called for work that it may not have taken, or the one who would have looked when
        // something falls due.
        if (self.called || (empty_handed && self.parker)) {
            others.call(1, [](const Request&) { return true; }, to_wake);
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
            self.called = false;
            return stopped() ? Woken::to_stop : Woken::to_look;
        }
        self.wakes_at = deadline;
        if (due && *due < deadline && !seekers<Request>().covered(*due)) {
            self.wakes_at = *due;
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
        self.called = false;
        return served ? Woken::with_something : stopped() ? Woken::to_stop : Woken::to_look;
    }
}

template <class Reading>
Result<SeenState> Waiting::watch(const WatchInstance& request, Reading&& read) {
    const auto deadline =
        add_saturating(clock_->steady(), std::max(request.timeout, Duration::zero()));
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
