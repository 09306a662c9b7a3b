// Storing a turn. A refused commit never fails the instance (T-21, T-28): the worst that happens is
// that the turn is run again.

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
    lost,    // somebody else has the instance now: forget the turn
    refused, // the store does not take it; the lease was given back with a delay
};

// Retries what is transient. `item` is the turn's lease.
[[nodiscard]] Committed
commit_turn(Node& node, const OrchestrationItem& item, const TurnCommit& commit);

struct GiveBack {
    std::optional<Duration> delay{}; // of the whole instance: nothing overtakes what was given back
    bool count_attempt = false;      // true: one step towards max_attempts
    std::optional<std::string> parked{}; // why it does not go on, for clients and operators
};

void give_back(Node& node, const OrchestrationItem& item, GiveBack how);

} // namespace durable::runtime
