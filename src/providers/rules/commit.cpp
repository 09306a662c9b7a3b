#include "providers/rules/commit.hpp"

#include "base/try.hpp"

#include <utility>
#include <variant>

namespace durable::rules {

namespace {

Result<> check(const ExecutionMetadata& metadata) {
    if (metadata.status == ExecutionStatus::pending) { // P15
        return fail(ErrorCode::invalid_argument,
                    "a turn that is committed has begun: its execution cannot be pending");
    }
    const auto check = [](const std::optional<std::string>& text, std::string_view what) {
        return text ? check_text(*text, what) : Result<>{};
    };
    DURABLE_TRY(check(metadata.output, "the output"));
    DURABLE_TRY(check(metadata.orchestration_name, "the orchestration's name"));
    DURABLE_TRY(check(metadata.orchestration_version, "the orchestration's version"));
    return check(metadata.parent_instance_id, "the parent's id");
}

// Custom status and key-value changes travel inside the events.
void collect_state(PreparedTurn& out, const std::vector<HistoryEvent>& events) {
    for (const auto& event : events) {
        if (const auto* status = std::get_if<history::CustomStatusUpdated>(&event.kind)) {
            out.custom_status = StatusChange{status->status};
        } else if (const auto* set = std::get_if<history::KeyValueSet>(&event.kind)) {
            out.kv.push_back({.kind = KvChange::Kind::set,
                              .key = set->key,
                              .value = set->value,
                              .last_updated_at_ms = set->last_updated_at_ms});
        } else if (const auto* cleared = std::get_if<history::KeyValueCleared>(&event.kind)) {
            out.kv.push_back({.kind = KvChange::Kind::clear, .key = cleared->key});
        } else if (std::holds_alternative<history::KeyValuesCleared>(event.kind)) {
            out.kv.push_back({.kind = KvChange::Kind::clear_all});
        }
    }
}

} // namespace

bool PreparedTurn::cancels(const NewMessage& message,
                           std::string_view instance,
                           std::uint64_t execution_id) const {
    return message.kind == item_kind<work::TimerFired> && message.instance == instance &&
           message.execution_id == execution_id && cancelled_timers.contains(message.timer_id);
}

Result<PreparedTurn> prepare_turn(const TurnCommit& commit) {
    DURABLE_TRY(check(commit.metadata));
    PreparedTurn prepared{
        .cancelled_activities = {commit.cancelled_activities.begin(),
                                 commit.cancelled_activities.end()},
        .cancelled_timers = {commit.cancelled_timers.begin(), commit.cancelled_timers.end()}};
    DURABLE_TRY_ASSIGN(prepared.events, to_events(commit.history_delta));
    collect_state(prepared, commit.history_delta);
    for (const auto& item : commit.worker_items) {
        DURABLE_TRY_ASSIGN(auto added, to_work(item));
        if (!prepared.cancelled_activities.contains(added.activity)) {
            prepared.work.push_back(std::move(added));
        }
    }
    prepared.messages.reserve(commit.orchestrator_items.size());
    for (const auto& item : commit.orchestrator_items) {
        DURABLE_TRY_ASSIGN(auto message, to_message(item));
        message.visible_at = visible_at(item, Instant{}, Duration::zero());
        prepared.messages.push_back(std::move(message));
    }
    return prepared;
}

} // namespace durable::rules
