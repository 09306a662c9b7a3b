#include "providers/sqlite/store/rows.hpp"

#include <durable/codec.hpp>

#include <utility>

namespace durable::sqlite {

namespace {

InstanceRow read_row(const Query& row) {
    InstanceRow read;
    read.id = row.integer(0);
    read.instance_id = row.text(1);
    read.number = row.number(2);
    read.name = row.optional_text(3);
    read.version = row.optional_text(4);
    read.parent_id = row.optional_text(5);
    read.created_at = row.instant(6);
    read.updated_at = row.instant(7);
    read.execution_id = row.number(8);
    if (!row.null(9)) {
        read.status = static_cast<ExecutionStatus>(row.integer(9));
    }
    read.pinned = row.text(10);
    read.revision = row.number(11);
    read.place = static_cast<Place>(row.integer(12));
    if (!row.null(13)) {
        read.head_seq = row.integer(13);
    }
    read.token = row.optional_text(14);
    read.lease = row.integer(15);
    read.until = SteadyInstant{Duration{row.integer(16)}};
    read.hidden_until = row.instant(17);
    read.past = row.integer(18) != 0;
    read.needs = read.stored_needs = row.text(19);
    if (!row.null(20)) {
        read.cancelled_at = read.stored_cancelled_at = row.instant(20);
    }
    if (!row.null(21)) {
        read.parked = Parked{.reason = row.text(21), .since = row.instant(22)};
    }
    return read;
}

#define DURABLE_INSTANCE_COLUMNS                                                                   \
    "SELECT id, instance_id, number, name, version, parent_id, created_at, updated_at,"            \
    " execution_id, status, pinned, revision, place, head_seq, token, lease, until,"               \
    " hidden_until_at, past, needs, cancelled_at, parked_reason, parked_since_at FROM instances"

// What `update` writes first, and what the end of a turn adds.
#define DURABLE_PLACE_COLUMNS                                                                      \
    "UPDATE instances SET place = ?2, head_seq = ?3, token = ?4, lease = ?5, until = ?6,"          \
    " hidden_until_at = ?7"
#define DURABLE_TURN_COLUMNS                                                                       \
    DURABLE_PLACE_COLUMNS ", updated_at = ?8, execution_id = ?9, revision = ?10, past = 1"

// Needs matter while the instance is ready, and seldom differ from the stored ones: then nothing is
// written. Called before the place is saved, which puts the instance into the index.
void save_needs(Connection& db, const InstanceRow& row) {
    if (row.place == Place::ready &&
        (row.needs != row.stored_needs || row.cancelled_at != row.stored_cancelled_at)) {
        run(db,
            "UPDATE instances SET needs = ?2, cancelled_at = ?3 WHERE id = ?1",
            row.id,
            row.needs,
            row.cancelled_at);
    }
}

template <class... More>
void update(Connection& db, const char* sql, const InstanceRow& row, const More&... more) {
    save_needs(db, row);
    run(db,
        sql,
        row.id,
        row.place,
        row.head_seq,
        row.token,
        row.lease,
        row.until,
        row.hidden_until,
        more...);
}

} // namespace

std::optional<InstanceRow> find_instance(Connection& db, std::string_view instance) {
    Query row{db, DURABLE_INSTANCE_COLUMNS " WHERE instance_id = ?1", instance};
    return row.step() ? std::optional{read_row(row)} : std::nullopt;
}

std::optional<InstanceRow> find_instance(Connection& db, std::int64_t id) {
    Query row{db, DURABLE_INSTANCE_COLUMNS " WHERE id = ?1", id};
    return row.step() ? std::optional{read_row(row)} : std::nullopt;
}

InstanceRow get_instance(Transaction& tx, std::string_view instance) {
    if (auto found = find_instance(tx.db, instance)) {
        return *std::move(found);
    }
    auto made = new_instance(tx, instance);
    insert_instance(tx.db, made);
    return made;
}

InstanceRow new_instance(Transaction& tx, std::string_view instance) {
    tx.note_change();
    InstanceRow made;
    made.id = static_cast<std::int64_t>(tx.counters.next_instance++);
    made.instance_id = instance;
    return made;
}

void insert_instance(Connection& db, const InstanceRow& row) {
    run(db,
        "INSERT INTO instances (id, instance_id, place, head_seq, token, lease, until, needs,"
        " cancelled_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        row.id,
        row.instance_id,
        row.place,
        row.head_seq,
        row.token,
        row.lease,
        row.until,
        row.needs,
        row.cancelled_at);
}

void put_started(Connection& db, const InstanceRow& row) {
    run(db,
        "INSERT OR REPLACE INTO instances (id, instance_id, number, name, version, parent_id,"
        " created_at, updated_at, execution_id, status, revision, past, place, head_seq, token,"
        " lease, until, hidden_until_at, needs, cancelled_at, pinned) VALUES (?1, ?2, ?3, ?4, ?5,"
        " ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)",
        row.id,
        row.instance_id,
        row.number,
        row.name,
        row.version,
        row.parent_id,
        row.created_at,
        row.updated_at,
        row.execution_id,
        row.status,
        row.revision,
        row.past ? 1 : 0,
        row.place,
        row.head_seq,
        row.token,
        row.lease,
        row.until,
        row.hidden_until,
        row.needs,
        row.cancelled_at,
        row.pinned);
}

void save_parked(Connection& db, const InstanceRow& row) {
    run(db,
        "UPDATE instances SET parked_reason = ?2, parked_since_at = ?3, revision = ?4"
        " WHERE id = ?1",
        row.id,
        row.parked ? std::optional{row.parked->reason} : std::nullopt,
        row.parked ? std::optional{row.parked->since} : std::nullopt,
        row.revision);
}

void save_place(Connection& db, const InstanceRow& row) {
    update(db, DURABLE_PLACE_COLUMNS " WHERE id = ?1", row);
}

void save_turn(Connection& db, const InstanceRow& row) {
    update(db,
           DURABLE_TURN_COLUMNS " WHERE id = ?1",
           row,
           row.updated_at,
           row.execution_id,
           row.revision);
}

void save_all(Connection& db, const InstanceRow& row) {
    update(db,
           DURABLE_TURN_COLUMNS ", number = ?11, name = ?12, version = ?13, parent_id = ?14,"
                                " created_at = ?15, status = ?16, pinned = ?17 WHERE id = ?1",
           row,
           row.updated_at,
           row.execution_id,
           row.revision,
           row.number == 0 ? std::nullopt : std::optional{row.number},
           row.name,
           row.version,
           row.parent_id,
           row.created_at,
           row.status,
           row.pinned);
}

void drop_if_unused(Transaction& tx, const InstanceRow& row) {
    if (row.exists() || row.token || row.place != Place::idle) {
        return;
    }
    run(tx.db,
        "DELETE FROM instances WHERE id = ?1"
        " AND NOT EXISTS (SELECT 1 FROM messages WHERE instance = ?1)"
        " AND NOT EXISTS (SELECT 1 FROM work WHERE instance = ?1)"
        " AND NOT EXISTS (SELECT 1 FROM executions WHERE instance = ?1)"
        " AND NOT EXISTS (SELECT 1 FROM history WHERE instance = ?1)",
        row.id);
}

void mirror_execution(Connection& db, InstanceRow& row) {
    Query current{db,
                  "SELECT status, pinned FROM executions"
                  " WHERE instance = ?1 AND execution_id = ?2",
                  row.id,
                  row.execution_id};
    row.status.reset();
    row.pinned.clear();
    if (current.step()) {
        row.status = static_cast<ExecutionStatus>(current.integer(0));
        row.pinned = current.text(1);
    }
}

std::uint64_t latest_execution(Connection& db, std::int64_t instance) {
    // Ids above the signed half are negative, and the higher ones.
    Query row{db,
              "SELECT coalesce((SELECT max(execution_id) FROM executions"
              " WHERE instance = ?1 AND execution_id < 0),"
              " (SELECT max(execution_id) FROM executions WHERE instance = ?1), 1)",
              instance};
    return row.step() ? row.number(0) : 1;
}

std::vector<std::string> events_above_half(Connection& db,
                                           std::int64_t instance,
                                           std::uint64_t execution_id,
                                           std::uint64_t from) {
    std::vector<std::string> texts;
    Query upper{db,
                "SELECT event FROM history WHERE instance = ?1 AND execution_id = ?2"
                " AND event_id < 0 AND event_id >= ?3 ORDER BY event_id",
                instance,
                execution_id,
                from};
    while (upper.step()) {
        texts.push_back(upper.text(0));
    }
    return texts;
}

std::vector<std::string> events_after(Connection& db,
                                      std::int64_t instance,
                                      std::uint64_t execution_id,
                                      std::uint64_t after) {
    std::vector<std::string> texts;
    if (static_cast<std::int64_t>(after) >= 0) {
        Query lower{db,
                    "SELECT event FROM history WHERE instance = ?1 AND execution_id = ?2"
                    " AND event_id > ?3 ORDER BY event_id",
                    instance,
                    execution_id,
                    after};
        while (lower.step()) {
            texts.push_back(lower.text(0));
        }
        after = std::uint64_t{1} << 63U; // the lowest of the negative ones, itself included
        --after;
    }
    for (auto& text : events_above_half(db, instance, execution_id, after + 1)) {
        texts.push_back(std::move(text));
    }
    return texts;
}

// P8: appends only; an id that is stored already is refused by the table.
Result<> append_events(Transaction& tx,
                       std::int64_t instance,
                       std::uint64_t execution_id,
                       const std::vector<rules::NewEvent>& events) {
    for (const auto& event : events) {
        run(tx.db,
            "INSERT OR IGNORE INTO history (instance, execution_id, event_id, event)"
            " VALUES (?1, ?2, ?3, ?4)",
            instance,
            execution_id,
            event.id,
            event.text);
        if (tx.db.changes() == 0) {
            return rules::taken_event(event.id);
        }
    }
    tx.counters.events += events.size();
    return {};
}

std::optional<history::OrchestrationStarted> start_in(const std::vector<std::string>& events) {
    std::optional<history::OrchestrationStarted> start;
    for (const auto& text : events) {
        auto event = decode_event(text);
        if (!event) {
            return std::nullopt;
        }
        if (auto* started = std::get_if<history::OrchestrationStarted>(&event->kind);
            started != nullptr && !start) {
            start = std::move(*started);
        }
    }
    return start;
}

std::optional<history::OrchestrationStarted> stored_start(Connection& db, std::int64_t instance) {
    return start_in(events_after(db, instance, latest_execution(db, instance), 0));
}

CustomStatus custom_status_of(Connection& db, std::int64_t instance) {
    Query row{db, "SELECT status, version FROM custom_status WHERE instance = ?1", instance};
    return row.step() ? CustomStatus{.status = row.optional_text(0), .version = row.number(1)}
                      : CustomStatus{};
}

void quarantine(Transaction& tx,
                rules::Queue queue,
                std::uint64_t seq,
                const std::optional<std::string>& instance,
                std::string_view text,
                std::string_view reason) {
    tx.note_change();
    ++tx.counters.quarantined;
    run(tx.db,
        "INSERT INTO quarantine (expired, seq, queue, instance_id, item, reason, quarantined_at)"
        " VALUES (0, ?1, ?2, ?3, ?4, ?5, ?6)",
        seq,
        queue == rules::Queue::orchestrator ? "orchestrator" : "worker",
        instance,
        text,
        reason,
        tx.now.wall);
}

void change_kv(Transaction& tx, std::int64_t instance, const rules::KvChange& change) {
    using Kind = rules::KvChange::Kind;
    constexpr const char* upsert =
        "INSERT OR REPLACE INTO kv_changes (instance, key, value, updated_at)"
        " VALUES (?1, ?2, ?3, ?4)";
    const auto now = to_epoch_ms(tx.now.wall);
    switch (change.kind) {
    case Kind::set:
        run(tx.db, upsert, instance, change.key, change.value, change.last_updated_at_ms);
        break;
    case Kind::clear:
        run(tx.db, upsert, instance, change.key, std::nullopt, now);
        break;
    case Kind::clear_all:
        run(tx.db,
            "UPDATE kv_changes SET value = NULL, updated_at = ?2 WHERE instance = ?1",
            instance,
            now);
        run(tx.db,
            "INSERT OR REPLACE INTO kv_changes (instance, key, value, updated_at)"
            " SELECT instance, key, NULL, ?2 FROM kv_store WHERE instance = ?1",
            instance,
            now);
        break;
    }
}

void merge_kv(Connection& db, std::int64_t instance) {
    if (!find_integer(db, "SELECT 1 FROM kv_changes WHERE instance = ?1 LIMIT 1", instance)) {
        return;
    }
    run(db,
        "INSERT OR REPLACE INTO kv_store (instance, key, value, updated_at)"
        " SELECT instance, key, value, updated_at FROM kv_changes"
        " WHERE instance = ?1 AND value IS NOT NULL",
        instance);
    run(db,
        "DELETE FROM kv_store WHERE instance = ?1 AND key IN"
        " (SELECT key FROM kv_changes WHERE instance = ?1 AND value IS NULL)",
        instance);
    run(db, "DELETE FROM kv_changes WHERE instance = ?1", instance);
}

} // namespace durable::sqlite
