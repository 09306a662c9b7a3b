#include "providers/sqlite/turn_queue.hpp"

#include "providers/ledger/queueing.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace durable::sqlite {

namespace {

constexpr std::int64_t most_expired_at_once = 1000;
constexpr std::int64_t most_expired_kept = 1000;

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

Inserted insert_message(Transaction& tx,
                        const ledger::NewMessage& message,
                        std::int64_t instance,
                        bool instance_is_parked) {
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
        " item) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        seq,
        instance,
        state,
        visible_at,
        message.kind,
        timer ? std::optional{message.execution_id} : std::nullopt,
        timer ? std::optional{message.timer_id} : std::nullopt,
        message.text);
    return {.seq = seq, .state = state};
}

} // namespace

void add_message(Transaction& tx, const ledger::NewMessage& message) {
    if (const auto* backlog = tx.backlogs.find(message.instance);
        backlog != nullptr && !(backlog->parked && starts_instance(message.kind))) {
        (void)insert_message(tx, message, backlog->instance, backlog->parked);
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

// ---- Out of the way

namespace {

void after_removal(Transaction& tx, InstanceRow& row) {
    refresh_head(tx, row);
    // What is still parked stays where it is: going through all of it again for every message that
    // expires would cost the square of their number.
    if (row.place != Place::leased && row.place != Place::hidden &&
        (row.place != Place::parked || !row.head_seq)) {
        leave(tx, row);
        file(tx, row, false, false);
    }
    save_place(tx.db, row);
    drop_if_unused(tx, row);
}

bool expire_some(Transaction& tx) {
    const auto oldest = add_saturating(tx.now.wall, -tx.unstarted_message_ttl);
    std::set<std::int64_t> instances;
    std::vector<std::pair<std::int64_t, std::int64_t>> expired; // seq, instance
    {
        Query rows{tx.db,
                   "SELECT seq, instance FROM messages WHERE state = 2 AND visible_at <= ?1"
                   " ORDER BY visible_at LIMIT ?2",
                   oldest,
                   most_expired_at_once};
        while (rows.step()) {
            expired.emplace_back(rows.integer(0), rows.integer(1));
            instances.insert(rows.integer(1));
        }
    }
    std::ranges::sort(expired);
    for (const auto& [seq, instance] : expired) {
        run(tx.db,
            "INSERT INTO quarantine (expired, seq, queue, instance_id, item, reason,"
            " quarantined_at) SELECT 1, m.seq, 'orchestrator', i.instance_id, m.item,"
            " 'expired: its instance did not start in time', ?2"
            " FROM messages m JOIN instances i ON i.id = m.instance"
            " WHERE m.instance = ?3 AND m.state = 2 AND m.seq = ?1",
            seq,
            tx.now.wall,
            instance);
        run(tx.db,
            "DELETE FROM messages WHERE instance = ?1 AND state = 2 AND seq = ?2",
            instance,
            seq);
        ++tx.counters.expired;
    }
    for (const auto id : instances) {
        if (auto row = find_instance(tx.db, id)) {
            after_removal(tx, *row);
        }
    }
    if (expired.empty()) {
        return false;
    }
    run(tx.db,
        "DELETE FROM quarantine WHERE expired = 1 AND number <="
        " (SELECT number FROM quarantine WHERE expired = 1 ORDER BY number DESC"
        " LIMIT 1 OFFSET ?1)",
        most_expired_kept);
    return true;
}

} // namespace

void expire_messages(Transaction& tx) {
    const auto oldest = add_saturating(tx.now.wall, -tx.unstarted_message_ttl);
    if (tx.outlook.parked_wall > ledger::key_of(oldest)) {
        return;
    }
    while (expire_some(tx)) {
    }
    tx.outlook.parked_wall =
        find_integer(tx.db, "SELECT min(visible_at) FROM messages WHERE state = 2")
            .value_or(Due::never);
}

void quarantine_message(Transaction& tx,
                        InstanceRow& row,
                        std::uint64_t seq,
                        std::string_view text,
                        std::string_view reason) {
    quarantine(tx, ledger::Queue::orchestrator, seq, row.instance_id, text, reason);
    run(tx.db, "DELETE FROM messages WHERE instance = ?1 AND state = 1 AND seq = ?2", row.id, seq);
    after_removal(tx, row);
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
