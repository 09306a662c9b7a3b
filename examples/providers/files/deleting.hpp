// Deleting: instances with all that belongs to them, and old executions.

#pragma once

#include "looking.hpp"

#include <ranges>
#include <set>

namespace files_store {

// A watch that saw an older one reads revision 0, which is a change as well.
inline constexpr std::size_t most_deleted_remembered = 100;

class Deleting : public Looking {
 public:
    using Looking::Looking;

    Result<DeleteInstanceResult> delete_instance(const std::string& id, bool force) override {
        return change("delete_instance", [&] {
            const auto parent = existing(id).meta->parent;
            if (parent && records_.meta(*parent)) {
                refuse(ErrorCode::not_a_root,
                       "\"" + id + "\" is a child of \"" + *parent + "\": delete the root instead");
            }
            return remove(tree(id).all_ids, force);
        });
    }
    Result<DeleteInstanceResult> delete_instances_atomic(const Ids& ids, bool force) override {
        return change("delete_instances_atomic", [&] { return remove(ids, force); });
    }
    Result<DeleteInstanceResult> delete_instance_bulk(const InstanceFilter& filter) override {
        return change("delete_instance_bulk", [&] {
            const auto queued = inboxes();
            const auto ended_root = [&](const Meta& meta) {
                const auto row = this->row(meta.id);
                const bool is_child = meta.parent && records_.meta(*meta.parent);
                return !is_child && (row.ended() || (row.is(ExecutionStatus::continued_as_new) &&
                                                     !continues(queued, meta.id)));
            };
            DeleteInstanceResult sum;
            for (const auto& id : matching(filter, ended_root)) {
                if (!records_.meta(id)) {
                    continue; // gone with another tree
                }
                const auto one = remove(tree(id).all_ids, true);
                sum.instances_deleted += one.instances_deleted;
                sum.executions_deleted += one.executions_deleted;
                sum.events_deleted += one.events_deleted;
                sum.queue_messages_deleted += one.queue_messages_deleted;
            }
            return sum;
        });
    }
    Result<PruneResult> prune_executions(const std::string& id,
                                         const PruneOptions& options) override {
        return change("prune_executions", [&] { return prune(*existing(id).meta, options); });
    }
    Result<PruneResult> prune_executions_bulk(const InstanceFilter& filter,
                                              const PruneOptions& options) override {
        return change("prune_executions_bulk", [&] {
            PruneResult sum;
            const auto begun = [&](const Meta& meta) { return !row(meta.id).pending; };
            for (const auto& id : matching(filter, begun)) {
                const auto one = prune(*records_.meta(id), options);
                sum.instances_processed += one.instances_processed;
                sum.executions_deleted += one.executions_deleted;
                sum.events_deleted += one.events_deleted;
            }
            return sum;
        });
    }

 private:
    // Between two executions: it shows an end, but its next start is queued.
    [[nodiscard]] static bool continues(const Inboxes& queued, const std::string& id) {
        const auto inbox = queued.find(id);
        const auto is_next = &Queued::is<work::ContinueAsNew>;
        return inbox != queued.end() && (std::ranges::any_of(inbox->second.due, is_next) ||
                                         std::ranges::any_of(inbox->second.later, is_next));
    }
    template <class Accept>
    [[nodiscard]] Ids matching(const InstanceFilter& filter, const Accept& accept) const {
        auto ids = ids_if([&](const Meta& meta) {
            if (filter.instance_ids && !contains(*filter.instance_ids, meta.id)) {
                return false;
            }
            const auto current = filter.completed_before ? row(meta.id).current : std::nullopt;
            return (!filter.completed_before ||
                    (current && current->completed_at_ms &&
                     instant(*current->completed_at_ms) < *filter.completed_before)) &&
                   accept(meta);
        });
        ids.resize(std::min<std::size_t>(ids.size(), filter.limit.value_or(1000)));
        return ids;
    }

    [[nodiscard]] DeleteInstanceResult remove(const Ids& listed, bool force) {
        const std::set<std::string> ids{listed.begin(), listed.end()};
        for (const auto& id : ids) {
            const auto row = this->row(id);
            if (!force && (row.pending || row.is(ExecutionStatus::running))) {
                refuse(ErrorCode::still_running, "\"" + id + "\" is still running: use force");
            }
        }
        for (const auto& meta : records_.all_metas()) {
            if (meta.parent && ids.contains(*meta.parent) && !ids.contains(meta.id)) {
                refuse(ErrorCode::has_children, "\"" + meta.id + "\" would lose its parent");
            }
        }
        Change change;
        DeleteInstanceResult result;
        std::set<std::string> gone = ids; // with their activities
        for (const auto& id : ids) {
            for (const auto& [n, execution] : records_.executions(id)) {
                result.executions_deleted += execution.status.empty() ? 0U : 1U;
                result.events_deleted += execution.events;
            }
            result.instances_deleted += records_.meta(id) ? 1U : 0U;
            change.push_back(removal(path_of(id)));
        }
        std::set<std::string> ended; // leases
        for (const auto& [id, inbox] : inboxes()) {
            remove_messages(id, inbox, ids, gone, ended, change);
        }
        for (const auto& item : records_.items(worker_queue, now())) {
            if (gone.contains(target_instance(item.item))) {
                change.push_back(removal(item.file));
            }
        }
        result.queue_messages_deleted = change.size() - ids.size();
        for (const auto& id : gone) {
            change.push_back(removal(path_of(id) + "/hidden.json"));
        }
        auto deleted = records_.deleted();
        for (const auto& id : ids) {
            deleted[id] = directory_.next_number();
        }
        while (deleted.size() > most_deleted_remembered) {
            deleted.erase(std::ranges::min_element(
                deleted, {}, &std::pair<const std::string, std::uint64_t>::second));
        }
        change.push_back(store("deleted.json", deleted));
        directory_.change(change);
        std::erase_if(turns_, [&](const auto& entry) {
            return gone.contains(entry.first) || ended.contains(entry.first);
        });
        forget_leases_on(change);
        return result;
    }
    // Of a deleted instance all messages go, but for the starts of children whose parents stay:
    // they wait for an answer, and the id is free now. Of other instances the starts go that
    // deleted parents sent, and all the rest where nothing else would start them.
    void remove_messages(const std::string& id,
                         const Inbox& inbox,
                         const std::set<std::string>& ids,
                         std::set<std::string>& gone,
                         std::set<std::string>& ended,
                         Change& change) const {
        std::vector<Queued> messages = inbox.due;
        messages.insert(messages.end(), inbox.later.begin(), inbox.later.end());
        const auto parent_of = [](const Queued& message) {
            const auto* start = std::get_if<work::StartOrchestration>(&message.item);
            return start != nullptr ? start->parent_instance : std::nullopt;
        };
        const auto sent_by_deleted = [&](const Queued& message) {
            const auto parent = parent_of(message);
            return parent && ids.contains(*parent);
        };
        const bool deleted = ids.contains(id);
        const bool begins = records_.meta(id) || !records_.executions(id).empty() ||
                            std::ranges::any_of(messages, [&](const Queued& message) {
                                return message.starts() && !sent_by_deleted(message);
                            });
        const bool loses_its_start = !deleted && std::ranges::any_of(messages, sent_by_deleted);
        if (loses_its_start && !begins) {
            gone.insert(id);
        }
        const auto lease = turns_.find(id);
        for (const auto& message : messages) {
            const bool kept_start = parent_of(message) && !sent_by_deleted(message);
            const bool goes =
                deleted ? !kept_start : sent_by_deleted(message) || (loses_its_start && !begins);
            if (goes) {
                change.push_back(removal(message.file));
            }
            if (goes && lease != turns_.end() && contains(lease->second.files, message.file)) {
                ended.insert(id);
            }
        }
    }

    [[nodiscard]] PruneResult prune(const Meta& meta, const PruneOptions& options) {
        PruneResult result{.instances_processed = 1};
        Change change;
        auto left = std::max(options.keep_last.value_or(1), 1U);
        const auto executions = records_.committed(meta.id);
        for (const auto& [n, execution] : std::views::reverse(executions)) {
            const bool newest = left > 0;
            left -= newest ? 1U : 0U;
            const bool young = options.completed_before &&
                               (!execution.completed_at_ms ||
                                instant(*execution.completed_at_ms) >= *options.completed_before);
            if (newest || young || n == meta.execution || execution.status == "Running") {
                continue;
            }
            change.push_back(removal(path_of(meta.id, n)));
            ++result.executions_deleted;
            result.events_deleted += execution.events;
        }
        directory_.change(change);
        return result;
    }
};

} // namespace files_store
