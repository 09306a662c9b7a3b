// Defects of time and waiting: P1, P3, P11.

#include "unit/validation/mutant.hpp"

#include <durable/memory.hpp>

#include <chrono>
#include <map>
#include <variant>

namespace durable::validation {
namespace {

using namespace std::chrono_literals;

// Looks at the queue before and after the wait, but not during it.
class MissesWakeUps final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<std::optional<OrchestrationItem>>
    fetch_orchestration_item(const FetchOrchestration& request) override {
        auto at_once = request;
        at_once.poll_timeout = 0ms;
        auto turn = inner().fetch_orchestration_item(at_once);
        if (turn && !*turn && request.poll_timeout > 0ms) {
            // No turn of this instance is ever committed: the watch just passes the time.
            (void)inner().watch_instance(
                {.instance = "nobody", .timeout = request.poll_timeout, .stop = request.stop});
            turn = inner().fetch_orchestration_item(at_once);
        }
        return turn;
    }
};

// Looks once whether it has ended, and then waits for the time to pass.
class SleepsThroughTheEnd final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<InstanceState> watch_instance(const WatchInstance& request) override {
        auto state = inner().watch_instance({.instance = request.instance});
        if (!request.ended_only || !state || state->status != ExecutionStatus::running) {
            return inner().watch_instance(request);
        }
        (void)inner().watch_instance(
            {.instance = "nobody", .timeout = request.timeout, .stop = request.stop});
        return state;
    }
};

class WaitsForAnotherEnd final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<InstanceState> watch_instance(const WatchInstance& request) override {
        auto state = inner().watch_instance({.instance = request.instance});
        if (state && request.ended_only && state->status != ExecutionStatus::running) {
            return fail(ErrorCode::timed_out, "waited for another end");
        }
        return inner().watch_instance(request);
    }
};

class AnswersEarly final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<std::optional<WorkLease>> fetch_work_item(const FetchWork& request) override {
        auto at_once = request;
        at_once.poll_timeout = 0ms;
        return inner().fetch_work_item(at_once);
    }
};

class OverstaysItsLease final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<std::optional<OrchestrationItem>>
    fetch_orchestration_item(const FetchOrchestration& request) override {
        auto longer = request;
        longer.lock_timeout += 1ms;
        return inner().fetch_orchestration_item(longer);
    }
};

class NeverShortensALease final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> renew_orchestration_item_lock(const std::string& lock_token,
                                           Duration extend_for) override {
        return inner().renew_orchestration_item_lock(lock_token,
                                                     std::max(extend_for, Duration{1h}));
    }
};

class RenewsNothing final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> renew_orchestration_item_lock(const std::string& lock_token, Duration) override {
        return inner().renew_orchestration_item_lock(lock_token, 1ms);
    }
};

class GivesUpAtTheFirstLostLease final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<std::vector<std::string>>
    renew_leases(const std::vector<LeaseRenewal>& leases) override {
        std::vector<std::string> lost;
        for (const auto& lease : leases) {
            auto one = inner().renew_leases({lease});
            if (!one || !one->empty()) {
                return one;
            }
        }
        return lost;
    }
};

class RenewsOnlyTheFirst final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<std::vector<std::string>>
    renew_leases(const std::vector<LeaseRenewal>& leases) override {
        return leases.empty() ? inner().renew_leases({}) : inner().renew_leases({leases.front()});
    }
};

class KeepsFailuresToItself final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<InstanceState> watch_instance(const WatchInstance& request) override {
        auto state = inner().watch_instance(request);
        if (state) {
            state->failure.reset();
        }
        return state;
    }
};

class FiresTimersAtOnce final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> enqueue_for_orchestrator(const WorkItem& item,
                                      std::optional<Duration> delay) override {
        auto early = item;
        if (auto* timer = std::get_if<work::TimerFired>(&early)) {
            timer->fire_at_ms = 0;
        }
        return inner().enqueue_for_orchestrator(early, delay);
    }
};

class NeverSeesDeletion final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<InstanceState> watch_instance(const WatchInstance& request) override {
        auto state = inner().watch_instance(request);
        if (state && state->exists) {
            last_[request.instance] = *state;
        } else if (last_.contains(request.instance)) {
            return last_[request.instance];
        }
        return state;
    }

 private:
    std::map<std::string, InstanceState> last_;
};

// The time of day serves for leases, too.
class WallClock final : public Clock {
 public:
    [[nodiscard]] Instant now() const noexcept override { return manual.now(); }
    [[nodiscard]] SteadyInstant steady() const noexcept override {
        return SteadyInstant{manual.now().time_since_epoch()};
    }
    [[nodiscard]] Duration real_time(Duration duration) const noexcept override {
        return manual.real_time(duration);
    }
    [[nodiscard]] std::shared_ptr<void> on_jump(std::function<void()> wake) override {
        return manual.on_jump(std::move(wake));
    }

    ManualClock manual;
};

class LeasesByTheTimeOfDay final : public Factory {
 public:
    Result<std::shared_ptr<Provider>> create() override { return memory::open({.clock = clock_}); }
    ManualClock* clock() override { return &clock_->manual; }

 private:
    std::shared_ptr<WallClock> clock_ = std::make_shared<WallClock>();
};

} // namespace

std::vector<Defect> waiting_defects() {
    return {
        defect<SleepsThroughTheEnd>("SleepsThroughTheEnd", {"a_watch_for_the_end_is_woken_by_it"}),
        defect<WaitsForAnotherEnd>("WaitsForAnotherEnd",
                                   {"a_watch_for_an_end_that_was_answers_at_once"}),
        defect<MissesWakeUps>("MissesWakeUps", {"turn_fetch_is_woken_by_a_message"}),
        defect<AnswersEarly>("AnswersEarly", {"test_long_poll_work_item_waits_for_timeout"}),
        defect<OverstaysItsLease>("OverstaysItsLease",
                                  {"a_turn_lease_is_over_exactly_when_its_time_is"}),
        defect<NeverShortensALease>("NeverShortensALease",
                                    {"renewing_for_less_shortens_the_lease"}),
        defect<RenewsNothing>("RenewsNothing", {"a_renewed_turn_outlives_its_first_lease"}),
        defect<GivesUpAtTheFirstLostLease>("GivesUpAtTheFirstLostLease",
                                           {"lost_leases_are_named_and_do_not_stop_the_others"}),
        defect<RenewsOnlyTheFirst>("RenewsOnlyTheFirst", {"many_leases_are_renewed_in_one_call"}),
        defect<KeepsFailuresToItself>("KeepsFailuresToItself",
                                      {"the_state_of_a_failed_instance_tells_why"}),
        defect<FiresTimersAtOnce>("FiresTimersAtOnce", {"a_timer_fires_exactly_when_it_is_due"}),
        defect<NeverSeesDeletion>("NeverSeesDeletion", {"a_watch_is_woken_by_deletion"}),
        {.name = "LeasesByTheTimeOfDay",
         .make = [] { return std::make_unique<LeasesByTheTimeOfDay>(); },
         .caught_by = {"leases_do_not_notice_a_clock_set_forward",
                       "leases_run_out_although_the_clock_is_set_back"}},
    };
}

} // namespace durable::validation
