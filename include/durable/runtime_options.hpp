// RuntimeOptions: everything that can be tuned, with defaults that suit one process on one machine.

#pragma once

#include <durable/limits.hpp>
#include <durable/log.hpp>
#include <durable/metrics.hpp>
#include <durable/provider.hpp>
#include <durable/result.hpp>
#include <durable/time.hpp>
#include <durable/trace.hpp>
#include <durable/version.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace durable {

// base, 2 base, 4 base, ... never more than max.
struct GrowingDelay {
    Timespan base = std::chrono::seconds{1};
    Timespan max = std::chrono::seconds{60};

    [[nodiscard]] Duration delay(std::uint32_t attempt) const noexcept; // attempts count from 1
};

// What happens to an instance whose history today's code cannot follow.
enum class NondeterminismPolicy : std::uint8_t {
    park, // it stays as it is, is tried again with backoff, and continues when the code fits again
    fail, // it fails for good
};

struct RuntimeOptions {
    // ---- Threads

    // Threads that run orchestrations. nullopt: one per core, and no fewer than the store batches
    // well (Provider::suitable_concurrency); 0: this runtime runs activities only.
    std::optional<std::size_t> orchestration_threads{};
    // Most threads that run activities: most activities wait for the network, not for a core.
    // Threads are started when needed and end when they are not; 0: this runtime runs
    // orchestrations only.
    std::size_t activity_threads = 64;
    // Activities that ignore the request to stop keep their thread. So many of these threads are
    // replaced by new ones.
    std::size_t max_zombies = 16;

    // ---- Waiting for work

    Timespan long_poll_timeout = std::chrono::seconds{30};
    // For stores that do not wait: the shortest time between two fetches that found nothing.
    Timespan min_poll_interval = std::chrono::milliseconds{100};

    // ---- Leases. Renewed at half their time, or `buffer` before their end if that is sooner; a
    // buffer that is not shorter than its lease is ignored.

    Timespan orchestrator_lock_timeout = std::chrono::seconds{5};
    Timespan orchestrator_lock_renewal_buffer = std::chrono::seconds{2};
    Timespan worker_lock_timeout = std::chrono::seconds{30};
    Timespan worker_lock_renewal_buffer = std::chrono::seconds{5};

    // ---- When things go wrong

    // A message or activity that was handed out more often than this, and whose end was not
    // stored, fails its instance (poison). Code that is missing or differs is not counted.
    std::uint32_t max_attempts = 10;
    // An instance waits for a node that has its code. If it was cancelled so long ago, and no such
    // node has fetched it, any other node ends it: as cancelled, without its compensations.
    Timespan cancel_without_code_after = std::chrono::seconds{30};
    // Between attempts when the store refuses a turn, or hands out work not registered here.
    GrowingDelay unregistered_backoff{};
    NondeterminismPolicy nondeterminism = NondeterminismPolicy::park;
    GrowingDelay park_backoff{};
    // How long an activity may take to return after it was asked to stop.
    Timespan activity_cancellation_grace_period = std::chrono::seconds{10};
    // An attempt of a call (a retry, or the same step handed out again) begins when the thread of
    // the call's last attempt has come back, or after the grace period; in this process only.
    // False: attempts may overlap, under one idempotency key.
    bool attempts_wait_for_each_other = true;
    // Which engine versions' histories this runtime replays. nullopt: all up to its own.
    std::optional<VersionRange> supported_replay_versions{};
    Limits limits{};

    // ---- Sessions and tags

    Timespan session_lock_timeout = std::chrono::seconds{30};
    Timespan session_lock_renewal_buffer = std::chrono::seconds{5};
    Timespan session_idle_timeout = std::chrono::minutes{5};
    Timespan session_cleanup_interval = std::chrono::minutes{5};
    // Distinct sessions whose activities run here at the same time.
    std::size_t max_sessions_per_runtime = 10;
    // The name under which this runtime owns sessions. A runtime that restarts with the same name
    // keeps its sessions: they are not released at a shutdown, and other runtimes wait for
    // session_lock_timeout. The name must be unique among the runtimes that live at the same time,
    // or they share their sessions: a host's name is not enough where two run on a host. nullopt: a
    // new owner at every start, whose sessions are released at a shutdown.
    std::optional<std::string> worker_node_id{};
    TagFilter worker_tag_filter{};

    // ---- Suspended orchestrations kept in memory, so that a turn costs its new events only

    std::size_t cache_max_frames = 100'000; // 0: none
    std::size_t cache_max_bytes = 256UL * 1024 * 1024;
    Timespan cache_idle_timeout = std::chrono::minutes{10};
    // Replays every turn from the beginning: slow, and finds code that is not deterministic. For
    // tests.
    bool evict_always = false;

    // ---- Observability

    std::shared_ptr<Logger> logger{};   // nullptr: warnings and errors to stderr
    std::shared_ptr<Metrics> metrics{}; // nullptr: none
    std::shared_ptr<Tracer> tracer{};   // nullptr: none
    Timespan gauge_poll_interval = std::chrono::seconds{60};

    // ---- The end

    // How long the destructor of Runtime waits for work that is under way.
    Timespan shutdown_timeout = std::chrono::seconds{10};

    std::shared_ptr<Clock> clock{}; // nullptr: the machine's
};

// invalid_argument, with the field's name and value, when the options contradict themselves.
[[nodiscard]] Result<> validate(const RuntimeOptions& options);

// How long a lease is held before it is renewed: never more than half of it (T-16).
[[nodiscard]] Duration renewal_interval(Duration lock_timeout, Duration buffer) noexcept;

} // namespace durable
