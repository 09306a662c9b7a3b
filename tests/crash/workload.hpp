// A scripted workload for crash tests, and what must be true after any crash of it.
//
// Every call is a step. A step that returned without an error was acknowledged. The reference run,
// on a disk without faults, notes the state after every step; a crashed run must recover to the
// state after some step at or behind the last one that promised durability, never to one between.

#pragma once

#include "providers/fs/fs_provider.hpp"

#include <durable/testing.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace durable::fs {

using Store = std::shared_ptr<FsProvider>;

struct Step {
    std::string name;
    std::function<Result<>(FsProvider&)> run;
    // Durable when it returns; the ends of turns and activities become it with the next such step.
    bool durable = true;
};

// Segments of the journal are no larger in these tests, unless one record needs more.
inline constexpr std::size_t largest_segment = 1U << 12U;

// Starts, turns, activities, events (some larger than any segment), values, children and deletion.
[[nodiscard]] std::vector<Step> make_workload();

// The durable state without what a crash may count differently: attempts of what was in flight.
[[nodiscard]] FsProvider::State comparable(FsProvider::State state);

// States after 0, 1, 2, … steps of a run without faults.
[[nodiscard]] std::vector<FsProvider::State> reference_states(const std::vector<Step>& steps,
                                                              const Machine& machine);

// Opens the store on a clock that stands still.
[[nodiscard]] Result<Store> open_store(const Machine& machine);

struct Played {
    std::size_t acknowledged = 0; // steps that returned without an error
    std::size_t promised = 0;     // up to the last durable one among them
    Error error;                  // of the step that ended it
};

// Plays the steps from `first` on until one fails.
[[nodiscard]] Played play(const std::vector<Step>& steps, FsProvider& store, std::size_t first = 0);

} // namespace durable::fs
