// Defects of starting (P15), of giving turns back and of what is told about parked work.

#include "unit/validation/mutant.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>

namespace durable::validation {
namespace {

using namespace std::chrono_literals;

class TellsEverybodyThatItStarted final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> start_instance(const work::StartOrchestration& start,
                            std::optional<Duration> delay) override {
        auto started = inner().start_instance(start, delay);
        return started || started.error().code != ErrorCode::already_exists ? started : Result<>{};
    }
};

class StartsByAMessage final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> start_instance(const work::StartOrchestration& start,
                            std::optional<Duration> delay) override {
        return inner().enqueue_for_orchestrator(start, delay);
    }
};

// Looks for instances, not for starts that are still queued.
class OverlooksQueuedStarts final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> start_instance(const work::StartOrchestration& start,
                            std::optional<Duration> delay) override {
        auto started = inner().start_instance(start, delay);
        const auto state = inner().watch_instance({.instance = start.instance});
        if (!started && state && !state->exists) {
            return inner().enqueue_for_orchestrator(start, delay);
        }
        return started;
    }
};

class StartsWithoutDelay final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> start_instance(const work::StartOrchestration& start,
                            std::optional<Duration> /*delay*/) override {
        return inner().start_instance(start, std::nullopt);
    }
};

class HidesWhatIsPending final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<std::vector<std::string>> list_instances() override {
        auto& admin = *inner().as_management_capability();
        auto ids = admin.list_instances();
        const auto pending = admin.list_instances_by_status("Pending");
        std::erase_if(*ids, [&](const std::string& id) {
            return std::ranges::find(*pending, id) != pending->end();
        });
        return ids;
    }
    Result<SystemMetrics> get_system_metrics() override {
        auto metrics = inner().as_management_capability()->get_system_metrics();
        metrics->running_instances += std::exchange(metrics->pending_instances, 0);
        return metrics;
    }
};

class DeletesWhatIsPending final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<DeleteInstanceResult> delete_instance(const std::string& instance, bool force) override {
        const auto state = inner().watch_instance({.instance = instance});
        const bool pending = state && state->status == ExecutionStatus::pending;
        return inner().as_management_capability()->delete_instance(instance, force || pending);
    }
};

class CommitsWhatIsPending final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> ack_orchestration_item(const TurnCommit& commit) override {
        auto taken = commit;
        if (taken.metadata.status == ExecutionStatus::pending) {
            taken.metadata.status = ExecutionStatus::running;
        }
        return inner().ack_orchestration_item(taken);
    }
};

// ---- Giving back

class HidesNewcomersToo final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> abandon_orchestration_item(const AbandonTurn& abandon) override {
        auto whole = abandon;
        whole.whole_instance = true;
        return inner().abandon_orchestration_item(whole);
    }
};

class LetsNewcomersOvertake final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> abandon_orchestration_item(const AbandonTurn& abandon) override {
        auto part = abandon;
        part.whole_instance = false;
        return inner().abandon_orchestration_item(part);
    }
};

// A cancellation waits as long as its instance is hidden.
class HidesCancellations final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<std::optional<OrchestrationItem>>
    fetch_orchestration_item(const FetchOrchestration& request) override {
        auto turn = inner().fetch_orchestration_item(request);
        if (turn && *turn) {
            holder_[(*turn)->lock_token] = (*turn)->instance;
        }
        return turn;
    }
    Result<> abandon_orchestration_item(const AbandonTurn& abandon) override {
        if (abandon.whole_instance && abandon.delay) {
            hidden_for_[holder_[abandon.lock_token]] = *abandon.delay;
        }
        return inner().abandon_orchestration_item(abandon);
    }
    Result<> enqueue_for_orchestrator(const WorkItem& item,
                                      std::optional<Duration> delay) override {
        const auto hidden = hidden_for_.find(target_instance(item));
        if (hidden != hidden_for_.end() && std::holds_alternative<work::CancelInstance>(item)) {
            delay = hidden->second;
        }
        return inner().enqueue_for_orchestrator(item, delay);
    }

 private:
    std::map<std::string, std::string> holder_; // by token
    std::map<std::string, Duration> hidden_for_;
};

// ---- Parked work

class DropsReasons final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> abandon_orchestration_item(const AbandonTurn& abandon) override {
        auto silent = abandon;
        silent.parked.reset();
        return inner().abandon_orchestration_item(silent);
    }
};

// A reason is as new as the last time it was told.
class RenewsReasons final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> abandon_orchestration_item(const AbandonTurn& abandon) override {
        told_ += abandon.parked ? 1 : 0;
        return inner().abandon_orchestration_item(abandon);
    }
    Result<InstanceState> watch_instance(const WatchInstance& request) override {
        auto state = inner().watch_instance(request);
        if (state && state->parked) {
            state->parked->since += told_ * 1ms;
        }
        return state;
    }

 private:
    int told_ = 0;
};

class NeverForgetsReasons final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<InstanceState> watch_instance(const WatchInstance& request) override {
        auto state = inner().watch_instance(request);
        if (state && state->parked) {
            last_[request.instance] = *state->parked;
        }
        if (const auto last = last_.find(request.instance); state && last != last_.end()) {
            state->parked = last->second;
        }
        return state;
    }
    Result<> abandon_orchestration_item(const AbandonTurn& abandon) override {
        auto given = inner().abandon_orchestration_item(abandon);
        const auto all = inner().as_management_capability()->list_instances().value();
        for (const auto& id : all) {
            (void)watch_instance({.instance = id});
        }
        return given;
    }

 private:
    std::map<std::string, Parked> last_;
};

class ListsReasonsOnly final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<std::vector<ParkedWork>> list_parked(Duration waited, std::uint32_t limit) override {
        auto parked = inner().as_management_capability()->list_parked(waited, limit);
        std::erase_if(*parked, [](const ParkedWork& work) { return work.reason.empty(); });
        return parked;
    }
};

class ListsWhatHasHardlyWaited final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<std::vector<ParkedWork>> list_parked(Duration /*waited*/,
                                                std::uint32_t /*limit*/) override {
        return inner().as_management_capability()->list_parked(0ms, 1'000);
    }
};

} // namespace

std::vector<Defect> starting_defects() {
    return {
        defect<TellsEverybodyThatItStarted>("TellsEverybodyThatItStarted",
                                            {"an_id_is_started_once",
                                             "of_many_starts_exactly_one_makes_the_instance",
                                             "a_refused_start_leaves_no_trace"}),
        defect<StartsByAMessage>("StartsByAMessage",
                                 {"a_started_instance_exists_at_once",
                                  "a_pending_instance_is_listed",
                                  "an_id_is_started_once"}),
        defect<OverlooksQueuedStarts>("OverlooksQueuedStarts",
                                      {"a_start_that_is_queued_keeps_its_id"}),
        defect<StartsWithoutDelay>("StartsWithoutDelay",
                                   {"a_raise_before_a_delayed_start_waits_for_it"}),
        defect<HidesWhatIsPending>(
            "HidesWhatIsPending",
            {"a_pending_instance_is_listed", "pending_instances_are_counted_apart"}),
        defect<DeletesWhatIsPending>("DeletesWhatIsPending",
                                     {"a_pending_instance_is_deleted_by_force_only"}),
        defect<CommitsWhatIsPending>("CommitsWhatIsPending",
                                     {"a_commit_cannot_make_an_instance_pending"}),
        defect<HidesNewcomersToo>("HidesNewcomersToo",
                                  {"orchestration_delayed_abandon_preserves_unlocked_rows",
                                   "a_delay_hides_the_messages_of_an_expired_lease",
                                   "hidden_messages_make_no_suspect"}),
        defect<LetsNewcomersOvertake>("LetsNewcomersOvertake",
                                      {"a_backoff_hides_newcomers_of_a_running_instance"}),
        defect<HidesCancellations>("HidesCancellations",
                                   {"a_cancellation_reaches_a_hidden_instance"}),
        defect<DropsReasons>(
            "DropsReasons",
            {"a_reason_is_shown_wherever_one_looks", "a_pending_instance_can_be_parked"}),
        defect<RenewsReasons>("RenewsReasons", {"the_same_reason_keeps_its_time"}),
        defect<NeverForgetsReasons>(
            "NeverForgetsReasons",
            {"a_commit_removes_the_reason", "a_reason_goes_with_its_instance"}),
        defect<ListsReasonsOnly>(
            "ListsReasonsOnly",
            {"what_nobody_fetches_is_listed", "an_ended_instance_that_waits_needs_no_code"}),
        defect<ListsWhatHasHardlyWaited>(
            "ListsWhatHasHardlyWaited",
            {"what_nobody_fetches_is_listed", "the_oldest_are_listed_first_up_to_the_limit"}),
    };
}

} // namespace durable::validation
