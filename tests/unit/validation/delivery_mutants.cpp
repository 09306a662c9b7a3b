// Defects of delivery: P1, P5, P6, P7, P10, P13.

#include "unit/validation/mutant.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace durable::validation {
namespace {

using Turn = Result<std::optional<OrchestrationItem>>;
using Work = Result<std::optional<WorkLease>>;

class ReversesMessages final : public Mutant {
 public:
    using Mutant::Mutant;
    Turn fetch_orchestration_item(const FetchOrchestration& request) override {
        auto turn = inner().fetch_orchestration_item(request);
        if (turn && *turn) {
            std::ranges::reverse((*turn)->messages);
        }
        return turn;
    }
};

class FiresTimersAsTheyWereMade final : public Mutant {
 public:
    using Mutant::Mutant;
    Turn fetch_orchestration_item(const FetchOrchestration& request) override {
        auto turn = inner().fetch_orchestration_item(request);
        if (turn && *turn) {
            std::map<std::uint64_t, WorkItem> timers;
            std::vector<WorkItem> others;
            for (auto& item : (*turn)->messages) {
                if (const auto* timer = std::get_if<work::TimerFired>(&item)) {
                    timers.emplace(timer->id, item);
                } else {
                    others.push_back(std::move(item));
                }
            }
            (*turn)->messages.clear();
            for (auto& [id, timer] : timers) {
                (*turn)->messages.push_back(std::move(timer));
            }
            std::ranges::move(others, std::back_inserter((*turn)->messages));
        }
        return turn;
    }
};

class NeverCountsAnAttempt final : public Mutant {
 public:
    using Mutant::Mutant;
    Turn fetch_orchestration_item(const FetchOrchestration& request) override {
        auto turn = inner().fetch_orchestration_item(request);
        if (turn && *turn) {
            (*turn)->attempt_count = 1;
        }
        return turn;
    }
};

class CountsAttemptsThatDoNotCount final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> abandon_orchestration_item(const AbandonTurn& abandon) override {
        return inner().abandon_orchestration_item({.lock_token = abandon.lock_token,
                                                   .delay = abandon.delay,
                                                   .whole_instance = abandon.whole_instance,
                                                   .parked = abandon.parked});
    }
};

// A backoff stays with the id when its instance is deleted.
class HauntsTheNextOfThatId final : public Mutant {
 public:
    using Mutant::Mutant;
    Turn fetch_orchestration_item(const FetchOrchestration& request) override {
        auto turn = inner().fetch_orchestration_item(request);
        if (!turn || !*turn) {
            return turn;
        }
        if (haunted_.contains((*turn)->instance)) {
            (void)inner().abandon_orchestration_item(
                {.lock_token = (*turn)->lock_token, .delay = std::nullopt, .ignore_attempt = true});
            return std::nullopt;
        }
        holder_[(*turn)->lock_token] = (*turn)->instance;
        return turn;
    }
    Result<> abandon_orchestration_item(const AbandonTurn& abandon) override {
        if (abandon.delay) {
            backed_off_.insert(holder_[abandon.lock_token]);
        }
        return inner().abandon_orchestration_item(abandon);
    }
    Result<DeleteInstanceResult> delete_instance(const std::string& instance, bool force) override {
        if (backed_off_.contains(instance)) {
            haunted_.insert(instance);
        }
        return inner().as_management_capability()->delete_instance(instance, force);
    }

 private:
    std::map<std::string, std::string> holder_; // by token
    std::set<std::string> backed_off_;
    std::set<std::string> haunted_;
};

// Takes what was ever leased for leased.
class ForgetsThatLeasesEnd final : public Mutant {
 public:
    using Mutant::Mutant;
    Turn fetch_orchestration_item(const FetchOrchestration& request) override {
        auto turn = inner().fetch_orchestration_item(request);
        leased_ = leased_ || (turn && *turn);
        return turn;
    }
    Result<QueueDepths> get_queue_depths() override {
        auto depths = inner().as_management_capability()->get_queue_depths();
        if (leased_ && depths) {
            depths->orchestrator_queue = 0;
        }
        return depths;
    }

 private:
    bool leased_ = false;
};

class IgnoresTheBackoffOfTurns final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> abandon_orchestration_item(const AbandonTurn& abandon) override {
        return inner().abandon_orchestration_item({.lock_token = abandon.lock_token,
                                                   .ignore_attempt = abandon.ignore_attempt,
                                                   .parked = abandon.parked});
    }
};

class IgnoresTheDelayOfActivities final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<> abandon_work_item(const std::string& lock_token,
                               std::optional<Duration> /*delay*/,
                               bool ignore_attempt) override {
        return inner().abandon_work_item(lock_token, std::nullopt, ignore_attempt);
    }
};

class IgnoresCapabilities final : public Mutant {
 public:
    using Mutant::Mutant;
    Turn fetch_orchestration_item(const FetchOrchestration& request) override {
        auto open = request;
        open.filter.reset();
        return inner().fetch_orchestration_item(open);
    }
};

class LooksAtTheFirstRangeOnly final : public Mutant {
 public:
    using Mutant::Mutant;
    Turn fetch_orchestration_item(const FetchOrchestration& request) override {
        auto narrow = request;
        if (narrow.filter && narrow.filter->supported.size() > 1) {
            narrow.filter->supported.resize(1);
        }
        return inner().fetch_orchestration_item(narrow);
    }
};

class IgnoresTags final : public Mutant {
 public:
    using Mutant::Mutant;
    Work fetch_work_item(const FetchWork& request) override {
        auto any = request;
        any.tags = TagFilter::any();
        return inner().fetch_work_item(any);
    }
};

class IgnoresSessionOwners final : public Mutant {
 public:
    using Mutant::Mutant;
    Work fetch_work_item(const FetchWork& request) override {
        auto shared = request;
        if (shared.session) {
            shared.session->owner_id = "everybody";
        }
        return inner().fetch_work_item(shared);
    }
};

class GivesSessionsToWorkersWithoutThem final : public Mutant {
 public:
    using Mutant::Mutant;
    Work fetch_work_item(const FetchWork& request) override {
        auto claiming = request;
        if (!claiming.session) {
            claiming.session = SessionClaim{.owner_id = "", .lock_timeout = request.lock_timeout};
        }
        return inner().fetch_work_item(claiming);
    }
};

class ClaimsBeyondTheLimit final : public Mutant {
 public:
    using Mutant::Mutant;
    Work fetch_work_item(const FetchWork& request) override {
        auto greedy = request;
        if (greedy.session) {
            greedy.session->claim_new = true;
        }
        return inner().fetch_work_item(greedy);
    }
};

// A message for an instance that has not started stops all fetches until it starts.
class StallsBehindOrphans final : public Mutant {
 public:
    using Mutant::Mutant;
    Turn fetch_orchestration_item(const FetchOrchestration& request) override {
        return ghosts_.empty() ? inner().fetch_orchestration_item(request) : Turn{};
    }
    Result<> enqueue_for_orchestrator(const WorkItem& item,
                                      std::optional<Duration> delay) override {
        const auto& instance = target_instance(item);
        if (std::holds_alternative<work::StartOrchestration>(item)) {
            ghosts_.erase(instance);
        } else if (!inner().get_instance_stats(instance)->has_value()) {
            ghosts_.insert(instance);
        }
        return inner().enqueue_for_orchestrator(item, delay);
    }

 private:
    std::set<std::string> ghosts_;
};

// Two fetches meet, and the slower one reports that there is nothing.
class LosesCandidates final : public Mutant {
 public:
    using Mutant::Mutant;
    Turn fetch_orchestration_item(const FetchOrchestration& request) override {
        const bool contended = in_flight_++ > 0;
        std::this_thread::yield();
        auto turn = contended ? Turn{} : inner().fetch_orchestration_item(request);
        --in_flight_;
        return turn;
    }

 private:
    std::atomic<int> in_flight_ = 0;
};

class DropsUnknownMembers final : public Mutant {
 public:
    using Mutant::Mutant;
    Turn fetch_orchestration_item(const FetchOrchestration& request) override {
        auto turn = inner().fetch_orchestration_item(request);
        if (turn && *turn) {
            for (auto& message : (*turn)->messages) {
                std::visit([](auto& item) { item.extra.clear(); }, message);
            }
        }
        return turn;
    }
};

class ThrowsDamageAway final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<std::vector<QuarantinedItem>> list_quarantined() override {
        return std::vector<QuarantinedItem>{};
    }
};

class KeepsQuietAboutDamagedHistory final : public Mutant {
 public:
    using Mutant::Mutant;
    Turn fetch_orchestration_item(const FetchOrchestration& request) override {
        auto turn = inner().fetch_orchestration_item(request);
        if (turn && *turn) {
            (*turn)->history_error.reset();
        }
        return turn;
    }
};

class KeepsQuietAboutExpiry final : public Mutant {
 public:
    using Mutant::Mutant;
    Result<SystemMetrics> get_system_metrics() override {
        auto metrics = inner().as_management_capability()->get_system_metrics();
        metrics->expired_messages = 0;
        return metrics;
    }
};

} // namespace

std::vector<Defect> delivery_defects() {
    return {
        defect<ReversesMessages>("ReversesMessages",
                                 {"test_completions_arriving_during_lock_blocked",
                                  "twenty_thousand_messages_come_in_one_turn"}),
        defect<FiresTimersAsTheyWereMade>("FiresTimersAsTheyWereMade",
                                          {"timers_come_in_the_order_in_which_they_were_due",
                                           "what_came_before_a_timer_was_due_comes_before_it",
                                           "what_came_after_a_timer_was_due_comes_after_it"}),
        defect<NeverCountsAnAttempt>("NeverCountsAnAttempt",
                                     {"orchestration_attempt_count_increments_on_refetch"}),
        defect<CountsAttemptsThatDoNotCount>(
            "CountsAttemptsThatDoNotCount",
            {"abandon_orchestration_item_ignore_attempt_decrements"}),
        defect<IgnoresTheBackoffOfTurns>("IgnoresTheBackoffOfTurns",
                                         {"a_backoff_hides_the_whole_instance",
                                          "a_backoff_hides_newcomers_of_a_running_instance"}),
        defect<HauntsTheNextOfThatId>("HauntsTheNextOfThatId",
                                      {"a_backoff_ends_with_its_instance"}),
        defect<ForgetsThatLeasesEnd>("ForgetsThatLeasesEnd",
                                     {"what_was_leased_in_vain_counts_as_waiting"}),
        defect<IgnoresTheDelayOfActivities>("IgnoresTheDelayOfActivities",
                                            {"test_abandon_work_item_with_delay"}),
        defect<IgnoresCapabilities>("IgnoresCapabilities",
                                    {"test_fetch_with_incompatible_filter_skips_item"}),
        defect<LooksAtTheFirstRangeOnly>("LooksAtTheFirstRangeOnly",
                                         {"test_fetch_single_range_only_uses_first_range"}),
        defect<IgnoresTags>("IgnoresTags", {"test_tags_fetches_only_matching"}),
        defect<IgnoresSessionOwners>(
            "IgnoresSessionOwners",
            {"test_session_affinity_blocks_other_worker", "tags_and_sessions_both_have_to_match"}),
        defect<GivesSessionsToWorkersWithoutThem>("GivesSessionsToWorkersWithoutThem",
                                                  {"test_none_session_skips_session_items"}),
        defect<ClaimsBeyondTheLimit>("ClaimsBeyondTheLimit",
                                     {"a_worker_at_its_limit_serves_the_sessions_it_holds"}),
        defect<StallsBehindOrphans>(
            "StallsBehindOrphans",
            {"an_orphan_of_any_kind_lets_real_work_pass", "test_orphan_queue_messages_dropped"}),
        defect<LosesCandidates>("LosesCandidates", {"as_many_fetchers_as_instances_get_one_each"}),
        defect<DropsUnknownMembers>("DropsUnknownMembers",
                                    {"every_message_comes_out_as_it_was_enqueued"}),
        defect<ThrowsDamageAway>(
            "ThrowsDamageAway",
            {"test_corrupted_serialization_data", "damaged_activities_stop_no_worker"}),
        defect<KeepsQuietAboutDamagedHistory>(
            "KeepsQuietAboutDamagedHistory",
            {"test_fetch_corrupted_history_filtered_vs_unfiltered"}),
        defect<KeepsQuietAboutExpiry>("KeepsQuietAboutExpiry", {"orphans_expire_and_are_counted"}),
    };
}

} // namespace durable::validation
