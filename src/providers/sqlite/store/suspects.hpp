// Suspects: the leases on suspects that this provider gave to fetches with `one_suspect` (P16).
//
// The store says whether such a lease is live: so the hold ends with the lease, whichever process
// ends it, and an undone transaction leaves no hold.

#pragma once

#include "providers/sqlite/db/connection.hpp"

#include <durable/time.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace durable::sqlite {

class Suspects {
 public:
    // From now on the lease `token` holds back other suspects.
    void hold(std::string token) { tokens_.push_back(std::move(token)); }

    // When the last of these leases ends; nullopt: none is live, the next suspect may be given.
    [[nodiscard]] std::optional<SteadyInstant> held_until(Connection& db, SteadyInstant now);

    // Whether a hold has ended since the last call.
    [[nodiscard]] bool take_ended() { return std::exchange(ended_, false); }
    [[nodiscard]] bool idle() const noexcept { return tokens_.empty() && !ended_; }

 private:
    std::vector<std::string> tokens_; // at most one live one
    bool ended_ = false;
};

} // namespace durable::sqlite
