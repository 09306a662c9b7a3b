#include "providers/ledger/turns.hpp"

#include "base/try.hpp"
#include "providers/ledger/delivery_order.hpp"
#include "providers/ledger/queueing.hpp"

#include <durable/codec.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace durable::ledger {

namespace {

constexpr std::string_view unknown_version = "unknown";

Result<TurnLease*> any_turn_lease(Ledger& ledger, const std::string& lock_token) {
    const auto token = Token::parse(lock_token);
    auto* lease = token ? ledger.turns.find_lease(*token) : nullptr;
    if (lease == nullptr) {
        return fail(ErrorCode::lock_lost, "Invalid lock token");
    }
    return lease;
}

Result<TurnLease*> live_turn_lease(Ledger& ledger, const std::string& lock_token) {
    DURABLE_TRY_ASSIGN(auto* lease, any_turn_lease(ledger, lock_token));
    if (lease->slot == no_slot) {
        return fail(ErrorCode::lock_lost,
                    "the lease on instance \"" + std::string{lease->instance->id()} +
                        "\" has expired");
    }
    return lease;
}

// Who the instance is. It has a row, or a stored history that tells, or a message that starts it.
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
    const auto take = [&](const auto& start) {
        item.orchestration_name = start.orchestration;
        item.version = start.version.value_or(std::string{unknown_version});
    };
    for (const auto& message : item.messages) {
        if (const auto* start = std::get_if<work::StartOrchestration>(&message)) {
            return take(*start);
        }
        if (const auto* next = std::get_if<work::ContinueAsNew>(&message)) {
            return take(*next);
        }
    }
}

Arrival arrival_of(const Message* message) {
    return {.at = message->visible_at,
            .seq = message->seq,
            .timer = message->kind == kind_of<work::TimerFired>};
}

// The events that the caller does not hold yet.
void attach_history(TurnOffer& offer, const Instance& instance, const CachedHistoryLookup& cached) {
    auto& item = *offer.item;
    const auto* execution = instance.find_execution(item.execution_id);
    if (execution == nullptr || execution->history.empty()) {
        return;
    }
    if (cached) {
        const auto held = cached(item.instance);
        const auto same = held && (held->incarnation == 0 || held->incarnation == item.incarnation);
        if (same && held->execution_id == item.execution_id &&
            execution->history.contains(held->last_event_id)) {
            item.history_after = held->last_event_id;
        }
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
        if (!decoded) { // P10
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
    offer.suspect = request.one_suspect && item.attempt_count > suspect_after;
    std::ranges::sort(fetch.messages); // records list them ascending
    offer.record.operation = std::move(fetch);
    identify(item, *instance);
    attach_history(offer, *instance, request.cached);
    if (item.history_after == 0 && instance->extras) {
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
    item.history.reserve(offer.history.size());
    for (std::size_t index = 0; index < offer.history.size(); ++index) {
        auto event = decode_event(offer.history[index]);
        if (!event) {
            item.history.clear();
            item.kv_snapshot.clear();
            item.history_after = 0;
            item.history_error = "stored history does not decode: " + event.error().message;
            return item;
        }
        item.history.push_back(*std::move(event));
    }
    return item;
}

namespace {

// Custom status and KV travel inside the events.
void collect_changes(op::CommitTurn& out, const std::vector<HistoryEvent>& events) {
    for (const auto& event : events) {
        if (const auto* status = std::get_if<history::CustomStatusUpdated>(&event.kind)) {
            out.custom_status = StatusChange{status->status};
        } else if (const auto* set = std::get_if<history::KeyValueSet>(&event.kind)) {
            out.kv.push_back({.kind = KvChange::Kind::set,
                              .key = set->key,
                              .value = set->value,
                              .last_updated_at_ms = set->last_updated_at_ms});
        } else if (const auto* cleared = std::get_if<history::KeyValueCleared>(&event.kind)) {
            out.kv.push_back({.kind = KvChange::Kind::clear, .key = cleared->key});
        } else if (std::holds_alternative<history::KeyValuesCleared>(event.kind)) {
            out.kv.push_back({.kind = KvChange::Kind::clear_all});
        }
    }
}

// New activities and cancelled ones. What is scheduled and cancelled in one turn never gets queued.
void collect_work(op::CommitTurn& out,
                  Ledger& ledger,
                  const TurnCommit& commit,
                  std::vector<NewWork> prepared,
                  Seq& seq,
                  Instant now) {
    const std::set<ActivityId> cancelled{commit.cancelled_activities.begin(),
                                         commit.cancelled_activities.end()};
    if (!cancelled.empty()) {
        std::erase_if(prepared,
                      [&](const NewWork& added) { return cancelled.contains(added.activity); });
    }
    for (auto& added : prepared) {
        added.seq = seq++;
        added.visible_at = now;
    }
    out.work = std::move(prepared);
    for (const auto& activity : cancelled) {
        if (const auto* instance = ledger.instances.find(activity.instance)) {
            const auto found =
                ledger.work.find(*instance, activity.execution_id, activity.activity_id);
            out.cancelled_work.insert(out.cancelled_work.end(), found.begin(), found.end());
        }
    }
}

// New messages and cancelled timers, likewise.
void collect_messages(op::CommitTurn& out,
                      Ledger& ledger,
                      const TurnCommit& commit,
                      std::vector<NewMessage> prepared,
                      Seq& seq,
                      Instant now) {
    const std::set<std::uint64_t> cancelled{commit.cancelled_timers.begin(),
                                            commit.cancelled_timers.end()};
    out.messages.reserve(prepared.size());
    for (std::size_t index = 0; index < prepared.size(); ++index) {
        auto& message = prepared[index];
        const auto timer = message.kind == kind_of<work::TimerFired> &&
                           message.instance == out.instance &&
                           message.execution_id == out.execution_id;
        if (!timer || !cancelled.contains(message.timer_id)) {
            message.seq = seq++;
            message.visible_at =
                visible_at(commit.orchestrator_items[index], now, Duration::zero());
            out.messages.push_back(std::move(message));
        }
    }
    const auto* instance = ledger.instances.find(out.instance);
    for (const auto timer : cancelled) {
        for (const auto found : ledger.turns.find_timers(*instance, out.execution_id, timer)) {
            if (!std::ranges::binary_search(out.consumed, found)) {
                out.cancelled_messages.push_back(found);
            }
        }
    }
}

Result<> check(const ExecutionMetadata& metadata) {
    if (metadata.status == ExecutionStatus::pending) {
        return fail(ErrorCode::invalid_argument, "a commit cannot make an execution pending");
    }
    const auto check = [](const std::optional<std::string>& text, std::string_view what) {
        return text ? check_text(*text, what) : Result<>{};
    };
    DURABLE_TRY(check(metadata.output, "the output"));
    DURABLE_TRY(check(metadata.orchestration_name, "the orchestration's name"));
    DURABLE_TRY(check(metadata.orchestration_version, "the orchestration's version"));
    return check(metadata.parent_instance_id, "the parent's id");
}

Result<op::CommitTurn> decide_commit(Ledger& ledger,
                                     const TurnCommit& commit,
                                     Result<PreparedTurn> prepared,
                                     Instant now) {
    DURABLE_TRY_ASSIGN(const auto* lease, live_turn_lease(ledger, commit.lock_token));
    op::CommitTurn out{.instance = std::string{lease->instance->id()},
                       .execution_id = commit.execution_id,
                       .consumed = lease->messages,
                       .metadata = commit.metadata};
    DURABLE_TRY_ASSIGN(auto ready, std::move(prepared));
    DURABLE_TRY(check_new(ready.events, lease->instance->find_execution(commit.execution_id)));
    out.events = std::move(ready.events);
    collect_changes(out, commit.history_delta);
    auto seq = ledger.next_seq();
    collect_work(out, ledger, commit, std::move(ready.work), seq, now);
    collect_messages(out, ledger, commit, std::move(ready.messages), seq, now);
    return out;
}

} // namespace

Result<PreparedTurn> prepare_turn(const TurnCommit& commit) {
    DURABLE_TRY(check(commit.metadata));
    PreparedTurn prepared;
    DURABLE_TRY_ASSIGN(prepared.events, to_events(commit.history_delta));
    for (const auto& item : commit.worker_items) {
        DURABLE_TRY_ASSIGN(auto added, to_work(item));
        prepared.work.push_back(std::move(added));
    }
    for (const auto& item : commit.orchestrator_items) {
        DURABLE_TRY_ASSIGN(auto message, to_message(item));
        prepared.messages.push_back(std::move(message));
    }
    return prepared;
}

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
    if (abandon.delay && *abandon.delay > Duration::zero()) {
        const auto until = now.wall_after(*abandon.delay);
        if (abandon.whole_instance) {
            // A cancellation that this turn was not given must not wait.
            const auto cancels = [&](const Message* message) {
                return message->cancels() && std::ranges::find((*lease)->messages, message->seq) ==
                                                 (*lease)->messages.end();
            };
            if (std::ranges::none_of((*lease)->instance->inbox().visible, cancels)) {
                given.hidden_until = until;
            }
        } else {
            given.delayed_until = until;
            given.delayed = (*lease)->messages;
            std::ranges::sort(given.delayed);
        }
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
