// Defects that a reopen brings to light: P12. The memory provider does not outlive itself, so a
// factory that keeps it stands for a store on disk.

#include "unit/validation/mutant.hpp"

namespace durable::validation {
namespace {

class ForgetsEverything final : public KeepingFactory {
 public:
    Result<std::shared_ptr<Provider>> reopen() override { return create(); }
};

// Custom status and statistics were never written down.
class ForgetsCustomStatus final : public KeepingFactory {
 public:
    Result<std::shared_ptr<Provider>> reopen() override {
        return std::make_shared<Forgetful>(*KeepingFactory::reopen());
    }

 private:
    class Forgetful final : public Mutant {
     public:
        using Mutant::Mutant;
        Result<std::optional<CustomStatus>> get_custom_status(const std::string&,
                                                              std::uint64_t) override {
            return std::nullopt;
        }
    };
};

// Attempt counts are kept in memory only.
class ForgivesAttempts final : public KeepingFactory {
 public:
    Result<std::shared_ptr<Provider>> reopen() override {
        return std::make_shared<Forgiving>(*KeepingFactory::reopen());
    }

 private:
    class Forgiving final : public Mutant {
     public:
        using Mutant::Mutant;
        Result<std::optional<OrchestrationItem>>
        fetch_orchestration_item(const FetchOrchestration& request) override {
            auto turn = inner().fetch_orchestration_item(request);
            if (turn && *turn) {
                (*turn)->attempt_count = 1;
            }
            return turn;
        }
    };
};

// Why an instance is parked was told to the watchers only.
class ForgetsReasons final : public KeepingFactory {
 public:
    Result<std::shared_ptr<Provider>> reopen() override {
        return std::make_shared<Silent>(*KeepingFactory::reopen());
    }

 private:
    class Silent final : public Mutant {
     public:
        using Mutant::Mutant;
        Result<InstanceState> watch_instance(const WatchInstance& request) override {
            auto state = inner().watch_instance(request);
            if (state) {
                state->parked.reset();
            }
            return state;
        }
    };
};

} // namespace

std::vector<Defect> store_defects() {
    return {
        {.name = "ForgetsEverything",
         .make = [] { return std::make_unique<ForgetsEverything>(); },
         .caught_by = {"everything_committed_survives_a_reopen",
                       "orphans_survive_a_reopen",
                       "queues_hold_when_the_store_is_reopened_before_every_call"}},
        {.name = "ForgetsCustomStatus",
         .make = [] { return std::make_unique<ForgetsCustomStatus>(); },
         .caught_by = {"everything_committed_survives_a_reopen",
                       "state_holds_when_the_store_is_reopened_before_every_call"}},
        {.name = "ForgivesAttempts",
         .make = [] { return std::make_unique<ForgivesAttempts>(); },
         .caught_by = {"attempts_survive_a_reopen"}},
        {.name = "ForgetsReasons",
         .make = [] { return std::make_unique<ForgetsReasons>(); },
         .caught_by = {"pending_and_parked_instances_survive_a_reopen",
                       "management_holds_when_the_store_is_reopened_before_every_call"}},
    };
}

} // namespace durable::validation
