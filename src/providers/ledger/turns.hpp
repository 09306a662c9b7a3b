// Turns: the decisions about orchestration turns: fetch, commit, abandon, renew.

#pragma once

#include "providers/ledger/history_log.hpp"
#include "providers/ledger/ledger.hpp"

#include <durable/provider.hpp>
#include <durable/result.hpp>

#include <optional>
#include <string>
#include <vector>

namespace durable::ledger {

// What a fetch does next. The caller applies `record`, which counts the attempts (P7). If there is
// an item, take_turn() then leases the instance, and complete() decodes the history, which needs no
// ledger and no lock.
struct TurnOffer {
    Record record;
    std::optional<OrchestrationItem> item; // nullopt: a row was quarantined; ask again
    EventTexts history;
    bool suspect = false;      // P16: it will count in SuspectHold
    std::uint64_t reached = 0; // where the journal stood when it was taken
};

// nullopt: no instance is eligible.
[[nodiscard]] std::optional<TurnOffer>
offer_turn(Ledger& ledger, const FetchOrchestration& request, Moment now);
void take_turn(Ledger& ledger, TurnOffer& offer, const Token& token, SteadyInstant until);
[[nodiscard]] OrchestrationItem complete(TurnOffer offer);

[[nodiscard]] Result<Record>
commit_turn(Ledger& ledger, const TurnCommit& commit, Result<PreparedTurn> prepared, Moment now);
[[nodiscard]] Result<Record>
abandon_turn(Ledger& ledger, const durable::AbandonTurn& abandon, Moment now);
[[nodiscard]] Result<>
renew_turn(Ledger& ledger, const std::string& lock_token, Duration extend_for, Moment now);

} // namespace durable::ledger
