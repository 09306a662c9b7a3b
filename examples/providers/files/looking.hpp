// Looking: what management asks. Every answer is read from the files.

#pragma once

#include "activities.hpp"

#include <durable/provider_admin.hpp>

#include <tuple>

namespace files_store {

using Ids = std::vector<std::string>;
using Events = std::vector<HistoryEvent>;

class Looking : public Activities, public ProviderAdmin {
 public:
    using Activities::Activities;

    Result<Ids> list_instances() override {
        return look("list_instances", [&] { return ids_if([](const Meta&) { return true; }); });
    }
    Result<Ids> list_instances_by_status(const std::string& status) override {
        return look("list_instances_by_status", [&] {
            return ids_if([&](const Meta& meta) { return row(meta.id).status() == status; });
        });
    }
    Result<std::vector<std::uint64_t>> list_executions(const std::string& id) override {
        return look("list_executions", [&] {
            std::vector<std::uint64_t> all;
            for (const auto& [n, execution] : records_.committed(id)) {
                all.push_back(n);
            }
            return all;
        });
    }
    Result<Events> read_history_with_execution_id(const std::string& id, std::uint64_t n) override {
        return look("read_history_with_execution_id", [&] { return records_.history(id, n); });
    }
    Result<Events> read_history(const std::string& id) override {
        return look("read_history", [&] { return records_.history(id, records_.latest(id)); });
    }
    Result<std::uint64_t> latest_execution_id(const std::string& id) override {
        return look("latest_execution_id", [&] { return records_.latest(id); });
    }

    Result<InstanceInfo> get_instance_info(const std::string& id) override {
        return look("get_instance_info", [&] {
            const auto row = existing(id);
            return InstanceInfo{.instance_id = id,
                                .orchestration_name = row.meta->name,
                                .orchestration_version = row.meta->version,
                                .current_execution_id = row.meta->execution,
                                .status = row.status(),
                                .output = row.output(),
                                .created_at = instant(row.meta->created_at_ms),
                                .updated_at = instant(row.meta->updated_at_ms),
                                .parent_instance_id = row.meta->parent,
                                .parked = row.parked()};
        });
    }
    Result<ExecutionInfo> get_execution_info(const std::string& id, std::uint64_t n) override {
        return look("get_execution_info", [&] {
            const auto found = records_.execution(id, n);
            if (!found || found->status.empty()) {
                refuse(ErrorCode::not_found, "execution " + std::to_string(n) + " not found");
            }
            ExecutionInfo info{.execution_id = n,
                               .status = found->status,
                               .output = found->output,
                               .started_at = instant(found->started_at_ms),
                               .event_count = found->events};
            if (found->completed_at_ms) {
                info.completed_at = instant(*found->completed_at_ms);
            }
            return info;
        });
    }
    Result<SystemMetrics> get_system_metrics() override {
        return look("get_system_metrics", [&] {
            (void)inboxes(); // what has expired by now is counted
            SystemMetrics metrics;
            for (const auto& name : directory_.list("instances")) {
                const auto meta = records_.read<Meta>("instances/" + name + "/meta.json");
                const auto status = meta ? row(meta->id).status() : "";
                metrics.total_instances += meta ? 1U : 0U;
                metrics.running_instances += status == "Running" ? 1U : 0U;
                metrics.pending_instances += status == "Pending" ? 1U : 0U;
                metrics.completed_instances += status == "Completed" ? 1U : 0U;
                metrics.failed_instances += status == "Failed" ? 1U : 0U;
                for (const auto& part : directory_.list("instances/" + name)) {
                    const auto execution =
                        records_.read<Execution>("instances/" + name + "/" + part + "/status.json");
                    metrics.total_executions += execution && !execution->status.empty() ? 1U : 0U;
                    metrics.total_events += execution ? execution->events : 0;
                }
            }
            for (const auto& [about, item] : quarantined()) {
                ++(about.expired ? metrics.expired_messages : metrics.quarantined_items);
            }
            return metrics;
        });
    }
    Result<QueueDepths> get_queue_depths() override {
        return look("get_queue_depths", [&] {
            (void)inboxes(); // what has expired by now is gone
            const auto count = [&](const char* queue) {
                const auto items = records_.items(queue, now());
                const auto is_free = [&](const Queued& item) { return !held(item.file); };
                return static_cast<std::uint64_t>(std::ranges::count_if(items, is_free));
            };
            QueueDepths depths{.orchestrator_queue = count(orchestrator_queue),
                               .worker_queue = count(worker_queue)};
            if (const auto next = until_next(); next < Duration::max()) {
                depths.next_due = add_saturating(clock_->now(), next);
            }
            return depths;
        });
    }
    Result<std::vector<QuarantinedItem>> list_quarantined() override {
        return look("list_quarantined", [&] {
            std::vector<QuarantinedItem> all;
            for (auto& [about, item] : quarantined()) {
                all.push_back(std::move(item));
            }
            return all;
        });
    }
    Result<std::vector<ParkedWork>> list_parked(Duration waited, std::uint32_t limit) override {
        return look("list_parked", [&] {
            const auto latest = add_saturating(clock_->now(), -std::max(waited, Duration::zero()));
            auto found = parked(latest.time_since_epoch().count());
            std::ranges::sort(found, {}, [](const ParkedWork& each) {
                return std::tuple{each.since, each.instance, each.kind, each.name};
            });
            found.resize(std::min<std::size_t>(found.size(), limit));
            return found;
        });
    }

    Result<Ids> list_children(const std::string& id) override {
        return look("list_children", [&] { return children(id); });
    }
    Result<std::optional<std::string>> get_parent_id(const std::string& id) override {
        return look("get_parent_id", [&] { return existing(id).meta->parent; });
    }
    Result<InstanceTree> get_instance_tree(const std::string& id) override {
        return look("get_instance_tree", [&] { return tree(id); });
    }

 protected:
    [[nodiscard]] static Instant instant(Millis at) { return Instant{Duration{at}}; }
    [[nodiscard]] Row existing(const std::string& id) const {
        auto found = row(id);
        if (!found.meta) {
            refuse(ErrorCode::not_found, "instance \"" + id + "\" not found");
        }
        return found;
    }
    template <class Predicate>
    [[nodiscard]] Ids ids_if(const Predicate& predicate) const { // newest first
        Ids ids;
        for (const auto& meta : records_.all_metas()) {
            if (predicate(meta)) {
                ids.push_back(meta.id);
            }
        }
        return ids;
    }
    [[nodiscard]] Ids children(const std::string& id) const {
        return ids_if([&](const Meta& meta) { return meta.parent == id; });
    }
    // A commit can name any parent: two instances may each claim to be the other's.
    [[nodiscard]] InstanceTree tree(const std::string& id) const {
        InstanceTree tree{.root_id = id, .all_ids = {id}};
        for (std::size_t i = 0; i < tree.all_ids.size(); ++i) {
            for (const auto& child : children(tree.all_ids[i])) {
                if (!contains(tree.all_ids, child)) {
                    tree.all_ids.push_back(child);
                }
            }
        }
        return tree;
    }

 private:
    [[nodiscard]] std::vector<std::pair<Quarantined, QuarantinedItem>> quarantined() const {
        std::vector<std::pair<Quarantined, QuarantinedItem>> all;
        std::uint64_t id = 0;
        for (const auto& name : directory_.list("quarantine")) {
            const auto text = directory_.read("quarantine/" + name).value_or("");
            const auto end = std::min(text.find('\n'), text.size());
            const auto about = from_payload<Quarantined>(text.substr(0, end))
                                   .value_or(Quarantined{.reason = "its record is damaged"});
            all.emplace_back(about,
                             QuarantinedItem{.id = ++id,
                                             .queue = about.queue,
                                             .instance = about.instance,
                                             .text = text.substr(std::min(end + 1, text.size())),
                                             .reason = about.reason,
                                             .quarantined_at = instant(about.at_ms)});
        }
        return all;
    }

    [[nodiscard]] std::vector<ParkedWork> parked(Millis latest) {
        std::vector<ParkedWork> found;
        auto queued = inboxes();
        for (const auto& meta : records_.all_metas()) {
            if (meta.parked) {
                found.push_back({.instance = meta.id,
                                 .name = meta.name,
                                 .version = known(meta.version),
                                 .attempts = queued[meta.id].attempts(),
                                 .since = instant(meta.parked_at_ms),
                                 .reason = *meta.parked});
                queued.erase(meta.id);
            }
        }
        for (const auto& [id, inbox] : queued) {
            const auto row = this->row(id);
            if (ready(id, inbox, row) && inbox.due.front().deliverable_from() <= latest) {
                const auto code = code_needed(id, inbox, row).value_or(std::pair{"", ""});
                found.push_back({.instance = id,
                                 .name = code.first,
                                 .version = known(code.second),
                                 .attempts = inbox.attempts(),
                                 .since = instant(inbox.due.front().deliverable_from())});
            }
        }
        for (const auto& item : records_.items(worker_queue, now())) {
            if (!held(item.file) && item.deliverable(now()) && item.deliverable_from() <= latest) {
                const auto& job = std::get<work::ActivityExecute>(item.item);
                found.push_back({.kind = ParkedWork::Kind::activity,
                                 .instance = job.instance,
                                 .name = job.name,
                                 .attempts = item.about.attempts,
                                 .since = instant(item.deliverable_from())});
            }
        }
        return found;
    }
    [[nodiscard]] static std::string known(const std::string& version) {
        return version == "unknown" ? "" : version;
    }
};

} // namespace files_store
