#include "runtime/activity_dispatcher.hpp"

#include "base/stopwatch.hpp"
#include "base/utf8.hpp"
#include "runtime/node.hpp"

#include <durable/codec.hpp>

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

namespace durable::runtime {

using observability::Metric;
using observability::Where;

namespace {

constexpr Duration capacity_delay{100};
constexpr Duration failed_ack_delay{100};
constexpr Duration first_retry{10};
constexpr Duration longest_retry{1000};

Where where_of(const WorkLease& lease) {
    return {.instance = lease.item.instance, .execution_id = lease.item.execution_id};
}

// The key under which Diagnostics keeps the last error of this activity.
std::string diagnosis_key(const work::ActivityExecute& item) {
    return item.instance + '/' + std::to_string(item.execution_id) + '/' + std::to_string(item.id);
}

std::string_view tag_of(const WorkLease& lease) {
    return lease.item.tag ? std::string_view{*lease.item.tag} : "default";
}

WorkItem completed(const work::ActivityExecute& item, std::string result) {
    return work::ActivityCompleted{.instance = item.instance,
                                   .execution_id = item.execution_id,
                                   .id = item.id,
                                   .result = std::move(result)};
}

WorkItem failed(const work::ActivityExecute& item, ErrorDetails details) {
    return work::ActivityFailed{.instance = item.instance,
                                .execution_id = item.execution_id,
                                .id = item.id,
                                .details = std::move(details)};
}

// Makes the text printable: the failure must be stored whatever bytes its message has.
ErrorDetails as_details(const Failure& failure, const work::ActivityExecute& item) {
    details::Application application{.kind = details::ApplicationKind::activity_failed,
                                     .message = utf8::printable(failure.message),
                                     .retryable = failure.retryable,
                                     .permanent = failure.retryable.permanent(),
                                     .activity = item.name};
    if (failure.kind != failure_kind::activity_failed) {
        application.failure_kind = utf8::printable(failure.kind);
    }
    return application;
}

Failure plain_failure(std::string message) {
    return {.kind = std::string{failure_kind::activity_failed}, .message = std::move(message)};
}

// Earlier attempts of the call, plus how often this attempt was fetched.
std::uint32_t attempt_of(const WorkLease& lease) {
    const auto retries = std::max(lease.item.call_attempt.value_or(1), 1U) - 1;
    const auto most = std::numeric_limits<std::uint32_t>::max();
    return lease.attempt_count + std::min(retries, most - lease.attempt_count);
}

ActivityInfo info_of(const WorkLease& lease, const std::string& worker_id) {
    const auto& item = lease.item;
    return {.instance = item.instance,
            .execution_id = item.execution_id,
            .orchestration = item.orchestration,
            .orchestration_version = item.orchestration_version,
            .name = item.name,
            .id = item.id,
            .attempt = attempt_of(lease),
            .worker_id = worker_id,
            .session = item.session_id,
            .tag = item.tag,
            .call_id = item.call_id.value_or(item.id)};
}

ActivityId call_of(const work::ActivityExecute& item) {
    return {.instance = item.instance,
            .execution_id = item.execution_id,
            .activity_id = item.call_id.value_or(item.id)};
}

} // namespace

struct ActivityDispatcher::Call {
    const WorkLease& lease;
    std::stop_source stop;
    RunningActivities::Ended ended;
    double seconds = 0; // inside the activity
};

ActivityDispatcher::ActivityDispatcher(Node& node, std::string worker_id)
    : node_{node},
      worker_id_{std::move(worker_id)},
      slot_{node.leases.open_slot(LeaseKind::activity)} {}

StepResult ActivityDispatcher::step(Duration poll, const std::stop_token& stop) {
    std::optional<WorkLease> lease;
    const auto fetched = fetch(poll, stop, lease);
    if (lease) {
        run(*std::move(lease));
    }
    return fetched;
}

StepResult ActivityDispatcher::fetch(Duration poll,
                                     const std::stop_token& stop,
                                     std::optional<WorkLease>& lease) {
    const auto& options = node_.options;
    auto fetched = node_.provider->fetch_work_item(
        {.lock_timeout = options.worker_lock_timeout,
         .poll_timeout = poll,
         .session = SessionClaim{.owner_id = node_.session_owner,
                                 .lock_timeout = options.session_lock_timeout,
                                 .claim_new = node_.sessions.may_claim()},
         .tags = options.worker_tag_filter,
         .stop = stop,
         .code = node_.activity_code,
         .one_suspect = true});
    if (!fetched) {
        if (node_.activity_fetches.due(fetched.error().message, node_.clock->steady())) {
            node_.observer.log(LogLevel::warn,
                               {},
                               "cannot fetch activities",
                               {{.name = "error", .value = fetched.error().message}});
        }
        return backoff_.failed(fetched.error());
    }
    backoff_.succeeded();
    node_.activity_fetches.reset();
    lease = *std::move(fetched);
    if (lease && stop.stop_requested()) {
        // The fetch was under way when the shutdown began. No activity begins any more: this one
        // may be one that the shutdown has just made another thread give back.
        give_back(*lease, std::nullopt, true);
        lease.reset();
    }
    return {.step = lease ? Step::worked : Step::idle};
}

Ran ActivityDispatcher::run(WorkLease lease) {
    // P7: attempts are counted before the work runs, so those that killed their process count too.
    if (lease.attempt_count > node_.options.max_attempts) {
        poison(lease);
        return Ran::finished;
    }
    const auto* handler = node_.registry.find_activity(lease.item.name);
    if (handler == nullptr) {
        leave_unregistered(lease);
        return Ran::finished;
    }
    const auto& session = lease.item.session_id;
    if (!session) {
        return run_in_session(lease, *handler);
    }
    if (!node_.sessions.enter(*session)) {
        // Another thread entered the last session slot between may_claim() and this fetch.
        give_back(lease, capacity_delay, true);
        return Ran::finished;
    }
    const auto ran = run_in_session(lease, *handler);
    node_.sessions.leave(*session);
    return ran;
}

std::optional<Ran> ActivityDispatcher::run_short() {
    std::optional<WorkLease> lease;
    static_cast<void>(fetch(Duration::zero(), {}, lease)); // an error is left to the next fetch
    if (!lease) {
        return std::nullopt;
    }
    // An activity that must wait for the last attempt of its call waits on an activity thread.
    const bool waits =
        node_.options.attempts_wait_for_each_other && node_.activities.runs(call_of(lease->item));
    if (node_.registry.is_short(lease->item.name) && !waits) {
        return run(*std::move(lease));
    }
    give_back(*lease, std::nullopt, true);
    return std::nullopt;
}

Ran ActivityDispatcher::run_in_session(const WorkLease& lease, const ActivityHandler& handler) {
    Call call{.lease = lease};
    if (lease.attempt_count > suspect_after) {
        log_suspect(node_, where_of(lease), "activity", lease.item.name, lease.attempt_count);
    }
    const auto ticket = node_.activities.begin({.id = {.instance = lease.item.instance,
                                                       .execution_id = lease.item.execution_id,
                                                       .activity_id = lease.item.id},
                                                .call = call_of(lease.item),
                                                .incarnation = lease.item.incarnation.value_or(0),
                                                .name = lease.item.name,
                                                .lock_token = lease.lock_token,
                                                .stop = call.stop});
    slot_.hold(lease.lock_token, call.stop);
    const bool begins = !node_.options.attempts_wait_for_each_other ||
                        node_.activities.await_last_attempt(ticket, call.stop.get_token());
    const Stopwatch watch;
    auto outcome =
        begins
            ? invoke(call, handler)
            : Outcome<std::string>{std::unexpected{plain_failure("asked to stop before it began")}};
    call.seconds = watch.seconds();
    call.ended = node_.activities.end(ticket);
    // The lease is renewed until the result is stored: that may take several tries.
    const auto ran = conclude(call, std::move(outcome));
    slot_.release();
    return ran;
}

Outcome<std::string> ActivityDispatcher::invoke(const Call& call, const ActivityHandler& handler) {
    const auto& item = call.lease.item;
    const auto span = node_.observer.span({.kind = SpanKind::activity,
                                           .name = item.name,
                                           .instance = item.instance,
                                           .execution_id = item.execution_id,
                                           .activity_id = item.id,
                                           .attempt = call.lease.attempt_count});
    ActivityContext context{info_of(call.lease, worker_id_),
                            {.clock = node_.clock,
                             .logger = node_.observer.logger(),
                             .provider = node_.client_provider,
                             .stop = call.stop.get_token(),
                             .sleep = node_.pause}};
    const auto run = [&]() -> Outcome<std::string> {
        try {
            return handler(context, item.input);
        } catch (const OperationFailed& error) {
            return std::unexpected{error.failure()};
        } catch (const std::exception& error) {
            return std::unexpected{plain_failure(detail::text_of(error))};
        } catch (...) {
            return std::unexpected{plain_failure("the activity threw something unknown")};
        }
    };
    auto outcome = run();
    if (span) {
        span->set_outcome(outcome ? "completed" : "failed");
    }
    return outcome;
}

Ran ActivityDispatcher::conclude(const Call& call, Outcome<std::string> outcome) {
    const auto& item = call.lease.item;
    if (call.ended.zombie) {
        node_.observer.log(LogLevel::warn,
                           where_of(call.lease),
                           "an activity that was given up has returned; its result is ignored",
                           {{.name = "activity", .value = item.name}});
        // The metrics counted it when it was given up.
        return call.ended.reason == StopReason::shutdown ? Ran::late : Ran::zombie;
    }
    if (call.ended.reason == StopReason::cancelled) {
        // Mostly the row is gone or leased by another worker, and giving back does nothing (T-25).
        // Otherwise the activity is still wanted: another worker need not wait for the lease.
        give_back(call.lease, std::nullopt, false);
        measure(call, "cancelled");
        return Ran::finished;
    }
    if (call.ended.reason == StopReason::shutdown && !outcome) {
        give_back(call.lease, std::nullopt, true);
        measure(call, "interrupted");
        return Ran::interrupted;
    }
    const bool succeeded = outcome.has_value();
    if (!succeeded) {
        node_.observer.log(LogLevel::warn,
                           where_of(call.lease),
                           "activity failed",
                           {{.name = "activity", .value = item.name},
                            {.name = "error", .value = outcome.error().message}});
    }
    const auto completion = succeeded ? completed(item, *std::move(outcome))
                                      : failed(item, as_details(outcome.error(), item));
    auto stored = store(call.lease.lock_token, completion);
    if (!stored && stored.error().code == ErrorCode::invalid_argument) {
        // For example text that is not UTF-8: the orchestration gets a failure instead.
        const auto why = "the result cannot be stored: " + stored.error().message;
        stored = store(call.lease.lock_token, failed(item, as_details(plain_failure(why), item)));
    }
    if (stored) {
        measure(call, succeeded ? "success" : "app_error");
        return Ran::finished;
    }
    if (stored.error().code == ErrorCode::lock_lost) {
        measure(call, "cancelled");
        return Ran::finished;
    }
    node_.diagnostics.remember(diagnosis_key(item), stored.error().text());
    node_.observer.count(Metric::activity_infrastructure_errors, {item.name});
    measure(call, "infra_error");
    give_back(call.lease, failed_ack_delay, false);
    return Ran::finished;
}

Result<> ActivityDispatcher::store(const std::string& lock_token, const WorkItem& completion) {
    auto delay = first_retry;
    while (true) {
        auto stored = node_.provider->ack_work_item(lock_token, completion);
        if (stored || !stored.error().retryable()) {
            return stored;
        }
        // The activity has run and should not run again: retry while the lease lasts. P3: once it
        // has expired, the store answers lock_lost.
        node_.observer.log(LogLevel::warn,
                           {.instance = target_instance(completion)},
                           "result not stored, will try again",
                           {{.name = "error", .value = stored.error().message}});
        if (!node_.pause(delay, node_.force_stop.get_token())) {
            return stored;
        }
        delay = std::min(delay * 2, longest_retry);
    }
}

void ActivityDispatcher::poison(const WorkLease& lease) {
    const auto& item = lease.item;
    const ErrorDetails details = details::Poison{
        .attempt_count = lease.attempt_count,
        .max_attempts = node_.options.max_attempts,
        .kind = details::PoisonKind::activity,
        .instance = item.instance,
        .execution_id = item.execution_id,
        .activity_name = item.name,
        .activity_id = item.id,
        .message = encode(WorkItem{item}).value_or(item.name),
        .cause = utf8::printable(node_.diagnostics.take(diagnosis_key(item))),
        .permanent = true, // a retry could kill as many processes again
    };
    node_.observer.log(LogLevel::error, where_of(lease), display_text(details));
    node_.observer.count(Metric::activity_poison);
    if (const auto stored = store(lease.lock_token, failed(item, details)); !stored) {
        node_.observer.log(LogLevel::error,
                           where_of(lease),
                           "cannot store that an activity is poisoned",
                           {{.name = "error", .value = stored.error().message}});
    }
}

// P14 rules this out: only a store that breaks it hands out such an activity. The attempt is not
// counted: missing code is no poison.
void ActivityDispatcher::leave_unregistered(const WorkLease& lease) {
    node_.observer.count(Metric::activity_configuration_errors, {lease.item.name});
    node_.observer.log(LogLevel::warn,
                       where_of(lease),
                       "no such activity is registered here",
                       {{.name = "activity", .value = lease.item.name}});
    give_back(lease, node_.options.unregistered_backoff.delay(lease.attempt_count), true);
}

void ActivityDispatcher::give_back(const WorkLease& lease,
                                   std::optional<Duration> delay,
                                   bool ignore_attempt) {
    const auto given = node_.provider->abandon_work_item(lease.lock_token, delay, ignore_attempt);
    if (!given && given.error().code != ErrorCode::lock_lost) {
        // Another worker gets it when the lease expires.
        node_.observer.log(LogLevel::warn,
                           where_of(lease),
                           "cannot give an activity back",
                           {{.name = "error", .value = given.error().message}});
    }
}

void ActivityDispatcher::measure(const Call& call, std::string_view outcome) const {
    const auto& item = call.lease.item;
    const auto attempts = call.lease.attempt_count;
    const auto attempt = attempts < 4 ? std::to_string(attempts) : std::string{"4+"};
    const auto tag = tag_of(call.lease);
    node_.observer.count(Metric::activity_executions, {item.name, outcome, attempt, tag});
    node_.observer.record(Metric::activity_duration, call.seconds, {item.name, outcome, tag});
}

} // namespace durable::runtime
