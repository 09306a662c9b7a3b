// Housekeeping: the periodic work of a runtime. Evicts idle frames, reports activities that ignore
// the request to stop, forgets dead sessions and reads gauges. What must not wait for any of this
// is in renewals.hpp.
//
// One thread calls step() and sleeps on the Agenda in between; a test calls it by hand.

#pragma once

#include "runtime/log_throttle.hpp"
#include "runtime/running_activities.hpp"

#include <durable/time.hpp>

#include <functional>

namespace durable::runtime {

struct Node;

class Housekeeping {
 public:
    explicit Housekeeping(Node& node);

    // Does what is due; returns when to be called again.
    SteadyInstant step();

    // Called when an activity becomes a zombie; set before the first step.
    std::function<void()> on_zombie;

 private:
    [[nodiscard]] SteadyInstant clean_sessions();
    [[nodiscard]] SteadyInstant read_gauges();
    [[nodiscard]] SteadyInstant notice_zombies();

    Node& node_;
    SteadyInstant cleanup_due_;
    SteadyInstant gauges_due_;
    LogThrottle cleanups_;
};

} // namespace durable::runtime
