#include "providers/ledger/activities.hpp"

#include "base/try.hpp"
#include "providers/ledger/queueing.hpp"

#include <durable/codec.hpp>

#include <algorithm>
#include <utility>

namespace durable::ledger {

namespace {

Result<WorkLease*> any_lease(Ledger& ledger, const std::string& lock_token) {
    const auto token = Token::parse(lock_token);
    auto* lease = token ? ledger.work.find_lease(*token) : nullptr;
    if (lease == nullptr) {
        return fail(ErrorCode::lock_lost, "Invalid lock token");
    }
    return lease;
}

// P3: as live_turn_lease in turns.cpp.
Result<WorkLease*> live_lease(Ledger& ledger, const std::string& lock_token) {
    DURABLE_TRY_ASSIGN(auto* lease, any_lease(ledger, lock_token));
    if (lease->slot == no_slot) {
        return fail(ErrorCode::lock_lost, "the lease on this activity has expired");
    }
    return lease;
}

Result<op::FinishWork> decide_finish(Ledger& ledger,
                                     const std::string& lock_token,
                                     Result<std::optional<NewMessage>> completion,
                                     Instant now) {
    DURABLE_TRY_ASSIGN(const auto* lease, live_lease(ledger, lock_token));
    op::FinishWork finish{.seq = lease->entry->seq};
    DURABLE_TRY_ASSIGN(finish.completion, std::move(completion));
    if (finish.completion) {
        finish.completion->seq = ledger.next_seq();
        finish.completion->visible_at = now;
    }
    return finish;
}

} // namespace

std::optional<WorkOffer> offer_work(Ledger& ledger, const durable::FetchWork& request, Moment now) {
    ledger.advance(now);
    const auto* entry = ledger.work.first_ready(request);
    if (entry == nullptr) {
        return std::nullopt;
    }
    WorkOffer offer{.record = {.at = now.wall}, .seq = entry->seq};
    auto item = decode_work_item(entry->text.view());
    auto* activity = item ? std::get_if<work::ActivityExecute>(&*item) : nullptr;
    if (activity == nullptr) { // P10, P13: this record quarantines the item, nothing is leased
        offer.record.operation =
            op::Quarantine{.queue = Queue::worker,
                           .seq = entry->seq,
                           .reason = item ? "not an ActivityExecute" : item.error().message};
        return offer;
    }
    offer.record.operation = op::FetchWork{entry->seq};
    offer.lease =
        durable::WorkLease{.item = std::move(*activity), .attempt_count = entry->attempts + 1};
    return offer;
}

void take_work(Ledger& ledger,
               WorkOffer& offer,
               const durable::FetchWork& request,
               const Token& token,
               Moment now) {
    auto& entry = *ledger.work.find(offer.seq);
    // `attempts` counts this fetch already (P7).
    const bool suspect = request.one_suspect && entry.attempts > suspect_after;
    ledger.work.lease(entry, token, now.steady_after(request.lock_timeout), suspect);
    if (request.session && entry.group->session != nullptr) {
        ledger.work.claim(*entry.group->session,
                          request.session->owner_id,
                          now.steady_after(request.session->lock_timeout),
                          now.steady);
    }
    offer.lease->lock_token = token.text();
}

Result<std::optional<NewMessage>> to_completion(const std::optional<WorkItem>& completion) {
    if (!completion) {
        return std::nullopt;
    }
    if (!std::holds_alternative<work::ActivityCompleted>(*completion) &&
        !std::holds_alternative<work::ActivityFailed>(*completion)) {
        return fail(ErrorCode::invalid_argument,
                    "an activity ends with ActivityCompleted or ActivityFailed, not " +
                        std::string{type_name(*completion)});
    }
    return to_message(*completion);
}

Result<Record> finish_work(Ledger& ledger,
                           const std::string& lock_token,
                           Result<std::optional<NewMessage>> completion,
                           Moment now) {
    ledger.advance(now);
    auto finish = decide_finish(ledger, lock_token, std::move(completion), now.wall);
    if (!finish) {
        return failed(std::move(finish).error(), "ack_work_item");
    }
    ledger.work.touch(*ledger.work.find(finish->seq), now.steady);
    return Record{.at = now.wall, .operation = *std::move(finish)};
}

Result<Record> abandon_work(Ledger& ledger,
                            const std::string& lock_token,
                            std::optional<Duration> delay,
                            bool ignore_attempt,
                            Moment now) {
    ledger.advance(now);
    auto lease = any_lease(ledger, lock_token);
    if (!lease) {
        return failed(std::move(lease).error(), "abandon_work_item");
    }
    const auto wait = std::max(delay.value_or(Duration::zero()), Duration::zero());
    return Record{.at = now.wall,
                  .operation = op::AbandonWork{.seq = (*lease)->entry->seq,
                                               .visible_at = now.wall_after(wait),
                                               .uncounted = ignore_attempt}};
}

Result<>
renew_work(Ledger& ledger, const std::string& lock_token, Duration extend_for, Moment now) {
    ledger.advance(now);
    auto lease = live_lease(ledger, lock_token);
    if (!lease) {
        return failed(std::move(lease).error(), "renew_work_item_lock");
    }
    ledger.work.extend(**lease, now.steady_after(extend_for));
    ledger.work.touch(*(*lease)->entry, now.steady);
    return {};
}

std::uint64_t renew_sessions(Ledger& ledger,
                             const std::vector<std::string>& owner_ids,
                             Duration extend_for,
                             Duration idle_timeout,
                             Moment now) {
    ledger.advance(now);
    const auto idle = std::max(idle_timeout, Duration::zero());
    return ledger.work.renew_sessions(
        owner_ids, now.steady_after(extend_for), add_saturating(now.steady, -idle));
}

std::uint64_t forget_sessions(Ledger& ledger, Moment now) {
    ledger.advance(now);
    return ledger.work.forget_sessions(now.steady);
}

} // namespace durable::ledger
