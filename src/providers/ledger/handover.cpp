#include "providers/ledger/handover.hpp"

#include <algorithm>
#include <utility>

namespace durable::ledger {

namespace {

// What is left after `elapsed`; zero or less: nothing.
Duration left_after(Duration left, Duration elapsed) {
    return left > elapsed ? left - elapsed : Duration::zero();
}

void take_turn_over(Ledger& ledger, const Handover::Turn& turn, SteadyInstant until) {
    const auto token = Token::parse(turn.lock_token);
    auto* instance = ledger.instances.find(turn.instance);
    if (!token || instance == nullptr || instance->inbox().lease != nullptr) {
        return;
    }
    TurnLease lease{.token = *token, .until = until};
    for (const auto seq : turn.messages) {
        const auto* message = ledger.turns.find(seq);
        if (message != nullptr && message->instance == instance) {
            lease.messages.push_back(seq);
        }
    }
    std::ranges::sort(lease.messages);
    ledger.turns.lease(*instance, std::move(lease));
}

} // namespace

Handover hand_over(Ledger& ledger, Moment now) {
    ledger.advance(now);
    Handover handover;
    ledger.turns.for_each_lease([&](const TurnLease& lease) {
        handover.turns.push_back({.instance = std::string{lease.instance->id()},
                                  .lock_token = lease.token.text(),
                                  .left = std::max(lease.until - now.steady, Duration::zero()),
                                  .messages = lease.messages});
    });
    ledger.work.for_each_lease([&](const WorkLease& lease) {
        handover.activities.push_back(
            {.seq = lease.entry->seq,
             .lock_token = lease.token.text(),
             .left = std::max(lease.until - now.steady, Duration::zero())});
    });
    ledger.work.for_each_session([&](const Session& session) {
        if (session.claimed) {
            handover.sessions.push_back(
                {.session = session.id,
                 .owner = session.owner,
                 .left = std::max(session.until - now.steady, Duration::zero()),
                 .idle = now.steady - session.last_activity,
                 .over = std::max(now.steady - session.until, Duration::zero())});
        }
    });
    std::ranges::sort(handover.turns, {}, &Handover::Turn::instance);
    std::ranges::sort(handover.activities, {}, &Handover::Activity::seq);
    std::ranges::sort(handover.sessions, {}, &Handover::SessionLease::session);
    return handover;
}

void take_over(Ledger& ledger, const Handover& handover, Duration elapsed, Moment now) {
    ledger.advance(now);
    elapsed = std::max(elapsed, Duration::zero());
    for (const auto& turn : handover.turns) {
        take_turn_over(ledger, turn, add_saturating(now.steady, left_after(turn.left, elapsed)));
    }
    for (const auto& activity : handover.activities) {
        const auto token = Token::parse(activity.lock_token);
        auto* entry = ledger.work.find(activity.seq);
        if (token && entry != nullptr && entry->lease == nullptr) {
            const auto left = left_after(activity.left, elapsed);
            ledger.work.lease(*entry, *token, add_saturating(now.steady, left));
        }
    }
    for (const auto& session : handover.sessions) {
        const auto closed = add_saturating(now.steady, -elapsed);
        const auto until = session.left > Duration::zero()
                               ? add_saturating(closed, session.left)
                               : add_saturating(closed, -std::max(session.over, Duration::zero()));
        ledger.work.claim(ledger.work.session(session.session),
                          session.owner,
                          until,
                          add_saturating(closed, -std::max(session.idle, Duration::zero())));
    }
    ledger.advance(now); // ends expired leases and sessions
}

} // namespace durable::ledger
