#include "providers/sqlite/store/reading.hpp"

#include <durable/codec.hpp>

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace durable::sqlite {

namespace {

std::unexpected<Error> no_instance(const std::string& instance) {
    return fail(ErrorCode::not_found, "instance \"" + instance + "\" not found");
}

std::optional<std::int64_t> id_of(Connection& db, const std::string& instance) {
    return find_integer(db, "SELECT id FROM instances WHERE instance_id = ?1", instance);
}

std::vector<std::string> texts_of(Query&& rows) {
    std::vector<std::string> texts;
    while (rows.step()) {
        texts.push_back(rows.text(0));
    }
    return texts;
}

std::string status_text(const std::optional<ExecutionStatus>& status) {
    return status ? std::string{name_of(*status)} : "Unknown";
}

} // namespace

std::vector<std::string>
events_of(Connection& db, const std::string& instance, std::optional<std::uint64_t> execution_id) {
    const auto id = id_of(db, instance);
    if (!id) {
        return {};
    }
    return events_after(db, *id, execution_id ? *execution_id : latest_execution(db, *id), 0);
}

Result<std::vector<HistoryEvent>> decode(const std::vector<std::string>& texts) {
    std::vector<HistoryEvent> events;
    events.reserve(texts.size());
    for (const auto& text : texts) {
        auto event = decode_event(text);
        if (!event) {
            return fail(ErrorCode::corrupt,
                        "stored history does not decode: " + event.error().message);
        }
        events.push_back(*std::move(event));
    }
    return events;
}

std::optional<CustomStatus>
custom_status_after(Connection& db, const std::string& instance, std::uint64_t last_seen_version) {
    Query row{db,
              "SELECT c.status, c.version FROM instances i JOIN custom_status c"
              " ON c.instance = i.id WHERE i.instance_id = ?1",
              instance};
    if (!row.step() || row.number(1) <= last_seen_version) {
        return std::nullopt;
    }
    return CustomStatus{.status = row.optional_text(0), .version = row.number(1)};
}

std::optional<std::string>
kv_value(Connection& db, const std::string& instance, const std::string& key) {
    const auto id = id_of(db, instance);
    if (!id) {
        return std::nullopt;
    }
    Query change{db, "SELECT value FROM kv_changes WHERE instance = ?1 AND key = ?2", *id, key};
    if (change.step()) {
        return change.optional_text(0);
    }
    Query stored{db, "SELECT value FROM kv_store WHERE instance = ?1 AND key = ?2", *id, key};
    return stored.step() ? stored.optional_text(0) : std::nullopt;
}

std::map<std::string, std::string> kv_values(Connection& db, const std::string& instance) {
    std::map<std::string, std::string> values;
    const auto id = id_of(db, instance);
    if (!id) {
        return values;
    }
    Query stored{db, "SELECT key, value FROM kv_store WHERE instance = ?1", *id};
    while (stored.step()) {
        values[stored.text(0)] = stored.text(1);
    }
    Query changes{db, "SELECT key, value FROM kv_changes WHERE instance = ?1", *id};
    while (changes.step()) {
        if (changes.null(1)) {
            values.erase(changes.text(0));
        } else {
            values[changes.text(0)] = changes.text(1);
        }
    }
    return values;
}

Result<std::optional<InstanceStats>> stats_of(Connection& db, const std::string& instance) {
    const auto known = find_instance(db, instance);
    if (!known || !known->exists()) {
        return std::nullopt;
    }
    InstanceStats stats;
    Query sums{db,
               "SELECT count(*), coalesce(sum(length(CAST(event AS BLOB))), 0) FROM history"
               " WHERE instance = ?1 AND execution_id = ?2",
               known->id,
               known->execution_id};
    if (sums.step()) {
        stats.history_event_count = sums.number(0);
        stats.history_size_bytes = sums.number(1);
    }
    Query first{db,
                "SELECT event FROM history WHERE instance = ?1 AND execution_id = ?2"
                " AND event_id = 1",
                known->id,
                known->execution_id};
    if (first.step()) {
        const auto event = decode_event(first.view(0));
        if (!event) {
            return fail(ErrorCode::corrupt,
                        "stored history does not decode: " + event.error().message);
        }
        const auto* started = std::get_if<history::OrchestrationStarted>(&event->kind);
        if (started != nullptr) {
            stats.queue_pending_count = history::carried_messages(*started);
        }
    }
    for (const auto& [key, value] : kv_values(db, instance)) {
        ++stats.kv_user_key_count;
        stats.kv_total_value_bytes += value.size();
    }
    return stats;
}

std::uint64_t revision_of(Connection& db, const std::string& instance) {
    const auto known =
        find_integer(db, "SELECT revision FROM instances WHERE instance_id = ?1", instance);
    if (known.value_or(0) != 0) {
        return static_cast<std::uint64_t>(*known);
    }
    const auto gone =
        find_integer(db, "SELECT revision FROM deleted WHERE instance_id = ?1", instance);
    return static_cast<std::uint64_t>(gone.value_or(0));
}

InstanceState state_of(Connection& db, const std::string& instance) {
    InstanceState state{.revision = revision_of(db, instance)};
    Query row{db,
              "SELECT i.name, i.version, i.execution_id, i.status, e.output, c.status, c.version,"
              " i.id, i.parked_reason, i.parked_since_at"
              " FROM instances i LEFT JOIN executions e"
              " ON e.instance = i.id AND e.execution_id = i.execution_id"
              " LEFT JOIN custom_status c ON c.instance = i.id"
              " WHERE i.instance_id = ?1 AND i.name IS NOT NULL",
              instance};
    if (!row.step()) {
        state.incarnation = static_cast<std::uint64_t>(
            find_integer(db,
                         "SELECT i.id FROM instances i JOIN messages m ON m.instance = i.id"
                         " WHERE i.instance_id = ?1 AND m.kind = ?2 LIMIT 1",
                         instance,
                         rules::item_kind<work::StartOrchestration>)
                .value_or(0));
        return state;
    }
    state.exists = true;
    state.incarnation = row.number(7);
    state.orchestration_name = row.text(0);
    state.orchestration_version = row.text(1);
    state.execution_id = row.number(2);
    if (!row.null(3)) {
        state.status = static_cast<ExecutionStatus>(row.integer(3));
        state.output = row.optional_text(4);
    }
    if (state.status == ExecutionStatus::failed) {
        Query newest{db,
                     "SELECT event FROM history WHERE instance = ?1 AND execution_id = ?2"
                     " ORDER BY event_id DESC",
                     state.incarnation,
                     state.execution_id};
        while (!state.failure && newest.step()) {
            state.failure = rules::failure_told_by(newest.view(0));
        }
    }
    state.custom_status = {.status = row.optional_text(5), .version = row.number(6)};
    if (!row.null(8)) {
        state.parked = Parked{.reason = row.text(8), .since = row.instant(9)};
    }
    return state;
}

std::vector<std::string> list_instances(Connection& db) {
    return texts_of(
        Query{db, "SELECT instance_id FROM instances WHERE name IS NOT NULL ORDER BY number DESC"});
}

std::vector<std::string> list_by_status(Connection& db, const std::string& status) {
    const auto parsed = parse_execution_status(status);
    if (!parsed && status != "Unknown") {
        return {};
    }
    return texts_of(Query{db,
                          "SELECT instance_id FROM instances WHERE status IS ?1"
                          " AND name IS NOT NULL ORDER BY number DESC",
                          parsed});
}

std::vector<std::uint64_t> list_executions(Connection& db, const std::string& instance) {
    std::vector<std::uint64_t> ids;
    Query rows{db,
               "SELECT e.execution_id FROM instances i JOIN executions e ON e.instance = i.id"
               " WHERE i.instance_id = ?1",
               instance};
    while (rows.step()) {
        ids.push_back(rows.number(0));
    }
    std::ranges::sort(ids);
    return ids;
}

std::uint64_t latest_execution(Connection& db, const std::string& instance) {
    const auto id = id_of(db, instance);
    return id ? latest_execution(db, *id) : 1;
}

Result<InstanceInfo> instance_info(Connection& db, const std::string& instance) {
    const auto known = find_instance(db, instance);
    if (!known || !known->exists()) {
        return no_instance(instance);
    }
    Query current{db,
                  "SELECT output FROM executions WHERE instance = ?1 AND execution_id = ?2",
                  known->id,
                  known->execution_id};
    return InstanceInfo{.instance_id = instance,
                        .orchestration_name = *known->name,
                        .orchestration_version = *known->version,
                        .current_execution_id = known->execution_id,
                        .status = status_text(known->status),
                        .output = current.step() ? current.optional_text(0) : std::nullopt,
                        .created_at = known->created_at,
                        .updated_at = known->updated_at,
                        .parent_instance_id = known->parent_id,
                        .parked = known->parked};
}

Result<ExecutionInfo>
execution_info(Connection& db, const std::string& instance, std::uint64_t execution_id) {
    const auto id = id_of(db, instance).value_or(0);
    Query row{db,
              "SELECT status, output, started_at, completed_at, (SELECT count(*) FROM history"
              " WHERE instance = ?1 AND execution_id = ?2) FROM executions"
              " WHERE instance = ?1 AND execution_id = ?2",
              id,
              execution_id};
    if (!row.step()) {
        return fail(ErrorCode::not_found,
                    "execution " + std::to_string(execution_id) + " of instance \"" + instance +
                        "\" not found");
    }
    return ExecutionInfo{.execution_id = execution_id,
                         .status = status_text(static_cast<ExecutionStatus>(row.integer(0))),
                         .output = row.optional_text(1),
                         .started_at = row.instant(2),
                         .completed_at = row.null(3) ? std::nullopt : std::optional{row.instant(3)},
                         .event_count = row.number(4)};
}

SystemMetrics system_metrics(Connection& db) {
    const auto counters = load_counters(db);
    SystemMetrics metrics{.total_executions = counters.executions,
                          .total_events = counters.events,
                          .quarantined_items = counters.quarantined,
                          .expired_messages = counters.expired};
    Query rows{db, "SELECT status, count(*) FROM instances WHERE name IS NOT NULL GROUP BY status"};
    while (rows.step()) {
        metrics.total_instances += rows.number(1);
        if (rows.null(0)) {
            continue;
        }
        switch (static_cast<ExecutionStatus>(rows.integer(0))) {
        case ExecutionStatus::running:
            metrics.running_instances = rows.number(1);
            break;
        case ExecutionStatus::completed:
            metrics.completed_instances = rows.number(1);
            break;
        case ExecutionStatus::failed:
            metrics.failed_instances = rows.number(1);
            break;
        case ExecutionStatus::pending:
            metrics.pending_instances = rows.number(1);
            break;
        case ExecutionStatus::continued_as_new:
            break;
        }
    }
    return metrics;
}

namespace {

// Items that are due already are left out: fetches can take them now.
std::optional<Instant> next_due(Connection& db, rules::Moment now) {
    rules::Soonest soonest;
    const auto consider = [&](const char* sql, const auto& at) {
        if (const auto due = find_integer(db, sql, at)) {
            soonest.consider(*due, rules::key_of(at));
        }
    };
    consider("SELECT min(visible_at) FROM messages WHERE state = 0 AND visible_at > ?1", now.wall);
    consider("SELECT min(hidden_until_at) FROM instances WHERE place = 2 AND hidden_until_at > ?1",
             now.wall);
    consider("SELECT min(until) FROM instances WHERE place = 3 AND until > ?1", now.steady);
    consider("SELECT min(visible_at) FROM work WHERE state = 0 AND visible_at > ?1", now.wall);
    consider("SELECT min(until) FROM work WHERE state = 2 AND until > ?1", now.steady);
    // The end of a session matters to items that wait for another owner.
    consider("SELECT min(until) FROM sessions WHERE live = 1 AND until > ?1"
             " AND EXISTS (SELECT 1 FROM work WHERE state <> 2)",
             now.steady);
    const auto wait = soonest.wait();
    return wait ? std::optional{add_saturating(now.wall, *wait)} : std::nullopt;
}

} // namespace

QueueDepths queue_depths(Connection& db, rules::Moment now) {
    const auto count = [&](const char* sql) {
        return static_cast<std::uint64_t>(find_integer(db, sql).value_or(0));
    };
    return {.orchestrator_queue =
                count("SELECT count(*) FROM messages") + count("SELECT count(*) FROM arrivals") -
                count("SELECT count(*) FROM instances i JOIN messages m ON m.instance = i.id"
                      " AND m.state = 1 AND m.lease = i.lease WHERE i.place = 3"),
            .worker_queue = count("SELECT count(*) FROM work") -
                            count("SELECT count(*) FROM work WHERE state = 2"),
            .next_due = next_due(db, now)};
}

std::vector<QuarantinedItem> list_quarantined(Connection& db) {
    std::vector<QuarantinedItem> items;
    Query rows{db,
               "SELECT seq, queue, instance_id, item, reason, quarantined_at FROM quarantine"
               " ORDER BY expired, number"};
    while (rows.step()) {
        items.push_back({.id = rows.number(0),
                         .queue = rows.text(1),
                         .instance = rows.optional_text(2),
                         .text = rows.text(3),
                         .reason = rows.text(4),
                         .quarantined_at = rows.instant(5)});
    }
    return items;
}

std::vector<std::string> list_children(Connection& db, const std::string& instance) {
    return texts_of(Query{
        db, "SELECT instance_id FROM instances WHERE parent_id = ?1 ORDER BY number", instance});
}

Result<std::optional<std::string>> parent_of(Connection& db, const std::string& instance) {
    auto known = find_instance(db, instance);
    if (!known || !known->exists()) {
        return no_instance(instance);
    }
    return std::move(known->parent_id);
}

InstanceTree tree_of(Connection& db, const std::string& root) {
    InstanceTree tree{.root_id = root, .all_ids = {root}};
    // A commit can name any parent, so two instances may each claim to be the other's.
    std::unordered_set<std::string> seen{root};
    for (std::size_t index = 0; index < tree.all_ids.size(); ++index) {
        for (auto& child : list_children(db, tree.all_ids[index])) {
            if (seen.insert(child).second) {
                tree.all_ids.push_back(std::move(child));
            }
        }
    }
    return tree;
}

} // namespace durable::sqlite
