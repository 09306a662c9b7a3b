// The steps that make the schema, one for each of its versions.

#include "providers/sqlite/store/schema.hpp"

#include <array>
#include <string>

namespace durable::sqlite {

namespace {

// Version 1. Times ending in _at are milliseconds since 1970; `until` and `active` are on the clock
// that all processes of the machine share (see docs). The numbers of places and states are those of
// the enums in rows.hpp.
constexpr const char* version_1 = R"sql(
CREATE TABLE store (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    boot TEXT NOT NULL,             -- the run of the machine that the leases belong to
    next_seq INTEGER NOT NULL,      -- of both queues
    next_instance INTEGER NOT NULL,
    next_number INTEGER NOT NULL,
    next_lease INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    executions INTEGER NOT NULL,
    events INTEGER NOT NULL,
    quarantined INTEGER NOT NULL,
    expired INTEGER NOT NULL
);
INSERT INTO store VALUES (1, '', 1, 1, 1, 1, 0, 0, 0, 0, 0);

-- One row per id that anything is known about. Without a name it is only heard of.
CREATE TABLE instances (
    id INTEGER PRIMARY KEY,         -- never used twice: the incarnation
    instance_id TEXT NOT NULL UNIQUE,
    number INTEGER,                 -- in order of creation
    name TEXT,
    version TEXT,
    parent_id TEXT,
    created_at INTEGER,
    updated_at INTEGER,
    execution_id INTEGER,           -- the current one
    status INTEGER,                 -- of the current execution; NULL: it has no record
    pinned TEXT NOT NULL DEFAULT '',
    revision INTEGER NOT NULL DEFAULT 0,
    past INTEGER NOT NULL DEFAULT 0, -- whether it ever had an execution or an event
    place INTEGER NOT NULL DEFAULT 0,
    head_seq INTEGER,               -- the oldest visible message
    token TEXT,
    lease INTEGER,                  -- marks the messages that the turn was given
    until INTEGER,                  -- the end of the lease
    hidden_until_at INTEGER
);
CREATE INDEX instances_ready ON instances (pinned, head_seq) WHERE place = 1;
CREATE INDEX instances_hidden ON instances (hidden_until_at) WHERE place = 2;
CREATE INDEX instances_leased ON instances (until) WHERE place = 3;
CREATE INDEX instances_by_status ON instances (status, number) WHERE name IS NOT NULL;
CREATE INDEX instances_by_parent ON instances (parent_id, number) WHERE parent_id IS NOT NULL;

CREATE TABLE executions (
    instance INTEGER NOT NULL,
    execution_id INTEGER NOT NULL,
    status INTEGER NOT NULL,
    output TEXT,
    started_at INTEGER NOT NULL,
    completed_at INTEGER,
    pinned TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (instance, execution_id)
) WITHOUT ROWID;

CREATE TABLE history (
    instance INTEGER NOT NULL,
    execution_id INTEGER NOT NULL,
    event_id INTEGER NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY (instance, execution_id, event_id)
) WITHOUT ROWID;

CREATE TABLE messages (
    seq INTEGER NOT NULL,           -- never used twice
    instance INTEGER NOT NULL,
    state INTEGER NOT NULL,
    visible_at INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    execution_id INTEGER,           -- of a timer
    timer_id INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    lease INTEGER,
    item TEXT NOT NULL,
    PRIMARY KEY (instance, state, seq)
) WITHOUT ROWID;
CREATE INDEX messages_delayed ON messages (visible_at) WHERE state = 0;
CREATE INDEX messages_parked ON messages (visible_at) WHERE state = 2;
CREATE INDEX messages_timers ON messages (instance, execution_id, timer_id)
    WHERE timer_id IS NOT NULL;

CREATE TABLE work (
    seq INTEGER PRIMARY KEY,
    instance INTEGER NOT NULL,
    execution_id INTEGER NOT NULL,
    activity_id INTEGER NOT NULL,
    session TEXT,
    tag TEXT,
    state INTEGER NOT NULL,
    visible_at INTEGER NOT NULL,
    token TEXT,
    until INTEGER,                  -- the end of the lease
    attempts INTEGER NOT NULL DEFAULT 0,
    item TEXT NOT NULL
);
CREATE INDEX work_open ON work (tag, seq) WHERE state = 1 AND session IS NULL;
CREATE INDEX work_delayed ON work (visible_at) WHERE state = 0;
CREATE INDEX work_leased ON work (until) WHERE state = 2;
CREATE INDEX work_by_activity ON work (instance, execution_id, activity_id);
CREATE INDEX work_by_session ON work (session, tag, state, seq) WHERE session IS NOT NULL;

-- Items of one session and tag, which the same workers may take.
CREATE TABLE work_groups (
    id INTEGER PRIMARY KEY,
    session TEXT NOT NULL,
    tag TEXT,
    head_seq INTEGER,               -- the oldest item that is ready
    live INTEGER NOT NULL           -- whether somebody owns the session
);
CREATE INDEX work_groups_by_session ON work_groups (session, tag);
CREATE INDEX work_groups_unclaimed ON work_groups (tag, head_seq)
    WHERE live = 0 AND head_seq IS NOT NULL;

CREATE TABLE sessions (
    session TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    live INTEGER NOT NULL,
    until INTEGER NOT NULL,
    active INTEGER NOT NULL         -- the last sign of use
) WITHOUT ROWID;
CREATE INDEX sessions_by_end ON sessions (live, until);
CREATE INDEX sessions_by_owner ON sessions (owner) WHERE live = 1;

CREATE TABLE custom_status (
    instance INTEGER PRIMARY KEY,
    status TEXT,
    version INTEGER NOT NULL
);

-- What ended executions left, and what the running one changed (NULL: deleted).
CREATE TABLE kv_store (
    instance INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (instance, key)
) WITHOUT ROWID;
CREATE TABLE kv_changes (
    instance INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (instance, key)
) WITHOUT ROWID;

CREATE TABLE quarantine (
    number INTEGER PRIMARY KEY,
    expired INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    queue TEXT NOT NULL,
    instance_id TEXT,
    item TEXT NOT NULL,
    reason TEXT NOT NULL,
    quarantined_at INTEGER NOT NULL
);
CREATE INDEX quarantine_by_kind ON quarantine (expired, number);

-- For those who watch an instance that is deleted.
CREATE TABLE deleted (
    revision INTEGER PRIMARY KEY,
    instance_id TEXT NOT NULL UNIQUE
);

CREATE VIEW durable_instances AS
SELECT i.instance_id, i.name, i.version, i.execution_id,
       CASE i.status WHEN 0 THEN 'Running' WHEN 1 THEN 'Completed' WHEN 2 THEN 'Failed'
                     WHEN 3 THEN 'ContinuedAsNew' ELSE 'Unknown' END AS status,
       e.output, c.status AS custom_status, i.parent_id,
       strftime('%Y-%m-%d %H:%M:%f', i.created_at / 1000.0, 'unixepoch') AS created,
       strftime('%Y-%m-%d %H:%M:%f', i.updated_at / 1000.0, 'unixepoch') AS updated
FROM instances i
LEFT JOIN executions e ON e.instance = i.id AND e.execution_id = i.execution_id
LEFT JOIN custom_status c ON c.instance = i.id
WHERE i.name IS NOT NULL;

CREATE VIEW durable_history AS
SELECT i.instance_id, h.execution_id, h.event_id,
       CASE WHEN json_valid(h.event) THEN json_extract(h.event, '$.type') END AS type, h.event
FROM history h JOIN instances i ON i.id = h.instance;

CREATE VIEW durable_pending AS
SELECT 'orchestrator' AS queue, m.seq, i.instance_id,
       CASE m.state WHEN 0 THEN 'delayed' WHEN 2 THEN 'waits for a start'
                    ELSE CASE WHEN i.place = 3 AND m.lease = i.lease THEN 'running'
                              ELSE 'ready' END END AS state,
       strftime('%Y-%m-%d %H:%M:%f', m.visible_at / 1000.0, 'unixepoch') AS visible,
       m.attempts, NULL AS tag, NULL AS session, m.item
FROM messages m JOIN instances i ON i.id = m.instance
UNION ALL
SELECT 'worker', w.seq, i.instance_id,
       CASE w.state WHEN 0 THEN 'delayed' WHEN 1 THEN 'ready' ELSE 'running' END,
       strftime('%Y-%m-%d %H:%M:%f', w.visible_at / 1000.0, 'unixepoch'),
       w.attempts, w.tag, w.session, w.item
FROM work w JOIN instances i ON i.id = w.instance;
)sql";

// The view that versions 2, 3 and 5 make. `aside`: the states of messages that wait for a start.
std::string pending_view(const char* aside, bool with_arrivals) {
    constexpr const char* all_messages = R"sql(, all_messages AS (
    SELECT seq, instance, state, visible_at, attempts, lease, item FROM messages
    UNION ALL
    SELECT seq, instance, 1, visible_at, 0, NULL, item FROM arrivals
))sql";
    std::string view = R"sql(DROP VIEW durable_pending;
CREATE VIEW durable_pending AS
WITH clock AS (
    SELECT wall_offset, (julianday('now') - 2440587.5) * 86400000.0 - wall_offset AS now FROM store
))sql";
    view += with_arrivals ? all_messages : "";
    view += R"sql(
SELECT 'orchestrator' AS queue, m.seq, i.instance_id,
       CASE WHEN m.state = 0 THEN 'delayed'
            WHEN m.state )sql";
    view += aside;
    view += R"sql( THEN 'waits for a start'
            WHEN i.place = 2 THEN 'delayed'
            WHEN i.place = 3 AND m.lease = i.lease
                THEN CASE WHEN i.until > c.now THEN 'running' ELSE 'lease over' END
            ELSE 'ready' END AS state,
       strftime('%Y-%m-%d %H:%M:%f',
                CASE WHEN m.state = 1 AND i.place = 2 THEN max(m.visible_at, i.hidden_until_at)
                     ELSE m.visible_at END / 1000.0, 'unixepoch') AS visible,
       m.attempts, NULL AS tag, NULL AS session, m.item,
       CASE WHEN m.state = 1 AND i.place = 3 AND m.lease = i.lease
            THEN strftime('%Y-%m-%d %H:%M:%f', (i.until + c.wall_offset) / 1000.0, 'unixepoch')
            END AS leased_until
FROM )sql";
    view += with_arrivals ? "all_" : "";
    view += R"sql(messages m JOIN instances i ON i.id = m.instance CROSS JOIN clock c
UNION ALL
SELECT 'worker', w.seq, i.instance_id,
       CASE w.state WHEN 0 THEN 'delayed' WHEN 1 THEN 'ready'
                    ELSE CASE WHEN w.until > c.now THEN 'running' ELSE 'lease over' END END,
       strftime('%Y-%m-%d %H:%M:%f', w.visible_at / 1000.0, 'unixepoch'),
       w.attempts, w.tag, w.session, w.item,
       CASE WHEN w.state = 2
            THEN strftime('%Y-%m-%d %H:%M:%f', (w.until + c.wall_offset) / 1000.0, 'unixepoch') END
FROM work w JOIN instances i ON i.id = w.instance CROSS JOIN clock c;
)sql";
    return view;
}

// Version 2: durable_pending shows the ends of leases and of hiding. Leases are on a clock that SQL
// cannot read: `wall_offset` is how far the wall clock was ahead when the store was last opened.
constexpr const char* version_2 = R"sql(
ALTER TABLE store ADD COLUMN wall_offset INTEGER NOT NULL DEFAULT 0;
)sql";

// Version 3: messages for instances that have some already are appended to `arrivals` and moved
// later (arrivals.hpp).
constexpr const char* version_3 = R"sql(
CREATE TABLE arrivals (
    seq INTEGER PRIMARY KEY,
    instance INTEGER NOT NULL,
    visible_at INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    item TEXT NOT NULL
);
)sql";

// Version 4: the providers that have the store open. The leases of one whose process is gone end at
// once (lives.hpp). `device` and `inode` are those of the file in which it has locked byte `id`.
// And a queued start names the parent that sent it, which may be deleted before the child begins.
constexpr const char* version_4 = R"sql(
ALTER TABLE store ADD COLUMN next_life INTEGER NOT NULL DEFAULT 1;
ALTER TABLE sessions ADD COLUMN life INTEGER; -- of the owner; the tokens of leases have it, too
CREATE TABLE lives (
    id INTEGER PRIMARY KEY,         -- never used twice
    device INTEGER NOT NULL,
    inode INTEGER NOT NULL
);
ALTER TABLE messages ADD COLUMN parent_id TEXT;
UPDATE messages SET parent_id = json_extract(item, '$.StartOrchestration.parent_instance')
    WHERE kind = 0 AND json_valid(item);
CREATE INDEX messages_by_parent ON messages (parent_id) WHERE parent_id IS NOT NULL;
)sql";

// Version 5: what a turn or an activity needs of the fetch that takes it (needs.hpp); why a turn
// was abandoned; abandoned messages keep their time of arrival. All arrivals move to `messages`:
// from now on cancellations are looked for by their kind. fill_needs (schema.cpp) fills the columns
// `needs`.
constexpr const char* version_5 = R"sql(
ALTER TABLE messages ADD COLUMN arrived_at INTEGER; -- NULL: when it became visible
INSERT INTO messages (seq, instance, state, visible_at, kind, item)
    SELECT seq, instance, 1, visible_at, kind, item FROM arrivals;
DELETE FROM arrivals;

ALTER TABLE instances ADD COLUMN needs TEXT NOT NULL DEFAULT ''; -- while it is ready
ALTER TABLE instances ADD COLUMN cancelled_at INTEGER; -- likewise: the oldest cancellation
ALTER TABLE instances ADD COLUMN parked_reason TEXT;
ALTER TABLE instances ADD COLUMN parked_since_at INTEGER;
DROP INDEX instances_ready;
CREATE INDEX instances_ready ON instances (needs, head_seq) WHERE place = 1;
CREATE INDEX instances_parked ON instances (parked_since_at) WHERE parked_reason IS NOT NULL;

ALTER TABLE work ADD COLUMN needs TEXT NOT NULL DEFAULT '';
DROP INDEX work_open;
CREATE INDEX work_open ON work (needs, seq) WHERE state = 1 AND session IS NULL;
DROP INDEX work_by_session;
CREATE INDEX work_by_session ON work (session, needs, state, seq) WHERE session IS NOT NULL;

-- Items of one session with the same needs, which the same workers may take.
DROP TABLE work_groups;
CREATE TABLE work_groups (
    id INTEGER PRIMARY KEY,
    session TEXT NOT NULL,
    needs TEXT NOT NULL,
    head_seq INTEGER,               -- the oldest item that is ready
    live INTEGER NOT NULL           -- whether a worker owns the session
);
CREATE INDEX work_groups_by_session ON work_groups (session, needs);
CREATE INDEX work_groups_unclaimed ON work_groups (needs, head_seq)
    WHERE live = 0 AND head_seq IS NOT NULL;

DROP VIEW durable_instances;
CREATE VIEW durable_instances AS
SELECT i.instance_id, i.name, i.version, i.execution_id,
       CASE i.status WHEN 0 THEN 'Running' WHEN 1 THEN 'Completed' WHEN 2 THEN 'Failed'
                     WHEN 3 THEN 'ContinuedAsNew' WHEN 4 THEN 'Pending'
                     ELSE 'Unknown' END AS status,
       e.output, c.status AS custom_status, i.parent_id,
       strftime('%Y-%m-%d %H:%M:%f', i.created_at / 1000.0, 'unixepoch') AS created,
       strftime('%Y-%m-%d %H:%M:%f', i.updated_at / 1000.0, 'unixepoch') AS updated,
       i.parked_reason AS parked
FROM instances i
LEFT JOIN executions e ON e.instance = i.id AND e.execution_id = i.execution_id
LEFT JOIN custom_status c ON c.instance = i.id
WHERE i.name IS NOT NULL;

)sql";

// Version 6: one number is the version of the store (Transaction::note_change). It goes on from the
// sum of counters that was the version before. An older library that has the file open still reads
// that sum: `revision` makes it grow with every change.
constexpr const char* version_6 = R"sql(
ALTER TABLE store RENAME COLUMN revision TO change_version;
UPDATE store SET change_version =
    next_seq + next_instance + next_number + change_version + quarantined + expired;
ALTER TABLE store ADD COLUMN revision INTEGER AS (change_version);
)sql";

} // namespace

std::span<const char* const> migrations() {
    static const auto second = version_2 + pending_view("= 2", false);
    static const auto third = version_3 + pending_view("= 2", true);
    static const auto fifth = version_5 + pending_view("IN (2, 3)", true);
    static const std::array all{
        version_1, second.c_str(), third.c_str(), version_4, fifth.c_str(), version_6};
    return all;
}

} // namespace durable::sqlite
