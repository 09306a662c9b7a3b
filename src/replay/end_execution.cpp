#include "replay/end_execution.hpp"

#include "replay/decision.hpp"
#include "replay/failure.hpp"
#include "replay/text.hpp"

#include <durable/version.hpp>

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

namespace durable::replay {

namespace {

// The steps that a history leaves open, from its events alone.
class OpenSteps {
 public:
    explicit OpenSteps(std::span<const HistoryEvent> history) {
        for (const auto& event : history) {
            read(event);
        }
    }

    [[nodiscard]] const std::map<std::uint64_t, const HistoryEvent*>& steps() const noexcept {
        return steps_;
    }

 private:
    void read(const HistoryEvent& event) {
        using namespace history; // NOLINT(google-build-using-namespace): only here
        const auto& kind = event.kind;
        if (std::holds_alternative<ActivityScheduled>(kind) ||
            std::holds_alternative<TimerCreated>(kind) ||
            std::holds_alternative<ExternalSubscribed>(kind) ||
            std::holds_alternative<QueueSubscribed>(kind) ||
            std::holds_alternative<SubOrchestrationScheduled>(kind)) {
            steps_.emplace(event.event_id, &event);
        } else if (event.source_event_id) {
            steps_.erase(*event.source_event_id); // answered or cancelled
        } else if (const auto* raised = std::get_if<ExternalEvent>(&kind)) {
            answer<ExternalSubscribed>(raised->name);
        } else if (const auto* delivered = std::get_if<QueueEventDelivered>(&kind)) {
            answer<QueueSubscribed>(delivered->name);
        }
    }
    template <class Subscription>
    void answer(const std::string& name) {
        const auto found = std::ranges::find_if(steps_, [&](const auto& step) {
            const auto* const wait = std::get_if<Subscription>(&step.second->kind);
            return wait != nullptr && wait->name == name;
        });
        if (found != steps_.end()) {
            steps_.erase(found);
        }
    }

    std::map<std::uint64_t, const HistoryEvent*> steps_;
};

constexpr std::string_view ending_reason = "orchestration_terminal_failed";

// One of the cancellations that fail_execution records before the end.
bool closes_step(const history::Kind& kind) {
    const auto by_end = [](const auto& event) {
        if constexpr (requires { std::string_view{event.reason}; }) {
            return event.reason == ending_reason;
        } else {
            return false;
        }
    };
    return is_decision(kind) && std::visit(by_end, kind);
}

template <class Kind>
bool is_of(const HistoryEvent& event) {
    return std::holds_alternative<Kind>(event.kind);
}

// Whether a child or an activity has failed like this: code that does not catch it passes it on.
bool passed_on(const details::Configuration& wrong, std::span<const HistoryEvent> history) {
    return std::ranges::any_of(history, [&](const HistoryEvent& event) {
        const auto* const of_child = std::get_if<history::SubOrchestrationFailed>(&event.kind);
        const auto* const of_activity = std::get_if<history::ActivityFailed>(&event.kind);
        const auto* const error = of_child != nullptr      ? &of_child->details
                                  : of_activity != nullptr ? &of_activity->details
                                                           : nullptr;
        const auto* const same =
            error == nullptr ? nullptr : std::get_if<details::Configuration>(error);
        return same != nullptr && same->resource == wrong.resource;
    });
}

// For a history that is older than OrchestrationFailed::ended_by: whether its end is one that its
// code cannot have made.
bool looks_given_up(const ErrorDetails& end, std::span<const HistoryEvent> history) {
    if (const auto* const poison = std::get_if<details::Poison>(&end)) {
        return poison->kind == details::PoisonKind::orchestration &&
               poison->instance == history.back().instance_id &&
               poison->execution_id == history.back().execution_id;
    }
    if (const auto* const wrong = std::get_if<details::Configuration>(&end)) {
        const auto* const started =
            std::get_if<history::OrchestrationStarted>(&history.front().kind);
        return started != nullptr && wrong->resource == started->name + ' ' + started->version &&
               !passed_on(*wrong, history);
    }
    const auto* const application = std::get_if<details::Application>(&end);
    return application != nullptr && application->kind == details::ApplicationKind::cancelled &&
           std::ranges::none_of(history, is_of<history::OrchestrationCancelRequested>);
}

class Ending {
 public:
    explicit Ending(const FailExecution& request) : request_{request} {
        if (!request.history.empty()) {
            for (const auto& event : request.history) {
                last_id_ = std::max(last_id_, event.event_id);
                now_ms_ = std::max(now_ms_, event.timestamp_ms);
            }
        }
        now_ms_ = std::max(now_ms_, to_epoch_ms(request.now));
        result_.commit.execution_id = request.execution_id;
    }

    [[nodiscard]] TurnResult fail() && {
        const auto started = begin();
        const OpenSteps open{request_.history};
        for (const auto& [id, event] : open.steps()) {
            cancel(id, event->kind);
        }
        append(history::OrchestrationFailed{.details = request_.details,
                                            .ended_by = std::string{by_runtime}},
               std::nullopt);
        if (started.parent_instance && started.parent_id) {
            result_.commit.orchestrator_items.emplace_back(
                work::SubOrchFailed{.parent_instance = *started.parent_instance,
                                    .parent_execution_id = started.parent_execution_id.value_or(1),
                                    .parent_id = *started.parent_id,
                                    .details = request_.details,
                                    .parent_incarnation = started.parent_incarnation});
        }
        result_.status = TurnStatus::failed;
        result_.details = request_.details;
        result_.output = display_text(request_.details);
        result_.commit.metadata.status = ExecutionStatus::failed;
        result_.commit.metadata.output = result_.output;
        stamp(result_.commit, request_.instance, request_.incarnation);
        return std::move(result_);
    }

 private:
    // The first event of the execution; made from the start message when it never ran.
    history::OrchestrationStarted begin() {
        for (const auto& event : request_.history) {
            if (const auto* started = std::get_if<history::OrchestrationStarted>(&event.kind)) {
                return *started;
            }
        }
        if (request_.start == nullptr) {
            return {};
        }
        auto started = started_event(*request_.start, request_.version);
        auto& metadata = result_.commit.metadata;
        metadata.orchestration_name = started.name;
        metadata.orchestration_version = started.version;
        metadata.parent_instance_id = started.parent_instance;
        metadata.pinned_version = engine_version();
        append(started, std::nullopt);
        return started;
    }

    void cancel(std::uint64_t id, const history::Kind& step) {
        const std::string reason{ending_reason};
        auto& commit = result_.commit;
        if (std::holds_alternative<history::ActivityScheduled>(step)) {
            append(history::ActivityCancelRequested{reason}, id);
            commit.cancelled_activities.push_back({.instance = request_.instance,
                                                   .execution_id = request_.execution_id,
                                                   .activity_id = id});
        } else if (std::holds_alternative<history::TimerCreated>(step)) {
            append(history::TimerCancelRequested{reason}, id);
            commit.cancelled_timers.push_back(id);
        } else if (std::holds_alternative<history::ExternalSubscribed>(step)) {
            append(history::ExternalSubscribedCancelled{reason}, id);
        } else if (std::holds_alternative<history::QueueSubscribed>(step)) {
            append(history::QueueSubscriptionCancelled{reason}, id);
        } else if (const auto* child = std::get_if<history::SubOrchestrationScheduled>(&step);
                   child != nullptr && child->when_dropped != abandon_child) {
            append(history::SubOrchestrationCancelRequested{reason}, id);
            commit.orchestrator_items.emplace_back(
                work::CancelInstance{.instance = child_instance(request_.instance, child->instance),
                                     .reason = "parent ended",
                                     .parent_instance = request_.instance,
                                     .parent_execution_id = request_.execution_id,
                                     .parent_id = id});
        }
    }

    void append(history::Kind kind, std::optional<std::uint64_t> source) {
        result_.commit.history_delta.push_back({.event_id = ++last_id_,
                                                .source_event_id = source,
                                                .instance_id = request_.instance,
                                                .execution_id = request_.execution_id,
                                                .timestamp_ms = now_ms_,
                                                .engine_version = engine_version_text(),
                                                .kind = std::move(kind)});
    }

    const FailExecution& request_;
    TurnResult result_;
    std::uint64_t last_id_ = 0;
    std::uint64_t now_ms_ = 0;
};

} // namespace

const HistoryEvent* terminal_event(std::span<const HistoryEvent> history) noexcept {
    const auto found = std::ranges::find_if(
        history, [](const HistoryEvent& event) { return is_terminal(event.kind); });
    return found == history.end() ? nullptr : &*found;
}

history::OrchestrationStarted started_event(const WorkItem& start, std::string version) {
    history::OrchestrationStarted started;
    started.version = std::move(version);
    if (const auto* first = std::get_if<work::StartOrchestration>(&start)) {
        started.name = first->orchestration;
        started.input = first->input;
        started.parent_instance = first->parent_instance;
        started.parent_id = first->parent_id;
        started.parent_execution_id = first->parent_execution_id;
        started.parent_incarnation = first->parent_incarnation;
    } else if (const auto* next = std::get_if<work::ContinueAsNew>(&start)) {
        started.name = next->orchestration;
        started.input = next->input;
        started.parent_instance = next->parent_instance;
        started.parent_id = next->parent_id;
        started.parent_execution_id = next->parent_execution_id;
        started.parent_incarnation = next->parent_incarnation;
        started.initial_custom_status = next->initial_custom_status;
        started.carry_forward_raised = next->carry_forward_raised;
        started.carry_forward_order = next->carry_forward_order;
        if (!next->carry_forward_events.empty()) {
            started.carry_forward_events = next->carry_forward_events;
        }
    }
    return started;
}

TurnResult fail_execution(const FailExecution& request) {
    return Ending{request}.fail();
}

std::string ignored_start(const work::StartOrchestration& start) {
    return "a start was ignored: the instance exists already (" + printable(start.orchestration) +
           ')';
}

bool given_up(std::span<const HistoryEvent> history) {
    const auto* const failed =
        history.empty() ? nullptr : std::get_if<history::OrchestrationFailed>(&history.back().kind);
    return failed != nullptr &&
           (failed->ended_by == by_runtime || looks_given_up(failed->details, history));
}

std::span<const HistoryEvent> before_given_up(std::span<const HistoryEvent> history) {
    auto size = history.size() - 1;
    while (size > 0 && closes_step(history[size - 1].kind)) {
        --size;
    }
    return history.first(size);
}

std::optional<WorkItem> answer_to_second_start(const work::StartOrchestration& start,
                                               const ParentLink* existing) {
    if (!start.parent_instance || !start.parent_id) {
        return std::nullopt; // a client's
    }
    const ParentLink caller{.instance = *start.parent_instance,
                            .id = *start.parent_id,
                            .execution_id = start.parent_execution_id.value_or(1),
                            .incarnation = start.parent_incarnation.value_or(0)};
    if (existing != nullptr && same_call(caller, *existing)) {
        return std::nullopt; // the same message again
    }
    return work::SubOrchFailed{
        .parent_instance = caller.instance,
        .parent_execution_id = caller.execution_id,
        .parent_id = caller.id,
        .details = orchestration_failed("instance '" + start.instance + "' already exists"),
        .parent_incarnation = start.parent_incarnation};
}

} // namespace durable::replay
