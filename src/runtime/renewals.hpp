// Renewals: keeps the leases and sessions of this node alive.
//
// One thread of the ThreadRunner calls step() and does nothing else: leases must not run out while
// the store is slow to answer other calls. TestRuntime, which has one thread, calls it by hand.

#pragma once

#include "runtime/log_throttle.hpp"

#include <durable/time.hpp>

namespace durable::runtime {

struct Node;

class Renewals {
 public:
    explicit Renewals(Node& node);

    // Renews what is due; answers when to be called again.
    SteadyInstant step();

    // For a clock that is about to skip `ahead`: renews what is held so that it stays held over all
    // of it. Answers how far to skip before the next call, at least `stride`: a session lapses when
    // it is idle, so it must be looked at now and then.
    SteadyInstant keep_over(Duration ahead, Duration stride);

 private:
    [[nodiscard]] SteadyInstant renew_sessions(Duration ahead = Duration::zero());

    Node& node_;
    Duration session_interval_;
    SteadyInstant sessions_due_;
    bool may_hold_sessions_ = true;
    LogThrottle failures_;
};

} // namespace durable::runtime
