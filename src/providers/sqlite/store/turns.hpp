// Turns: fetch, commit, abandon and renew turns.

#pragma once

#include "providers/rules/commit.hpp"
#include "providers/sqlite/store/turn_queue.hpp"
#include "providers/sqlite/store/work_queue.hpp"

#include <durable/provider.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace durable::sqlite {

// A leased instance. A longer history is left out: the caller reads it outside the transaction.
struct TurnOffer {
    OrchestrationItem item;
    std::int64_t instance = 0;
    bool has_history = false;
    std::vector<std::string> events; // of item.history
};

// P3: the instance that the token leases: also after the lease expired; only while it is live.
//   lock_lost  there is none
[[nodiscard]] Result<InstanceRow> any_turn_lease(Transaction& tx, const std::string& lock_token);
[[nodiscard]] Result<InstanceRow> live_turn_lease(Transaction& tx, const std::string& lock_token);

// Leases an instance whose only message is about to be queued (hand-off). nullopt: the message does
// not decode, or an older one is ready (P5); the caller then queues it.
[[nodiscard]] std::optional<TurnOffer>
take_fresh_turn(Transaction& tx, const FetchOrchestration& request, FreshTurn& fresh);
// nullopt: no instance is eligible. P10: quarantines messages that do not decode.
[[nodiscard]] std::optional<TurnOffer> fetch_turn(Transaction& tx,
                                                  const FetchOrchestration& request);
// Adds the events that the caller does not hold yet, and the values of earlier executions.
void attach_history(Connection& db, TurnOffer& offer, const CachedHistoryLookup& cached);
// The item, with its history.
[[nodiscard]] OrchestrationItem unpack(TurnOffer offer);

[[nodiscard]] Result<>
commit_turn(Transaction& tx, const TurnCommit& commit, const Result<rules::PreparedTurn>& prepared);
[[nodiscard]] Result<> abandon_turn(Transaction& tx, const AbandonTurn& abandon);
[[nodiscard]] Result<>
renew_turn(Transaction& tx, const std::string& lock_token, Duration extend_for);

} // namespace durable::sqlite
