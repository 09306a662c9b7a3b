// Defects that show when there is much of something, or when two things look alike.

#include "unit/validation/mutant.hpp"

#include <algorithm>

namespace durable::validation {
namespace {

using Turn = Result<std::optional<OrchestrationItem>>;
using Events = Result<std::vector<HistoryEvent>>;

constexpr std::size_t page = 1'000;

class ReadsAPageOfHistory final : public Mutant {
 public:
    using Mutant::Mutant;
    Turn fetch_orchestration_item(const FetchOrchestration& request) override {
        auto turn = inner().fetch_orchestration_item(request);
        if (turn && *turn && (*turn)->history.size() > page) {
            (*turn)->history.resize(page);
        }
        return turn;
    }
};

class SchedulesAHundred final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> ack_orchestration_item(const TurnCommit& commit) override {
        auto cut = commit;
        cut.worker_items.resize(std::min(cut.worker_items.size(), std::size_t{100}));
        return inner().ack_orchestration_item(cut);
    }
};

class SendsAHundred final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> ack_orchestration_item(const TurnCommit& commit) override {
        auto cut = commit;
        cut.orchestrator_items.resize(std::min(cut.orchestrator_items.size(), std::size_t{100}));
        return inner().ack_orchestration_item(cut);
    }
};

class CutsLongTexts final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> enqueue_for_worker(const WorkItem& item) override {
        auto cut = item;
        if (auto* activity = std::get_if<work::ActivityExecute>(&cut)) {
            activity->input.resize(std::min(activity->input.size(), std::size_t{1} << 20U));
        }
        return inner().enqueue_for_worker(cut);
    }
};

class ListsAPageOfInstances final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<std::vector<std::string>> list_instances() override {
        auto all = inner().as_management_capability()->list_instances();
        if (all && all->size() > page) {
            all->resize(page);
        }
        return all;
    }
};

class ListsAHundredKeys final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<std::map<std::string, std::string>>
    get_kv_all_values(const std::string& instance) override {
        auto all = inner().get_kv_all_values(instance);
        while (all && all->size() > 100) {
            all->erase(std::prev(all->end()));
        }
        return all;
    }
};

class CountsAttemptsInAByte final : public Mutant {
 public:
    using Mutant::Mutant;
    Turn fetch_orchestration_item(const FetchOrchestration& request) override {
        auto turn = inner().fetch_orchestration_item(request);
        if (turn && *turn) {
            (*turn)->attempt_count = std::min((*turn)->attempt_count, 255U);
        }
        return turn;
    }
};

class KeepsShortNumbers final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<std::optional<WorkLease>> fetch_work_item(const FetchWork& request) override {
        auto lease = inner().fetch_work_item(request);
        if (lease && *lease) {
            (*lease)->item.id &= 0xffff'ffffU;
        }
        return lease;
    }
};

// `instance LIKE id || '%'`
class FindsKeysByPrefix final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<std::map<std::string, std::string>>
    get_kv_all_values(const std::string& instance) override {
        auto values = inner().get_kv_all_values(instance);
        const auto all = inner().as_management_capability()->list_instances();
        for (const auto& other : *all) {
            if (values && other != instance && other.starts_with(instance)) {
                auto strange = inner().get_kv_all_values(other);
                values->insert_or_assign("of", strange->at("of"));
            }
        }
        return values;
    }
};

class DropsCarriageReturns final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> enqueue_for_worker(const WorkItem& item) override {
        auto tidy = item;
        if (auto* activity = std::get_if<work::ActivityExecute>(&tidy)) {
            std::erase(activity->input, '\r');
        }
        return inner().enqueue_for_worker(tidy);
    }
};

class TakesEmptyForAbsent final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<std::optional<CustomStatus>> get_custom_status(const std::string& instance,
                                                          std::uint64_t last_seen) override {
        auto status = inner().get_custom_status(instance, last_seen);
        if (status && *status && (*status)->status == "") {
            (*status)->status.reset();
        }
        return status;
    }
};

class CancelsInEveryExecution final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> ack_orchestration_item(const TurnCommit& commit) override {
        auto wide = commit;
        for (auto& id : wide.cancelled_activities) {
            id.execution_id = 1;
        }
        return inner().ack_orchestration_item(wide);
    }
};

class PrunesWithoutTheFilter final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<PruneResult> prune_executions_bulk(const InstanceFilter& filter,
                                              const PruneOptions& options) override {
        auto wide = filter;
        wide.completed_before.reset();
        return inner().as_management_capability()->prune_executions_bulk(wide, options);
    }
};

class ForgetsRevisions final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<InstanceState> watch_instance(const WatchInstance& request) override {
        auto state = inner().watch_instance(request);
        if (state && !state->exists) {
            state->revision = 0;
        }
        return state;
    }
};

// Hands an item out for ever: checks that empty a queue must end all the same.
class NeverDiscards final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> ack_work_item(const std::string& lock_token,
                           const std::optional<WorkItem>& completion) override {
        return completion ? inner().ack_work_item(lock_token, completion)
                          : inner().abandon_work_item(lock_token, std::nullopt, true);
    }
};

} // namespace

std::vector<Defect> size_defects() {
    return {
        defect<ReadsAPageOfHistory>("ReadsAPageOfHistory", {"a_long_history_is_read_in_full"}),
        defect<SchedulesAHundred>("SchedulesAHundred", {"a_commit_schedules_many_activities"}),
        defect<SendsAHundred>("SendsAHundred", {"a_commit_sends_many_messages"}),
        defect<CutsLongTexts>("CutsLongTexts", {"a_large_text_comes_back_as_it_was"}),
        defect<ListsAPageOfInstances>("ListsAPageOfInstances", {"many_instances_are_listed"}),
        defect<ListsAHundredKeys>("ListsAHundredKeys", {"a_key_value_store_holds_many_keys"}),
        defect<CountsAttemptsInAByte>("CountsAttemptsInAByte",
                                      {"attempts_are_counted_as_far_as_it_takes"}),
        defect<KeepsShortNumbers>("KeepsShortNumbers", {"large_numbers_are_kept"}),
        defect<FindsKeysByPrefix>("FindsKeysByPrefix", {"look_alikes_share_nothing"}),
        defect<DropsCarriageReturns>("DropsCarriageReturns", {"text_is_not_tidied"}),
        defect<TakesEmptyForAbsent>("TakesEmptyForAbsent", {"empty_is_not_absent"}),
        defect<CancelsInEveryExecution>("CancelsInEveryExecution",
                                        {"only_the_execution_that_is_named_loses_an_activity"}),
        defect<PrunesWithoutTheFilter>("PrunesWithoutTheFilter",
                                       {"pruning_in_bulk_respects_the_filter"}),
        defect<ForgetsRevisions>("ForgetsRevisions",
                                 {"a_revision_does_not_fall_when_its_instance_is_deleted"}),
        defect<NeverDiscards>("NeverDiscards",
                              {"a_commit_with_text_that_is_not_utf8_leaves_no_trace"}),
    };
}

} // namespace durable::validation
