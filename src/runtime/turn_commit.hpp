// Storing a turn. A refused commit never fails the instance (T-21, T-28): the worst that happens is
// that the turn is run again.

#pragma once

#include "runtime/node.hpp"

#include <durable/provider.hpp>
#include <durable/result.hpp>

#include <cstdint>

namespace durable::runtime {

enum class Committed : std::uint8_t {
    yes,
    lost,    // somebody else has the instance now: forget the turn
    refused, // the store does not take it; the lease was given back with a delay
};

// Retries what is transient. `item` is the turn's lease.
[[nodiscard]] Committed
commit_turn(Node& node, const OrchestrationItem& item, const TurnCommit& commit);

// Gives a turn back. With `count_attempt` it moves towards max_attempts.
void give_back(Node& node,
               const OrchestrationItem& item,
               std::optional<Duration> delay,
               bool count_attempt);

} // namespace durable::runtime
