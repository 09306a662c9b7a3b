// The commit of a turn, in the order of TurnCommit's fields.

#include "base/try.hpp"
#include "providers/sqlite/store/turns.hpp"
#include "providers/sqlite/store/work_queue.hpp"

#include <algorithm>
#include <optional>
#include <ranges>
#include <utility>

namespace durable::sqlite {

namespace {

// Applies the metadata to the execution; false: there is none to apply.
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

// The first execution of an instance that never had one: there is no row to look for.
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
    if (row.exists()) { // the commit of a pending one may name a lower execution
        row.execution_id = std::max(row.execution_id, commit.execution_id);
        const auto current = row.execution_id == commit.execution_id;
        row.status = current ? std::optional{status} : std::nullopt;
        row.pinned = current ? pinned : std::string{};
    }
}

// Writes the execution and the columns of the instance; answers whether save_turn() is not enough.
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

void apply_state(Transaction& tx,
                 const InstanceRow& row,
                 const TurnCommit& commit,
                 const rules::PreparedTurn& prepared) {
    for (const auto& change : prepared.kv) {
        change_kv(tx, row.id, change);
    }
    if (prepared.custom_status && row.exists()) {
        run(tx.db,
            "INSERT INTO custom_status (instance, status, version) VALUES (?1, ?2, 1)"
            " ON CONFLICT (instance) DO UPDATE SET status = ?2, version = version + 1",
            row.id,
            prepared.custom_status->status);
    }
    if (rules::ends_execution(commit.metadata)) { // P9
        merge_kv(tx.db, row.id);
    }
}

void queue_work(Transaction& tx, const InstanceRow& row, const rules::PreparedTurn& prepared) {
    for (const auto& added : prepared.work) {
        const auto& instance = added.activity.instance;
        const auto own = instance == row.instance_id;
        add_work(tx, added, own ? row.id : get_instance(tx, instance).id);
    }
    for (const auto& activity : prepared.cancelled_activities) {
        cancel_work(tx, activity, row);
    }
}

void queue_messages(Transaction& tx,
                    InstanceRow& row,
                    const TurnCommit& commit,
                    const rules::PreparedTurn& prepared) {
    for (const auto& message : prepared.messages) {
        if (prepared.cancels(message, row.instance_id, commit.execution_id)) {
            continue;
        }
        if (message.instance == row.instance_id) {
            add_message(tx, message, row);
        } else {
            add_message(tx, message);
        }
    }
    for (const auto timer : prepared.cancelled_timers) {
        run(tx.db,
            "DELETE FROM messages WHERE instance = ?1 AND execution_id = ?2 AND timer_id = ?3",
            row.id,
            commit.execution_id,
            timer);
    }
}

std::optional<ErrorDetails> failure_of(const InstanceRow& row, const TurnCommit& commit) {
    if (row.status == ExecutionStatus::failed) {
        for (const auto& event : std::views::reverse(commit.history_delta)) {
            if (const auto* failed = std::get_if<history::OrchestrationFailed>(&event.kind)) {
                return failed->details;
            }
        }
    }
    return std::nullopt;
}

// P11: a watcher that waits for the end gets the state with the news and need not read it.
void tell_watchers(Transaction& tx, const InstanceRow& row, const TurnCommit& commit) {
    News::Changed changed{.id = row.instance_id, .ended = false, .state = {}};
    changed.ended =
        row.status == ExecutionStatus::completed || row.status == ExecutionStatus::failed;
    const auto now = commit.metadata.status && commit.execution_id == row.execution_id;
    if (changed.ended && row.exists() && now) {
        auto failure = failure_of(row, commit);
        if (row.status == ExecutionStatus::failed && !failure) { // an earlier commit may have it
            tx.news.instances.push_back(std::move(changed));
            return;
        }
        changed.state = InstanceState{.revision = row.revision,
                                      .exists = true,
                                      .orchestration_name = *row.name,
                                      .orchestration_version = *row.version,
                                      .execution_id = row.execution_id,
                                      .status = *row.status,
                                      .output = commit.metadata.output,
                                      .failure = std::move(failure),
                                      .custom_status = custom_status_of(tx.db, row.id),
                                      .incarnation = static_cast<std::uint64_t>(row.id)};
    }
    tx.news.instances.push_back(std::move(changed));
}

} // namespace

// P2: an error undoes all of it (Writer).
Result<> commit_turn(Transaction& tx,
                     const TurnCommit& commit,
                     const Result<rules::PreparedTurn>& prepared) {
    DURABLE_TRY_ASSIGN(auto row, live_turn_lease(tx, commit.lock_token));
    if (!prepared) {
        return std::unexpected{prepared.error()};
    }
    DURABLE_TRY(append_events(tx, row.id, commit.execution_id, prepared->events));
    run(tx.db, // P4: only the messages that this turn was given
        "DELETE FROM messages WHERE instance = ?1 AND state = 1 AND lease = ?2",
        row.id,
        row.lease);
    const auto changed = record_execution(tx, row, commit);
    apply_state(tx, row, commit, *prepared);
    queue_work(tx, row, *prepared);
    queue_messages(tx, row, commit, *prepared);

    row.token.reset();
    row.hidden_until = {};
    row.updated_at = tx.now.wall;
    row.revision = tx.note_change();
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
