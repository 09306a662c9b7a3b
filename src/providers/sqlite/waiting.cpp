#include "providers/sqlite/waiting.hpp"

#include <limits>

namespace durable::sqlite {

namespace {

bool serves(const FetchOrchestration& request, const std::optional<Version>& pinned) {
    return !request.filter || !pinned || request.filter->matches(*pinned);
}

bool serves(const FetchWork& request, const News::Work& news) {
    if (!request.tags.matches(news.tag)) {
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

void wake(const Bells& bells) {
    for (const auto& bell : bells) {
        bell->ring();
    }
}

} // namespace

Waiting::Waiting(std::shared_ptr<Clock> clock, std::function<void()> occupied)
    : clock_{std::move(clock)}, occupied_{std::move(occupied)}, on_jump_{clock_->on_jump([this] {
          Bells to_wake;
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

bool Waiting::nobody() const {
    return turns_.empty() && work_.empty() && watchers_.empty();
}

bool Waiting::empty() const {
    const MutexLock lock{mutex_};
    return nobody();
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

template <class Request, class Suits>
bool Waiting::hand_over(Transaction& tx, Suits&& suits) {
    Seeker<Request>* seeker = nullptr;
    {
        const MutexLock lock{mutex_};
        seeker = seekers<Request>().claim(suits);
    }
    if (seeker == nullptr) {
        return false;
    }
    // Without the mutex: whoever is claimed stays until it is told.
    const auto got = seeker->take(tx);
    const MutexLock lock{mutex_};
    if (got) {
        handed_.push_back(seeker);
        return true;
    }
    seeker->seeking = Seeking::asleep;
    seeker->parker->wake(); // its time may be up
    return false;
}

void Waiting::before_commit(Transaction& tx) {
    // Getting something may be news as well.
    auto turns = std::exchange(tx.news.turns, {});
    while (!turns.empty() &&
           hand_over<FetchOrchestration>(tx, [&](const FetchOrchestration& request) {
               return serves(request, turns.back());
           })) {
        turns.pop_back();
    }
    tx.news.turns.insert(tx.news.turns.end(), turns.begin(), turns.end());
    auto work = std::exchange(tx.news.work, {});
    while (!work.empty() && hand_over<FetchWork>(tx, [&](const FetchWork& request) {
        return serves(request, work.back());
    })) {
        if (--work.back().items == 0) {
            work.pop_back();
        }
    }
    tx.news.work.insert(tx.news.work.end(), work.begin(), work.end());
}

void Waiting::committed(const News& news) {
    Bells to_wake;
    {
        const MutexLock lock{mutex_};
        for (auto* seeker : handed_) {
            seeker->seeking = Seeking::served;
            to_wake.push_back(seeker->parker->bell());
        }
        handed_.clear();
        for (const auto& pinned : news.turns) {
            turns_.call(1, [&](const auto& request) { return serves(request, pinned); }, to_wake);
        }
        for (const auto& work : news.work) {
            work_.call(
                work.items, [&](const auto& request) { return serves(request, work); }, to_wake);
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
                    to_wake.push_back(watcher.parker->bell());
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
    Bells to_wake;
    {
        const MutexLock lock{mutex_};
        for (auto* seeker : handed_) {
            seeker->seeking = Seeking::asleep;
            seeker->called = true; // it finds out for itself
            to_wake.push_back(seeker->parker->bell());
        }
        handed_.clear();
    }
    wake(to_wake);
}

void Waiting::wake_all() {
    Bells to_wake;
    {
        const MutexLock lock{mutex_};
        constexpr auto all = std::numeric_limits<std::size_t>::max();
        turns_.call(all, [](const FetchOrchestration&) { return true; }, to_wake);
        work_.call(all, [](const FetchWork&) { return true; }, to_wake);
        for (auto& [instance, watcher] : watchers_) {
            watcher->called = true;
            to_wake.push_back(watcher->parker->bell());
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
    Parker parker{*clock_};
    const std::stop_callback on_stop{request.stop, Waker{&parker}};
    Watcher self{.ended_only = request.ended_only, .called = false, .told = {}, .parker = &parker};
    bool first = false;
    {
        const MutexLock lock{mutex_};
        first = nobody();
        watchers_.emplace(request.instance, &self);
    }
    note_arrival(first);
    // Looked at after it was listed: nothing can change in between.
    for (auto over = changed(); !over; over = over || is_told(self) || changed()) {
        count_sleeper(true);
        while (!(over = clock_->steady() >= deadline || request.stop.stop_requested()) &&
               !take_call(self)) {
            parker.park(deadline - clock_->steady());
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
