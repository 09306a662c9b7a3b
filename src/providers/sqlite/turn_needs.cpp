#include "providers/sqlite/turn_needs.hpp"

#include <durable/codec.hpp>

#include <string>

namespace durable::sqlite {

namespace {

using Code = TurnNeeds::Code;

// A message that does not decode needs none: a fetch puts it into quarantine.
std::optional<Code> code_named_by(const Result<WorkItem>& item, const std::string& instance) {
    if (!damage_of(item, instance).empty()) {
        return std::nullopt;
    }
    if (const auto* start = std::get_if<work::StartOrchestration>(&*item)) {
        return Code{.name = start->orchestration, .version = start->version.value_or("")};
    }
    if (const auto* next = std::get_if<work::ContinueAsNew>(&*item)) {
        return Code{.name = next->orchestration, .version = next->version.value_or("")};
    }
    return std::nullopt;
}

// Whether the code follows from the row alone.
bool row_tells_code(const InstanceRow& row) {
    return row.exists() && row.status != ExecutionStatus::continued_as_new;
}

std::optional<Code> code_in_row(const InstanceRow& row) {
    const auto ended =
        row.status == ExecutionStatus::completed || row.status == ExecutionStatus::failed;
    return ended ? std::nullopt : std::optional{Code{.name = *row.name, .version = *row.version}};
}

// What the next execution begins with; of an instance that does not exist, the first one.
bool begins_next(const InstanceRow& row, std::int64_t kind) {
    return row.exists() ? kind == ledger::kind_of<work::ContinueAsNew> : starts_instance(kind);
}

std::optional<Code>
code_in_messages(Connection& db, const InstanceRow& row, const SoleMessage* sole) {
    if (sole != nullptr && !begins_next(row, sole->kind)) {
        return std::nullopt;
    }
    if (sole != nullptr && sole->text) {
        return code_named_by(decode_work_item(*sole->text), row.instance_id);
    }
    Query first{db,
                "SELECT item FROM messages WHERE instance = ?1 AND state = 1 AND kind IN (?2, ?3)"
                " ORDER BY seq LIMIT 1",
                row.id,
                ledger::kind_of<work::ContinueAsNew>,
                row.exists() ? ledger::kind_of<work::ContinueAsNew>
                             : ledger::kind_of<work::StartOrchestration>};
    return first.step() ? code_named_by(decode_work_item(first.view(0)), row.instance_id)
                        : std::nullopt;
}

std::optional<Code> code_of(Connection& db, const InstanceRow& row, const SoleMessage* sole) {
    if (row_tells_code(row)) {
        return code_in_row(row);
    }
    if (!row.exists() && row.past) {
        if (auto started = stored_start(db, row.id)) {
            return Code{.name = std::move(started->name), .version = std::move(started->version)};
        }
    }
    return code_in_messages(db, row, sole);
}

} // namespace

std::string damage_of(const Result<WorkItem>& item, const std::string& instance) {
    if (!item) {
        return item.error().message;
    }
    if (std::holds_alternative<work::ActivityExecute>(*item)) {
        return "ActivityExecute belongs into the worker queue, not the orchestrator queue";
    }
    return target_instance(*item) == instance ? ""
                                              : "a message for \"" + target_instance(*item) +
                                                    "\" in the queue of \"" + instance + "\"";
}

TurnNeeds determine_needs(Connection& db, InstanceRow& row, const SoleMessage* sole) {
    std::int64_t attempts = 0;
    row.cancelled_at.reset();
    if (sole != nullptr) {
        attempts = sole->attempts;
        if (cancels_instance(sole->kind)) {
            row.cancelled_at = sole->visible_at;
        }
    } else {
        Query all{db,
                  "SELECT max(attempts), min(CASE kind WHEN ?2 THEN visible_at END)"
                  " FROM messages WHERE instance = ?1 AND state = 1",
                  row.id,
                  ledger::kind_of<work::CancelInstance>};
        if (all.step()) {
            attempts = all.integer(0);
            row.cancelled_at = all.null(1) ? std::nullopt : std::optional{all.instant(1)};
        }
    }
    TurnNeeds needs{.suspect = attempts >= static_cast<std::int64_t>(suspect_after),
                    .cancelled = row.cancelled_at.has_value(),
                    .pinned = row.exists() ? row.pinned : std::string{},
                    .code = code_of(db, row, sole)};
    row.needs = needs.text();
    return needs;
}

TurnNeeds needs_of(FreshTurn& fresh) {
    const auto& row = fresh.row;
    TurnNeeds needs{.suspect = false,
                    .cancelled = cancels_instance(fresh.message.kind),
                    .pinned = row.exists() ? row.pinned : std::string{},
                    .code = {}};
    if (row_tells_code(row)) {
        needs.code = code_in_row(row);
    } else if (begins_next(row, fresh.message.kind)) {
        if (!fresh.item) {
            fresh.item = decode_work_item(fresh.message.text);
        }
        needs.code = code_named_by(*fresh.item, row.instance_id);
    }
    return needs;
}

} // namespace durable::sqlite
