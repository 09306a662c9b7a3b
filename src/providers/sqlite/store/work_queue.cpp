#include "providers/sqlite/store/work_queue.hpp"

#include "base/try.hpp"
#include "providers/rules/moment.hpp"
#include "providers/rules/stored.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace durable::sqlite {

namespace {

// Beyond that counting is not worth it: every waiter that may take them is called.
constexpr std::int64_t most_counted = 64;

struct Session {
    std::string owner;
    bool live = false;
};

Session find_session(Connection& db, const std::string& id) {
    Query row{db, "SELECT owner, live FROM sessions WHERE session = ?1", id};
    return row.step() ? Session{.owner = row.text(0), .live = row.integer(1) != 0} : Session{};
}

void announce_work(Transaction& tx,
                   WorkNeeds needs,
                   const std::optional<std::string>& session,
                   std::size_t items) {
    News::Work news{
        .needs = std::move(needs), .in_session = session.has_value(), .owner = {}, .items = items};
    if (session) {
        if (auto found = find_session(tx.db, *session); found.live) {
            news.owner = std::move(found.owner);
        }
    }
    tx.news.work.push_back(std::move(news));
}

// Brings a group's row in line with its items.
void refresh_group(Transaction& tx, const std::string& session, const std::string& needs) {
    const auto head = find_integer(tx.db,
                                   "SELECT min(seq) FROM work INDEXED BY work_by_session"
                                   " WHERE session = ?1 AND needs = ?2 AND state = 1",
                                   session,
                                   needs);
    const auto group = find_integer(
        tx.db, "SELECT id FROM work_groups WHERE session = ?1 AND needs = ?2", session, needs);
    if (!group) {
        tx.outlook.has_groups = true;
        run(tx.db,
            "INSERT INTO work_groups (session, needs, head_seq, live) VALUES (?1, ?2, ?3, ?4)",
            session,
            needs,
            head,
            find_session(tx.db, session).live ? 1 : 0);
    } else if (head || find_integer(tx.db,
                                    "SELECT 1 FROM work INDEXED BY work_by_session"
                                    " WHERE session = ?1 AND needs = ?2 LIMIT 1",
                                    session,
                                    needs)) {
        run(tx.db, "UPDATE work_groups SET head_seq = ?2 WHERE id = ?1", *group, head);
    } else {
        run(tx.db, "DELETE FROM work_groups WHERE id = ?1", *group);
    }
}

void refresh_group(Transaction& tx, const WorkRow& row) {
    if (row.session) {
        refresh_group(tx, *row.session, row.needs);
    }
}

// live: a worker owns the session; otherwise any worker may take its items.
void set_live(Transaction& tx, const std::string& session, bool live) {
    run(tx.db, "UPDATE work_groups SET live = ?2 WHERE session = ?1", session, live ? 1 : 0);
    std::vector<std::string> groups;
    {
        Query rows{tx.db, "SELECT needs FROM work_groups WHERE session = ?1", session};
        while (rows.step()) {
            groups.push_back(rows.text(0));
        }
    }
    for (const auto& needs : groups) {
        const auto ready = find_integer(tx.db,
                                        "SELECT count(*) FROM (SELECT 1 FROM work INDEXED BY"
                                        " work_by_session WHERE session = ?1 AND needs = ?2"
                                        " AND state = 1 LIMIT ?3)",
                                        session,
                                        needs,
                                        most_counted);
        if (ready.value_or(0) > 0) {
            const auto items = *ready < most_counted ? static_cast<std::size_t>(*ready)
                                                     : std::numeric_limits<std::size_t>::max();
            announce_work(tx, WorkNeeds::parse(needs), session, items);
        }
    }
}

WorkRow read_work_row(const Query& row) {
    return {.seq = row.integer(0),
            .instance = row.integer(1),
            .session = row.optional_text(2),
            .needs = row.text(3),
            .state = static_cast<WorkState>(row.integer(4)),
            .token = row.optional_text(5),
            .attempts = row.integer(6),
            .item = row.text(7)};
}

} // namespace

// ---- Items

void add_work(Transaction& tx, const rules::NewWork& work, std::int64_t instance) {
    const WorkNeeds needs{.tag = work.tag,
                          .suspect = false,
                          .name = work.name.empty() ? std::nullopt : std::optional{work.name}};
    FreshWork fresh{.seq = tx.new_seq(), .work = work, .needs = needs};
    // P5: items that this transaction has made ready are older.
    const auto taken =
        tx.takers != nullptr && tx.news.work.empty() && !work.session && tx.takers->take(tx, fresh);
    const auto stored_needs = needs.text();
    run(tx.db,
        "INSERT INTO work (seq, instance, execution_id, activity_id, session, tag, state,"
        " visible_at, item, token, until, attempts, needs)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        fresh.seq,
        instance,
        work.activity.execution_id,
        work.activity.activity_id,
        work.session,
        work.tag,
        taken ? WorkState::leased : WorkState::ready,
        tx.now.wall,
        work.text,
        taken ? std::optional{fresh.token} : std::nullopt,
        taken ? std::optional{fresh.until} : std::nullopt,
        taken ? 1 : 0,
        stored_needs);
    if (taken) {
        tx.note_work_due(fresh.until);
        return;
    }
    if (work.session) {
        refresh_group(tx, *work.session, stored_needs);
    }
    announce_work(tx, needs, work.session, 1);
}

std::optional<WorkRow> find_work(Connection& db, std::int64_t seq) {
    Query row{db,
              "SELECT seq, instance, session, needs, state, token, attempts, item FROM work"
              " WHERE seq = ?1",
              seq};
    return row.step() ? std::optional{read_work_row(row)} : std::nullopt;
}

void remove_work(Transaction& tx, const WorkRow& row) {
    run(tx.db, "DELETE FROM work WHERE seq = ?1", row.seq);
    refresh_group(tx, row);
}

void cancel_work(Transaction& tx, const ActivityId& activity, const InstanceRow& held) {
    std::optional<InstanceRow> other;
    if (activity.instance != held.instance_id) {
        other = find_instance(tx.db, activity.instance);
        if (!other) {
            return;
        }
    }
    std::vector<std::int64_t> found;
    {
        Query rows{tx.db,
                   "SELECT seq FROM work WHERE instance = ?1 AND execution_id = ?2"
                   " AND activity_id = ?3",
                   other ? other->id : held.id,
                   activity.execution_id,
                   activity.activity_id};
        while (rows.step()) {
            found.push_back(rows.integer(0));
        }
    }
    for (const auto seq : found) {
        if (const auto row = find_work(tx.db, seq)) {
            remove_work(tx, *row);
        }
    }
    if (other && !found.empty()) {
        drop_if_unused(tx, *other);
    }
}

void remove_all_work(Transaction& tx, std::int64_t instance) {
    std::vector<WorkRow> in_sessions;
    {
        Query rows{tx.db,
                   "SELECT session, needs FROM work WHERE instance = ?1 AND session IS NOT NULL",
                   instance};
        while (rows.step()) {
            in_sessions.push_back({.session = rows.text(0), .needs = rows.text(1)});
        }
    }
    run(tx.db, "DELETE FROM work WHERE instance = ?1", instance);
    for (const auto& row : in_sessions) {
        refresh_group(tx, row);
    }
}

namespace {

// P16: writes and answers the needs of the item after so many attempts. Called when the number
// changes: the item becomes ready in more places.
WorkNeeds set_needs(Transaction& tx, const WorkRow& row, std::int64_t attempts) {
    auto needs = WorkNeeds::parse(row.needs);
    const auto suspect = attempts >= static_cast<std::int64_t>(suspect_after);
    if (std::exchange(needs.suspect, suspect) == suspect) {
        return needs;
    }
    const auto text = needs.text();
    run(tx.db, "UPDATE work SET needs = ?2 WHERE seq = ?1", row.seq, text);
    if (row.session) { // the item changes its group
        refresh_group(tx, *row.session, row.needs);
        refresh_group(tx, *row.session, text);
    }
    return needs;
}

} // namespace

void put_back(Transaction& tx, const WorkRow& row, Instant visible_at, std::int64_t attempts) {
    const auto ready = visible_at <= tx.now.wall;
    auto needs = set_needs(tx, row, attempts);
    run(tx.db,
        "UPDATE work SET state = ?2, visible_at = ?3, token = NULL, until = NULL, attempts = ?4"
        " WHERE seq = ?1",
        row.seq,
        ready ? WorkState::ready : WorkState::delayed,
        visible_at,
        attempts);
    if (row.session) {
        refresh_group(tx, *row.session, needs.text());
    }
    if (ready) {
        announce_work(tx, std::move(needs), row.session, 1);
    } else {
        tx.note_work_due(visible_at);
    }
}

// ---- Time

namespace {

// For delayed items that are due and items whose lease expired. P3: a lease stays known until
// another fetch takes over.
void make_ready(Transaction& tx, Query&& due) {
    std::vector<WorkRow> rows;
    while (due.step()) {
        rows.push_back(
            {.seq = due.integer(0), .session = due.optional_text(1), .needs = due.text(2)});
    }
    for (const auto& row : rows) {
        run(tx.db, "UPDATE work SET state = 1 WHERE seq = ?1", row.seq);
        refresh_group(tx, row);
        announce_work(tx, WorkNeeds::parse(row.needs), row.session, 1);
    }
}

void end_sessions(Transaction& tx) {
    std::vector<std::string> ended;
    {
        Query rows{
            tx.db, "SELECT session FROM sessions WHERE live = 1 AND until <= ?1", tx.now.steady};
        while (rows.step()) {
            ended.push_back(rows.text(0));
        }
    }
    for (const auto& session : ended) {
        run(tx.db, "UPDATE sessions SET live = 0 WHERE session = ?1", session);
        set_live(tx, session, false);
    }
}

} // namespace

void advance_work(Transaction& tx) {
    auto& due = tx.outlook.work;
    if (due.wall <= rules::key_of(tx.now.wall)) {
        make_ready(tx,
                   Query{tx.db,
                         "SELECT seq, session, needs FROM work WHERE state = 0 AND visible_at <= ?1"
                         " ORDER BY visible_at",
                         tx.now.wall});
        due.wall = find_integer(tx.db, "SELECT min(visible_at) FROM work WHERE state = 0")
                       .value_or(Due::never);
    }
    if (due.steady <= rules::key_of(tx.now.steady)) {
        make_ready(tx,
                   Query{tx.db,
                         "SELECT seq, session, needs FROM work WHERE state = 2 AND until <= ?1"
                         " ORDER BY until",
                         tx.now.steady});
        end_sessions(tx);
        due.steady = std::min(
            find_integer(tx.db, "SELECT min(until) FROM work WHERE state = 2").value_or(Due::never),
            find_integer(tx.db, "SELECT min(until) FROM sessions WHERE live = 1")
                .value_or(Due::never));
    }
}

// ---- Leases and sessions

void lease_work(Transaction& tx,
                const WorkRow& row,
                const std::string& token,
                SteadyInstant until) {
    run(tx.db,
        "UPDATE work SET state = 2, token = ?2, until = ?3, attempts = attempts + 1"
        " WHERE seq = ?1",
        row.seq,
        token,
        until);
    refresh_group(tx, row);
    (void)set_needs(tx, row, row.attempts + 1);
    tx.note_work_due(until);
}

void extend_work(Transaction& tx, const WorkRow& row, SteadyInstant until) {
    run(tx.db, "UPDATE work SET until = ?2 WHERE seq = ?1", row.seq, until);
    tx.note_work_due(until);
}

void claim_session(Transaction& tx, const std::string& session, const SessionClaim& claim) {
    const auto before = find_session(tx.db, session);
    const auto until = tx.now.steady_after(claim.lock_timeout);
    run(tx.db,
        "INSERT OR REPLACE INTO sessions (session, owner, live, until, active, life)"
        " VALUES (?1, ?2, 1, ?3, ?4, ?5)",
        session,
        claim.owner_id,
        until,
        tx.now.steady,
        tx.life);
    tx.note_work_due(until);
    if (!before.live || before.owner != claim.owner_id) {
        set_live(tx, session, true);
    }
}

void touch_session(Transaction& tx, const WorkRow& row) {
    if (row.session) {
        run(tx.db,
            "UPDATE sessions SET active = ?2 WHERE session = ?1 AND live = 1",
            *row.session,
            tx.now.steady);
    }
}

} // namespace durable::sqlite
