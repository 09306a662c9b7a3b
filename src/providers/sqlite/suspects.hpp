// Suspects: the leases of suspects that this provider gave to fetches that want one at a time
// (P16).
//
// Whether such a lease still lives is what the store says: so whatever ends it, in whichever
// process, ends the hold, and a transaction that is undone leaves none.

#pragma once

#include "providers/sqlite/connection.hpp"

#include <durable/time.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace durable::sqlite {

class Suspects {
 public:
    // From now on `token`, which is stored as leased, holds the others back.
    void hold(std::string token) { tokens_.push_back(std::move(token)); }

    // Until when one of them is leased; nullopt: none is, the next suspect may be given.
    [[nodiscard]] std::optional<SteadyInstant> held_until(Connection& db, SteadyInstant now);

    // Whether a hold has ended since this was last asked.
    [[nodiscard]] bool take_ended() { return std::exchange(ended_, false); }
    [[nodiscard]] bool idle() const noexcept { return tokens_.empty() && !ended_; }

 private:
    std::vector<std::string> tokens_; // one at most, but for leases that are over
    bool ended_ = false;
};

} // namespace durable::sqlite
