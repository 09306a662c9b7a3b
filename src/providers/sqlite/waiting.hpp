// Waiting: the threads inside a fetch or a watch, and who of them is woken by what.
//
// News of this process's own commits arrive through hear(); everything else that may have changed
// (another process, time moved by hand) wakes them all to look for themselves.

#pragma once

#include "base/mutex.hpp"
#include "providers/ledger/waiters.hpp"
#include "providers/sqlite/transaction.hpp"

#include <durable/provider.hpp>
#include <durable/time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
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

class Waiting {
 public:
    // `occupied` is called when the first waiter comes, with no lock held.
    Waiting(std::shared_ptr<Clock> clock, std::function<void()> occupied);

    // Answers what `look` finds, at once or within the poll timeout.
    template <class Offer, class Request, class Looking>
    [[nodiscard]] Result<std::optional<Offer>> seek(const Request& request, Looking&& look);

    // Answers the state once its revision is another, or when the time is up.
    template <class Reading>
    [[nodiscard]] Result<InstanceState> watch(const WatchInstance& request, Reading&& read);

    void hear(const News& news) DURABLE_EXCLUDES(mutex_);
    void wake_all() DURABLE_EXCLUDES(mutex_);
    [[nodiscard]] bool empty() const DURABLE_EXCLUDES(mutex_);
    [[nodiscard]] std::size_t asleep() const DURABLE_EXCLUDES(mutex_); // how many

 private:
    template <class Request>
    using Seeker = ledger::Seeker<Request>;
    template <class Request>
    using Seekers = ledger::Seekers<Request>;
    using Sleeper = ledger::Sleeper;

    struct Watcher {
        Sleeper* asleep = nullptr;
        bool called = false;
    };

    Seekers<FetchOrchestration>& seekers(const FetchOrchestration&) DURABLE_REQUIRES(mutex_) {
        return turns_;
    }
    Seekers<FetchWork>& seekers(const FetchWork&) DURABLE_REQUIRES(mutex_) { return work_; }

    template <class Request>
    void enter(Seeker<Request>& self) DURABLE_EXCLUDES(mutex_);
    template <class Request>
    void leave(Seeker<Request>& self) DURABLE_EXCLUDES(mutex_);
    // True when it slept or has reason to look again; false when the wait was stopped.
    template <class Request>
    bool sleep(Seeker<Request>& self,
               Sleeper& sleeper,
               SteadyInstant deadline,
               std::optional<SteadyInstant> due,
               std::uint64_t jumps) DURABLE_EXCLUDES(mutex_);
    void watch_loop(const WatchInstance& request,
                    Watcher& self,
                    SteadyInstant deadline,
                    const std::function<bool()>& changed) DURABLE_EXCLUDES(mutex_);
    void note_arrival(bool first);
    [[nodiscard]] std::uint64_t jumps() const DURABLE_EXCLUDES(mutex_);
    void call_watchers(const std::string& instance) DURABLE_REQUIRES(mutex_);
    [[nodiscard]] bool nobody() const DURABLE_REQUIRES(mutex_);
    void flush(const MutexLock& lock) DURABLE_REQUIRES(mutex_);

    const std::shared_ptr<Clock> clock_;
    const std::function<void()> occupied_;
    mutable Mutex mutex_;
    Seekers<FetchOrchestration> turns_ DURABLE_GUARDED_BY(mutex_);
    Seekers<FetchWork> work_ DURABLE_GUARDED_BY(mutex_);
    std::unordered_multimap<std::string, Watcher*> watchers_ DURABLE_GUARDED_BY(mutex_);
    std::vector<Sleeper*> to_wake_ DURABLE_GUARDED_BY(mutex_);
    std::size_t asleep_ DURABLE_GUARDED_BY(mutex_) = 0;
    std::uint64_t jumps_ DURABLE_GUARDED_BY(mutex_) = 0; // of the clock, by hand
    std::shared_ptr<void> on_jump_;                      // last: destroyed first
};

template <class Offer, class Request, class Looking>
Result<std::optional<Offer>> Waiting::seek(const Request& request, Looking&& look) {
    if (request.stop.stop_requested()) {
        return std::nullopt;
    }
    const auto deadline =
        add_saturating(clock_->steady(), std::max(request.poll_timeout, Duration::zero()));
    Seeker<Request> self{.request = &request};
    enter(self);
    std::optional<Sleeper> sleeper;
    for (;;) {
        const auto jumped = jumps();
        const auto steady = clock_->steady();
        Result<Look<Offer>> seen = look();
        if (!seen || seen->offer || steady >= deadline) {
            leave(self);
            if (!seen) {
                return std::unexpected{std::move(seen).error()};
            }
            return std::move(seen->offer);
        }
        if (!sleeper) {
            sleeper.emplace(*clock_, request.stop);
        }
        const auto due =
            seen->due ? std::optional{add_saturating(steady, *seen->due)} : std::nullopt;
        if (!sleep(self, *sleeper, deadline, due, jumped)) {
            leave(self);
            return std::nullopt;
        }
    }
}

template <class Request>
void Waiting::enter(Seeker<Request>& self) {
    bool first = false;
    {
        const MutexLock lock{mutex_};
        first = nobody();
        seekers(*self.request).add(self);
    }
    note_arrival(first);
}

template <class Request>
void Waiting::leave(Seeker<Request>& self) {
    const MutexLock lock{mutex_};
    auto& others = seekers(*self.request);
    others.remove(self);
    if (self.called) { // for work that it may not have taken
        others.call(1, [](const Request&) { return true; });
        flush(lock);
    }
}

template <class Request>
bool Waiting::sleep(Seeker<Request>& self,
                    Sleeper& sleeper,
                    SteadyInstant deadline,
                    std::optional<SteadyInstant> due,
                    std::uint64_t jumps) {
    const MutexLock lock{mutex_};
    auto& others = seekers(*self.request);
    if (self.request->stop.stop_requested()) {
        return false;
    }
    if (!self.called && jumps == jumps_) {
        self.wakes_at = deadline;
        if (due && *due < deadline && !others.covered(*due)) {
            self.wakes_at = *due;
        }
        if (const auto steady = clock_->steady(); steady < self.wakes_at) {
            self.asleep = &sleeper;
            ++asleep_;
            sleeper.sleep(lock, self.wakes_at - steady);
            --asleep_;
        }
    }
    others.look_again(self);
    return !self.request->stop.stop_requested();
}

template <class Reading>
Result<InstanceState> Waiting::watch(const WatchInstance& request, Reading&& read) {
    const auto deadline =
        add_saturating(clock_->steady(), std::max(request.timeout, Duration::zero()));
    Result<InstanceState> state = read();
    if (!state || state->revision != request.seen_revision || clock_->steady() >= deadline) {
        return state;
    }
    Watcher self;
    watch_loop(request, self, deadline, [&] {
        state = read();
        return !state || state->revision != request.seen_revision;
    });
    return state;
}

} // namespace durable::sqlite
