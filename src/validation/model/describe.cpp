#include "validation/model/describe.hpp"

#include <durable/codec.hpp>
#include <durable/time.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace durable::validation {

namespace {

std::string text(std::uint64_t number) {
    return std::to_string(number);
}

std::string text(const std::optional<std::string>& value) {
    return value ? "'" + *value + "'" : "-";
}

std::string text(Instant instant) {
    return text(to_epoch_ms(instant));
}

std::string text(const std::optional<Instant>& instant) {
    return instant ? text(*instant) : "-";
}

template <class T>
std::string text(const std::vector<T>& values) {
    std::string all = "[";
    for (const auto& value : values) {
        all += (all.size() > 1 ? ", " : "");
        if constexpr (requires { describe(value); }) {
            all += describe(value);
        } else if constexpr (std::is_same_v<T, std::string>) {
            all += "'" + value + "'";
        } else {
            all += text(value);
        }
    }
    return all + "]";
}

std::string sorted(std::vector<std::string> values) {
    std::ranges::sort(values);
    return text(values);
}

// An answer, or its error.
template <class T, class Describe>
std::string either(const Result<T>& answer, const Describe& describe_value) {
    return answer ? describe_value(*answer) : describe(answer.error());
}

std::string describe_item(const OrchestrationItem& item,
                          const std::vector<CachedHistory>& known_by_instance,
                          std::span<const std::string> instances) {
    std::uint64_t known = 0;
    const auto place = std::ranges::find(instances, item.instance);
    const auto index = static_cast<std::size_t>(place - instances.begin());
    if (index < known_by_instance.size() &&
        known_by_instance[index].execution_id == item.execution_id) {
        known = known_by_instance[index].last_event_id;
    }
    std::string shown = "turn of '" + item.instance + "' " + item.orchestration_name + " " +
                        item.version + " execution " + text(item.execution_id) + " attempt " +
                        text(item.attempt_count) + "\n  messages " + text(item.messages);
    shown += "\n  history [";
    for (const auto& event : item.history) {
        shown += event.event_id > known ? "\n    " + describe(event) : "";
    }
    shown += "]";
    shown += item.history_error ? "\n  history error" : "";
    if (known == 0) {
        for (const auto& [key, entry] : item.kv_snapshot) {
            shown += "\n  kv " + key + "=" + entry.value + "@" + text(entry.last_updated_at_ms);
        }
    }
    return shown;
}

std::string text(const std::optional<Parked>& parked) {
    return parked ? "'" + parked->reason + "' since " + text(parked->since) : "-";
}

std::string describe_info(const InstanceInfo& info) {
    return info.instance_id + " " + info.orchestration_name + " " + info.orchestration_version +
           " execution " + text(info.current_execution_id) + " " + info.status + " output " +
           text(info.output) + " created " + text(info.created_at) + " updated " +
           text(info.updated_at) + " parent " + text(info.parent_instance_id) + " parked " +
           text(info.parked);
}

std::string describe_execution(const ExecutionInfo& info) {
    return text(info.execution_id) + " " + info.status + " output " + text(info.output) +
           " started " + text(info.started_at) + " completed " + text(info.completed_at) +
           " events " + text(info.event_count);
}

std::string describe_instance_reads(Provider& provider, const std::string& instance) {
    std::string shown = "\n'" + instance + "'";
    const auto line = [&](const char* name, const std::string& value) {
        shown += std::string{"\n  "} + name + " " + value;
    };
    line("read", either(provider.read(instance), [](const auto& events) { return text(events); }));
    line("status", either(provider.get_custom_status(instance, 0), [](const auto& status) {
             return status ? text(status->status) + " v" + text(status->version) : "-";
         }));
    line("kv", either(provider.get_kv_all_values(instance), [](const auto& values) {
             std::string all;
             for (const auto& [key, value] : values) {
                 all += key + "=" + value + " ";
             }
             return all;
         }));
    line("stats", either(provider.get_instance_stats(instance), [](const auto& stats) {
             return !stats ? std::string{"-"}
                           : text(stats->history_event_count) + " events " +
                                 text(stats->history_size_bytes) + " bytes, pending " +
                                 text(stats->queue_pending_count) + ", kv " +
                                 text(stats->kv_user_key_count) + "/" +
                                 text(stats->kv_total_value_bytes);
         }));
    line("watch", either(provider.watch_instance({.instance = instance}), [](const auto& state) {
             return !state.exists
                        ? std::string{"-"}
                        : state.orchestration_name + " " + state.orchestration_version + " " +
                              text(state.execution_id) + " " + std::string{name_of(state.status)} +
                              " " + text(state.output) + " " +
                              (state.failure ? display_text(*state.failure) : "-") + " " +
                              text(state.custom_status.status) + " v" +
                              text(state.custom_status.version) + " parked " + text(state.parked);
         }));
    return shown;
}

std::string describe_admin_reads(ProviderAdmin& admin, const std::string& instance) {
    std::string shown;
    const auto line = [&](const char* name, const std::string& value) {
        shown += std::string{"\n  "} + name + " " + value;
    };
    line("info", either(admin.get_instance_info(instance), describe_info));
    const auto executions = admin.list_executions(instance);
    line("executions", either(executions, [](const auto& ids) { return text(ids); }));
    for (const auto id : executions ? *executions : std::vector<std::uint64_t>{}) {
        line("execution", either(admin.get_execution_info(instance, id), describe_execution));
        line("history",
             either(admin.read_history_with_execution_id(instance, id),
                    [](const auto& events) { return text(events); }));
    }
    line("latest", either(admin.latest_execution_id(instance), [](auto id) { return text(id); }));
    line("children", either(admin.list_children(instance), sorted));
    line("parent", either(admin.get_parent_id(instance), [](const auto& id) { return text(id); }));
    line("tree", either(admin.get_instance_tree(instance), [](const InstanceTree& tree) {
             return tree.root_id + " " + sorted(tree.all_ids);
         }));
    return shown;
}

// By their age; the order of equally old ones of an instance is not defined.
std::string describe_parked(const std::vector<ParkedWork>& parked) {
    std::vector<std::pair<Instant, std::string>> lines;
    for (const auto& each : parked) {
        lines.emplace_back(each.since,
                           std::string{each.kind == ParkedWork::Kind::turn ? "turn" : "activity"} +
                               " of '" + each.instance + "' needs " + each.name + " " +
                               each.version + " attempts " + text(each.attempts) + " since " +
                               text(each.since) + " '" + each.reason + "'");
    }
    const bool oldest_first = std::ranges::is_sorted(parked, {}, &ParkedWork::since);
    std::ranges::sort(lines);
    std::string shown = oldest_first ? "" : "not the oldest first";
    for (const auto& [since, line] : lines) {
        shown += "\n  " + line;
    }
    return shown;
}

std::string describe_store(ProviderAdmin& admin) {
    std::string shown =
        "\nlist " + either(admin.list_instances(), [](const auto& ids) { return text(ids); });
    for (const auto* status :
         {"Pending", "Running", "Completed", "Failed", "ContinuedAsNew", "Unknown"}) {
        shown += std::string{"\n"} + status + " " +
                 either(admin.list_instances_by_status(status), sorted);
    }
    shown += "\nmetrics " + either(admin.get_system_metrics(), [](const SystemMetrics& m) {
                 return text(std::vector{m.total_instances,
                                         m.total_executions,
                                         m.running_instances,
                                         m.pending_instances,
                                         m.completed_instances,
                                         m.failed_instances,
                                         m.total_events,
                                         m.quarantined_items,
                                         m.expired_messages});
             });
    shown += "\ndepths " + either(admin.get_queue_depths(), [](const QueueDepths& depths) {
                 return text(depths.orchestrator_queue) + " " + text(depths.worker_queue);
             });
    for (const auto waited : {Duration::zero(), Duration{60}}) {
        shown += "\nparked for " + text(static_cast<std::uint64_t>(waited.count())) + " " +
                 either(admin.list_parked(waited, 1'000), describe_parked);
    }
    // Which of equally old ones a limit leaves out is not defined.
    shown += "\noldest parked " + either(admin.list_parked(Duration::zero(), 2), [](const auto& w) {
                 std::string since;
                 for (const auto& each : w) {
                     since += text(each.since) + " ";
                 }
                 return since;
             });
    return shown;
}

} // namespace

std::string describe(const Error& error) {
    return "error " + std::string{name_of(error.code)} + " in " + error.operation;
}

std::string describe(const Result<>& answer) {
    return answer ? "done" : describe(answer.error());
}

std::string describe(const Result<std::uint64_t>& answer) {
    return either(answer, [](std::uint64_t count) { return text(count); });
}

std::string describe(const Result<std::optional<OrchestrationItem>>& answer,
                     const std::vector<CachedHistory>& known_by_instance,
                     std::span<const std::string> instances) {
    return either(answer, [&](const auto& item) {
        return item ? describe_item(*item, known_by_instance, instances) : "nothing";
    });
}

std::string describe(const Result<std::optional<WorkLease>>& answer) {
    return either(answer, [](const auto& lease) {
        return lease ? describe(WorkItem{lease->item}) + " attempt " + text(lease->attempt_count)
                     : "nothing";
    });
}

std::string describe(const Result<DeleteInstanceResult>& answer) {
    return either(answer, [](const DeleteInstanceResult& result) {
        return text(std::vector{result.instances_deleted,
                                result.executions_deleted,
                                result.events_deleted,
                                result.queue_messages_deleted});
    });
}

std::string describe(const Result<PruneResult>& answer) {
    return either(answer, [](const PruneResult& result) {
        return text(std::vector{
            result.instances_processed, result.executions_deleted, result.events_deleted});
    });
}

std::string describe(const WorkItem& item) {
    const auto encoded = encode(item);
    return encoded ? *encoded : describe(encoded.error());
}

std::string describe(const HistoryEvent& event) {
    const auto encoded = encode(event);
    return encoded ? *encoded : describe(encoded.error());
}

std::string describe_state(Provider& provider, std::span<const std::string> instances) {
    std::string shown;
    auto* const admin = provider.as_management_capability();
    for (const auto& instance : instances) {
        shown += describe_instance_reads(provider, instance);
        if (admin != nullptr) {
            shown += describe_admin_reads(*admin, instance);
        }
    }
    if (admin != nullptr) {
        shown += describe_store(*admin);
    }
    return shown;
}

} // namespace durable::validation
