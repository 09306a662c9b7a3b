#include "providers/sqlite/store/turn_needs.hpp"

#include <durable/codec.hpp>

#include <string>

namespace durable::sqlite {

namespace {

using rules::CodeNeed;

// A message that does not decode needs no code: the fetch quarantines it (P10).
CodeNeed code_named_by(const Result<WorkItem>& item, const std::string& instance) {
    return rules::damage_of(item, instance).empty() ? rules::code_begun_by(item) : CodeNeed{};
}

// Whether the code follows from the row alone.
bool row_tells_code(const InstanceRow& row) {
    return row.exists() && row.status != ExecutionStatus::continued_as_new;
}

CodeNeed code_in_row(const InstanceRow& row) {
    const auto ended =
        row.status == ExecutionStatus::completed || row.status == ExecutionStatus::failed;
    return ended ? CodeNeed{} : rules::code_need(*row.name, *row.version);
}

// Whether a message of this kind begins the next execution, or the first one.
bool begins_next(const InstanceRow& row, std::int64_t kind) {
    return row.exists() ? kind == rules::item_kind<work::ContinueAsNew>
                        : rules::starts_instance(kind);
}

CodeNeed code_in_messages(Connection& db, const InstanceRow& row, const SoleMessage* sole) {
    if (sole != nullptr && !begins_next(row, sole->kind)) {
        return {};
    }
    if (sole != nullptr && sole->text) {
        return code_named_by(decode_work_item(*sole->text), row.instance_id);
    }
    Query first{db,
                "SELECT item FROM messages WHERE instance = ?1 AND state = 1 AND kind IN (?2, ?3)"
                " ORDER BY seq LIMIT 1",
                row.id,
                rules::item_kind<work::ContinueAsNew>,
                row.exists() ? rules::item_kind<work::ContinueAsNew>
                             : rules::item_kind<work::StartOrchestration>};
    return first.step() ? code_named_by(decode_work_item(first.view(0)), row.instance_id)
                        : CodeNeed{};
}

CodeNeed code_of(Connection& db, const InstanceRow& row, const SoleMessage* sole) {
    if (row_tells_code(row)) {
        return code_in_row(row);
    }
    if (!row.exists() && row.past) {
        if (auto started = stored_start(db, row.id)) {
            return rules::code_need(std::move(started->name), std::move(started->version));
        }
    }
    return code_in_messages(db, row, sole);
}

} // namespace

TurnNeeds determine_needs(Connection& db, InstanceRow& row, const SoleMessage* sole) {
    std::int64_t attempts = 0;
    row.cancelled_at.reset();
    if (sole != nullptr) {
        attempts = sole->attempts;
        if (rules::cancels_instance(sole->kind)) {
            row.cancelled_at = sole->visible_at;
        }
    } else {
        Query all{db,
                  "SELECT max(attempts), min(CASE kind WHEN ?2 THEN visible_at END)"
                  " FROM messages WHERE instance = ?1 AND state = 1",
                  row.id,
                  rules::item_kind<work::CancelInstance>};
        if (all.step()) {
            attempts = all.integer(0);
            row.cancelled_at = all.null(1) ? std::nullopt : std::optional{all.instant(1)};
        }
    }
    TurnNeeds needs{.suspect = rules::is_suspect(attempts),
                    .cancelled = row.cancelled_at.has_value(),
                    .pinned = row.exists() ? row.pinned : std::string{},
                    .code = code_of(db, row, sole)};
    row.needs = needs.text();
    return needs;
}

TurnNeeds needs_of(FreshTurn& fresh) {
    const auto& row = fresh.row;
    TurnNeeds needs{.suspect = false,
                    .cancelled = rules::cancels_instance(fresh.message.kind),
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
