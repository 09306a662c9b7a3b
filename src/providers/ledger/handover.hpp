// Handover: leases and sessions, passed on from a ledger that is closed in good order to the
// one that opens on the same state. Times are what is left of them: steady clocks do not compare.

#pragma once

#include "providers/ledger/ledger.hpp"

#include <durable/time.hpp>

#include <string>
#include <vector>

namespace durable::ledger {

struct Handover {
    struct Turn {
        std::string instance;
        std::string lock_token;
        Duration left{};
        std::vector<Seq> messages; // that the turn was given
        bool operator==(const Turn&) const = default;
    };
    struct Activity {
        Seq seq = 0;
        std::string lock_token;
        Duration left{};
        bool operator==(const Activity&) const = default;
    };
    struct SessionLease {
        std::string session;
        std::string owner;
        Duration left{};
        Duration idle{}; // since its last activity
        Duration over{}; // since it ran out, when nothing is left: cleaning up still counts it
        bool operator==(const SessionLease&) const = default;
    };

    std::vector<Turn> turns;
    std::vector<Activity> activities;
    std::vector<SessionLease> sessions;
    bool operator==(const Handover&) const = default;
};

// Sorted, so that equal states give equal handovers.
[[nodiscard]] Handover hand_over(Ledger& ledger, Moment now);

// `elapsed` is the time in between. What names something unknown or makes no sense is left out.
// What has expired stays known: it can be given back until somebody takes over.
void take_over(Ledger& ledger, const Handover& handover, Duration elapsed, Moment now);

} // namespace durable::ledger
