#include "providers/sqlite/store/management.hpp"

#include "base/try.hpp"
#include "providers/sqlite/store/reading.hpp"
#include "providers/sqlite/store/turn_queue.hpp"
#include "providers/sqlite/store/work_queue.hpp"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

namespace durable::sqlite {

namespace {

constexpr std::uint64_t most_deleted_remembered = 1024;

bool runs(const InstanceRow& row) {
    return row.exists() && (row.status == ExecutionStatus::running || row.pending());
}

// Between two executions: its status is an end, but its next start is queued or leased.
bool continues(Connection& db, const InstanceRow& row) {
    return row.status == ExecutionStatus::continued_as_new &&
           find_integer(db,
                        "SELECT 1 FROM messages WHERE instance = ?1 AND kind = ?2 LIMIT 1",
                        row.id,
                        rules::item_kind<work::ContinueAsNew>)
               .has_value();
}

// An instance whose parent does not exist is a root.
bool has_parent(Connection& db, const InstanceRow& row) {
    return row.parent_id &&
           find_integer(db,
                        "SELECT 1 FROM instances WHERE instance_id = ?1 AND name IS NOT NULL",
                        *row.parent_id)
               .has_value();
}

bool completed_before(Connection& db, const InstanceRow& row, const std::optional<Instant>& limit) {
    return !limit || find_integer(db,
                                  "SELECT 1 FROM executions WHERE instance = ?1"
                                  " AND execution_id = ?2 AND completed_at < ?3",
                                  row.id,
                                  row.execution_id,
                                  *limit)
                         .has_value();
}

std::uint64_t remove(Transaction& tx, const char* sql, std::int64_t instance) {
    run(tx.db, sql, instance);
    return static_cast<std::uint64_t>(tx.db.changes());
}

void remember_deleted(Transaction& tx, const std::string& id) {
    run(tx.db,
        "INSERT OR REPLACE INTO deleted (revision, instance_id) VALUES (?1, ?2)",
        tx.note_change(),
        id);
    run(tx.db,
        "DELETE FROM deleted WHERE revision <="
        " (SELECT revision FROM deleted ORDER BY revision DESC LIMIT 1 OFFSET ?1)",
        most_deleted_remembered);
}

using Parents = std::unordered_set<std::string>;

// Starts of children in a deleted queue whose parents stay. Each parent waits for its child, and
// the id is free for that child now. They move to a new instance of that id, which the caller
// stores; nullopt: there are none.
std::optional<InstanceRow>
keep_starts(Transaction& tx, const InstanceRow& row, const Parents& deleted) {
    std::vector<std::int64_t> kept;
    {
        Query rows{tx.db,
                   "SELECT seq, parent_id FROM messages"
                   " WHERE instance = ?1 AND parent_id IS NOT NULL",
                   row.id};
        while (rows.step()) {
            if (!deleted.contains(rows.text(1))) {
                kept.push_back(rows.integer(0));
            }
        }
    }
    if (kept.empty()) {
        return std::nullopt;
    }
    auto next = new_instance(tx, row.instance_id);
    for (const auto seq : kept) {
        run(tx.db,
            "UPDATE messages SET instance = ?3, state = min(state, 1), lease = NULL, visible_at ="
            " CASE state WHEN 0 THEN visible_at ELSE min(visible_at, ?4) END"
            " WHERE instance = ?1 AND seq = ?2",
            row.id,
            seq,
            next.id,
            tx.now.wall);
    }
    return next;
}

void discard(Transaction& tx,
             const InstanceRow& row,
             const Parents& deleted,
             DeleteInstanceResult& result) {
    remember_deleted(tx, row.instance_id);
    tx.news.instances.push_back({.id = row.instance_id, .ended = true});
    result.instances_deleted += row.exists() ? 1U : 0U;
    const auto executions = remove(tx, "DELETE FROM executions WHERE instance = ?1", row.id);
    const auto events = remove(tx, "DELETE FROM history WHERE instance = ?1", row.id);
    result.executions_deleted += executions;
    result.events_deleted += events;
    tx.counters.executions -= executions;
    tx.counters.events -= events;
    tx.arrivals.sort(tx.db, row.id);
    auto next = keep_starts(tx, row, deleted);
    result.queue_messages_deleted +=
        remove(tx, "DELETE FROM messages WHERE instance = ?1", row.id) +
        static_cast<std::uint64_t>(
            find_integer(tx.db, "SELECT count(*) FROM work WHERE instance = ?1", row.id)
                .value_or(0));
    remove_all_work(tx, row.id);
    remove(tx, "DELETE FROM kv_store WHERE instance = ?1", row.id);
    remove(tx, "DELETE FROM kv_changes WHERE instance = ?1", row.id);
    remove(tx, "DELETE FROM custom_status WHERE instance = ?1", row.id);
    remove(tx, "DELETE FROM instances WHERE id = ?1", row.id);
    if (next) {
        refresh_head(tx, *next);
        file(tx, *next, false, false);
        insert_instance(tx.db, *next);
    }
}

struct QueuedStart {
    std::int64_t seq;
    std::int64_t lease; // of the turn that was given the message
};

bool begins_otherwise(Connection& db, const InstanceRow& child, std::size_t starts) {
    return child.exists() || child.past ||
           find_integer(db,
                        "SELECT count(*) FROM messages WHERE instance = ?1 AND kind IN (?2, ?3)",
                        child.id,
                        rules::item_kind<work::StartOrchestration>,
                        rules::item_kind<work::ContinueAsNew>)
                   .value_or(0) > static_cast<std::int64_t>(starts);
}

void remove_starts(Transaction& tx, InstanceRow& child, const std::vector<QueuedStart>& starts) {
    tx.note_change();
    bool worked_on = false;
    for (const auto& start : starts) {
        run(tx.db, "DELETE FROM messages WHERE instance = ?1 AND seq = ?2", child.id, start.seq);
        worked_on = worked_on || (child.token && child.lease == start.lease);
    }
    refresh_head(tx, child);
    if (worked_on) { // P3: a turn that was given these starts can commit nothing
        child.token.reset();
    }
    if (worked_on || child.place == Place::ready || child.place == Place::aside) {
        leave(tx, child);
        file(tx, child, false, false);
    }
    save_place(tx.db, child);
    drop_if_unused(tx, child);
}

// Queued starts of children whose parent is deleted. A child that no other start would begin is
// deleted with all its messages: they were meant for it.
void discard_unbegun_children(Transaction& tx,
                              const Parents& parents,
                              DeleteInstanceResult& result) {
    std::map<std::int64_t, std::vector<QueuedStart>> children;
    for (const auto& parent : parents) {
        Query rows{tx.db, "SELECT instance, seq, lease FROM messages WHERE parent_id = ?1", parent};
        while (rows.step()) {
            children[rows.integer(0)].push_back({.seq = rows.integer(1), .lease = rows.integer(2)});
        }
    }
    for (const auto& [id, starts] : children) {
        auto child = find_instance(tx.db, id);
        if (child && begins_otherwise(tx.db, *child, starts.size())) {
            remove_starts(tx, *child, starts);
            result.queue_messages_deleted += starts.size();
        } else if (child) {
            discard(tx, *child, parents, result);
        }
    }
}

} // namespace

Result<DeleteInstanceResult>
delete_instances(Transaction& tx, const std::vector<std::string>& instances, bool force) {
    for (const auto& id : instances) {
        const auto row = force ? std::nullopt : find_instance(tx.db, id);
        if (row && runs(*row)) {
            return fail(ErrorCode::still_running,
                        "instance \"" + id +
                            "\" is still running: cancel it first, or delete it with force");
        }
    }
    const Parents listed{instances.begin(), instances.end()};
    for (const auto& id : listed) {
        for (const auto& child : list_children(tx.db, id)) {
            if (!listed.contains(child)) {
                return fail(ErrorCode::has_children,
                            "instance \"" + id + "\" has a child \"" + child +
                                "\" outside the request, which would be an orphan: delete the "
                                "whole tree");
            }
        }
    }
    DeleteInstanceResult result;
    for (const auto& id : listed) {
        if (const auto row = find_instance(tx.db, id)) {
            discard(tx, *row, listed, result);
        }
    }
    discard_unbegun_children(tx, listed, result);
    return result;
}

Result<DeleteInstanceResult> delete_tree(Transaction& tx, const std::string& root, bool force) {
    DURABLE_TRY_ASSIGN(const auto parent, parent_of(tx.db, root));
    const auto row = find_instance(tx.db, root);
    if (row && has_parent(tx.db, *row)) {
        return fail(ErrorCode::not_a_root,
                    "instance \"" + root + "\" is a sub-orchestration of \"" + *parent +
                        "\": delete the root instead");
    }
    return delete_instances(tx, tree_of(tx.db, root).all_ids, force);
}

namespace {

// Instances that the filter names, or all with one of these statuses, in the order of creation.
std::vector<InstanceRow> candidates(Connection& db,
                                    const InstanceFilter& filter,
                                    std::initializer_list<std::optional<ExecutionStatus>> statuses,
                                    std::uint32_t limit,
                                    bool (*accept)(Connection&, const InstanceRow&)) {
    std::vector<InstanceRow> found;
    const auto consider = [&](std::optional<InstanceRow> row) {
        if (row && row->exists() && std::ranges::find(statuses, row->status) != statuses.end() &&
            completed_before(db, *row, filter.completed_before) && accept(db, *row)) {
            found.push_back(*std::move(row));
        }
        return found.size() < limit;
    };
    if (limit == 0) {
        return found;
    }
    if (filter.instance_ids) {
        std::unordered_set<std::string_view> seen;
        for (const auto& id : *filter.instance_ids) {
            if (seen.insert(id).second && !consider(find_instance(db, id))) {
                break;
            }
        }
        return found;
    }
    for (const auto& status : statuses) {
        Query rows{db,
                   "SELECT id FROM instances WHERE status IS ?1 AND name IS NOT NULL"
                   " ORDER BY number",
                   status};
        while (rows.step()) {
            if (!consider(find_instance(db, rows.integer(0)))) {
                return found;
            }
        }
    }
    return found;
}

std::vector<std::string> ids_of(std::vector<InstanceRow> rows) {
    std::vector<std::string> ids;
    for (auto& row : rows) {
        ids.push_back(std::move(row.instance_id));
    }
    return ids;
}

} // namespace

std::vector<std::string> deletable_roots(Connection& db, const InstanceFilter& filter) {
    return ids_of(candidates(
        db,
        filter,
        {ExecutionStatus::completed, ExecutionStatus::failed, ExecutionStatus::continued_as_new},
        filter.limit.value_or(default_bulk_limit),
        [](Connection& connection, const InstanceRow& row) {
            return !has_parent(connection, row) && !continues(connection, row);
        }));
}

std::vector<std::string> prunable(Connection& db, const InstanceFilter& filter) {
    return ids_of(candidates(db,
                             filter,
                             {ExecutionStatus::running,
                              ExecutionStatus::completed,
                              ExecutionStatus::failed,
                              ExecutionStatus::continued_as_new,
                              std::nullopt},
                             filter.limit.value_or(default_bulk_limit),
                             [](Connection&, const InstanceRow&) { return true; }));
}

Result<PruneResult>
prune(Transaction& tx, const std::string& instance, const PruneOptions& options) {
    const auto known = find_instance(tx.db, instance);
    if (!known || !known->exists()) {
        return fail(ErrorCode::not_found, "instance \"" + instance + "\" not found");
    }
    PruneResult result{.instances_processed = 1};
    auto executions = list_executions(tx.db, instance);
    std::ranges::reverse(executions);
    std::uint64_t kept = 0; // of the newest
    for (const auto id : executions) {
        const auto among_newest = kept++ < std::max(options.keep_last.value_or(1), 1U);
        if (id == known->execution_id || among_newest) {
            continue;
        }
        run(tx.db,
            "DELETE FROM executions WHERE instance = ?1 AND execution_id = ?2 AND status <> 0"
            " AND (?3 IS NULL OR completed_at < ?3)",
            known->id,
            id,
            options.completed_before);
        if (tx.db.changes() == 0) {
            continue;
        }
        run(tx.db, "DELETE FROM history WHERE instance = ?1 AND execution_id = ?2", known->id, id);
        const auto events = static_cast<std::uint64_t>(tx.db.changes());
        ++result.executions_deleted;
        result.events_deleted += events;
        --tx.counters.executions;
        tx.counters.events -= events;
    }
    if (result.executions_deleted > 0) {
        tx.note_change();
    }
    return result;
}

} // namespace durable::sqlite
