// The commit of a turn, in the order of TurnCommit's fields.

#include "base/try.hpp"
#include "providers/ledger/queueing.hpp"
#include "providers/sqlite/turns.hpp"
#include "providers/sqlite/work_queue.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace durable::sqlite {

namespace {

Result<> check_texts(const ExecutionMetadata& metadata) {
    const auto check = [](const std::optional<std::string>& text, std::string_view what) {
        return text ? ledger::check_text(*text, what) : Result<>{};
    };
    DURABLE_TRY(check(metadata.output, "the output"));
    DURABLE_TRY(check(metadata.orchestration_name, "the orchestration's name"));
    DURABLE_TRY(check(metadata.orchestration_version, "the orchestration's version"));
    return check(metadata.parent_instance_id, "the parent's id");
}

// What the commit says of its execution; true: anything.
bool update_execution(Transaction& tx, const InstanceRow& row, const TurnCommit& commit) {
    const auto& metadata = commit.metadata;
    if (metadata.pinned_version) {
        const auto pinned = metadata.pinned_version->text();
        run(tx.db,
            "UPDATE executions SET pinned = ?3 WHERE instance = ?1 AND execution_id = ?2",
            row.id,
            commit.execution_id,
            pinned);
    }
    if (metadata.status) {
        const auto ended = *metadata.status != ExecutionStatus::running;
        run(tx.db,
            "UPDATE executions SET status = ?3, output = ?4, completed_at = ?5"
            " WHERE instance = ?1 AND execution_id = ?2",
            row.id,
            commit.execution_id,
            *metadata.status,
            metadata.output,
            ended ? std::optional{tx.now.wall} : std::nullopt);
    }
    return metadata.pinned_version || metadata.status;
}

// The first execution of an instance that has no past: nothing to look for.
void insert_first_execution(Transaction& tx, InstanceRow& row, const TurnCommit& commit) {
    const auto& metadata = commit.metadata;
    const auto status = metadata.status.value_or(ExecutionStatus::running);
    const auto pinned = metadata.pinned_version ? metadata.pinned_version->text() : std::string{};
    const auto ended = status != ExecutionStatus::running;
    run(tx.db,
        "INSERT INTO executions (instance, execution_id, status, output, started_at,"
        " completed_at, pinned) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        row.id,
        commit.execution_id,
        status,
        metadata.output,
        tx.now.wall,
        ended ? std::optional{tx.now.wall} : std::nullopt,
        pinned);
    ++tx.counters.executions;
    if (row.exists()) { // a pending one may be told an execution before its current one
        row.execution_id = std::max(row.execution_id, commit.execution_id);
        const auto current = row.execution_id == commit.execution_id;
        row.status = current ? std::optional{status} : std::nullopt;
        row.pinned = current ? pinned : std::string{};
    }
}

// Makes the instance's row and its execution's, and says whether more than the turn changed.
bool record_execution(Transaction& tx, InstanceRow& row, const TurnCommit& commit) {
    const auto& metadata = commit.metadata;
    const auto named = metadata.orchestration_name && metadata.orchestration_version;
    if (named) {
        if (!row.exists()) {
            row.number = tx.counters.next_number++;
            row.created_at = tx.now.wall;
            row.execution_id = commit.execution_id;
        }
        row.name = metadata.orchestration_name;
        row.version = metadata.orchestration_version;
        if (!row.parent_id) {
            row.parent_id = metadata.parent_instance_id;
        }
    }
    if (!row.past) {
        insert_first_execution(tx, row, commit);
        row.past = true;
        return row.exists();
    }
    const auto current = row.exists() && row.status && row.execution_id == commit.execution_id;
    if (!current) {
        run(tx.db,
            "INSERT OR IGNORE INTO executions (instance, execution_id, status, started_at)"
            " VALUES (?1, ?2, 0, ?3)",
            row.id,
            commit.execution_id,
            tx.now.wall);
        tx.counters.executions += static_cast<std::uint64_t>(tx.db.changes());
    }
    const auto updated = update_execution(tx, row, commit);
    if (!row.exists() || (current && !named && !updated)) {
        return false;
    }
    row.execution_id = std::max(row.execution_id, commit.execution_id);
    if (current) {
        row.status = metadata.status ? metadata.status : row.status;
        row.pinned = metadata.pinned_version ? metadata.pinned_version->text() : row.pinned;
    } else {
        mirror_execution(tx.db, row);
    }
    return true;
}

// Custom status and KV travel inside the events.
void apply_state_events(Transaction& tx, const InstanceRow& row, const TurnCommit& commit) {
    using Kind = ledger::KvChange::Kind;
    const history::CustomStatusUpdated* status = nullptr;
    for (const auto& event : commit.history_delta) {
        if (const auto* updated = std::get_if<history::CustomStatusUpdated>(&event.kind)) {
            status = updated;
        } else if (const auto* set = std::get_if<history::KeyValueSet>(&event.kind)) {
            change_kv(tx,
                      row.id,
                      {.kind = Kind::set,
                       .key = set->key,
                       .value = set->value,
                       .last_updated_at_ms = set->last_updated_at_ms});
        } else if (const auto* cleared = std::get_if<history::KeyValueCleared>(&event.kind)) {
            change_kv(tx, row.id, {.kind = Kind::clear, .key = cleared->key});
        } else if (std::holds_alternative<history::KeyValuesCleared>(event.kind)) {
            change_kv(tx, row.id, {.kind = Kind::clear_all});
        }
    }
    if (status != nullptr && row.exists()) {
        run(tx.db,
            "INSERT INTO custom_status (instance, status, version) VALUES (?1, ?2, 1)"
            " ON CONFLICT (instance) DO UPDATE SET status = ?2, version = version + 1",
            row.id,
            status->status);
    }
    if (commit.metadata.status.value_or(ExecutionStatus::running) != ExecutionStatus::running) {
        merge_kv(tx.db, row.id);
    }
}

// What is scheduled and cancelled in one turn never gets queued.
void queue_work(Transaction& tx,
                const InstanceRow& row,
                const TurnCommit& commit,
                const std::vector<QueuedWork>& work) {
    const std::set<ActivityId> cancelled{commit.cancelled_activities.begin(),
                                         commit.cancelled_activities.end()};
    for (const auto& added : work) {
        const auto& activity = added.work.activity;
        if (cancelled.contains(activity)) {
            continue;
        }
        const auto own = activity.instance == row.instance_id;
        add_work(tx, added, own ? row.id : get_instance(tx, activity.instance).id);
    }
    for (const auto& activity : cancelled) {
        cancel_work(tx, activity, row);
    }
}

void queue_messages(Transaction& tx,
                    InstanceRow& row,
                    const TurnCommit& commit,
                    const std::vector<ledger::NewMessage>& messages) {
    const std::set<std::uint64_t> cancelled{commit.cancelled_timers.begin(),
                                            commit.cancelled_timers.end()};
    for (const auto& message : messages) {
        const auto own = message.instance == row.instance_id;
        const auto timer = message.kind == ledger::kind_of<work::TimerFired> && own &&
                           message.execution_id == commit.execution_id;
        if (timer && cancelled.contains(message.timer_id)) {
            continue;
        }
        if (own) {
            add_message(tx, message, row);
        } else {
            add_message(tx, message);
        }
    }
    for (const auto timer : cancelled) {
        run(tx.db,
            "DELETE FROM messages WHERE instance = ?1 AND execution_id = ?2 AND timer_id = ?3",
            row.id,
            commit.execution_id,
            timer);
    }
}

// Whoever waits for the end gets the state along with the news, and need not read it.
void tell_watchers(Transaction& tx, const InstanceRow& row, const TurnCommit& commit) {
    News::Changed changed{.id = row.instance_id, .ended = false, .state = {}};
    changed.ended =
        row.status == ExecutionStatus::completed || row.status == ExecutionStatus::failed;
    const auto now = commit.metadata.status && commit.execution_id == row.execution_id;
    if (changed.ended && row.exists() && now) {
        changed.state = InstanceState{.revision = row.revision,
                                      .exists = true,
                                      .orchestration_name = *row.name,
                                      .orchestration_version = *row.version,
                                      .execution_id = row.execution_id,
                                      .status = *row.status,
                                      .output = commit.metadata.output,
                                      .custom_status = custom_status_of(tx.db, row.id),
                                      .incarnation = static_cast<std::uint64_t>(row.id)};
    }
    tx.news.instances.push_back(std::move(changed));
}

} // namespace

Result<PreparedCommit> prepare(const TurnCommit& commit) {
    PreparedCommit made;
    DURABLE_TRY(check_texts(commit.metadata));
    if (commit.metadata.status == ExecutionStatus::pending) { // P15
        return fail(ErrorCode::invalid_argument,
                    "a turn that is committed has begun: its execution cannot be pending");
    }
    DURABLE_TRY_ASSIGN(made.events, ledger::to_events(commit.history_delta));
    for (const auto& item : commit.worker_items) {
        DURABLE_TRY_ASSIGN(auto added, to_queued(item));
        made.work.push_back(std::move(added));
    }
    for (const auto& item : commit.orchestrator_items) {
        DURABLE_TRY_ASSIGN(auto message, ledger::to_message(item));
        message.visible_at = ledger::visible_at(item, Instant{}, Duration::zero());
        made.messages.push_back(std::move(message));
    }
    return made;
}

Result<>
commit_turn(Transaction& tx, const TurnCommit& commit, const Result<PreparedCommit>& prepared) {
    DURABLE_TRY_ASSIGN(auto row, live_turn_lease(tx, commit.lock_token));
    if (!prepared) {
        return std::unexpected{prepared.error()};
    }
    DURABLE_TRY(append_events(tx, row.id, commit.execution_id, prepared->events));
    run(tx.db,
        "DELETE FROM messages WHERE instance = ?1 AND state = 1 AND lease = ?2",
        row.id,
        row.lease);
    const auto changed = record_execution(tx, row, commit);
    apply_state_events(tx, row, commit);
    queue_work(tx, row, commit, prepared->work);
    queue_messages(tx, row, commit, prepared->messages);

    row.token.reset();
    row.hidden_until = {};
    row.updated_at = tx.now.wall;
    row.revision = ++tx.counters.revision;
    if (std::exchange(row.parked, std::nullopt)) {
        save_parked(tx.db, row);
    }
    refresh_head(tx, row);
    file(tx, row, false, false);
    changed ? save_all(tx.db, row) : save_turn(tx.db, row);
    tell_watchers(tx, row, commit);
    return {};
}

} // namespace durable::sqlite
