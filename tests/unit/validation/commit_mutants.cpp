// Defects of turn commits: P2, P3, P4, P8.

#include "unit/validation/mutant.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace durable::validation {
namespace {

class ReleasesTheLeaseOfARefusedCommit final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> ack_orchestration_item(const TurnCommit& commit) override {
        auto result = inner().ack_orchestration_item(commit);
        if (!result) {
            (void)inner().abandon_orchestration_item(
                {.lock_token = commit.lock_token, .delay = std::nullopt, .ignore_attempt = true});
        }
        return result;
    }
};

class DropsTheLastActivity final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> ack_orchestration_item(const TurnCommit& commit) override {
        auto short_of_one = commit;
        if (!short_of_one.worker_items.empty()) {
            short_of_one.worker_items.pop_back();
        }
        return inner().ack_orchestration_item(short_of_one);
    }
};

class CancelsBeforeItInserts final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> ack_orchestration_item(const TurnCommit& commit) override {
        auto late = commit;
        std::erase_if(late.cancelled_activities, [&](const ActivityId& cancelled) {
            return std::ranges::any_of(commit.worker_items, [&](const WorkItem& item) {
                const auto* added = std::get_if<work::ActivityExecute>(&item);
                return added != nullptr &&
                       ActivityId{added->instance, added->execution_id, added->id} == cancelled;
            });
        });
        return inner().ack_orchestration_item(late);
    }
};

class SendsMessagesOfARefusedCommit final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> ack_orchestration_item(const TurnCommit& commit) override {
        auto result = inner().ack_orchestration_item(commit);
        if (!result && !commit.orchestrator_items.empty()) {
            (void)inner().enqueue_for_orchestrator(commit.orchestrator_items.front(), {});
        }
        return result;
    }
};

// Knows which instance each token leases.
class RemembersLeases : public Mutant {
 public:
    using Mutant::Mutant;
    Result<std::optional<OrchestrationItem>>
    fetch_orchestration_item(const FetchOrchestration& request) override {
        auto turn = inner().fetch_orchestration_item(request);
        if (turn && *turn) {
            leased[(*turn)->lock_token] = (*turn)->instance;
        }
        return turn;
    }

    std::map<std::string, std::string> leased;
};

class ConsumesNewcomers final : public RemembersLeases {
 public:
    using RemembersLeases::RemembersLeases;
    Result<> ack_orchestration_item(const TurnCommit& commit) override {
        auto result = inner().ack_orchestration_item(commit);
        leased.erase(commit.lock_token);
        return result;
    }
    Result<> enqueue_for_orchestrator(const WorkItem& item,
                                      std::optional<Duration> delay) override {
        const bool doomed = std::ranges::any_of(
            leased, [&](const auto& lease) { return lease.second == target_instance(item); });
        return doomed ? Result<>{} : inner().enqueue_for_orchestrator(item, delay);
    }
};

class AcceptsExpiredTokens final : public RemembersLeases {
 public:
    using RemembersLeases::RemembersLeases;
    Result<> ack_orchestration_item(const TurnCommit& commit) override {
        auto result = inner().ack_orchestration_item(commit);
        return leased.contains(commit.lock_token) ? Result<>{} : result;
    }
};

class AcceptsTakenEventIds final : public RemembersLeases {
 public:
    using RemembersLeases::RemembersLeases;
    Result<> ack_orchestration_item(const TurnCommit& commit) override {
        std::set<std::uint64_t> taken;
        const auto stored =
            inner().read_with_execution(leased[commit.lock_token], commit.execution_id);
        for (const auto& event : stored.value_or(std::vector<HistoryEvent>{})) {
            taken.insert(event.event_id);
        }
        auto tolerant = commit;
        std::erase_if(tolerant.history_delta, [&](const HistoryEvent& event) {
            return !taken.insert(event.event_id).second;
        });
        return inner().ack_orchestration_item(tolerant);
    }
};

class ReadsHistoryBeforeItAppends final : public RemembersLeases {
 public:
    using RemembersLeases::RemembersLeases;
    Result<> ack_orchestration_item(const TurnCommit& commit) override {
        if (auto stored = inner().read(leased[commit.lock_token]); !stored) {
            return std::unexpected{stored.error()};
        }
        return inner().ack_orchestration_item(commit);
    }
};

class ForgetsToCancelTimers final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> ack_orchestration_item(const TurnCommit& commit) override {
        auto forgetful = commit;
        forgetful.cancelled_timers.clear();
        return inner().ack_orchestration_item(forgetful);
    }
};

class QueuesTheCompletionOfALostLease final : public RemembersLeases {
 public:
    using RemembersLeases::RemembersLeases;
    Result<> ack_work_item(const std::string& lock_token,
                           const std::optional<WorkItem>& completion) override {
        auto result = inner().ack_work_item(lock_token, completion);
        if (!result && result.error().code == ErrorCode::lock_lost && completion) {
            (void)inner().enqueue_for_orchestrator(*completion, std::nullopt);
        }
        return result;
    }
};

class CallsEveryErrorTransient final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> ack_orchestration_item(const TurnCommit& commit) override {
        auto result = inner().ack_orchestration_item(commit);
        if (!result) {
            result.error().code = ErrorCode::unavailable;
        }
        return result;
    }
};

} // namespace

std::vector<Defect> commit_defects() {
    return {
        defect<ReleasesTheLeaseOfARefusedCommit>(
            "ReleasesTheLeaseOfARefusedCommit",
            {"test_atomicity_failure_rollback", "a_refused_commit_can_be_corrected"}),
        defect<DropsTheLastActivity>(
            "DropsTheLastActivity",
            {"test_multi_operation_atomic_ack", "activities_come_out_as_they_went_in"}),
        defect<CancelsBeforeItInserts>(
            "CancelsBeforeItInserts", {"test_same_activity_in_worker_items_and_cancelled_is_noop"}),
        defect<SendsMessagesOfARefusedCommit>("SendsMessagesOfARefusedCommit",
                                              {"a_commit_with_event_id_zero_leaves_no_trace",
                                               "a_commit_with_an_expired_token_leaves_no_trace"}),
        defect<ConsumesNewcomers>(
            "ConsumesNewcomers",
            {"test_ack_only_affects_locked_messages", "test_message_tagging_during_lock"}),
        defect<AcceptsExpiredTokens>(
            "AcceptsExpiredTokens",
            {"test_lock_expiration_during_ack", "a_turn_lease_is_over_exactly_when_its_time_is"}),
        defect<AcceptsTakenEventIds>(
            "AcceptsTakenEventIds",
            {"test_duplicate_event_id_rejection", "errors_of_ack_orchestration_item"}),
        defect<ReadsHistoryBeforeItAppends>("ReadsHistoryBeforeItAppends",
                                            {"test_ack_appends_event_to_corrupted_history"}),
        defect<ForgetsToCancelTimers>(
            "ForgetsToCancelTimers",
            {"a_cancelled_timer_does_not_fire", "a_timer_that_is_due_can_still_be_cancelled"}),
        defect<QueuesTheCompletionOfALostLease>(
            "QueuesTheCompletionOfALostLease",
            {"test_stale_activity_after_delete_recreate", "a_refused_completion_leaves_no_trace"}),
        defect<CallsEveryErrorTransient>("CallsEveryErrorTransient",
                                         {"errors_of_ack_orchestration_item"}),
    };
}

} // namespace durable::validation
