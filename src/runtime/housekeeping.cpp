#include "runtime/housekeeping.hpp"

#include "runtime/node.hpp"

#include <durable/provider_admin.hpp>

#include <algorithm>
#include <chrono>

namespace durable::runtime {

using observability::Metric;

Housekeeping::Housekeeping(Node& node)
    : node_{node},
      session_interval_{renewal_interval(node.options.session_lock_timeout,
                                         node.options.session_lock_renewal_buffer)},
      sessions_due_{add_saturating(node.clock->steady(), session_interval_)},
      cleanup_due_{add_saturating(node.clock->steady(), node.options.session_cleanup_interval)},
      gauges_due_{node.clock->steady()} {}

SteadyInstant Housekeeping::step() {
    may_hold_sessions_ = true; // somebody may have begun one
    auto next = node_.leases.renew_due();
    if (node_.options.activity_threads != 0U) {
        next = std::min({next, notice_zombies(), renew_sessions(), clean_sessions()});
    }
    node_.frames.evict_idle();
    return std::min({next, node_.frames.next_idle(), read_gauges()});
}

SteadyInstant Housekeeping::keep_over(Duration ahead, Duration stride) {
    auto next = node_.leases.renew_due(ahead);
    if (node_.options.activity_threads != 0U && may_hold_sessions_) {
        next = std::min(next, renew_sessions(stride));
    }
    return std::max(next, add_saturating(node_.clock->steady(), stride));
}

SteadyInstant Housekeeping::notice_zombies() {
    const auto [zombies, next] = node_.activities.take_overdue();
    for (const auto& zombie : zombies) {
        node_.observer.log(LogLevel::error,
                           {.instance = zombie.id.instance, .execution_id = zombie.id.execution_id},
                           "an activity ignores the request to stop; its thread is given up",
                           {{.name = "activity", .value = zombie.name}});
        node_.observer.count(Metric::activity_executions, {zombie.name, "abandoned", "", ""});
        if (on_zombie) {
            on_zombie();
        }
    }
    return next;
}

SteadyInstant Housekeeping::renew_sessions(Duration ahead) {
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
        if (renewals_.tells(renewed.error().message, now)) {
            node_.observer.log(LogLevel::warn,
                               {},
                               "sessions not renewed, will try again",
                               {{.name = "error", .value = renewed.error().message}});
        }
        return sessions_due_;
    }
    renewals_.settle();
    return sessions_due_;
}

SteadyInstant Housekeeping::clean_sessions() {
    const auto now = node_.clock->steady();
    if (now < cleanup_due_) {
        return cleanup_due_;
    }
    cleanup_due_ = add_saturating(now, node_.options.session_cleanup_interval);
    const auto cleaned =
        node_.provider->cleanup_orphaned_sessions(node_.options.session_idle_timeout);
    if (cleaned) {
        cleanups_.settle();
    } else if (cleanups_.tells(cleaned.error().message, now)) {
        node_.observer.log(LogLevel::warn,
                           {},
                           "sessions not cleaned up",
                           {{.name = "error", .value = cleaned.error().message}});
    }
    return cleanup_due_;
}

SteadyInstant Housekeeping::read_gauges() {
    if (!node_.observer.has_metrics()) {
        return SteadyInstant::max();
    }
    const auto now = node_.clock->steady();
    if (now < gauges_due_) {
        return gauges_due_;
    }
    gauges_due_ = add_saturating(now, node_.options.gauge_poll_interval);
    const auto set = [&](Metric which, std::uint64_t value) {
        node_.observer.record(which, static_cast<double>(value));
    };
    const auto frames = node_.frames.size();
    set(Metric::cached_frames, frames.frames);
    set(Metric::cached_frame_bytes, frames.bytes);
    set(Metric::parked_orchestrations, node_.parked.differing());
    set(Metric::activity_threads, node_.activity_thread_count);
    set(Metric::activity_zombies, node_.activities.zombies());
    auto* admin = node_.client_provider->as_management_capability();
    if (admin == nullptr) {
        return gauges_due_;
    }
    if (const auto metrics = admin->get_system_metrics()) {
        set(Metric::active_orchestrations, metrics->running_instances);
        set(Metric::quarantined_items, metrics->quarantined_items);
        set(Metric::expired_messages, metrics->expired_messages);
    }
    constexpr std::chrono::seconds unfetched_for{10};
    constexpr std::uint32_t most_unfetched = 1000;
    if (const auto parked = admin->list_parked(unfetched_for, most_unfetched)) {
        set(Metric::unfetched_work,
            static_cast<std::uint64_t>(std::ranges::count(*parked, "", &ParkedWork::reason)));
    }
    if (const auto depths = admin->get_queue_depths()) {
        set(Metric::orchestrator_queue_depth, depths->orchestrator_queue);
        set(Metric::worker_queue_depth, depths->worker_queue);
    }
    return gauges_due_;
}

} // namespace durable::runtime
