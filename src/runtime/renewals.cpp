#include "runtime/renewals.hpp"

#include "runtime/node.hpp"

#include <algorithm>

namespace durable::runtime {

Renewals::Renewals(Node& node)
    : node_{node},
      session_interval_{renewal_interval(node.options.session_lock_timeout,
                                         node.options.session_lock_renewal_buffer)},
      sessions_due_{add_saturating(node.clock->steady(), session_interval_)} {}

SteadyInstant Renewals::step() {
    may_hold_sessions_ = true; // an activity may have begun one
    const auto next = node_.leases.renew_due();
    return node_.options.activity_threads != 0U ? std::min(next, renew_sessions()) : next;
}

SteadyInstant Renewals::keep_over(Duration ahead, Duration stride) {
    auto next = node_.leases.renew_due(ahead);
    if (node_.options.activity_threads != 0U && may_hold_sessions_) {
        next = std::min(next, renew_sessions(stride));
    }
    return std::max(next, add_saturating(node_.clock->steady(), stride));
}

SteadyInstant Renewals::renew_sessions(Duration ahead) {
    const auto now = node_.clock->steady();
    if (now < sessions_due_) {
        return sessions_due_;
    }
    const auto& options = node_.options;
    sessions_due_ = add_saturating(add_saturating(now, session_interval_), ahead);
    const auto renewed = node_.provider->renew_session_lock(
        {node_.session_owner},
        add_saturating(SteadyInstant{options.session_lock_timeout}, ahead).time_since_epoch(),
        options.session_idle_timeout);
    may_hold_sessions_ = renewed.value_or(1) != 0;
    if (!renewed) {
        sessions_due_ = add_saturating(now, std::max(Duration{1}, session_interval_ / 4));
        if (failures_.due(renewed.error().message, now)) {
            node_.observer.log(LogLevel::warn,
                               {},
                               "sessions not renewed, will try again",
                               {{.name = "error", .value = renewed.error().message}});
        }
        return sessions_due_;
    }
    failures_.reset();
    return sessions_due_;
}

} // namespace durable::runtime
