#include "providers/sqlite/concurrency/waiting.hpp"

#include "providers/sqlite/store/turn_needs.hpp"

#include <limits>

namespace durable::sqlite {

namespace {

bool serves(const FetchOrchestration& request, const News::Turn& news, Instant now) {
    return serves(request, news.needs, news.cancelled_at, now);
}

bool serves(const FetchWork& request, const News::Work& news) {
    if (!request.tags.matches(news.needs.tag) || !has_code(request, news.needs)) {
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

// For so many pieces of work. A waiter that is called for a suspect may have to pass it over (P16),
// so one that need not is called as well.
template <class Waiters, class Suits>
void call(Waiters& waiters, std::size_t pieces, bool suspect, Signals& to_wake, Suits&& suits) {
    if (suspect) {
        (void)waiters.call(
            pieces,
            [&](const auto& request) { return !request.one_suspect && suits(request); },
            to_wake);
    }
    (void)waiters.call(pieces, suits, to_wake);
}

void wake(const Signals& signals) {
    for (const auto& signal : signals) {
        signal->set();
    }
}

} // namespace

Waiting::Waiting(std::shared_ptr<Clock> clock, std::function<void()> occupied)
    : clock_{std::move(clock)}, occupied_{std::move(occupied)}, on_jump_{clock_->on_jump([this] {
          Signals to_wake;
          {
              const MutexLock lock{mutex_};
              ++jumps_;
              turns_.wake_all(to_wake);
              work_.wake_all(to_wake);
          }
          wake(to_wake);
      })} {}

std::uint64_t Waiting::jumps() const {
    const MutexLock lock{mutex_};
    return jumps_;
}

bool Waiting::no_waiters() const {
    return turns_.empty() && work_.empty() && watchers_.empty();
}

bool Waiting::empty() const {
    const MutexLock lock{mutex_};
    return no_waiters();
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

// ---- Along with a transaction

template <class Request, class Suits, class Giving>
bool Waiting::hand_over(Suits&& suits, Giving&& give) {
    FetchWaiter<Request>* waiter = nullptr;
    {
        const MutexLock lock{mutex_};
        waiter = fetch_waiters<Request>().claim(suits);
    }
    if (waiter == nullptr) {
        return false;
    }
    // Without the mutex: a claimed waiter stays until it is told, one that stands by until its look
    // is over.
    const auto got = give(*waiter);
    const MutexLock lock{mutex_};
    if (waiter->phase != FetchPhase::claimed) {
        waiter->stands_by = !got;
        return got;
    }
    if (got) {
        handed_.push_back(waiter);
        return true;
    }
    waiter->phase = FetchPhase::asleep;
    waiter->sleeper->wake(); // its time may be up by now
    return false;
}

bool Waiting::take(Transaction& tx, FreshTurn& fresh) {
    std::optional<News::Turn> news; // made when there is a waiter
    const auto suits = [&](const FetchOrchestration& request) {
        if (!news) {
            news = {.needs = needs_of(fresh), .cancelled_at = tx.now.wall};
        }
        return serves(request, *news, tx.now.wall);
    };
    return hand_over<FetchOrchestration>(suits, [&](auto& waiter) {
        fresh.unseen = waiter.phase != FetchPhase::claimed;
        return waiter.take_fresh(tx, fresh);
    });
}

bool Waiting::take(Transaction& tx, FreshWork& fresh) {
    const News::Work news{.needs = fresh.needs};
    return hand_over<FetchWork>([&](const FetchWork& request) { return serves(request, news); },
                                [&](auto& waiter) {
                                    fresh.unseen = waiter.phase != FetchPhase::claimed;
                                    return waiter.take_fresh(tx, fresh);
                                });
}

void Waiting::before_commit(Transaction& tx) {
    const auto take = [&](auto& waiter) { return waiter.take(tx); };
    // Taking something may be news as well. A waiter takes the oldest work that it may, not the
    // work that it was claimed for. So unless all waiters are alike, the news stays: the work that
    // is left may be for another waiter.
    auto turns = std::exchange(tx.news.turns, {});
    const auto all_turns = are_alike<FetchOrchestration>() ? decltype(turns){} : turns;
    while (!turns.empty() && hand_over<FetchOrchestration>(
                                 [&](const FetchOrchestration& request) {
                                     return serves(request, turns.back(), tx.now.wall);
                                 },
                                 take)) {
        turns.pop_back();
    }
    const auto& left_turns = all_turns.empty() ? turns : all_turns;
    tx.news.turns.insert(tx.news.turns.end(), left_turns.begin(), left_turns.end());
    auto work = std::exchange(tx.news.work, {});
    const auto all_work = are_alike<FetchWork>() ? decltype(work){} : work;
    while (!work.empty() &&
           hand_over<FetchWork>(
               [&](const FetchWork& request) { return serves(request, work.back()); }, take)) {
        if (--work.back().items == 0) {
            work.pop_back();
        }
    }
    const auto& left_work = all_work.empty() ? work : all_work;
    tx.news.work.insert(tx.news.work.end(), left_work.begin(), left_work.end());
}

void Waiting::committed(const News& news) {
    Signals to_wake;
    {
        const MutexLock lock{mutex_};
        for (auto* waiter : handed_) {
            waiter->phase = FetchPhase::served;
            to_wake.push_back(waiter->sleeper->signal());
        }
        handed_.clear();
        const auto now = clock_->now();
        for (const auto& turn : news.turns) {
            cancellations_ = cancellations_ || turn.needs.cancelled;
            call(turns_, 1, turn.needs.suspect, to_wake, [&](const auto& request) {
                return serves(request, turn, now);
            });
        }
        for (const auto& work : news.work) {
            call(work_, work.items, work.needs.suspect, to_wake, [&](const auto& request) {
                return serves(request, work);
            });
        }
        if (news.suspects) {
            const auto wants_one = [](const auto& request) { return request.one_suspect; };
            constexpr auto all = std::numeric_limits<std::size_t>::max();
            (void)turns_.call(all, wants_one, to_wake);
            (void)work_.call(all, wants_one, to_wake);
        }
        for (const auto& changed : news.instances) {
            const auto [first, last] = watchers_.equal_range(changed.id);
            for (auto found = first; found != last; ++found) {
                auto& watcher = *found->second;
                if (watcher.ended_only && changed.state) {
                    watcher.told = SeenState{.state = *changed.state, .version = news.version};
                }
                if (changed.ended || !watcher.ended_only) {
                    watcher.called = true;
                    to_wake.push_back(watcher.sleeper->signal());
                }
            }
        }
        const auto steady = clock_->steady();
        if (news.turn_due && !turns_.empty()) {
            turns_.cover(add_saturating(steady, *news.turn_due), to_wake);
        }
        if (news.work_due && !work_.empty()) {
            work_.cover(add_saturating(steady, *news.work_due), to_wake);
        }
    }
    wake(to_wake);
}

void Waiting::undone() {
    Signals to_wake;
    {
        const MutexLock lock{mutex_};
        for (auto* waiter : handed_) {
            waiter->phase = FetchPhase::asleep;
            waiter->called = true; // it looks for itself
            to_wake.push_back(waiter->sleeper->signal());
        }
        handed_.clear();
        turns_.end_stand_by();
        work_.end_stand_by();
    }
    wake(to_wake);
}

// ---- Waiters that look

void Waiting::stand_by(FetchWaiterState& self) {
    const MutexLock lock{mutex_};
    self.stands_by = true;
}

void Waiting::stand_down(FetchWaiterState& self, bool looks) {
    const MutexLock lock{mutex_};
    self.stands_by = false;
    self.was_called = self.was_called || (self.called && looks);
    self.called = self.called && !looks;
}

void Waiting::call_again(FetchWaiterState& self) {
    const MutexLock lock{mutex_};
    self.called = true;
}

void Waiting::wake_all() {
    Signals to_wake;
    {
        const MutexLock lock{mutex_};
        constexpr auto all = std::numeric_limits<std::size_t>::max();
        (void)turns_.call(all, [](const FetchOrchestration&) { return true; }, to_wake);
        (void)work_.call(all, [](const FetchWork&) { return true; }, to_wake);
        for (auto& [instance, watcher] : watchers_) {
            watcher->called = true;
            to_wake.push_back(watcher->sleeper->signal());
        }
    }
    wake(to_wake);
}

// ---- Watching

bool Waiting::take_call(Watcher& self) {
    const MutexLock lock{mutex_};
    return std::exchange(self.called, false);
}

bool Waiting::is_told(const Watcher& self) const {
    const MutexLock lock{mutex_};
    return self.told.has_value();
}

void Waiting::count_sleeper(bool sleeps) {
    const MutexLock lock{mutex_};
    sleeps ? ++asleep_ : --asleep_;
}

std::optional<SeenState> Waiting::watch_loop(const WatchInstance& request,
                                             SteadyInstant deadline,
                                             const std::function<bool()>& changed) {
    Sleeper sleeper{*clock_, request.stop};
    Watcher self{
        .ended_only = request.ended_only, .called = false, .told = {}, .sleeper = &sleeper};
    bool first = false;
    {
        const MutexLock lock{mutex_};
        first = no_waiters();
        watchers_.emplace(request.instance, &self);
    }
    note_arrival(first);
    // Looks after it was listed: so it misses no change.
    for (auto over = changed(); !over; over = over || is_told(self) || changed()) {
        count_sleeper(true);
        while (!(over = clock_->steady() >= deadline || request.stop.stop_requested()) &&
               !take_call(self)) {
            sleeper.sleep(deadline - clock_->steady());
        }
        count_sleeper(false);
    }
    const MutexLock lock{mutex_};
    const auto [begin, end] = watchers_.equal_range(request.instance);
    watchers_.erase(
        std::find_if(begin, end, [&](const auto& watcher) { return watcher.second == &self; }));
    return std::move(self.told);
}

} // namespace durable::sqlite
