#include "providers/ledger/management.hpp"

#include "base/try.hpp"
#include "providers/ledger/queueing.hpp"
#include "providers/ledger/reading.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

namespace durable::ledger {

namespace {

bool runs(const Instance& instance) {
    const auto* current = instance.current();
    return instance.pending() ||
           (instance.exists() && current != nullptr && current->status == ExecutionStatus::running);
}

// Between two executions: its status is an end, but its next start is queued or leased.
bool continues(const Instance& instance) {
    const auto* current = instance.current();
    if (current == nullptr || current->status != ExecutionStatus::continued_as_new) {
        return false;
    }
    for (const auto* message = instance.messages; message != nullptr; message = message->next) {
        if (message->kind == item_kind<work::ContinueAsNew>) {
            return true;
        }
    }
    return false;
}

bool completed_before(const Instance& instance, const std::optional<Instant>& limit) {
    if (!limit) {
        return true;
    }
    const auto* current = instance.current();
    return current != nullptr && current->completed && current->ended_at < *limit;
}

// Starts of children in a deleted queue whose parents stay. Each parent waits for its child, and
// the id is free for that child now: so its start stays queued.
void keep_starts(const Instance& instance,
                 const std::unordered_set<std::string_view>& listed,
                 Instant now,
                 op::Delete& removed,
                 DeleteInstanceResult& result) {
    for (const auto* message = instance.messages; message != nullptr; message = message->next) {
        const auto parent = calling_parent(message->kind, message->text());
        if (!parent || listed.contains(*parent)) {
            continue;
        }
        auto image = image_of(*message);
        image.message.visible_at = message->deliverable_at();
        if (message->place != Message::Place::delayed) {
            // A deliverable message stays deliverable, also when the wall clock was set back.
            image.message.visible_at = std::min(image.message.visible_at, now);
        }
        removed.kept.push_back({.start = std::move(image.message), .attempts = image.attempts});
        --result.queue_messages_deleted;
    }
}

void count(DeleteInstanceResult& result, const Instance& instance) {
    result.instances_deleted += instance.exists() ? 1U : 0U;
    for (const auto& execution : instance.executions) {
        result.executions_deleted += execution.recorded ? 1U : 0U;
        result.events_deleted += execution.history.size();
    }
    for (const auto* message = instance.messages; message != nullptr; message = message->next) {
        ++result.queue_messages_deleted;
    }
    for (const auto* entry = instance.inbox().work; entry != nullptr; entry = entry->next) {
        ++result.queue_messages_deleted;
    }
}

// Queued starts of children whose parent is deleted. A child that no other start would begin is
// deleted with all its messages: they were meant for it.
void add_unbegun_children(Ledger& ledger,
                          const std::unordered_set<std::string_view>& listed,
                          op::Delete& removed,
                          DeleteInstanceResult& result) {
    std::map<const Instance*, std::set<Seq>> starts; // the order has no effect
    for (const auto& parent : listed) {
        for (const auto seq : ledger.turns.starts_by(parent)) {
            starts[ledger.turns.find(seq)->instance].insert(seq);
        }
    }
    for (const auto& [child, sent] : starts) {
        if (listed.contains(child->id())) {
            continue;
        }
        bool begins = child->exists() || !child->executions.empty();
        for (const auto* each = child->messages; each != nullptr; each = each->next) {
            begins = begins || (starts_instance(each->kind) && !sent.contains(each->seq));
        }
        if (begins) {
            removed.starts.insert(removed.starts.end(), sent.begin(), sent.end());
            result.queue_messages_deleted += sent.size();
        } else {
            count(result, *child);
            removed.instances.emplace_back(child->id());
        }
    }
    std::ranges::sort(removed.starts);
}

Result<Deletion>
decide_delete(Ledger& ledger, const std::vector<std::string>& instances, bool force, Instant now) {
    for (const auto& id : instances) {
        const auto* instance = ledger.instances.find(id);
        if (!force && instance != nullptr && runs(*instance)) {
            return fail(ErrorCode::still_running,
                        "instance \"" + id +
                            "\" is still running: cancel it first, or delete it with force");
        }
    }
    const std::unordered_set<std::string_view> listed{instances.begin(), instances.end()};
    Deletion deletion{.record = {.at = now}, .result = {}};
    op::Delete removed;
    for (const auto& id : listed) {
        for (const auto* child : ledger.instances.children(id)) {
            if (!listed.contains(child->id())) {
                return fail(ErrorCode::has_children,
                            "instance \"" + std::string{id} + "\" has a child \"" +
                                std::string{child->id()} +
                                "\" outside the request, which would be an orphan: delete the "
                                "whole tree");
            }
        }
        if (const auto* instance = ledger.instances.find(id)) {
            count(deletion.result, *instance);
            removed.instances.emplace_back(id);
            keep_starts(*instance, listed, now, removed, deletion.result);
        }
    }
    std::ranges::sort(removed.kept, {}, [](const auto& kept) { return kept.start.seq; });
    add_unbegun_children(ledger, listed, removed, deletion.result);
    std::ranges::sort(removed.instances); // the same record for the same request
    deletion.record.operation = std::move(removed);
    return deletion;
}

template <class Accept>
std::vector<std::string> select(const Ledger& ledger,
                                const InstanceFilter& filter,
                                std::span<const std::optional<ExecutionStatus>> statuses,
                                Accept accept) {
    std::vector<std::string> found;
    const std::size_t limit = filter.limit.value_or(default_bulk_limit);
    const auto consider = [&](const Instance& instance) {
        if (found.size() < limit && completed_before(instance, filter.completed_before) &&
            accept(instance)) {
            found.emplace_back(instance.id());
        }
        return found.size() < limit;
    };
    if (filter.instance_ids) {
        std::unordered_set<std::string_view> seen;
        for (const auto& id : *filter.instance_ids) {
            const auto* instance = ledger.instances.find(id);
            if (instance == nullptr || !instance->exists() || !seen.insert(id).second) {
                continue;
            }
            const auto listed = std::ranges::find(statuses, instance->status()) != statuses.end();
            if (listed && !consider(*instance)) {
                break;
            }
        }
        return found;
    }
    for (const auto& status : statuses) {
        // By index: looking for a parent may bring one back, and the list grows.
        const auto& list = ledger.instances.with_status(status);
        for (std::size_t index = 0; index < list.size(); ++index) {
            if (!consider(*list[index])) {
                return found;
            }
        }
    }
    return found;
}

// An instance whose parent does not exist is a root.
bool has_parent(const Ledger& ledger, const Instance& instance) {
    const auto* parent =
        instance.parent != nullptr ? ledger.instances.find(*instance.parent) : nullptr;
    return parent != nullptr && parent->exists();
}

} // namespace

Result<Deletion> delete_instances(Ledger& ledger,
                                  const std::vector<std::string>& instances,
                                  bool force,
                                  Moment now) {
    ledger.advance(now);
    auto decided = decide_delete(ledger, instances, force, now.wall);
    if (!decided) {
        return failed(std::move(decided).error(), "delete_instances_atomic");
    }
    return decided;
}

Result<Deletion> delete_tree(Ledger& ledger, const std::string& root, bool force, Moment now) {
    constexpr std::string_view operation = "delete_instance";
    ledger.advance(now);
    auto parent = parent_of(ledger, root);
    if (!parent) {
        return failed(std::move(parent).error(), operation);
    }
    if (*parent && has_parent(ledger, *ledger.instances.find(root))) {
        return fail(ErrorCode::not_a_root,
                    "instance \"" + root + "\" is a sub-orchestration of \"" + **parent +
                        "\": delete the root instead",
                    std::string{operation});
    }
    auto decided = decide_delete(ledger, tree_of(ledger, root).all_ids, force, now.wall);
    if (!decided) {
        return failed(std::move(decided).error(), operation);
    }
    return decided;
}

std::vector<std::string> deletable_roots(const Ledger& ledger, const InstanceFilter& filter) {
    static constexpr std::array<std::optional<ExecutionStatus>, 3> ended = {
        ExecutionStatus::completed, ExecutionStatus::failed, ExecutionStatus::continued_as_new};
    return select(ledger, filter, ended, [&](const Instance& instance) {
        return !has_parent(ledger, instance) && !continues(instance);
    });
}

Result<Pruning>
prune(Ledger& ledger, const std::string& instance, const PruneOptions& options, Moment now) {
    ledger.advance(now);
    const auto* known = ledger.instances.find(instance);
    if (known == nullptr || !known->exists()) {
        return fail(
            ErrorCode::not_found, "instance \"" + instance + "\" not found", "prune_executions");
    }
    Pruning pruning{.record = {.at = now.wall}, .result = {.instances_processed = 1}};
    op::Prune pruned{.instance = instance};
    std::uint64_t kept = 0; // of the newest
    for (auto execution = known->executions.rbegin(); execution != known->executions.rend();
         ++execution) {
        if (!execution->recorded) {
            continue;
        }
        const auto among_newest = kept++ < std::max(options.keep_last.value_or(1), 1U);
        const auto too_young =
            options.completed_before &&
            (!execution->completed || execution->ended_at >= *options.completed_before);
        if (execution->id == known->current_execution ||
            execution->status == ExecutionStatus::running || among_newest || too_young) {
            continue;
        }
        pruned.executions.push_back(execution->id);
        ++pruning.result.executions_deleted;
        pruning.result.events_deleted += execution->history.size();
    }
    pruning.record.operation = std::move(pruned);
    return pruning;
}

std::vector<std::string> prunable(const Ledger& ledger, const InstanceFilter& filter) {
    static constexpr std::array<std::optional<ExecutionStatus>, 5> all = {
        ExecutionStatus::running,
        ExecutionStatus::completed,
        ExecutionStatus::failed,
        ExecutionStatus::continued_as_new,
        std::nullopt};
    return select(ledger, filter, all, [](const Instance&) { return true; });
}

} // namespace durable::ledger
