#include "base/try.hpp"
#include "base/utf8.hpp"
#include "model/ids.hpp"

#include <durable/runtime_options.hpp>

#include <algorithm>
#include <string_view>

namespace durable {

namespace {

constexpr std::size_t most_threads = 4096;

std::unexpected<Error> bad(std::string_view field, std::string_view why) {
    std::string message{"RuntimeOptions::"};
    message.append(field).append(" ").append(why);
    return fail(ErrorCode::invalid_argument, std::move(message), "Runtime::start");
}

Result<> positive(std::string_view field, Duration value) {
    if (value <= Duration::zero()) {
        return bad(field, "must be positive, not " + std::to_string(value.count()) + " ms");
    }
    return {};
}

Result<> not_negative(std::string_view field, Duration value) {
    if (value < Duration::zero()) {
        return bad(field, "must not be negative: " + std::to_string(value.count()) + " ms");
    }
    return {};
}

Result<> positive(std::string_view field, std::size_t value) {
    if (value == 0) {
        return bad(field, "must be at least 1");
    }
    return {};
}

Result<> lease(std::string_view timeout_field,
               Duration timeout,
               std::string_view buffer_field,
               Duration buffer) {
    DURABLE_TRY(positive(timeout_field, timeout));
    DURABLE_TRY(not_negative(buffer_field, buffer));
    return {};
}

Result<> backoff(std::string_view field, const GrowingDelay& value) {
    DURABLE_TRY(not_negative(std::string{field} + ".base", value.base));
    if (value.max < value.base) {
        return bad(std::string{field} + ".max", "must not be less than its base");
    }
    return {};
}

Result<> threads(const RuntimeOptions& options) {
    if (options.orchestration_threads > most_threads) {
        return bad("orchestration_threads", "must not exceed " + std::to_string(most_threads));
    }
    if (options.activity_threads > most_threads) {
        return bad("activity_threads", "must not exceed " + std::to_string(most_threads));
    }
    if (options.orchestration_threads == 0U && options.activity_threads == 0U) {
        return bad("orchestration_threads", "and activity_threads are both 0: nothing would run");
    }
    return {};
}

Result<> leases(const RuntimeOptions& options) {
    DURABLE_TRY(lease("orchestrator_lock_timeout",
                      options.orchestrator_lock_timeout,
                      "orchestrator_lock_renewal_buffer",
                      options.orchestrator_lock_renewal_buffer));
    DURABLE_TRY(lease("worker_lock_timeout",
                      options.worker_lock_timeout,
                      "worker_lock_renewal_buffer",
                      options.worker_lock_renewal_buffer));
    DURABLE_TRY(lease("session_lock_timeout",
                      options.session_lock_timeout,
                      "session_lock_renewal_buffer",
                      options.session_lock_renewal_buffer));
    const auto touched =
        renewal_interval(options.worker_lock_timeout, options.worker_lock_renewal_buffer);
    // A session counts as active when one of its activities is renewed: a shorter idle time would
    // drop sessions whose only activity is a long one.
    if (options.session_idle_timeout <= touched) {
        return bad("session_idle_timeout",
                   "(" + std::to_string(options.session_idle_timeout.count()) +
                       " ms) must exceed the renewal interval of activities (" +
                       std::to_string(touched.count()) + " ms)");
    }
    return {};
}

// The id becomes the owner of sessions: it stands in rows, logs and worker ids.
Result<> node_id(const std::optional<std::string>& id) {
    if (!id) {
        return {};
    }
    if (id->empty()) {
        return bad("worker_node_id", "must not be empty");
    }
    if (id->size() > longest_given_id) {
        return bad("worker_node_id",
                   "must not exceed " + std::to_string(longest_given_id) + " bytes");
    }
    if (!utf8::is_utf8(*id) || utf8::has_control(*id)) {
        return bad("worker_node_id", "must be UTF-8 text without control characters");
    }
    return {};
}

Result<> limits(const Limits& limits) {
    DURABLE_TRY(positive("limits.custom_status_bytes", limits.custom_status_bytes));
    DURABLE_TRY(positive("limits.tag_bytes", limits.tag_bytes));
    DURABLE_TRY(positive("limits.session_bytes", limits.session_bytes));
    DURABLE_TRY(positive("limits.kv_keys", limits.kv_keys));
    DURABLE_TRY(positive("limits.kv_key_bytes", limits.kv_key_bytes));
    DURABLE_TRY(positive("limits.kv_value_bytes", limits.kv_value_bytes));
    return {};
}

} // namespace

Duration GrowingDelay::delay(std::uint32_t attempt) const noexcept {
    const Duration longest = max;
    auto delay = std::min<Duration>(base, longest);
    for (std::uint32_t step = 1; step < attempt && delay < longest; ++step) {
        delay = delay > longest / 2 ? longest : delay * 2;
        if (delay == Duration::zero()) {
            break;
        }
    }
    return delay;
}

Duration renewal_interval(Duration lock_timeout, Duration buffer) noexcept {
    const auto half = std::max(Duration{1}, lock_timeout / 2);
    // A negative buffer counts as zero: it would overflow the difference.
    return buffer < lock_timeout ? std::min(half, lock_timeout - std::max(buffer, Duration{}))
                                 : half;
}

Result<> validate(const RuntimeOptions& options) {
    DURABLE_TRY(threads(options));
    DURABLE_TRY(positive("long_poll_timeout", options.long_poll_timeout));
    DURABLE_TRY(not_negative("min_poll_interval", options.min_poll_interval));
    DURABLE_TRY(leases(options));
    DURABLE_TRY(positive("max_attempts", std::size_t{options.max_attempts}));
    DURABLE_TRY(not_negative("cancel_without_code_after", options.cancel_without_code_after));
    DURABLE_TRY(backoff("unregistered_backoff", options.unregistered_backoff));
    if (options.nondeterminism > NondeterminismPolicy::fail) {
        return bad("nondeterminism",
                   "is none of its values: " +
                       std::to_string(static_cast<unsigned>(options.nondeterminism)));
    }
    // A parked instance is tried again without end: with a delay of zero this would be a busy loop.
    DURABLE_TRY(positive("park_backoff.base", options.park_backoff.base));
    DURABLE_TRY(backoff("park_backoff", options.park_backoff));
    DURABLE_TRY(not_negative("activity_cancellation_grace_period",
                             options.activity_cancellation_grace_period));
    if (const auto& range = options.supported_replay_versions; range && range->max < range->min) {
        return bad("supported_replay_versions",
                   "is empty: " + range->min.text() + " to " + range->max.text());
    }
    DURABLE_TRY(limits(options.limits));
    DURABLE_TRY(positive("session_cleanup_interval", options.session_cleanup_interval));
    DURABLE_TRY(positive("max_sessions_per_runtime", options.max_sessions_per_runtime));
    DURABLE_TRY(node_id(options.worker_node_id));
    DURABLE_TRY(positive("cache_idle_timeout", options.cache_idle_timeout));
    DURABLE_TRY(positive("gauge_poll_interval", options.gauge_poll_interval));
    DURABLE_TRY(not_negative("shutdown_timeout", options.shutdown_timeout));
    return {};
}

} // namespace durable
