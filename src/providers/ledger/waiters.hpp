// Waiters: the threads that wait in a fetch or a watch, and who of them gets woken.
//
// Waking an idle core costs more than a turn, so a piece of work wakes one thread that can take it,
// none when one is already looking, and nobody is woken while the mutex is held: the woken would
// wait for it next. One sleeper wakes up by itself when something falls due; the others sleep
// through.

#pragma once

#include "base/mutex.hpp"
#include "providers/ledger/listener.hpp"
#include "providers/ledger/work_queue.hpp"

#include <durable/provider.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace durable::ledger {

// Where one thread sleeps. To be made and destroyed without holding the mutex: the clock and the
// stop token call back into it.
class Sleeper {
 public:
    Sleeper(Clock& clock, const std::stop_token& stop)
        : clock_{clock}, on_jump_{clock.on_jump([bell = bell_] { bell->ring(); })} {
        if (stop.stop_possible()) {
            on_stop_.emplace(stop, Ringer{bell_.get()});
        }
    }

    void sleep(const MutexLock& lock, Duration longest) {
        lock.sleep(*bell_, clock_.real_time(longest));
    }
    void wake(const MutexLock& lock) { lock.ring_later(bell_); }

    // For who does not hold the mutex: until the bell was rung. May return early.
    void wait(Duration longest) {
        bell_->wait(clock_.real_time(longest));
        bell_->reset();
    }
    [[nodiscard]] const std::shared_ptr<Bell>& bell() const noexcept { return bell_; }

 private:
    struct Ringer {
        Bell* bell;
        void operator()() const { bell->ring(); }
    };

    Clock& clock_;
    const std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
    std::shared_ptr<void> on_jump_;
    std::optional<std::stop_callback<Ringer>> on_stop_; // last: gone before what it rings
};

// A thread in a fetch.
template <class Request>
struct Seeker {
    const Request* request = nullptr;
    Sleeper* asleep = nullptr;       // nullptr: awake and looking
    SteadyInstant wakes_at;          // by itself, while asleep
    std::atomic<bool> called{false}; // work was found for it; set under the mutex
};

// A thread in a watch. Whoever changes the instance leaves the answer here, so that the watcher
// need not take the mutex once more; from then on it may be gone.
struct Watcher {
    const WatchInstance* request = nullptr;
    Sleeper* sleeper = nullptr;
    bool called = false; // its instance has changed; under the mutex
    Result<InstanceState> state{InstanceState{}};
    std::uint64_t reached = 0; // where the journal stood then
    std::atomic<bool> answered{false};
};

template <class Request>
class Seekers {
 public:
    void add(Seeker<Request>& seeker) {
        seekers_.push_back(&seeker);
        ++uncalled_;
    }
    void remove(Seeker<Request>& seeker) {
        uncalled_ -= seeker.called ? 0U : 1U;
        std::erase(seekers_, &seeker);
    }
    void look_again(Seeker<Request>& seeker) {
        uncalled_ += seeker.called ? 1U : 0U;
        seeker.called = false;
        seeker.asleep = nullptr;
    }

    // For up to `pieces` pieces of work that `suits(request)` accepts: calls as many seekers. Those
    // who are awake first, then the one that would sleep longest.
    template <class Suits>
    void call(std::size_t pieces, Suits&& suits) {
        for (; pieces > 0 && uncalled_ > 0; --pieces) {
            Seeker<Request>* best = nullptr;
            for (auto* seeker : seekers_) {
                if (!seeker->called && (best == nullptr || better(*seeker, *best)) &&
                    suits(*seeker->request)) {
                    best = seeker;
                }
            }
            if (best == nullptr) {
                return;
            }
            best->called = true;
            anybody_called_ = true;
            --uncalled_;
            if (best->asleep != nullptr) {
                to_wake_.push_back(best->asleep);
            }
        }
    }

    // Makes sure that somebody wakes up when something falls due.
    void cover(SteadyInstant due) {
        Seeker<Request>* candidate = nullptr;
        for (auto* seeker : seekers_) {
            if (seeker->asleep == nullptr || seeker->called || seeker->wakes_at <= due) {
                return; // this one will look
            }
            candidate = seeker;
        }
        if (candidate != nullptr) {
            candidate->wakes_at = due; // it is on its way, to look again and sleep until then
            to_wake_.push_back(candidate->asleep);
        }
    }
    // Will somebody who sleeps wake up by then?
    [[nodiscard]] bool covered(SteadyInstant due) const {
        return std::ranges::any_of(seekers_, [&](const auto* seeker) {
            return seeker->asleep != nullptr && seeker->wakes_at <= due;
        });
    }
    [[nodiscard]] bool empty() const noexcept { return seekers_.empty(); }
    // Somebody was called since the last flush.
    [[nodiscard]] bool anybody_called() const noexcept { return anybody_called_; }

    void flush(const MutexLock& lock) {
        for (auto* sleeper : to_wake_) {
            sleeper->wake(lock);
        }
        to_wake_.clear();
        anybody_called_ = false;
    }

 private:
    static bool better(const Seeker<Request>& a, const Seeker<Request>& b) {
        if (a.asleep == nullptr || b.asleep == nullptr) {
            return a.asleep == nullptr && b.asleep != nullptr;
        }
        return a.wakes_at >= b.wakes_at; // of equals the last to fall asleep: its core is warm
    }

    std::vector<Seeker<Request>*> seekers_;
    std::size_t uncalled_ = 0;
    bool anybody_called_ = false;
    std::vector<Sleeper*> to_wake_;
};

// All of it belongs to the provider's mutex. What the ledger announces is only noted; flush()
// wakes.
class Waiters final : public Listener {
 public:
    explicit Waiters(const SuspectHold& suspects) : suspects_{suspects} {}

    Seekers<FetchOrchestration> turns;
    Seekers<durable::FetchWork> work;

    void add_watcher(Watcher& watcher);
    void remove_watcher(Watcher& watcher);
    [[nodiscard]] std::vector<Watcher*> watchers() const;
    // Those whose instance has changed since the last call; each but once.
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
