// Defects of what can be read: P8, P9, and the management half.

#include "unit/validation/mutant.hpp"

#include <map>
#include <set>

namespace durable::validation {
namespace {

using Turn = Result<std::optional<OrchestrationItem>>;

class ShowsTurnsTheirOwnValues final : public Mutant {
 public:
    using Mutant::Mutant;
    Turn fetch_orchestration_item(const FetchOrchestration& request) override {
        auto turn = inner().fetch_orchestration_item(request);
        if (turn && *turn) {
            (*turn)->kv_snapshot.clear();
            const auto values = inner().get_kv_all_values((*turn)->instance);
            for (const auto& [key, value] : *values) {
                (*turn)->kv_snapshot[key].value = value;
            }
        }
        return turn;
    }
};

class TakesAFailureForNoEnd final : public Mutant {
 public:
    using Mutant::Mutant;
    Turn fetch_orchestration_item(const FetchOrchestration& request) override {
        auto turn = inner().fetch_orchestration_item(request);
        if (turn && *turn && failed((*turn)->instance)) {
            (*turn)->kv_snapshot.clear();
        }
        return turn;
    }
    Result<ExecutionInfo> get_execution_info(const std::string& instance,
                                             std::uint64_t execution_id) override {
        auto info = inner().as_management_capability()->get_execution_info(instance, execution_id);
        if (info && info->status == "Failed") {
            info->completed_at.reset();
        }
        return info;
    }

 private:
    bool failed(const std::string& instance) {
        const auto info = inner().as_management_capability()->get_instance_info(instance);
        return info && info->status == "Failed";
    }
};

class TakesAClearedStatusForNone final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<std::optional<CustomStatus>> get_custom_status(const std::string& instance,
                                                          std::uint64_t last_seen) override {
        auto status = inner().get_custom_status(instance, last_seen);
        if (status && *status && !(*status)->status) {
            return std::nullopt;
        }
        return status;
    }
};

class RepeatsOldNews final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<std::optional<CustomStatus>> get_custom_status(const std::string& instance,
                                                          std::uint64_t /*last_seen*/) override {
        return inner().get_custom_status(instance, 0);
    }
};

class TrimsKeys final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<std::optional<std::string>> get_kv_value(const std::string& instance,
                                                    const std::string& key) override {
        return inner().get_kv_value(instance, key.substr(0, key.find_last_not_of(' ') + 1));
    }
};

// Believes the caller's cache, whichever execution it is of.
class TrustsEveryCache final : public Mutant {
 public:
    using Mutant::Mutant;
    Turn fetch_orchestration_item(const FetchOrchestration& request) override {
        auto plain = request;
        plain.cached = nullptr;
        auto turn = inner().fetch_orchestration_item(plain);
        const auto cached =
            turn && *turn && request.cached ? request.cached((*turn)->instance) : std::nullopt;
        if (cached && cached->last_event_id > 0) {
            (*turn)->history_after = cached->last_event_id;
            std::erase_if((*turn)->history, [&](const HistoryEvent& event) {
                return event.event_id <= cached->last_event_id;
            });
            (*turn)->kv_snapshot.clear();
        }
        return turn;
    }
};

class SkipsUnreadableEvents final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<std::vector<HistoryEvent>> read(const std::string& instance) override {
        auto events = inner().read(instance);
        return events ? std::move(events) : std::vector<HistoryEvent>{};
    }
};

class ForgetsWhoCallsAChild final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> enqueue_for_orchestrator(const WorkItem& item,
                                      std::optional<Duration> delay) override {
        auto forgotten = item;
        if (auto* start = std::get_if<work::StartOrchestration>(&forgotten)) {
            start->parent_instance.reset();
        }
        return inner().enqueue_for_orchestrator(forgotten, delay);
    }
};

class TellsNoIncarnation final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<InstanceState> watch_instance(const WatchInstance& request) override {
        auto state = inner().watch_instance(request);
        if (state) {
            state->incarnation = 0;
        }
        return state;
    }
};

class DeletesWhatRuns final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<DeleteInstanceResult> delete_instance(const std::string& instance,
                                                 bool /*force*/) override {
        return inner().as_management_capability()->delete_instance(instance, true);
    }
};

// What is left of a child is what makes it listed: a row with its name and its parent.
class LeavesChildrenBehind final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<DeleteInstanceResult> delete_instance(const std::string& instance, bool force) override {
        auto& admin = *inner().as_management_capability();
        const auto tree = admin.get_instance_tree(instance);
        auto deleted = admin.delete_instance(instance, force);
        for (const auto& id : tree->all_ids) {
            if (deleted && id != instance) {
                leave(id, instance);
            }
        }
        return deleted;
    }

 private:
    void leave(const std::string& child, const std::string& parent) {
        (void)inner().enqueue_for_orchestrator(
            work::StartOrchestration{.instance = child, .orchestration = "Left", .input = ""}, {});
        const auto turn = inner().fetch_orchestration_item({.lock_timeout = Duration{1'000}});
        (void)inner().ack_orchestration_item({.lock_token = (*turn)->lock_token,
                                              .metadata = {.orchestration_name = "Left",
                                                           .orchestration_version = "1.0.0",
                                                           .parent_instance_id = parent}});
    }
};

class PrunesTheCurrentExecution final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<PruneResult> prune_executions(const std::string& instance,
                                         const PruneOptions& options) override {
        pruned_.insert(instance);
        return inner().as_management_capability()->prune_executions(instance, options);
    }
    Result<std::vector<std::uint64_t>> list_executions(const std::string& instance) override {
        auto ids = inner().as_management_capability()->list_executions(instance);
        if (ids && !ids->empty() && pruned_.contains(instance)) {
            ids->pop_back();
        }
        return ids;
    }

 private:
    std::set<std::string> pruned_;
};

class IgnoresTheAgeToPrune final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<PruneResult> prune_executions(const std::string& instance,
                                         const PruneOptions& options) override {
        return inner().as_management_capability()->prune_executions(
            instance, {.keep_last = options.keep_last});
    }
};

} // namespace

std::vector<Defect> state_defects() {
    return {
        defect<ShowsTurnsTheirOwnValues>("ShowsTurnsTheirOwnValues",
                                         {"test_kv_delta_snapshot_excludes_current_execution"}),
        defect<TakesAFailureForNoEnd>(
            "TakesAFailureForNoEnd",
            {"the_values_of_an_execution_that_failed_stay", "an_execution_that_failed_has_ended"}),
        defect<TakesAClearedStatusForNone>("TakesAClearedStatusForNone",
                                           {"test_custom_status_clear"}),
        defect<RepeatsOldNews>("RepeatsOldNews", {"test_custom_status_polling_no_change"}),
        defect<TrimsKeys>("TrimsKeys", {"keys_with_strange_names_are_kept_apart"}),
        defect<TrustsEveryCache>(
            "TrustsEveryCache",
            {"a_cache_of_another_execution_is_not_used", "a_cache_ahead_of_the_store_is_not_used"}),
        defect<SkipsUnreadableEvents>("SkipsUnreadableEvents",
                                      {"test_read_corrupted_history_returns_error"}),
        defect<DeletesWhatRuns>(
            "DeletesWhatRuns",
            {"test_delete_running_rejected_force_succeeds", "a_refused_deletion_leaves_no_trace"}),
        defect<ForgetsWhoCallsAChild>("ForgetsWhoCallsAChild",
                                      {"children_that_have_not_begun_are_deleted_too",
                                       "a_turn_that_begins_a_child_of_a_deleted_parent_is_lost",
                                       "a_start_by_somebody_else_survives"}),
        defect<TellsNoIncarnation>("TellsNoIncarnation", {"the_state_tells_the_incarnation"}),
        defect<LeavesChildrenBehind>("LeavesChildrenBehind", {"test_cascade_delete_hierarchy"}),
        defect<PrunesTheCurrentExecution>("PrunesTheCurrentExecution",
                                          {"test_prune_safety", "test_kv_execution_id_tracking"}),
        defect<IgnoresTheAgeToPrune>("IgnoresTheAgeToPrune", {"test_prune_options_combinations"}),
    };
}

} // namespace durable::validation
