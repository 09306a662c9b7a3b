#include "providers/sqlite/store/turns.hpp"

#include "base/try.hpp"
#include "providers/rules/abandon.hpp"
#include "providers/rules/delivery.hpp"
#include "providers/rules/delivery_order.hpp"
#include "providers/sqlite/store/token.hpp"

#include <durable/codec.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace durable::sqlite {

namespace {

// P9: the values that earlier executions left.
void attach_values(Connection& db, TurnOffer& offer) {
    Query rows{
        db, "SELECT key, value, updated_at FROM kv_store WHERE instance = ?1", offer.instance};
    while (rows.step()) {
        offer.item.kv_snapshot[rows.text(0)] = {.value = rows.text(1),
                                                .last_updated_at_ms = rows.number(2)};
    }
}

// Name, version and execution of the instance: from its row, or its stored history, or the message
// that starts it.
void identify(Transaction& tx, TurnOffer& offer, const InstanceRow& row) {
    auto& item = offer.item;
    item.instance = row.instance_id;
    item.incarnation = static_cast<std::uint64_t>(row.id);
    if (row.exists()) {
        item.orchestration_name = *row.name;
        item.version = *row.version;
        item.execution_id = row.execution_id;
        offer.has_history = !row.past; // there is none
        return;
    }
    item.execution_id = 1;
    offer.has_history = true;
    if (row.past) {
        item.execution_id = latest_execution(tx.db, row.id);
        offer.events = events_after(tx.db, row.id, item.execution_id, 0);
        attach_values(tx.db, offer);
    }
    if (const auto started = start_in(offer.events)) {
        item.orchestration_name = started->name;
        item.version = started->version;
        return;
    }
    rules::name_by_messages(item);
}

// The few events after those that the caller holds, if it does hold some.
void attach_newest(Connection& db, TurnOffer& offer, const CachedHistoryLookup& cached) {
    constexpr std::size_t most = 64;
    auto& item = offer.item;
    const auto held = rules::held_event(item, cached);
    if (!held || static_cast<std::int64_t>(*held) <= 0) {
        return;
    }
    Query rows{db,
               "SELECT event_id, event FROM history WHERE instance = ?1 AND execution_id = ?2"
               " AND event_id >= ?3 ORDER BY event_id",
               offer.instance,
               item.execution_id,
               *held};
    if (!rows.step() || rows.number(0) != *held) {
        return;
    }
    while (rows.step()) {
        if (offer.events.size() == most) {
            offer.events.clear();
            return;
        }
        offer.events.push_back(rows.text(1));
    }
    for (auto& text : events_above_half(db, offer.instance, item.execution_id)) {
        offer.events.push_back(std::move(text));
    }
    item.history_after = *held;
    offer.has_history = true;
}

struct Visible {
    rules::Arrival arrival;
    WorkItem item;
};

// Reads the visible messages; false: one did not decode and was quarantined.
bool take_messages(Transaction& tx, InstanceRow& row, OrchestrationItem& item) {
    std::vector<Visible> messages;
    std::uint64_t damaged = 0;
    std::string text;
    std::string reason;
    tx.arrivals.sort(tx.db, row.id);
    {
        Query rows{tx.db,
                   "SELECT seq, attempts, item, coalesce(arrived_at, visible_at) FROM messages"
                   " WHERE instance = ?1 AND state = 1 ORDER BY seq",
                   row.id};
        while (rows.step()) {
            auto decoded = decode_work_item(rows.view(2));
            reason = rules::damage_of(decoded, row.instance_id);
            if (!reason.empty()) {
                damaged = rows.number(0);
                text = rows.text(2);
                break;
            }
            const auto timer = std::holds_alternative<work::TimerFired>(*decoded);
            messages.push_back(
                {.arrival = {.at = rows.instant(3), .seq = rows.number(0), .timer = timer},
                 .item = *std::move(decoded)});
            item.attempt_count =
                std::max(item.attempt_count, static_cast<std::uint32_t>(rows.integer(1) + 1));
        }
    }
    if (damaged != 0) { // P10, P13: nothing is leased or counted
        quarantine_message(tx, row, damaged, text, reason);
        return false;
    }
    rules::put_in_delivery_order(messages, [](const Visible& it) { return it.arrival; });
    item.messages.reserve(messages.size());
    for (auto& message : messages) {
        item.messages.push_back(std::move(message.item));
    }
    return true;
}

} // namespace

Result<InstanceRow> any_turn_lease(Transaction& tx, const std::string& lock_token) {
    if (const auto id = leased_number('t', lock_token)) {
        if (auto row = find_instance(tx.db, *id); row && row->token == lock_token) {
            return *std::move(row);
        }
    }
    return fail(ErrorCode::lock_lost, "Invalid lock token");
}

// P3: a commit and a renewal need a live lease; an abandon also works with an expired one.
Result<InstanceRow> live_turn_lease(Transaction& tx, const std::string& lock_token) {
    DURABLE_TRY_ASSIGN(auto row, any_turn_lease(tx, lock_token));
    if (row.place != Place::leased) {
        return fail(ErrorCode::lock_lost,
                    "the lease on instance \"" + row.instance_id + "\" has expired");
    }
    return row;
}

namespace {

// P1: replaces the token, which the row has one of. The caller saves the row and marks the
// messages.
void lease_turn(Transaction& tx, InstanceRow& row, const FetchOrchestration& request) {
    row.token = new_token('t', row.id, tx.life, tx.random);
    row.lease = static_cast<std::int64_t>(tx.counters.next_lease++);
    row.until = tx.now.steady_after(request.lock_timeout);
    leave(tx, row);
    file(tx, row, true, false);
}

} // namespace

namespace {

bool has_older(Transaction& tx, const FetchOrchestration& request) {
    auto& known = tx.older_turns;
    if (!known || !fetch_the_same(*known->first, request)) {
        known = {&request, first_ready(tx, request).has_value()};
    }
    return known->second;
}

} // namespace

std::optional<TurnOffer>
take_fresh_turn(Transaction& tx, const FetchOrchestration& request, FreshTurn& fresh) {
    if (fresh.unseen && has_older(tx, request)) {
        return std::nullopt;
    }
    auto& row = fresh.row;
    if (!fresh.item) {
        fresh.item = decode_work_item(fresh.message.text);
    }
    if (!rules::damage_of(*fresh.item, row.instance_id).empty()) {
        return std::nullopt;
    }
    TurnOffer offer{.item = {}, .instance = row.id};
    offer.item.messages.push_back(**std::move(fresh.item));
    offer.item.attempt_count = 1;
    identify(tx, offer, row);
    if (!offer.has_history) {
        attach_newest(tx.db, offer, request.cached);
    }
    lease_turn(tx, row, request);
    offer.item.lock_token = *row.token;
    return offer;
}

std::optional<TurnOffer> fetch_turn(Transaction& tx, const FetchOrchestration& request) {
    expire_messages(tx);
    while (auto row = first_ready(tx, request)) {
        TurnOffer offer{.item = {}, .instance = row->id};
        if (!take_messages(tx, *row, offer.item)) {
            continue;
        }
        identify(tx, offer, *row);
        if (!offer.has_history) {
            attach_newest(tx.db, offer, request.cached);
        }
        lease_turn(tx, *row, request);
        run(tx.db, // P7
            "UPDATE messages SET attempts = attempts + 1, lease = ?2"
            " WHERE instance = ?1 AND state = 1",
            row->id,
            row->lease);
        save_place(tx.db, *row);
        offer.item.lock_token = *row->token;
        if (request.one_suspect && rules::is_suspect(offer.item.attempt_count - 1)) { // P16
            tx.suspects.hold(*row->token);
        }
        return offer;
    }
    return std::nullopt;
}

void attach_history(Connection& db, TurnOffer& offer, const CachedHistoryLookup& cached) {
    auto& item = offer.item;
    const auto held = rules::held_event(item, cached);
    if (held && find_integer(db,
                             "SELECT 1 FROM history WHERE instance = ?1 AND execution_id = ?2"
                             " AND event_id = ?3",
                             offer.instance,
                             item.execution_id,
                             *held)) {
        item.history_after = *held;
    }
    offer.events = events_after(db, offer.instance, item.execution_id, item.history_after);
    offer.has_history = true;
    if (item.history_after == 0) {
        attach_values(db, offer);
    }
}

OrchestrationItem unpack(TurnOffer offer) {
    auto& item = offer.item;
    rules::decode_history(
        item, offer.events.size(), [&](std::size_t i) -> const auto& { return offer.events[i]; });
    return std::move(item);
}

namespace {

// Hides the messages of the lease; newcomers stay visible. P5: they keep their place in the order
// of delivery, by the time at which they first became visible.
void delay_messages(Transaction& tx, InstanceRow& row, Instant until) {
    run(tx.db,
        "UPDATE messages SET state = 0, arrived_at = coalesce(arrived_at, visible_at),"
        " visible_at = ?3 WHERE instance = ?1 AND state = 1 AND lease = ?2",
        row.id,
        row.lease,
        until);
    tx.note_turn_due(until);
    refresh_head(tx, row);
}

// A cancellation that the turn was not given must not wait.
bool has_new_cancellation(Transaction& tx, const InstanceRow& row) {
    return find_integer(tx.db,
                        "SELECT 1 FROM messages WHERE instance = ?1 AND state = 1 AND kind = ?2"
                        " AND lease IS NOT ?3 LIMIT 1",
                        row.id,
                        rules::item_kind<work::CancelInstance>,
                        row.lease)
        .has_value();
}

void note_reason(Transaction& tx, InstanceRow& row, const std::optional<std::string>& reason) {
    if (!reason || !row.exists() || (row.parked && row.parked->reason == *reason)) {
        return;
    }
    row.parked = Parked{.reason = *reason, .since = tx.now.wall};
    row.revision = tx.note_change();
    save_parked(tx.db, row);
    tx.news.instances.push_back({.id = row.instance_id, .ended = false, .state = {}});
}

} // namespace

Result<> abandon_turn(Transaction& tx, const AbandonTurn& abandon) {
    DURABLE_TRY_ASSIGN(auto row, any_turn_lease(tx, abandon.lock_token));
    if (abandon.parked) {
        DURABLE_TRY(rules::check_text(*abandon.parked, "the reason"));
    }
    leave(tx, row);
    if (abandon.ignore_attempt) {
        run(tx.db,
            "UPDATE messages SET attempts = attempts - 1"
            " WHERE instance = ?1 AND state = 1 AND lease = ?2 AND attempts > 0",
            row.id,
            row.lease);
    }
    row.token.reset();
    const auto waits =
        rules::waits_after(abandon, tx.now, [&] { return has_new_cancellation(tx, row); });
    if (waits.messages) {
        delay_messages(tx, row, *waits.messages);
    }
    row.hidden_until = waits.instance.value_or(Instant{});
    file(tx, row, false, waits.instance.has_value());
    save_place(tx.db, row);
    note_reason(tx, row, abandon.parked);
    drop_if_unused(tx, row);
    return {};
}

Result<> renew_turn(Transaction& tx, const std::string& lock_token, Duration extend_for) {
    DURABLE_TRY_ASSIGN(auto row, live_turn_lease(tx, lock_token));
    row.until = tx.now.steady_after(extend_for);
    file(tx, row, true, false);
    save_place(tx.db, row);
    return {};
}

} // namespace durable::sqlite
