// Node: what the dispatchers of one runtime share. It has no threads and no loops: the ThreadRunner
// or the TestRuntime owns it and runs dispatchers on it.

#pragma once

#include "observability/observer.hpp"
#include "runtime/agenda.hpp"
#include "runtime/diagnostics.hpp"
#include "runtime/frame_cache.hpp"
#include "runtime/lease_keeper.hpp"
#include "runtime/log_throttle.hpp"
#include "runtime/parking_lot.hpp"
#include "runtime/pause.hpp"
#include "runtime/running_activities.hpp"
#include "runtime/session_slots.hpp"

#include <durable/provider.hpp>
#include <durable/registry.hpp>
#include <durable/result.hpp>
#include <durable/runtime_options.hpp>
#include <durable/time.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>

namespace durable::runtime {

// Why no node can be made of these, all problems of the registry in one sentence.
[[nodiscard]] Result<> check(const Registry& registry, const RuntimeOptions& options);

struct Node {
    // The options must be valid. `how_to_pause` empty: on the clock.
    Node(std::shared_ptr<Provider> store,
         Registry handlers,
         RuntimeOptions chosen,
         Pause how_to_pause = {});
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;
    ~Node();

    const RuntimeOptions options; // clock, logger and numbers of threads filled in
    const std::shared_ptr<Clock> clock;
    const std::string id;            // "a1b2c3d4"
    const std::string session_owner; // worker_node_id, or this runtime alone
    const observability::Observer observer;
    const std::shared_ptr<Provider> client_provider; // as given
    const std::shared_ptr<Provider> provider;        // the same, metered when there are metrics
    const Registry registry;
    const CapabilityFilter capabilities;
    // What every fetch asks for, P14: the names and versions of the registry.
    const std::shared_ptr<const OrchestrationCode> orchestration_code;
    const std::shared_ptr<const std::set<std::string, std::less<>>> activity_code;
    const Pause pause;

    Agenda agenda;       // of the housekeeping
    Agenda lease_agenda; // of the renewals
    LeaseKeeper leases;
    RunningActivities activities;
    SessionSlots sessions;
    FrameCache frames;
    ParkingLot parked;
    Diagnostics diagnostics;
    LogThrottle turn_fetches;
    LogThrottle activity_fetches;

    std::atomic<std::size_t> activity_thread_count = 0; // written by the ThreadRunner, for a gauge

    // The shutdown's time limit is over: dispatchers stop retrying.
    std::stop_source force_stop;
};

// P16: a suspect is about to run, the only one of this process. If it kills the process, the log
// ends with its name.
void log_suspect(const Node& node,
                 const observability::Where& where,
                 std::string_view kind, // "activity"
                 std::string_view name,
                 std::uint32_t attempts);

} // namespace durable::runtime
