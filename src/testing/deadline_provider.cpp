#include "testing/deadline_provider.hpp"

#include "base/try.hpp"

#include <durable/error_details.hpp>
#include <durable/provider_admin.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace durable::testing {

DeadlineProvider::DeadlineProvider(std::shared_ptr<Provider> inner, std::shared_ptr<Clock> clock)
    : ForwardingProvider{std::move(inner)}, clock_{std::move(clock)} {}

void DeadlineProvider::learn() {
    auto* const admin = as_management_capability();
    if (admin == nullptr) {
        return;
    }
    const auto running =
        admin->list_instances_by_status(std::string{name_of(ExecutionStatus::running)});
    for (const auto& instance : running.value_or(std::vector<std::string>{})) {
        for (const auto& event : read(instance).value_or(std::vector<HistoryEvent>{})) {
            // A timer that has fired or was cancelled only adds a stop at which nothing happens.
            if (const auto* timer = std::get_if<history::TimerCreated>(&event.kind)) {
                remember(from_epoch_ms(timer->fire_at_ms));
            }
        }
    }
}

std::optional<Instant> DeadlineProvider::next() {
    const auto now = clock_->now();
    auto due = next_of_store();
    if (due && *due <= now) {
        due.reset();
    }
    const MutexLock lock{mutex_};
    deadlines_.erase(deadlines_.begin(), deadlines_.upper_bound(now));
    if (!deadlines_.empty()) {
        due = std::min(due.value_or(Instant::max()), *deadlines_.begin());
    }
    return due;
}

std::optional<Instant> DeadlineProvider::next_of_store() {
    auto* const admin = as_management_capability();
    const auto depths = admin != nullptr ? admin->get_queue_depths() : Result<QueueDepths>{};
    return depths ? depths->next_due : std::nullopt;
}

void DeadlineProvider::interrupt() {
    const MutexLock lock{mutex_};
    interrupting_ = true;
}

std::vector<DeadlineProvider::Interrupted> DeadlineProvider::take_interrupted() {
    const MutexLock lock{mutex_};
    return std::exchange(interrupted_, {});
}

Result<std::optional<WorkLease>> DeadlineProvider::fetch_work_item(const FetchWork& request) {
    {
        const MutexLock lock{mutex_};
        interrupting_ = false; // the interrupted activity was cancelled: it was not acknowledged
    }
    return ForwardingProvider::fetch_work_item(request);
}

Result<> DeadlineProvider::ack_work_item(const std::string& lock_token,
                                         const std::optional<WorkItem>& completion) {
    if (!note_interruption(completion)) {
        return ForwardingProvider::ack_work_item(lock_token, completion);
    }
    DURABLE_TRY(abandon_work_item(lock_token, Duration{1}, true));
    return fail(ErrorCode::lock_lost, "the activity was interrupted and will be run again");
}

bool DeadlineProvider::note_interruption(const std::optional<WorkItem>& completion) {
    const MutexLock lock{mutex_};
    if (!std::exchange(interrupting_, false)) {
        return false;
    }
    const auto* const failed =
        completion ? std::get_if<work::ActivityFailed>(&*completion) : nullptr;
    interrupted_.push_back({.instance = completion ? target_instance(*completion) : std::string{},
                            .activity = failed != nullptr
                                            ? std::string{activity_of(failed->details)}
                                            : std::string{}});
    return true;
}

Result<> DeadlineProvider::ack_orchestration_item(const TurnCommit& commit) {
    auto stored = ForwardingProvider::ack_orchestration_item(commit);
    if (stored) {
        for (const auto& item : commit.orchestrator_items) {
            remember(item);
        }
    }
    return stored;
}

Result<> DeadlineProvider::abandon_orchestration_item(const AbandonTurn& abandon) {
    remember(abandon.delay);
    return ForwardingProvider::abandon_orchestration_item(abandon);
}

Result<> DeadlineProvider::abandon_work_item(const std::string& lock_token,
                                             std::optional<Duration> delay,
                                             bool ignore_attempt) {
    remember(delay);
    return ForwardingProvider::abandon_work_item(lock_token, delay, ignore_attempt);
}

Result<> DeadlineProvider::start_instance(const work::StartOrchestration& start,
                                          std::optional<Duration> delay) {
    remember(delay);
    return ForwardingProvider::start_instance(start, delay);
}

Result<> DeadlineProvider::enqueue_for_orchestrator(const WorkItem& item,
                                                    std::optional<Duration> delay) {
    remember(delay);
    remember(item);
    return ForwardingProvider::enqueue_for_orchestrator(item, delay);
}

Result<InstanceState> DeadlineProvider::watch_instance(const WatchInstance& request) {
    auto at_once = request;
    at_once.timeout = Duration::zero();
    auto state = ForwardingProvider::watch_instance(at_once);
    if (!state || request.timeout <= Duration::zero() || state->revision > request.seen_revision) {
        return state;
    }
    return fail(ErrorCode::timed_out,
                "nothing happens under TestRuntime while a client waits for " + request.instance +
                    ": call finish(), run_until_idle() or advance() first");
}

void DeadlineProvider::remember(Instant when) {
    const MutexLock lock{mutex_};
    deadlines_.insert(when);
}

void DeadlineProvider::remember(std::optional<Duration> delay) {
    if (delay) {
        remember(add_saturating(clock_->now(), *delay));
    }
}

void DeadlineProvider::remember(const WorkItem& item) {
    if (const auto* timer = std::get_if<work::TimerFired>(&item)) {
        remember(from_epoch_ms(timer->fire_at_ms));
    } else if (const auto* cancel = std::get_if<work::CancelInstance>(&item)) {
        remember(*cancel);
    }
}

void DeadlineProvider::remember(const work::CancelInstance& cancel) {
    if (!code_) {
        return;
    }
    const auto state = ForwardingProvider::watch_instance({.instance = cancel.instance});
    if (state && !code_->has(state->orchestration_name, state->orchestration_version)) {
        remember(code_->cancelled_for);
    }
}

} // namespace durable::testing
