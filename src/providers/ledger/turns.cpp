#include "providers/ledger/turns.hpp"

#include "base/try.hpp"
#include "providers/ledger/queueing.hpp"
#include "providers/rules/abandon.hpp"
#include "providers/rules/delivery.hpp"
#include "providers/rules/delivery_order.hpp"

#include <durable/codec.hpp>

#include <algorithm>
#include <utility>

namespace durable::ledger {

namespace {

Result<TurnLease*> any_turn_lease(Ledger& ledger, const std::string& lock_token) {
    const auto token = Token::parse(lock_token);
    auto* lease = token ? ledger.turns.find_lease(*token) : nullptr;
    if (lease == nullptr) {
        return fail(ErrorCode::lock_lost, "Invalid lock token");
    }
    return lease;
}

// P3: a commit and a renewal need a live lease; an abandon also works with an expired one.
Result<TurnLease*> live_turn_lease(Ledger& ledger, const std::string& lock_token) {
    DURABLE_TRY_ASSIGN(auto* lease, any_turn_lease(ledger, lock_token));
    if (lease->slot == no_slot) {
        return fail(ErrorCode::lock_lost,
                    "the lease on instance \"" + std::string{lease->instance->id()} +
                        "\" has expired");
    }
    return lease;
}

// Name, version and execution of the instance: from its row, or its stored history, or the message
// that starts it.
void identify(OrchestrationItem& item, const Instance& instance) {
    item.instance = instance.id();
    item.incarnation = instance.incarnation;
    if (instance.exists()) {
        item.orchestration_name = *instance.name;
        item.version = *instance.version;
        item.execution_id = instance.current_execution;
        return;
    }
    item.execution_id = instance.latest_execution();
    if (const auto started = stored_start(instance)) {
        item.orchestration_name = started->name;
        item.version = started->version;
        return;
    }
    name_by_messages(item);
}

Arrival arrival_of(const Message* message) {
    return {.at = message->visible_at,
            .seq = message->seq,
            .timer = message->kind == item_kind<work::TimerFired>};
}

// The events that the caller does not hold yet.
void attach_history(TurnOffer& offer, const Instance& instance, const CachedHistoryLookup& cached) {
    auto& item = *offer.item;
    const auto* execution = instance.find_execution(item.execution_id);
    if (execution == nullptr || execution->history.empty()) {
        return;
    }
    if (const auto held = held_event(item, cached); held && execution->history.contains(*held)) {
        item.history_after = *held;
    }
    offer.history = execution->history.after(item.history_after);
}

} // namespace

std::optional<TurnOffer> offer_turn(Ledger& ledger, const FetchOrchestration& request, Moment now) {
    ledger.advance(now);
    const auto* instance = ledger.turns.first_ready(request, now.wall);
    if (instance == nullptr) {
        return std::nullopt;
    }
    TurnOffer offer{.record = {.at = now.wall}, .item = OrchestrationItem{}};
    auto& item = *offer.item;
    op::FetchTurn fetch{.instance = std::string{instance->id()}};
    auto messages = instance->inbox().visible;
    put_in_delivery_order(messages, arrival_of);
    for (const auto* message : messages) {
        auto decoded = decode_work_item(message->text());
        if (!decoded) { // P10, P13: this record quarantines the message, nothing is leased
            offer.record.operation = op::Quarantine{.queue = Queue::orchestrator,
                                                    .seq = message->seq,
                                                    .reason = std::move(decoded.error().message)};
            offer.item.reset();
            return offer;
        }
        item.messages.push_back(*std::move(decoded));
        item.attempt_count = std::max(item.attempt_count, message->attempts + 1);
        fetch.messages.push_back(message->seq);
    }
    offer.suspect = request.one_suspect && is_suspect(item.attempt_count - 1);
    std::ranges::sort(fetch.messages); // records list them ascending
    offer.record.operation = std::move(fetch);
    identify(item, *instance);
    attach_history(offer, *instance, request.cached);
    if (item.history_after == 0 && instance->extras) { // P9: what earlier executions left
        item.kv_snapshot = instance->extras->kv;
    }
    return offer;
}

void take_turn(Ledger& ledger, TurnOffer& offer, const Token& token, SteadyInstant until) {
    auto& instance = ledger.instances.get(offer.item->instance);
    TurnLease lease{.token = token, .until = until, .suspect = offer.suspect};
    for (const auto* message : instance.inbox().visible) {
        lease.messages.push_back(message->seq);
    }
    ledger.turns.lease(instance, std::move(lease));
    offer.item->lock_token = token.text();
}

OrchestrationItem complete(TurnOffer offer) {
    auto item = *std::move(offer.item);
    decode_history(item, offer.history.size(), [&](std::size_t i) { return offer.history[i]; });
    return item;
}

namespace {

// Queued activities that the commit cancels.
void collect_cancelled_work(op::CommitTurn& out, Ledger& ledger, const PreparedTurn& prepared) {
    for (const auto& activity : prepared.cancelled_activities) {
        if (const auto* instance = ledger.instances.find(activity.instance)) {
            const auto found =
                ledger.work.find(*instance, activity.execution_id, activity.activity_id);
            out.cancelled_work.insert(out.cancelled_work.end(), found.begin(), found.end());
        }
    }
}

// Messages that the commit sends, and queued timers that it cancels.
void collect_messages(
    op::CommitTurn& out, Ledger& ledger, PreparedTurn& prepared, Seq& seq, Instant now) {
    out.messages.reserve(prepared.messages.size());
    for (auto& message : prepared.messages) {
        if (!prepared.cancels(message, out.instance, out.execution_id)) {
            message.seq = seq++;
            message.visible_at = std::max(message.visible_at, now);
            out.messages.push_back(std::move(message));
        }
    }
    const auto* instance = ledger.instances.find(out.instance);
    for (const auto timer : prepared.cancelled_timers) {
        for (const auto found : ledger.turns.find_timers(*instance, out.execution_id, timer)) {
            if (!std::ranges::binary_search(out.consumed, found)) {
                out.cancelled_messages.push_back(found);
            }
        }
    }
}

Result<op::CommitTurn> decide_commit(Ledger& ledger,
                                     const TurnCommit& commit,
                                     Result<PreparedTurn> prepared,
                                     Instant now) {
    // P2: whatever can be refused is refused here, before the record exists. P4: the record
    // consumes the messages that the lease was given, and no others.
    DURABLE_TRY_ASSIGN(const auto* lease, live_turn_lease(ledger, commit.lock_token));
    op::CommitTurn out{.instance = std::string{lease->instance->id()},
                       .execution_id = commit.execution_id,
                       .consumed = lease->messages,
                       .metadata = commit.metadata};
    DURABLE_TRY_ASSIGN(auto ready, std::move(prepared));
    DURABLE_TRY(check_new(ready.events, lease->instance->find_execution(commit.execution_id)));
    out.events = std::move(ready.events);
    out.kv = std::move(ready.kv);
    out.custom_status = std::move(ready.custom_status);
    auto seq = ledger.next_seq();
    for (auto& added : ready.work) {
        added.seq = seq++;
        added.visible_at = now;
    }
    out.work = std::move(ready.work);
    collect_cancelled_work(out, ledger, ready);
    collect_messages(out, ledger, ready, seq, now);
    return out;
}

} // namespace

Result<Record>
commit_turn(Ledger& ledger, const TurnCommit& commit, Result<PreparedTurn> prepared, Moment now) {
    ledger.advance(now);
    auto decided = decide_commit(ledger, commit, std::move(prepared), now.wall);
    if (!decided) {
        return failed(std::move(decided).error(), "ack_orchestration_item");
    }
    return Record{.at = now.wall, .operation = *std::move(decided)};
}

Result<Record> abandon_turn(Ledger& ledger, const durable::AbandonTurn& abandon, Moment now) {
    constexpr std::string_view operation = "abandon_orchestration_item";
    ledger.advance(now);
    auto lease = any_turn_lease(ledger, abandon.lock_token);
    if (!lease) {
        return failed(std::move(lease).error(), operation);
    }
    if (abandon.parked) {
        if (auto good = check_text(*abandon.parked, "the reason"); !good) {
            return failed(std::move(good).error(), operation);
        }
    }
    op::AbandonTurn given{.instance = std::string{(*lease)->instance->id()}};
    const auto has_new_cancellation = [&] {
        const auto& own = (*lease)->messages;
        return std::ranges::any_of((*lease)->instance->inbox().visible, [&](const Message* each) {
            return each->cancels() && std::ranges::find(own, each->seq) == own.end();
        });
    };
    const auto waits = waits_after(abandon, now, has_new_cancellation);
    given.hidden_until = waits.instance;
    given.delayed_until = waits.messages;
    if (waits.messages) {
        given.delayed = (*lease)->messages;
        std::ranges::sort(given.delayed);
    }
    if (abandon.ignore_attempt) {
        given.uncounted = (*lease)->messages;
    }
    given.parked = abandon.parked;
    return Record{.at = now.wall, .operation = std::move(given)};
}

Result<>
renew_turn(Ledger& ledger, const std::string& lock_token, Duration extend_for, Moment now) {
    ledger.advance(now);
    auto lease = live_turn_lease(ledger, lock_token);
    if (!lease) {
        return failed(std::move(lease).error(), "renew_orchestration_item_lock");
    }
    ledger.turns.extend(**lease, now.steady_after(extend_for));
    return {};
}

} // namespace durable::ledger
