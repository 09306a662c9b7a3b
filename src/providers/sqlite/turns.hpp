// Turns: leasing an instance, committing its turn, giving it back.

#pragma once

#include "providers/sqlite/turn_queue.hpp"
#include "providers/sqlite/work_queue.hpp"

#include <durable/provider.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace durable::sqlite {

// A leased instance. Its history is left out when it is more than a few events: then the caller
// reads it beside the transactions.
struct TurnOffer {
    OrchestrationItem item;
    std::int64_t instance = 0;
    bool has_history = false;
    std::vector<std::string> events; // of item.history
};

// The instance that the token leases, also after the lease ran out; while it is live.
//   lock_lost  there is none
[[nodiscard]] Result<InstanceRow> any_turn_lease(Transaction& tx, const std::string& lock_token);
[[nodiscard]] Result<InstanceRow> live_turn_lease(Transaction& tx, const std::string& lock_token);

// One whose only message has just come; nullopt: that is damaged, or something older is ready: it
// has to be queued and found.
[[nodiscard]] std::optional<TurnOffer>
take_fresh_turn(Transaction& tx, const FetchOrchestration& request, FreshTurn& fresh);
// nullopt: no instance is eligible. P10: damaged messages on the way are put aside.
[[nodiscard]] std::optional<TurnOffer> fetch_turn(Transaction& tx,
                                                  const FetchOrchestration& request);
// Adds the events that the caller does not hold yet, and the values of earlier executions.
void attach_history(Connection& db, TurnOffer& offer, const CachedHistoryLookup& cached);
// The item, with its history.
[[nodiscard]] OrchestrationItem unpack(TurnOffer offer);

// A commit, encoded. Made outside the transaction, for the time it takes.
struct PreparedCommit {
    std::vector<ledger::NewEvent> events;
    std::vector<QueuedWork> work;
    std::vector<ledger::NewMessage> messages;
};
[[nodiscard]] Result<PreparedCommit> prepare(const TurnCommit& commit);

[[nodiscard]] Result<>
commit_turn(Transaction& tx, const TurnCommit& commit, const Result<PreparedCommit>& prepared);
[[nodiscard]] Result<> abandon_turn(Transaction& tx, const AbandonTurn& abandon);
[[nodiscard]] Result<>
renew_turn(Transaction& tx, const std::string& lock_token, Duration extend_for);

} // namespace durable::sqlite
