// What the turn of an instance needs (P14, P16), from what is stored about it.

#pragma once

#include "providers/sqlite/store/rows.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace durable::sqlite {

// The one visible message of an instance, where the caller knows that there is no other.
struct SoleMessage {
    std::int64_t kind = 0;
    std::int64_t attempts = 0;
    Instant visible_at;
    std::optional<std::string_view> text; // nullopt: it has to be read
    bool own_start = false;               // P15: the start that made the instance
};

// Sets row.needs and row.cancelled_at, of an instance that is ready; returns the needs.
TurnNeeds determine_needs(Connection& db, InstanceRow& row, const SoleMessage* sole = nullptr);

// The needs of an instance whose only message has not been queued yet. Decodes that at most once.
[[nodiscard]] TurnNeeds needs_of(FreshTurn& fresh);

} // namespace durable::sqlite
