#include "runtime/node.hpp"

#include "base/random.hpp"
#include "observability/metered_provider.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <iostream>
#include <thread>
#include <utility>

namespace durable::runtime {

namespace {

RuntimeOptions complete(RuntimeOptions options, const Provider& store) {
    if (!options.clock) {
        options.clock = system_clock();
    }
    if (!options.logger) {
        options.logger = text_logger(std::cerr, LogLevel::warn);
    }
    const auto cores = std::max<std::size_t>(1, std::thread::hardware_concurrency());
    const auto suitable = store.suitable_concurrency();
    options.orchestration_threads =
        options.orchestration_threads.value_or(std::max(cores, suitable));
    return options;
}

std::string new_runtime_id() {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "%08x", static_cast<unsigned>(system_random()->next()));
    return text.data();
}

CapabilityFilter capabilities_of(const RuntimeOptions& options) {
    const VersionRange all{.min = {}, .max = engine_version()};
    return {.supported = {options.supported_replay_versions.value_or(all)}};
}

std::shared_ptr<const OrchestrationCode> orchestration_code_of(const Registry& registry,
                                                               const RuntimeOptions& options) {
    OrchestrationCode code{.versions = {}, .cancelled_for = options.cancel_without_code_after};
    for (const auto& name : registry.orchestration_names()) {
        for (const auto& version : registry.versions(name)) {
            code.versions[name].insert(version.text());
        }
    }
    return std::make_shared<const OrchestrationCode>(std::move(code));
}

std::shared_ptr<const std::set<std::string, std::less<>>>
activity_code_of(const Registry& registry) {
    const auto names = registry.activity_names();
    return std::make_shared<const std::set<std::string, std::less<>>>(names.begin(), names.end());
}

Pause pause_or(Pause pause, const std::shared_ptr<Clock>& clock) {
    if (pause) {
        return pause;
    }
    return [clock](Duration duration, const std::stop_token& stop) {
        return pause_on(*clock, duration, stop);
    };
}

LeaseTiming timing(Duration lock_timeout, Duration buffer) {
    return {.lock_timeout = lock_timeout, .interval = renewal_interval(lock_timeout, buffer)};
}

} // namespace

Result<> check(const Registry& registry, const RuntimeOptions& options) {
    std::string problems;
    for (const auto& problem : registry.problems()) {
        problems += (problems.empty() ? "" : "; ") + problem;
    }
    if (!problems.empty()) {
        return fail(ErrorCode::invalid_argument, "Registry: " + problems, "Runtime::start");
    }
    return validate(options);
}

Node::Node(std::shared_ptr<Provider> store,
           Registry handlers,
           RuntimeOptions chosen,
           Pause how_to_pause)
    : options{complete(std::move(chosen), *store)},
      clock{options.clock},
      id{new_runtime_id()},
      session_owner{options.worker_node_id.value_or("runtime-" + id)},
      observer{clock,
               {.logger = options.logger, .metrics = options.metrics, .tracer = options.tracer}},
      client_provider{std::move(store)},
      provider{options.metrics ? observability::metered(client_provider, observer)
                               : client_provider},
      registry{std::move(handlers)},
      capabilities{capabilities_of(options)},
      orchestration_code{orchestration_code_of(registry, options)},
      activity_code{activity_code_of(registry)},
      pause{pause_or(std::move(how_to_pause), clock)},
      agenda{*clock},
      lease_agenda{*clock},
      leases{{.provider = *provider, .clock = *clock, .observer = observer, .agenda = lease_agenda},
             timing(options.orchestrator_lock_timeout, options.orchestrator_lock_renewal_buffer),
             timing(options.worker_lock_timeout, options.worker_lock_renewal_buffer)},
      activities{*clock, agenda, options.activity_cancellation_grace_period},
      sessions{options.max_sessions_per_runtime},
      frames{*clock,
             observer,
             {.max_frames = options.cache_max_frames,
              .max_bytes = options.cache_max_bytes,
              .idle_timeout = options.cache_idle_timeout,
              .evict_always = options.evict_always}} {}

Node::~Node() = default;

void log_suspect(const Node& node,
                 const observability::Where& where,
                 std::string_view kind,
                 std::string_view name,
                 std::uint32_t attempts) {
    node.observer.log(
        LogLevel::warn,
        where,
        "handed out before without an end: it runs as the only suspect",
        {{.name = kind, .value = name}, {.name = "attempt", .value = std::to_string(attempts)}});
}

} // namespace durable::runtime
