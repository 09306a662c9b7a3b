#include "runtime/running_activities.hpp"

#include "base/deadline.hpp"
#include "replay/parent_link.hpp"

#include <algorithm>
#include <utility>

namespace durable::runtime {

RunningActivities::Ticket RunningActivities::begin(RunningActivity activity) {
    auto stop = activity.stop;
    bool stopped = false;
    Ticket ticket = 0;
    const auto now = clock_.steady();
    {
        const MutexLock lock{mutex_};
        const auto cancelled = std::ranges::find_if(recent_, [&](const Cancelled& each) {
            return each.id == activity.id &&
                   replay::same_life(each.incarnation, activity.incarnation);
        });
        Entry entry{.activity = std::move(activity)};
        if (cancelled != recent_.end()) {
            recent_.erase(cancelled);
            entry.reason = StopReason::cancelled;
        } else if (stopping_) {
            entry.reason = StopReason::shutdown;
        }
        stopped = entry.reason != StopReason::none;
        if (stopped) {
            entry.stopped_at = now;
        }
        ticket = ++last_ticket_;
        by_id_.emplace(entry.activity.id, ticket);
        by_call_.emplace(entry.activity.call, ticket);
        running_.emplace(ticket, std::move(entry));
    }
    if (stopped) {
        stop.request_stop();
        agenda_.at_latest(wait_from(now, rounding_of(clock_), grace_));
    }
    return ticket;
}

RunningActivities::Ended RunningActivities::end(Ticket ticket) {
    const MutexLock lock{mutex_};
    const auto found = running_.find(ticket);
    if (found == running_.end()) {
        return {};
    }
    Ended ended{.reason = found->second.reason, .zombie = found->second.zombie};
    // The lease keeper stops an activity that lost its lease without a call here.
    if (ended.reason == StopReason::none && found->second.activity.stop.stop_requested()) {
        ended.reason = StopReason::cancelled;
    }
    zombies_ -= ended.zombie ? 1 : 0;
    const auto forget = [&](auto& index, const ActivityId& key) {
        auto [first, last] = index.equal_range(key);
        index.erase(
            std::find_if(first, last, [&](const auto& each) { return each.second == ticket; }));
    };
    forget(by_id_, found->second.activity.id);
    forget(by_call_, found->second.activity.call);
    running_.erase(found);
    attempt_ended_.notify_all(lock);
    return ended;
}

bool RunningActivities::await_last_attempt(Ticket ticket, const std::stop_token& stop) {
    const std::stop_callback wake{stop, [this] {
                                      const MutexLock lock{mutex_};
                                      attempt_ended_.notify_all(lock);
                                  }};
    const auto until = add_saturating(clock_.steady(), grace_);
    const MutexLock lock{mutex_};
    const auto self = running_.find(ticket);
    if (self == running_.end()) {
        return true;
    }
    const auto call = self->second.activity.call;
    while (runs_before(call, ticket)) {
        const auto now = clock_.steady();
        if (stop.stop_requested()) {
            return false;
        }
        if (now >= until) {
            return true;
        }
        attempt_ended_.wait(lock, until - now);
    }
    return true;
}

bool RunningActivities::runs(const ActivityId& call) const {
    const MutexLock lock{mutex_};
    return runs_before(call, last_ticket_ + 1);
}

bool RunningActivities::runs_before(const ActivityId& call, Ticket ticket) const {
    const auto [first, last] = by_call_.equal_range(call);
    return std::any_of(first, last, [&](const auto& each) {
        mutex_.assert_held();
        return each.second < ticket && !running_.at(each.second).zombie;
    });
}

void RunningActivities::cancel(std::span<const ActivityId> ids, std::uint64_t incarnation) {
    if (ids.empty()) {
        return;
    }
    const auto now = clock_.steady();
    std::vector<std::stop_source> to_stop;
    {
        const MutexLock lock{mutex_};
        for (const auto& id : ids) {
            const auto [first, last] = by_id_.equal_range(id);
            bool met = false;
            for (auto each = first; each != last; ++each) {
                auto& entry = running_.at(each->second);
                if (!replay::same_life(entry.activity.incarnation, incarnation)) {
                    continue;
                }
                met = true;
                entry.reason = StopReason::cancelled;
                entry.stopped_at = entry.stopped_at.value_or(now);
                to_stop.push_back(entry.activity.stop);
            }
            if (!met) {
                recent_.push_back({.id = id, .incarnation = incarnation});
                if (recent_.size() > remembered_cancellations) {
                    recent_.pop_front();
                }
            }
        }
    }
    for (auto& stop : to_stop) { // runs the activity's own stop callbacks: no lock is held
        stop.request_stop();
    }
    if (!to_stop.empty()) {
        agenda_.at_latest(wait_from(now, rounding_of(clock_), grace_));
    }
}

void RunningActivities::stop_all() {
    const auto now = clock_.steady();
    std::vector<std::stop_source> to_stop;
    {
        const MutexLock lock{mutex_};
        stopping_ = true;
        for (auto& [ticket, entry] : running_) {
            if (entry.reason == StopReason::none && !entry.zombie) {
                entry.reason = StopReason::shutdown;
                entry.stopped_at = now;
            }
            to_stop.push_back(entry.activity.stop);
        }
    }
    for (auto& stop : to_stop) {
        stop.request_stop();
    }
}

RunningActivities::Overdue RunningActivities::take_overdue() {
    const auto now = clock_.steady();
    Overdue overdue;
    const MutexLock lock{mutex_};
    for (auto& [ticket, entry] : running_) {
        if (entry.zombie || !entry.activity.stop.stop_requested()) {
            continue;
        }
        if (!entry.stopped_at) { // stopped by the lease keeper, at an unknown moment
            entry.stopped_at = now;
        }
        const auto until = wait_from(*entry.stopped_at, rounding_of(clock_), grace_);
        if (now < until) {
            overdue.next = std::min(overdue.next, until);
            continue;
        }
        entry.zombie = true;
        ++zombies_;
        overdue.zombies.push_back(entry.activity);
    }
    if (!overdue.zombies.empty()) {
        attempt_ended_.notify_all(lock);
    }
    return overdue;
}

std::vector<RunningActivity> RunningActivities::take_all() {
    std::vector<RunningActivity> all;
    const MutexLock lock{mutex_};
    for (auto& [ticket, entry] : running_) {
        if (!entry.zombie) {
            entry.zombie = true;
            ++zombies_;
            all.push_back(entry.activity);
        }
    }
    return all;
}

std::size_t RunningActivities::size() const {
    const MutexLock lock{mutex_};
    return running_.size() - zombies_;
}

std::size_t RunningActivities::zombies() const {
    const MutexLock lock{mutex_};
    return zombies_;
}

} // namespace durable::runtime
