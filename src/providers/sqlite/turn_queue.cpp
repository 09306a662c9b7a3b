#include "providers/sqlite/turn_queue.hpp"

#include "providers/ledger/queued_children.hpp"
#include "providers/ledger/queueing.hpp"

#include <algorithm>
#include <utility>

namespace durable::sqlite {

namespace {

bool starts_instance(std::int64_t kind) {
    return kind == ledger::kind_of<work::StartOrchestration> ||
           kind == ledger::kind_of<work::ContinueAsNew>;
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

// A message that has just become visible, in state `visible`.
void show(Transaction& tx, InstanceRow& row, std::int64_t seq, std::int64_t kind) {
    row.head_seq = std::min(row.head_seq.value_or(seq), seq);
    switch (row.place) {
    case Place::leased:
    case Place::hidden:
    case Place::ready:
        break;
    case Place::idle:
        file(tx, row, false, false);
        break;
    case Place::parked:
        if (starts_instance(kind)) {
            leave(tx, row);
            file(tx, row, false, false);
        } else {
            set_state(tx, row, seq, MessageState::visible, MessageState::parked);
            tx.outlook.parked_wall = Due::unknown;
        }
        break;
    }
}

bool has_visible_start(Transaction& tx, const InstanceRow& row) {
    return find_integer(tx.db,
                        "SELECT 1 FROM messages WHERE instance = ?1 AND state = 1"
                        " AND kind IN (?2, ?3) LIMIT 1",
                        row.id,
                        ledger::kind_of<work::StartOrchestration>,
                        ledger::kind_of<work::ContinueAsNew>)
        .has_value();
}

bool can_start(Transaction& tx, const InstanceRow& row) {
    return row.exists() || has_visible_start(tx, row) ||
           (row.past && stored_start(tx.db, row.id).has_value());
}

Place place_of(Transaction& tx, const InstanceRow& row, bool live_lease, bool hidden) {
    if (live_lease) {
        return Place::leased;
    }
    if (hidden) {
        return Place::hidden;
    }
    if (!row.head_seq) {
        return Place::idle;
    }
    return can_start(tx, row) ? Place::ready : Place::parked;
}

// Into the table. What that means for its instance is for the caller.
struct Inserted {
    std::int64_t seq;
    MessageState state;
};

// `lease`: of the turn that was taken before its message is stored.
Inserted insert_message(Transaction& tx,
                        const ledger::NewMessage& message,
                        std::int64_t instance,
                        bool instance_is_parked,
                        std::optional<std::int64_t> lease = {}) {
    const auto seq = static_cast<std::int64_t>(tx.counters.next_seq++);
    const auto visible_at = std::max(message.visible_at, tx.now.wall);
    const auto timer = message.kind == ledger::kind_of<work::TimerFired>;
    auto state = visible_at == tx.now.wall ? MessageState::visible : MessageState::delayed;
    if (state == MessageState::delayed) {
        tx.note_turn_due(visible_at);
    } else if (instance_is_parked && !starts_instance(message.kind)) { // behind those that wait
        state = MessageState::parked;
        tx.outlook.parked_wall = Due::unknown;
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
        ledger::calling_parent(message.kind, message.text));
    return {.seq = seq, .state = state};
}

// To somebody who waits for a turn, if the instance has nothing to do but this and can.
bool take_at_once(Transaction& tx, const ledger::NewMessage& message, InstanceRow& row) {
    if (tx.takers == nullptr || !tx.news.turns.empty() || row.place != Place::idle ||
        message.visible_at > tx.now.wall ||
        !(row.exists() || (starts_instance(message.kind) && !row.past))) {
        return false;
    }
    FreshTurn fresh{.row = row, .message = message};
    if (!tx.takers->take(tx, fresh)) {
        return false;
    }
    row.head_seq = insert_message(tx, message, row.id, false, row.lease).seq;
    return true;
}

} // namespace

void add_message(Transaction& tx, const ledger::NewMessage& message) {
    if (const auto* backlog = tx.backlogs.find(message.instance);
        backlog != nullptr && !(backlog->parked && starts_instance(message.kind))) {
        if (!backlog->parked && Arrivals::suits(message, tx.now.wall)) {
            const auto seq = static_cast<std::int64_t>(tx.counters.next_seq++);
            tx.arrivals.put_down(tx.db, seq, backlog->instance, message, tx.now.wall);
        } else {
            (void)insert_message(tx, message, backlog->instance, backlog->parked);
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
    if (known->place != place || known->head_seq != head_seq) {
        save_place(tx.db, *known);
    } else if (head_seq) {
        tx.backlogs.remember(known->instance_id,
                             {.instance = known->id, .parked = known->place == Place::parked});
    }
}

void add_message(Transaction& tx, const ledger::NewMessage& message, InstanceRow& held) {
    if (take_at_once(tx, message, held)) {
        return;
    }
    const auto [seq, state] = insert_message(tx, message, held.id, held.place == Place::parked);
    if (state == MessageState::parked) {
        held.head_seq = std::min(held.head_seq.value_or(seq), seq);
    } else if (state == MessageState::visible) {
        show(tx, held, seq, message.kind);
    }
}

void leave(Transaction& tx, InstanceRow& row) {
    if (row.place == Place::parked) {
        run(tx.db, "UPDATE messages SET state = 1 WHERE instance = ?1 AND state = 2", row.id);
    }
    row.place = Place::leased; // by whoever makes the change
}

void file(Transaction& tx, InstanceRow& row, bool live_lease, bool hidden) {
    row.place = place_of(tx, row, live_lease, hidden);
    switch (row.place) {
    case Place::ready:
        tx.news.turns.push_back(row.exists() ? row.pinned_version() : std::nullopt);
        break;
    case Place::parked:
        tx.arrivals.sort(tx.db, row.id);
        run(tx.db, "UPDATE messages SET state = 2 WHERE instance = ?1 AND state = 1", row.id);
        tx.outlook.parked_wall = Due::unknown;
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
    row.head_seq = find_integer(
        tx.db, "SELECT min(seq) FROM messages WHERE instance = ?1 AND state = 1", row.id);
    if (row.place == Place::parked) {
        row.head_seq = find_integer(
            tx.db, "SELECT min(seq) FROM messages WHERE instance = ?1 AND state = 2", row.id);
    }
}

// ---- Time

namespace {

struct DueMessage {
    std::int64_t seq;
    std::int64_t instance;
    std::int64_t kind;
};

void show_due_messages(Transaction& tx) {
    std::vector<DueMessage> due;
    {
        Query rows{tx.db,
                   "SELECT seq, instance, kind FROM messages"
                   " WHERE state = 0 AND visible_at <= ?1 ORDER BY visible_at",
                   tx.now.wall};
        while (rows.step()) {
            due.push_back({rows.integer(0), rows.integer(1), rows.integer(2)});
        }
    }
    for (const auto& message : due) {
        if (auto row = find_instance(tx.db, message.instance)) {
            set_state(tx, *row, message.seq, MessageState::delayed, MessageState::visible);
            show(tx, *row, message.seq, message.kind);
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
    if (due.wall <= ledger::key_of(tx.now.wall)) {
        due.wall = Due::never; // what is filed now may lower it
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
    if (due.steady <= ledger::key_of(tx.now.steady)) {
        due.steady = Due::never;
        refile(
            tx,
            ids_of(Query{tx.db,
                         "SELECT id FROM instances WHERE place = 3 AND until <= ?1 ORDER BY until",
                         tx.now.steady}));
        lower(due.steady, find_integer(tx.db, "SELECT min(until) FROM instances WHERE place = 3"));
    }
}

// ---- Choice

std::optional<InstanceRow> first_ready(Transaction& tx,
                                       const std::optional<CapabilityFilter>& filter) {
    std::optional<std::int64_t> best;
    std::int64_t best_seq = 0;
    std::string pinned;
    const auto consider = [&](Query&& row) {
        if (!row.step()) {
            return false;
        }
        pinned = row.text(0);
        const auto version = Version::parse(pinned);
        const auto suits = !filter || !version || filter->matches(*version);
        if (suits && (!best || row.integer(1) < best_seq)) {
            best = row.integer(2);
            best_seq = row.integer(1);
        }
        return true;
    };
    // Few versions are in use at a time: hop from one to the next.
    auto found = consider(Query{tx.db,
                                "SELECT pinned, head_seq, id FROM instances"
                                " WHERE place = 1 AND pinned >= ''"
                                " ORDER BY pinned, head_seq LIMIT 1"});
    while (found) {
        const auto last = pinned;
        found = consider(Query{tx.db,
                               "SELECT pinned, head_seq, id FROM instances"
                               " WHERE place = 1 AND pinned > ?1 ORDER BY pinned, head_seq LIMIT 1",
                               last});
    }
    return best ? find_instance(tx.db, *best) : std::nullopt;
}

} // namespace durable::sqlite
