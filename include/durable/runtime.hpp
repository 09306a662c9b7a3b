// Runtime: the engine inside your process. It runs the orchestrations and activities of a registry
// with work from a provider, until it is shut down.
//
//     const auto runtime = durable::Runtime::start(provider, registry);
//
// Any number of runtimes, in any number of processes, may work on one store. A crash at any moment
// loses nothing that was committed: another runtime, or the next start, continues.

#pragma once

#include <durable/provider.hpp>
#include <durable/registry.hpp>
#include <durable/result.hpp>
#include <durable/runtime_options.hpp>
#include <durable/time.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace durable {

struct ShutdownReport {
    std::size_t drained = 0; // activities that finished in time, with their result stored
    std::size_t forced = 0;  // activities that stopped when asked; they will be run again
    // Activities that did not stop, or whose result was not stored in time: their threads are left
    // behind.
    std::size_t leaked = 0;
    // Orchestrations that block inside of a turn, where they cannot be stopped: likewise.
    std::size_t leaked_turns = 0;
    bool in_time = true; // false: the deadline passed first

    [[nodiscard]] bool clean() const noexcept {
        return forced == 0 && leaked == 0 && leaked_turns == 0;
    }
};

enum class ParkReason : std::uint8_t {
    differs, // today's code differs from its history; see NondeterminismPolicy::park
    // The store has handed it out although no such orchestration, or version of it, is in this
    // runtime's registry. Stores that keep P14 do not: see Management::parked.
    unregistered,
};

// An instance that waits for code. To clients it is what it was before, with the report as
// OrchestrationStatus::parked.
struct ParkedInstance {
    std::string instance;
    std::uint64_t execution_id = 0;
    std::string orchestration; // "Checkout 1.0.0"
    std::string report;        // for a person to read; of code that differs: both sides
    std::uint32_t attempts = 0;
    Instant since;
    Instant next_attempt;
    ParkReason reason = ParkReason::differs;
};

class Runtime final {
 public:
    // Starts the threads. Throws std::invalid_argument, naming the field, when the options are not
    // valid: a mistake in the program. For options that come from outside, use try_start.
    [[nodiscard]] static Runtime
    start(std::shared_ptr<Provider> provider, Registry registry, RuntimeOptions options = {});
    [[nodiscard]] static Result<Runtime>
    try_start(std::shared_ptr<Provider> provider, Registry registry, RuntimeOptions options = {});

    // A runtime that was moved from runs nothing: calling it is a std::logic_error.
    Runtime(Runtime&& other) noexcept;
    Runtime& operator=(Runtime&& other) noexcept;
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;
    // shutdown(options.shutdown_timeout), unless that was done.
    ~Runtime();

    // Stops fetching, lets running turns and activities finish. When half of `timeout` has passed,
    // asks the remaining activities to stop; when all of it has, leaves what still runs behind.
    // Leases that are still held are given back without counting an attempt; sessions are released
    // unless options.worker_node_id is set. Returns when no thread of this runtime runs any more,
    // leaked ones excepted. A second call returns the first one's report.
    ShutdownReport shutdown(Timespan timeout);

    // This runtime's view: an instance may be parked by one process and run by another. Of
    // instances whose code is not registered here, the newest 1000 that no other runtime has taken
    // since. Management::parked has the view of the store, for all processes.
    [[nodiscard]] std::vector<ParkedInstance> parked() const;

    // "a1b2c3d4": names this runtime in logs and worker ids.
    [[nodiscard]] const std::string& id() const;

 private:
    class Core;
    explicit Runtime(std::shared_ptr<Core> core) noexcept;
    [[nodiscard]] Core& core() const;

    std::shared_ptr<Core> core_;
};

} // namespace durable
