// Handover: leases and sessions, passed on from a ledger that is closed in good order to the one
// that opens on the same state. Times are stored as what is left of them: the steady clocks of two
// processes do not compare.

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
        Duration over{}; // since it expired, when nothing is left: a cleanup still counts it
        bool operator==(const SessionLease&) const = default;
    };

    std::vector<Turn> turns;
    std::vector<Activity> activities;
    std::vector<SessionLease> sessions;
    bool operator==(const Handover&) const = default;
};

// Sorted, so that equal states give equal handovers.
[[nodiscard]] Handover hand_over(Ledger& ledger, Moment now);

// `elapsed` is the time in between. Entries that name something unknown or are not valid are left
// out. P3: an expired lease stays known, and its owner may abandon it until another fetch takes
// over.
void take_over(Ledger& ledger, const Handover& handover, Duration elapsed, Moment now);

} // namespace durable::ledger
