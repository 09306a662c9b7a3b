// What must happen from time to time: leases and sessions are renewed, frames nobody uses are given
// up, activities that ignore the request to stop are noticed, gauges are read.

#pragma once

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

    // Told when an activity becomes a zombie; set before the first step.
    std::function<void()> on_zombie;

 private:
    [[nodiscard]] SteadyInstant renew_sessions();
    [[nodiscard]] SteadyInstant clean_sessions();
    [[nodiscard]] SteadyInstant read_gauges();
    [[nodiscard]] SteadyInstant notice_zombies();

    Node& node_;
    Duration session_interval_;
    SteadyInstant sessions_due_;
    SteadyInstant cleanup_due_;
    SteadyInstant gauges_due_;
};

} // namespace durable::runtime
