#include "providers/ledger/reading.hpp"

#include <durable/codec.hpp>

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace durable::ledger {

namespace {

std::unexpected<Error> no_instance(const std::string& instance, std::string operation) {
    return fail(ErrorCode::not_found, "instance \"" + instance + "\" not found", operation);
}

const Instance* existing(const Ledger& ledger, const std::string& id) {
    const auto* instance = ledger.instances.find(id);
    return instance != nullptr && instance->exists() ? instance : nullptr;
}

std::string status_text(std::optional<ExecutionStatus> status) {
    return status ? std::string{name_of(*status)} : "Unknown";
}

std::optional<std::string> output_of(const Execution* execution) {
    return execution == nullptr || !execution->output ? std::nullopt
                                                      : std::optional{*execution->output};
}

std::vector<std::string> newest_first(std::vector<Instance*> instances) {
    std::ranges::sort(instances, std::ranges::greater{}, &Instance::number);
    std::vector<std::string> ids;
    ids.reserve(instances.size());
    for (const auto* instance : instances) {
        ids.emplace_back(instance->id());
    }
    return ids;
}

} // namespace

EventTexts events_of(const Ledger& ledger,
                     const std::string& instance,
                     std::optional<std::uint64_t> execution_id) {
    const auto* known = ledger.instances.find(instance);
    if (known == nullptr) {
        return {};
    }
    const auto* execution =
        known->find_execution(execution_id ? *execution_id : known->latest_execution());
    return execution == nullptr ? EventTexts{} : execution->history.after(0);
}

Result<std::vector<HistoryEvent>> decode(const EventTexts& texts, std::string_view operation) {
    std::vector<HistoryEvent> events;
    events.reserve(texts.size());
    for (std::size_t index = 0; index < texts.size(); ++index) {
        auto event = decode_event(texts[index]);
        if (!event) {
            return fail(ErrorCode::corrupt,
                        "stored history does not decode: " + event.error().message,
                        std::string{operation});
        }
        events.push_back(*std::move(event));
    }
    return events;
}

std::optional<CustomStatus> custom_status_after(const Ledger& ledger,
                                                const std::string& instance,
                                                std::uint64_t last_seen_version) {
    const auto* known = existing(ledger, instance);
    if (known == nullptr || !known->extras ||
        known->extras->custom_status.version <= last_seen_version) {
        return std::nullopt;
    }
    return known->extras->custom_status;
}

std::optional<std::string>
kv_value(const Ledger& ledger, const std::string& instance, const std::string& key) {
    const auto* known = ledger.instances.find(instance);
    if (known == nullptr || !known->extras) {
        return std::nullopt;
    }
    const auto& extras = *known->extras;
    if (const auto change = extras.kv_changes.find(key); change != extras.kv_changes.end()) {
        return change->second.value;
    }
    const auto stored = extras.kv.find(key);
    return stored == extras.kv.end() ? std::nullopt : std::optional{stored->second.value};
}

std::map<std::string, std::string> kv_values(const Ledger& ledger, const std::string& instance) {
    std::map<std::string, std::string> values;
    const auto* known = ledger.instances.find(instance);
    if (known == nullptr || !known->extras) {
        return values;
    }
    for (const auto& [key, entry] : known->extras->kv) {
        values[key] = entry.value;
    }
    for (const auto& [key, change] : known->extras->kv_changes) {
        if (change.value) {
            values[key] = *change.value;
        } else {
            values.erase(key);
        }
    }
    return values;
}

Result<std::optional<InstanceStats>> stats_of(const Ledger& ledger, const std::string& instance) {
    const auto* known = existing(ledger, instance);
    if (known == nullptr) {
        return std::nullopt;
    }
    InstanceStats stats;
    if (const auto* current = known->find_execution(known->current_execution)) {
        stats.history_event_count = current->history.size();
        stats.history_size_bytes = current->history.bytes();
        if (current->history.contains(1)) {
            const auto first = decode_event(current->history.find(1));
            if (!first) {
                return fail(ErrorCode::corrupt,
                            "stored history does not decode: " + first.error().message,
                            "get_instance_stats");
            }
            const auto* started = std::get_if<history::OrchestrationStarted>(&first->kind);
            if (started != nullptr) {
                stats.queue_pending_count = history::carried_messages(*started);
            }
        }
    }
    for (const auto& [key, value] : kv_values(ledger, instance)) {
        ++stats.kv_user_key_count;
        stats.kv_total_value_bytes += value.size();
    }
    return stats;
}

namespace {

bool will_start(const Instance& instance) {
    if (instance.inbox().visible_starts > 0) {
        return true;
    }
    for (const auto* each = instance.messages; each != nullptr; each = each->next) {
        if (starts_instance(each->kind)) { // a start that becomes visible later
            return true;
        }
    }
    return false;
}

} // namespace

namespace {

// The last event says why, unless events were appended after the end.
std::optional<ErrorDetails> failure_in(const HistoryLog& history) {
    if (auto told = failure_told_by(history.find(history.last_id()))) {
        return told;
    }
    const auto all = history.after(0);
    return rules::failure_in(all.size(), [&](std::size_t i) { return all[i]; });
}

} // namespace

InstanceState state_of(const Ledger& ledger, const std::string& instance) {
    InstanceState state{.revision = ledger.revision(instance)};
    const auto* known = ledger.instances.find(instance);
    if (known == nullptr || !known->exists()) {
        state.incarnation = known != nullptr && will_start(*known) ? known->incarnation : 0;
        return state;
    }
    state.incarnation = known->incarnation;
    state.exists = true;
    state.orchestration_name = *known->name;
    state.orchestration_version = *known->version;
    state.execution_id = known->current_execution;
    state.status = known->status().value_or(ExecutionStatus::running);
    state.output = output_of(known->current());
    if (state.status == ExecutionStatus::failed) {
        state.failure = failure_in(known->current()->history);
    }
    if (known->extras) {
        state.custom_status = known->extras->custom_status;
        state.parked = known->extras->parked;
    }
    return state;
}

bool has_ended(const Ledger& ledger, const std::string& instance) {
    const auto* known = existing(ledger, instance);
    return known == nullptr || known->ended();
}

std::vector<std::string> list_instances(const Ledger& ledger) {
    std::vector<Instance*> all;
    all.reserve(ledger.instances.existing());
    for (const auto status : all_statuses) {
        const auto& list = ledger.instances.with_status(status);
        for (std::size_t index = 0; index < list.size(); ++index) {
            all.push_back(list[index]);
        }
    }
    return newest_first(std::move(all));
}

std::vector<std::string> list_by_status(const Ledger& ledger, const std::string& status) {
    const auto parsed = parse_execution_status(status);
    if (!parsed && status != "Unknown") {
        return {};
    }
    return newest_first(ledger.instances.with_status(parsed).copy());
}

std::vector<std::uint64_t> list_executions(const Ledger& ledger, const std::string& instance) {
    std::vector<std::uint64_t> ids;
    if (const auto* known = ledger.instances.find(instance)) {
        for (const auto& execution : known->executions) {
            if (execution.recorded) {
                ids.push_back(execution.id);
            }
        }
    }
    return ids;
}

std::uint64_t latest_execution(const Ledger& ledger, const std::string& instance) {
    const auto* known = ledger.instances.find(instance);
    return known == nullptr ? 1 : known->latest_execution();
}

Result<InstanceInfo> instance_info(const Ledger& ledger, const std::string& instance) {
    const auto* known = existing(ledger, instance);
    if (known == nullptr) {
        return no_instance(instance, "get_instance_info");
    }
    const auto* current = known->current();
    return InstanceInfo{.instance_id = instance,
                        .orchestration_name = *known->name,
                        .orchestration_version = *known->version,
                        .current_execution_id = known->current_execution,
                        .status = status_text(known->status()),
                        .output = output_of(current),
                        .created_at = known->created_at,
                        .updated_at = known->updated_at,
                        .parent_instance_id =
                            known->parent == nullptr ? std::nullopt : std::optional{*known->parent},
                        .parked = known->extras ? known->extras->parked : std::nullopt};
}

Result<ExecutionInfo>
execution_info(const Ledger& ledger, const std::string& instance, std::uint64_t execution_id) {
    const auto* known = ledger.instances.find(instance);
    const auto* execution = known == nullptr ? nullptr : known->find_execution(execution_id);
    if (execution == nullptr || !execution->recorded) {
        return fail(ErrorCode::not_found,
                    "execution " + std::to_string(execution_id) + " of instance \"" + instance +
                        "\" not found",
                    "get_execution_info");
    }
    return ExecutionInfo{.execution_id = execution_id,
                         .status = status_text(execution->status),
                         .output = output_of(execution),
                         .started_at = execution->started_at,
                         .completed_at = execution->completed_at(),
                         .event_count = execution->history.size()};
}

SystemMetrics system_metrics(const Ledger& ledger) {
    const auto& instances = ledger.instances;
    const auto& totals = ledger.totals();
    return {.total_instances = instances.existing(),
            .total_executions = totals.executions,
            .running_instances = instances.count(ExecutionStatus::running),
            .pending_instances = instances.count(ExecutionStatus::pending),
            .completed_instances = instances.count(ExecutionStatus::completed),
            .failed_instances = instances.count(ExecutionStatus::failed),
            .total_events = totals.events,
            .quarantined_items = totals.quarantined,
            .expired_messages = totals.expired};
}

QueueDepths queue_depths(Ledger& ledger, Moment now) {
    ledger.advance(now);
    QueueDepths depths{.orchestrator_queue = ledger.turns.depth(),
                       .worker_queue = ledger.work.depth()};
    const auto turn = ledger.turns.until_next(now);
    const auto work = ledger.work.until_next_item(now);
    if (turn || work) {
        depths.next_due = add_saturating(
            now.wall, std::min(turn.value_or(Duration::max()), work.value_or(Duration::max())));
    }
    return depths;
}

std::vector<QuarantinedItem> list_quarantined(const Ledger& ledger) {
    auto items = ledger.quarantine();
    items.insert(items.end(), ledger.expired().begin(), ledger.expired().end());
    return items;
}

namespace {

ParkedWork parked_turn(const Instance& instance, const CodeNeed& code, Instant since) {
    ParkedWork parked{.kind = ParkedWork::Kind::turn,
                      .instance = std::string{instance.id()},
                      .name = code.name,
                      .version = code.version,
                      .since = since};
    for (const auto* message = instance.messages; message != nullptr; message = message->next) {
        parked.attempts = std::max(parked.attempts, message->attempts);
    }
    return parked;
}

// The oldest message that could be delivered now.
const Message& oldest_visible(const Instance& instance) {
    return **std::ranges::min_element(instance.inbox().visible, {}, &Message::seq);
}

} // namespace

std::vector<ParkedWork>
list_parked(Ledger& ledger, Duration waited, std::uint32_t limit, Moment now) {
    ledger.advance(now);
    const auto latest = add_saturating(now.wall, -std::max(waited, Duration::zero()));
    std::vector<ParkedWork> found;
    for (const auto* instance : ledger.parked()) {
        const auto& parked = *instance->extras->parked;
        const auto version = *instance->version == "unknown" ? "" : *instance->version;
        found.push_back(parked_turn(
            *instance, {.any = false, .name = *instance->name, .version = version}, parked.since));
        found.back().reason = parked.reason;
    }
    ledger.turns.for_each_ready([&](const Instance& instance, const TurnClass& turn) {
        const auto since = oldest_visible(instance).deliverable_at();
        if (since <= latest && !(instance.extras && instance.extras->parked)) {
            found.push_back(
                parked_turn(instance, {.name = turn.name, .version = turn.version}, since));
        }
    });
    ledger.work.for_each_ready([&](const WorkEntry& entry) {
        if (entry.visible_at <= latest) {
            found.push_back({.kind = ParkedWork::Kind::activity,
                             .instance = std::string{entry.instance->id()},
                             .name = entry.group->shelf->name,
                             .attempts = entry.attempts,
                             .since = entry.visible_at});
        }
    });
    std::ranges::sort(found, {}, [](const ParkedWork& work) {
        return std::tie(work.since, work.instance, work.kind, work.name);
    });
    found.resize(std::min<std::size_t>(found.size(), limit));
    return found;
}

std::vector<std::string> list_children(const Ledger& ledger, const std::string& instance) {
    std::vector<std::string> ids;
    for (const auto* child : ledger.instances.children(instance)) {
        ids.emplace_back(child->id());
    }
    return ids;
}

Result<std::optional<std::string>> parent_of(const Ledger& ledger, const std::string& instance) {
    const auto* known = existing(ledger, instance);
    if (known == nullptr) {
        return no_instance(instance, "get_parent_id");
    }
    return known->parent == nullptr ? std::nullopt : std::optional{*known->parent};
}

InstanceTree tree_of(const Ledger& ledger, const std::string& root) {
    InstanceTree tree{.root_id = root, .all_ids = {root}};
    // A commit can name any parent, so two instances may each claim to be the other's.
    std::unordered_set<std::string> seen{root};
    for (std::size_t index = 0; index < tree.all_ids.size(); ++index) {
        for (auto& child : list_children(ledger, tree.all_ids[index])) {
            if (seen.insert(child).second) {
                tree.all_ids.push_back(std::move(child));
            }
        }
    }
    return tree;
}

} // namespace durable::ledger
