#include "providers/sqlite/store/turn_queue.hpp"

#include "providers/rules/stored.hpp"

#include <algorithm>
#include <utility>

namespace durable::sqlite {

namespace {

// The state of visible messages while their instance waits for a start.
MessageState aside_state(bool exists) {
    return exists ? MessageState::pending : MessageState::aside;
}

// One more message of these kinds may change what a turn needs, or end a hiding.
bool changes_needs(std::int64_t kind) {
    return rules::starts_instance(kind) || rules::cancels_instance(kind);
}

void set_state(Transaction& tx,
               const InstanceRow& row,
               std::int64_t seq,
               MessageState before,
               MessageState state) {
    run(tx.db,
        "UPDATE messages SET state = ?4 WHERE instance = ?1 AND state = ?3 AND seq = ?2",
        row.id,
        seq,
        before,
        state);
}

void announce_turn(Transaction& tx, InstanceRow& row, const SoleMessage* sole) {
    tx.news.turns.push_back({.needs = determine_needs(tx.db, row, sole), .cancelled_at = {}});
    tx.news.turns.back().cancelled_at = row.cancelled_at;
}

// A message that has just become visible, in state `visible`.
void show(Transaction& tx, InstanceRow& row, std::int64_t seq, const SoleMessage& message) {
    row.head_seq = std::min(row.head_seq.value_or(seq), seq);
    const auto refile = [&] {
        leave(tx, row);
        row.hidden_until = {};
        file(tx, row, false, false);
    };
    switch (row.place) {
    case Place::leased:
        break;
    case Place::hidden:
        if (rules::cancels_instance(message.kind)) { // ends the hiding
            refile();
        }
        break;
    case Place::ready:
        if (changes_needs(message.kind) ||
            message.attempts >= static_cast<std::int64_t>(suspect_after)) {
            announce_turn(tx, row, nullptr);
        }
        break;
    case Place::idle:
        file(tx, row, false, false, &message);
        break;
    case Place::aside:
        if (rules::starts_instance(message.kind)) {
            refile();
        } else {
            set_state(tx, row, seq, MessageState::visible, aside_state(row.exists()));
            tx.outlook.aside_wall = Due::unknown;
        }
        break;
    }
}

bool has_visible_start(Transaction& tx, const InstanceRow& row) {
    return find_integer(tx.db,
                        "SELECT 1 FROM messages WHERE instance = ?1 AND state = 1"
                        " AND kind IN (?2, ?3) LIMIT 1",
                        row.id,
                        rules::item_kind<work::StartOrchestration>,
                        rules::item_kind<work::ContinueAsNew>)
        .has_value();
}

// P15: the messages of a pending instance wait for the start that made it, the first in its queue.
bool own_start_is_visible(Transaction& tx, const InstanceRow& row) {
    const auto first = [&](MessageState state) {
        return find_integer(tx.db,
                            "SELECT min(seq) FROM messages"
                            " WHERE instance = ?1 AND state = ?2 AND kind = ?3",
                            row.id,
                            state,
                            rules::item_kind<work::StartOrchestration>);
    };
    const auto visible = first(MessageState::visible);
    const auto delayed = visible ? first(MessageState::delayed) : std::nullopt;
    return visible && (!delayed || *visible < *delayed);
}

bool can_start(Transaction& tx, const InstanceRow& row, const SoleMessage* sole) {
    if (row.exists()) {
        return !row.pending() || (sole != nullptr && sole->own_start) ||
               own_start_is_visible(tx, row);
    }
    return (sole != nullptr ? rules::starts_instance(sole->kind) : has_visible_start(tx, row)) ||
           (row.past && stored_start(tx.db, row.id).has_value());
}

Place place_of(Transaction& tx,
               const InstanceRow& row,
               bool live_lease,
               bool hidden,
               const SoleMessage* sole) {
    if (live_lease) {
        return Place::leased;
    }
    if (hidden) {
        return Place::hidden;
    }
    if (!row.head_seq) {
        return Place::idle;
    }
    return can_start(tx, row, sole) ? Place::ready : Place::aside;
}

// A message in the table. Its caller updates the instance.
struct Inserted {
    std::int64_t seq;
    MessageState state;
};

// `aside`: the state of messages of an instance that waits for a start. `lease`: of the waiter that
// was handed the turn.
Inserted insert_message(Transaction& tx,
                        const rules::NewMessage& message,
                        std::int64_t instance,
                        std::optional<MessageState> aside,
                        std::optional<std::int64_t> lease = {}) {
    const auto seq = tx.new_seq();
    const auto visible_at = std::max(message.visible_at, tx.now.wall);
    const auto timer = message.kind == rules::item_kind<work::TimerFired>;
    auto state = visible_at == tx.now.wall ? MessageState::visible : MessageState::delayed;
    if (state == MessageState::delayed) {
        tx.note_turn_due(visible_at);
    } else if (aside && !rules::starts_instance(message.kind)) { // waits with the others
        state = *aside;
        tx.outlook.aside_wall = Due::unknown;
    }
    run(tx.db,
        "INSERT INTO messages (seq, instance, state, visible_at, kind, execution_id, timer_id,"
        " item, attempts, lease, parent_id)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        seq,
        instance,
        state,
        visible_at,
        message.kind,
        timer ? std::optional{message.execution_id} : std::nullopt,
        timer ? std::optional{message.timer_id} : std::nullopt,
        message.text,
        lease ? 1 : 0,
        lease,
        rules::calling_parent(message.kind, message.text));
    return {.seq = seq, .state = state};
}

// Hand-off: gives the turn to a waiting fetch, if this message is all that the instance has to do.
bool take_at_once(Transaction& tx,
                  const rules::NewMessage& message,
                  InstanceRow& row,
                  bool own_start) {
    const auto able = row.exists() ? !row.pending() || own_start
                                   : rules::starts_instance(message.kind) && !row.past;
    if (tx.takers == nullptr || !tx.news.turns.empty() || row.place != Place::idle ||
        message.visible_at > tx.now.wall || !able) {
        return false;
    }
    FreshTurn fresh{.row = row, .message = message};
    if (!tx.takers->take(tx, fresh)) {
        return false;
    }
    row.head_seq = insert_message(tx, message, row.id, std::nullopt, row.lease).seq;
    return true;
}

std::optional<MessageState> aside_state(const InstanceRow& row) {
    return row.place == Place::aside ? std::optional{aside_state(row.exists())} : std::nullopt;
}

} // namespace

void add_message(Transaction& tx, const rules::NewMessage& message) {
    if (const auto* backlog =
            changes_needs(message.kind) ? nullptr : tx.backlogs.find(message.instance)) {
        if (!backlog->aside && Arrivals::suits(message, tx.now.wall)) {
            tx.arrivals.put_down(tx.db, tx.new_seq(), backlog->instance, message, tx.now.wall);
        } else {
            (void)insert_message(tx, message, backlog->instance, backlog->aside);
        }
        return;
    }
    auto known = find_instance(tx.db, message.instance);
    if (!known) {
        auto made = new_instance(tx, message.instance);
        add_message(tx, message, made);
        insert_instance(tx.db, made);
        return;
    }
    const auto place = known->place;
    const auto head_seq = known->head_seq;
    add_message(tx, message, *known);
    if (known->place != place || known->head_seq != head_seq ||
        known->needs != known->stored_needs || known->cancelled_at != known->stored_cancelled_at) {
        save_place(tx.db, *known);
    } else if (head_seq) {
        const auto aside = aside_state(*known);
        tx.backlogs.remember(known->instance_id, {.instance = known->id, .aside = aside});
    }
}

void add_message(Transaction& tx,
                 const rules::NewMessage& message,
                 InstanceRow& held,
                 bool own_start) {
    if (take_at_once(tx, message, held, own_start)) {
        return;
    }
    const auto [seq, state] = insert_message(tx, message, held.id, aside_state(held));
    if (state == MessageState::visible) {
        show(tx,
             held,
             seq,
             {.kind = message.kind,
              .visible_at = tx.now.wall,
              .text = message.text,
              .own_start = own_start});
    } else if (state != MessageState::delayed) {
        held.head_seq = std::min(held.head_seq.value_or(seq), seq);
    }
}

void leave(Transaction& tx, InstanceRow& row) {
    if (row.place == Place::aside) {
        run(tx.db,
            "UPDATE messages SET state = 1 WHERE instance = ?1 AND state = ?2",
            row.id,
            aside_state(row.exists()));
    }
    row.place = Place::leased; // until the caller has made its change
}

void file(
    Transaction& tx, InstanceRow& row, bool live_lease, bool hidden, const SoleMessage* sole) {
    row.place = place_of(tx, row, live_lease, hidden, sole);
    switch (row.place) {
    case Place::ready:
        announce_turn(tx, row, sole);
        break;
    case Place::aside:
        tx.arrivals.sort(tx.db, row.id);
        run(tx.db,
            "UPDATE messages SET state = ?2 WHERE instance = ?1 AND state = 1",
            row.id,
            aside_state(row.exists()));
        tx.outlook.aside_wall = Due::unknown;
        break;
    case Place::hidden:
        tx.note_turn_due(row.hidden_until);
        break;
    case Place::leased:
        tx.note_turn_due(row.until);
        break;
    case Place::idle:
        break;
    }
}

void refresh_head(Transaction& tx, InstanceRow& row) {
    tx.arrivals.sort(tx.db, row.id);
    row.head_seq =
        find_integer(tx.db,
                     "SELECT min(seq) FROM messages WHERE instance = ?1 AND state = ?2",
                     row.id,
                     row.place == Place::aside ? aside_state(row.exists()) : MessageState::visible);
}

// ---- Time

namespace {

struct DueMessage {
    std::int64_t seq;
    std::int64_t instance;
    SoleMessage message;
};

void show_due_messages(Transaction& tx) {
    std::vector<DueMessage> due;
    {
        Query rows{tx.db,
                   "SELECT seq, instance, kind, attempts, visible_at FROM messages"
                   " WHERE state = 0 AND visible_at <= ?1 ORDER BY visible_at",
                   tx.now.wall};
        while (rows.step()) {
            due.push_back({rows.integer(0),
                           rows.integer(1),
                           {.kind = rows.integer(2),
                            .attempts = rows.integer(3),
                            .visible_at = rows.instant(4),
                            .text = {}}});
        }
    }
    for (const auto& [seq, instance, message] : due) {
        if (auto row = find_instance(tx.db, instance)) {
            set_state(tx, *row, seq, MessageState::delayed, MessageState::visible);
            show(tx, *row, seq, message);
            save_place(tx.db, *row);
        }
    }
}

std::vector<std::int64_t> ids_of(Query&& rows) {
    std::vector<std::int64_t> ids;
    while (rows.step()) {
        ids.push_back(rows.integer(0));
    }
    return ids;
}

void refile(Transaction& tx, const std::vector<std::int64_t>& ids) {
    for (const auto id : ids) {
        if (auto row = find_instance(tx.db, id)) {
            leave(tx, *row);
            file(tx, *row, false, false);
            save_place(tx.db, *row);
        }
    }
}

void lower(std::int64_t& due, std::optional<std::int64_t> other) {
    due = std::min(due, other.value_or(Due::never));
}

} // namespace

void advance_turns(Transaction& tx) {
    auto& due = tx.outlook.turns;
    if (due.wall <= rules::key_of(tx.now.wall)) {
        due.wall = Due::never; // filing may lower it
        show_due_messages(tx);
        refile(tx,
               ids_of(Query{tx.db,
                            "SELECT id FROM instances WHERE place = 2 AND hidden_until_at <= ?1"
                            " ORDER BY hidden_until_at",
                            tx.now.wall}));
        lower(due.wall,
              find_integer(tx.db, "SELECT min(visible_at) FROM messages WHERE state = 0"));
        lower(due.wall,
              find_integer(tx.db, "SELECT min(hidden_until_at) FROM instances WHERE place = 2"));
    }
    if (due.steady <= rules::key_of(tx.now.steady)) {
        due.steady = Due::never;
        refile(
            tx,
            ids_of(Query{tx.db,
                         "SELECT id FROM instances WHERE place = 3 AND until <= ?1 ORDER BY until",
                         tx.now.steady}));
        lower(due.steady, find_integer(tx.db, "SELECT min(until) FROM instances WHERE place = 3"));
    }
}

} // namespace durable::sqlite
