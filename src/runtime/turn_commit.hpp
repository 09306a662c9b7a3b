// Commits a turn, or gives it back. The OrchestrationDispatcher calls both on its thread. A refused
// commit never fails the instance (T-21, T-28): the store has applied nothing (P2), and the turn
// runs again.

#pragma once

#include "runtime/node.hpp"

#include <durable/provider.hpp>
#include <durable/result.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace durable::runtime {

enum class Committed : std::uint8_t {
    yes,
    lost,    // P3: the lease expired or another worker has it. The turn is dropped
    refused, // the store refused it; the lease was given back with a delay
};

// Retries after transient errors. `item` is the turn's lease.
[[nodiscard]] Committed
commit_turn(Node& node, const OrchestrationItem& item, const TurnCommit& commit);

struct GiveBack {
    std::optional<Duration> delay{}; // P6: of the whole instance, so that later messages wait, too
    bool count_attempt = false;      // true: one step towards max_attempts
    std::optional<std::string> parked{}; // why it does not go on, for clients and operators
};

void give_back(Node& node, const OrchestrationItem& item, GiveBack how);

} // namespace durable::runtime
