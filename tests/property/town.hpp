// A town: a handful of ids that clients and parents fight over. Instances with random programs are
// started, called by each other's ids, cancelled, deleted in the middle of things and started again
// under the same id, while the clock is set and nodes lose what they held. Up to three nodes have
// different parts of the code, and some towns have an activity that kills each node that runs it.
// Everything runs on a real store with real dispatchers, on one thread, and is drawn from a seed.

#pragma once

#include <cstdint>
#include <string>

namespace durable::property {

struct TownStatistics {
    std::uint64_t deletions = 0;
    std::uint64_t second_lives = 0;  // instances that began under a used id
    std::uint64_t taken_ids = 0;     // children's calls that found their id taken
    std::uint64_t cancellations = 0; // recorded
    std::uint64_t deaths = 0;        // of nodes, by the activity that kills
    std::uint64_t ends = 0;
};

enum class Fleet : std::uint8_t {
    uniform, // one node that has everything
    mixed,   // up to three with different code, and one that dies now and then
};

// What is wrong in the town of this seed; empty when all is well.
[[nodiscard]] std::string
live_in_town(std::uint64_t seed, TownStatistics& statistics, Fleet fleet = Fleet::mixed);

} // namespace durable::property
