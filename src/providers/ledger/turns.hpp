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

// What a fetch does next. `record` is to be applied first; then, with an item, take_turn() leases
// the instance and complete() decodes the history, which needs no ledger and no lock.
struct TurnOffer {
    Record record;
    std::optional<OrchestrationItem> item; // nullopt: a row was quarantined; ask again
    EventTexts history;
    bool suspect = false;      // P16: taking it holds the right to have one
    std::uint64_t reached = 0; // where the journal stood when it was taken
};

// nullopt: no instance is eligible.
[[nodiscard]] std::optional<TurnOffer>
offer_turn(Ledger& ledger, const FetchOrchestration& request, Moment now);
void take_turn(Ledger& ledger, TurnOffer& offer, const Token& token, SteadyInstant until);
[[nodiscard]] OrchestrationItem complete(TurnOffer offer);

// What a turn leaves, as it is stored; needs no ledger and no lock.
struct PreparedTurn {
    std::vector<NewEvent> events;
    std::vector<NewWork> work;
    std::vector<NewMessage> messages; // as many as the commit's, in their order
};
[[nodiscard]] Result<PreparedTurn> prepare_turn(const TurnCommit& commit);
[[nodiscard]] Result<Record>
commit_turn(Ledger& ledger, const TurnCommit& commit, Result<PreparedTurn> prepared, Moment now);
[[nodiscard]] Result<Record>
abandon_turn(Ledger& ledger, const durable::AbandonTurn& abandon, Moment now);
[[nodiscard]] Result<>
renew_turn(Ledger& ledger, const std::string& lock_token, Duration extend_for, Moment now);

} // namespace durable::ledger
