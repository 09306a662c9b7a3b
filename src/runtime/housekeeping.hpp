// What must happen from time to time: leases and sessions are renewed, frames nobody uses are given
// up, activities that ignore the request to stop are noticed, gauges are read.

#pragma once

#include "runtime/complaints.hpp"
#include "runtime/running_activities.hpp"

#include <durable/time.hpp>

#include <functional>

namespace durable::runtime {

struct Node;

class Housekeeping {
 public:
    explicit Housekeeping(Node& node);

    // Does what is due; answers when to be called again.
    SteadyInstant step();

    // For `ahead` of time that is skipped instead of waited for: keeps the leases and sessions that
    // are held; all else is not missed meanwhile. Answers how far to skip before the next call, at
    // least `stride`: a session lapses when it is idle, so it must be looked at now and then.
    SteadyInstant keep_over(Duration ahead, Duration stride);

    // Told when an activity becomes a zombie; set before the first step.
    std::function<void()> on_zombie;

 private:
    [[nodiscard]] SteadyInstant renew_sessions(Duration ahead = Duration::zero());
    [[nodiscard]] SteadyInstant clean_sessions();
    [[nodiscard]] SteadyInstant read_gauges();
    [[nodiscard]] SteadyInstant notice_zombies();

    Node& node_;
    Duration session_interval_;
    SteadyInstant sessions_due_;
    SteadyInstant cleanup_due_;
    SteadyInstant gauges_due_;
    bool may_hold_sessions_ = true;
    Complaints renewals_;
    Complaints cleanups_;
};

} // namespace durable::runtime
