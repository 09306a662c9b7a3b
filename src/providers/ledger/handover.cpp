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
    if (!token || instance == nullptr || instance->lease != nullptr) {
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
        if (lease.slot != no_slot) {
            handover.turns.push_back({.instance = *lease.instance->id,
                                      .lock_token = lease.token.text(),
                                      .left = lease.until - now.steady,
                                      .messages = lease.messages});
        }
    });
    ledger.work.for_each_lease([&](const WorkLease& lease) {
        if (lease.slot != no_slot) {
            handover.activities.push_back({.seq = lease.entry->seq,
                                           .lock_token = lease.token.text(),
                                           .left = lease.until - now.steady});
        }
    });
    ledger.work.for_each_session([&](const Session& session) {
        if (session.live()) {
            handover.sessions.push_back({.session = session.id,
                                         .owner = session.owner,
                                         .left = session.until - now.steady,
                                         .idle = now.steady - session.last_activity});
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
        if (const auto left = left_after(turn.left, elapsed); left > Duration::zero()) {
            take_turn_over(ledger, turn, add_saturating(now.steady, left));
        }
    }
    for (const auto& activity : handover.activities) {
        const auto left = left_after(activity.left, elapsed);
        const auto token = Token::parse(activity.lock_token);
        auto* entry = ledger.work.find(activity.seq);
        if (left > Duration::zero() && token && entry != nullptr && entry->lease == nullptr) {
            ledger.work.lease(*entry, *token, add_saturating(now.steady, left));
        }
    }
    for (const auto& session : handover.sessions) {
        if (const auto left = left_after(session.left, elapsed); left > Duration::zero()) {
            const auto active = add_saturating(add_saturating(now.steady, -elapsed),
                                               -std::max(session.idle, Duration::zero()));
            ledger.work.claim(ledger.work.session(session.session),
                              session.owner,
                              add_saturating(now.steady, left),
                              active);
        }
    }
}

} // namespace durable::ledger
