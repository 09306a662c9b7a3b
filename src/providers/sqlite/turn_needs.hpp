// What the turn of an instance needs (P14, P16), from what is stored about it.

#pragma once

#include "providers/sqlite/rows.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace durable::sqlite {

[[nodiscard]] inline bool starts_instance(std::int64_t kind) {
    return kind == ledger::kind_of<work::StartOrchestration> ||
           kind == ledger::kind_of<work::ContinueAsNew>;
}
[[nodiscard]] inline bool cancels_instance(std::int64_t kind) {
    return kind == ledger::kind_of<work::CancelInstance>;
}

// Why an item does not belong into the instance's queue; empty: it does.
[[nodiscard]] std::string damage_of(const Result<WorkItem>& item, const std::string& instance);

// The one visible message of an instance, where the caller knows that there is no other.
struct SoleMessage {
    std::int64_t kind = 0;
    std::int64_t attempts = 0;
    Instant visible_at;
    std::optional<std::string_view> text; // nullopt: it has to be read
    bool own_start = false;               // P15: what the instance was started with
};

// Sets row.needs and row.cancelled_at, of an instance that is ready; returns the needs.
TurnNeeds determine_needs(Connection& db, InstanceRow& row, const SoleMessage* sole = nullptr);

// The needs of an instance whose only message has not been queued yet. Decodes that at most once.
[[nodiscard]] TurnNeeds needs_of(FreshTurn& fresh);

} // namespace durable::sqlite
