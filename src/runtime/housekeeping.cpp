#include "runtime/housekeeping.hpp"

#include "runtime/node.hpp"

#include <durable/provider_admin.hpp>

#include <algorithm>
#include <chrono>

namespace durable::runtime {

using observability::Metric;

Housekeeping::Housekeeping(Node& node)
    : node_{node},
      cleanup_due_{add_saturating(node.clock->steady(), node.options.session_cleanup_interval)},
      gauges_due_{node.clock->steady()} {}

SteadyInstant Housekeeping::step() {
    auto next = SteadyInstant::max();
    if (node_.options.activity_threads != 0U) {
        next = std::min(notice_zombies(), clean_sessions());
    }
    node_.frames.evict_idle();
    return std::min({next, node_.frames.next_idle(), read_gauges()});
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

SteadyInstant Housekeeping::clean_sessions() {
    const auto now = node_.clock->steady();
    if (now < cleanup_due_) {
        return cleanup_due_;
    }
    cleanup_due_ = add_saturating(now, node_.options.session_cleanup_interval);
    const auto cleaned =
        node_.provider->cleanup_orphaned_sessions(node_.options.session_idle_timeout);
    if (cleaned) {
        cleanups_.reset();
    } else if (cleanups_.due(cleaned.error().message, now)) {
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
