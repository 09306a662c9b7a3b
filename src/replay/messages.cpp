// Delivers messages and recorded events to the steps that wait for them.

#include "replay/end_execution.hpp"
#include "replay/engine.hpp"
#include "replay/failure.hpp"
#include "replay/rules.hpp"
#include "replay/slots.hpp"

#include <durable/context.hpp>

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

namespace durable::replay {

namespace {

using detail::Slot;
using detail::StepKind;

std::string_view name_of(StepKind kind) noexcept {
    switch (kind) {
    case StepKind::activity:
        return "activity";
    case StepKind::child:
        return "suborchestration";
    case StepKind::timer:
        return "timer";
    case StepKind::event:
        return "event wait";
    case StepKind::queue:
        return "queue wait";
    case StepKind::retry:
    case StepKind::kept:
    case StepKind::never:
        break;
    }
    return "step";
}

std::string kind_mismatch(std::uint64_t id, StepKind expected, StepKind got) {
    return "completion kind mismatch for id=" + std::to_string(id) + ", expected '" +
           std::string{name_of(expected)} + "', got '" + std::string{name_of(got)} + "'";
}

// In OrchestrationStarted::carry_forward_order.
constexpr char carried_of_queue = 'q';
constexpr char carried_event = 'e';

template <class... Cases>
struct Match : Cases... {
    using Cases::operator()...;
};

} // namespace

void Engine::process(const WorkItem& item) {
    std::visit(
        Match{
            [&](const work::StartOrchestration& each) { second_start(each); },
            [&](const work::ContinueAsNew&) { ignore("a second start of this execution"); },
            [&](const work::ActivityExecute&) { ignore("an activity in the orchestrator queue"); },
            [&](const work::ActivityCompleted& each) {
                process_completion(each.execution_id,
                                   each.id,
                                   StepKind::activity,
                                   history::ActivityCompleted{each.result});
            },
            [&](const work::ActivityFailed& each) {
                process_completion(each.execution_id,
                                   each.id,
                                   StepKind::activity,
                                   history::ActivityFailed{each.details});
            },
            [&](const work::TimerFired& each) {
                process_completion(each.execution_id,
                                   each.id,
                                   StepKind::timer,
                                   history::TimerFired{each.fire_at_ms});
            },
            [&](const work::SubOrchCompleted& each) {
                process_answer(each.parent_incarnation,
                               each.parent_execution_id,
                               each.parent_id,
                               history::SubOrchestrationCompleted{each.result});
            },
            [&](const work::SubOrchFailed& each) {
                process_answer(each.parent_incarnation,
                               each.parent_execution_id,
                               each.parent_id,
                               history::SubOrchestrationFailed{each.details});
            },
            [&](const work::ExternalRaised& each) {
                append_message(history::ExternalEvent{each.name, each.data}, std::nullopt);
            },
            [&](const work::QueueMessage& each) {
                append_message(history::QueueEventDelivered{each.name, each.data}, std::nullopt);
            },
            [&](const work::CancelInstance& each) { process_cancel(each); },
        },
        item);
    come_to_rest();
}

// The answer to a step. Once a step has an answer, later ones are duplicates (T-12). The answer to
// a cancelled step is recorded without effect; that of a cancelled timer is ignored.
void Engine::process_completion(std::uint64_t execution_id,
                                std::uint64_t id,
                                StepKind kind,
                                history::Kind event) {
    if (execution_id != execution_id_) {
        ignore("an answer for execution " + std::to_string(execution_id));
        return;
    }
    const auto* const entry = steps_.find(id);
    if (entry == nullptr) {
        if (id <= last_event_id_) {
            ignore("a second answer to step " + std::to_string(id));
        } else {
            const auto* const what = kind == StepKind::timer ? "timer" : "completion";
            report_unmatched("no matching schedule for " + std::string{what} +
                             " id=" + std::to_string(id));
        }
        return;
    }
    if (entry->kind != kind) {
        report_unmatched(kind_mismatch(id, entry->kind, kind));
        return;
    }
    if (entry->slot == nullptr && kind == StepKind::timer) {
        // The table stays as it is: without an event, a replay could not repeat a change.
        ignore("a timer that was cancelled");
        return;
    }
    append_message(std::move(event), id);
}

// The answer of a child. Children outlive the deletion of their parent, so that an answer may be
// for an earlier incarnation of this id. Without incarnations (older writers) it may then meet a
// step of another kind, or none: that is no fault of the code, and never parks it.
void Engine::process_answer(std::optional<std::uint64_t> incarnation,
                            std::uint64_t execution_id,
                            std::uint64_t id,
                            history::Kind event) {
    if (!same_life(incarnation.value_or(0), incarnation_)) {
        ignore("the answer of a child that another instance of this id called");
        return;
    }
    const auto* const entry = execution_id == execution_id_ ? steps_.find(id) : nullptr;
    const bool never_made =
        execution_id == execution_id_ && entry == nullptr && id > last_event_id_;
    if (never_made || (entry != nullptr && entry->kind != StepKind::child)) {
        remark(LogLevel::warn,
               "the answer of a child was ignored: step " + std::to_string(id) +
                   " of this execution calls none");
        ++turn_->result.counters.ignored;
        return;
    }
    process_completion(execution_id, id, StepKind::child, std::move(event));
}

// The cancellation that a turn begins with; nullptr: none concerns this instance.
const WorkItem* Engine::find_cancel(std::span<const WorkItem> messages) const noexcept {
    const auto found = std::ranges::find_if(messages, [this](const WorkItem& item) {
        const auto* const cancel = std::get_if<work::CancelInstance>(&item);
        return cancel != nullptr && concerns(*cancel, parent_.get(), incarnation_);
    });
    return found == messages.end() ? nullptr : &*found;
}

void Engine::process_cancel(const work::CancelInstance& item) {
    if (!concerns(item, parent_.get(), incarnation_)) {
        ignore(item.parent_instance
                   ? "a cancellation by " + *item.parent_instance + ", which called another child"
                   : "a cancellation of another instance of this id");
    } else if (rare_ && rare_->failure) {
        ignore("the orchestration is ending already");
    } else {
        append_message(history::OrchestrationCancelRequested{item.reason}, std::nullopt);
    }
}

void Engine::second_start(const work::StartOrchestration& item) {
    if (auto answer = answer_to_second_start(item, parent_.get())) {
        turn_->result.commit.orchestrator_items.push_back(*std::move(answer));
    }
    if (!item.parent_instance) { // of a client or detached: only the operator hears of it
        remark(LogLevel::warn, ignored_start(item));
    }
    ignore("a start of an instance that has started");
}

// The execution is over. Messages for the instance go to the next execution, behind the unread ones
// of this execution. (A cancellation is never left over: it goes before everything else in its
// batch, and an execution that is cancelled does not continue.)
void Engine::pass_on(const WorkItem& item) {
    const auto* const raised = std::get_if<work::ExternalRaised>(&item);
    const auto* const queued = std::get_if<work::QueueMessage>(&item);
    if (const auto* start = std::get_if<work::StartOrchestration>(&item)) {
        second_start(*start);
    } else if (raised != nullptr && turn_->successor) {
        carry(StepKind::event, raised->name, raised->data);
    } else if (queued != nullptr && turn_->successor) {
        carry(StepKind::queue, queued->name, queued->data);
    } else {
        ignore("the execution has ended");
    }
}

// Adds it to the message that begins the next execution, which processes that message first.
void Engine::carry(StepKind kind, std::string name, std::string data) {
    auto& next = *turn_->successor;
    if (kind == StepKind::event && !next.carry_forward_raised) {
        next.carry_forward_raised.emplace();
    }
    auto& messages =
        kind == StepKind::event ? *next.carry_forward_raised : next.carry_forward_events;
    messages.push_back({.name = std::move(name), .data = std::move(data)});
    next.carry_forward_order += kind == StepKind::event ? carried_event : carried_of_queue;
    ++turn_->result.counters.carried;
}

void Engine::ignore(std::string_view why) {
    ++turn_->result.counters.ignored;
    remark(LogLevel::debug, "message ignored: " + std::string{why});
}

void Engine::append_message(history::Kind kind, std::optional<std::uint64_t> source) {
    if (!ids_left()) {
        return;
    }
    ++turn_->result.counters.messages;
    apply(append(std::move(kind), source, {}));
}

// The effect of a message event, new or recorded. Runs no code: come_to_rest() does.
void Engine::apply(const HistoryEvent& event) {
    std::visit(Match{
                   [&](const history::OrchestrationStarted& each) { apply_start(event, each); },
                   [&](const history::OrchestrationCancelRequested& each) {
                       if (!rare_ || !rare_->failure) {
                           request_cancellation(each.reason);
                       }
                   },
                   [&](const history::ActivityCompleted& each) {
                       apply_completion(event, StepKind::activity, &each.result, nullptr);
                   },
                   [&](const history::ActivityFailed& each) {
                       apply_completion(event, StepKind::activity, nullptr, &each.details);
                   },
                   [&](const history::TimerFired&) {
                       apply_completion(event, StepKind::timer, nullptr, nullptr);
                   },
                   [&](const history::SubOrchestrationCompleted& each) {
                       apply_completion(event, StepKind::child, &each.result, nullptr);
                   },
                   [&](const history::SubOrchestrationFailed& each) {
                       apply_completion(event, StepKind::child, nullptr, &each.details);
                   },
                   [&](const history::ExternalEvent& each) {
                       arrive(StepKind::event, each.name, each.data);
                   },
                   [&](const history::QueueEventDelivered& each) {
                       arrive(StepKind::queue, each.name, each.data);
                   },
                   [](const auto&) {}, // decisions come from the code, not from here
               },
               event.kind);
}

void Engine::apply_start(const HistoryEvent& event, const history::OrchestrationStarted& started) {
    if (started_) {
        report_corrupt(event, "corrupted history: OrchestrationStarted twice");
        return;
    }
    started_ = true;
    started_at_ms_ = event.timestamp_ms;
    if (auto link = parent_link(started)) {
        parent_ = std::make_unique<ParentLink>(*std::move(link));
    }
    if (started.initial_custom_status) {
        status_ = std::make_unique<std::string>(*started.initial_custom_status);
    }
    keeps_message_order = started.rules.value_or(0) >= message_order_rule;
    arrive_carried(started);
    begin_code(started.input);
}

// Oldest first. Without a recorded order (all of one kind, or carried by an older engine), messages
// of queues come before events.
void Engine::arrive_carried(const history::OrchestrationStarted& started) {
    const std::vector<CarriedMessage> none;
    const auto& queued = started.carry_forward_events ? *started.carry_forward_events : none;
    const auto& raised = started.carry_forward_raised ? *started.carry_forward_raised : none;
    auto next_queued = queued.begin();
    auto next_raised = raised.begin();
    const auto take_queued = [&] {
        arrive(StepKind::queue, next_queued->name, next_queued->data);
        ++next_queued;
    };
    const auto take_raised = [&] {
        arrive(StepKind::event, next_raised->name, next_raised->data);
        ++next_raised;
    };
    for (const char kind : started.carry_forward_order) {
        if (kind == carried_of_queue && next_queued != queued.end()) {
            take_queued();
        } else if (kind == carried_event && next_raised != raised.end()) {
            take_raised();
        }
    }
    while (next_queued != queued.end()) {
        take_queued();
    }
    while (next_raised != raised.end()) {
        take_raised();
    }
}

void Engine::begin_code(std::string_view input) {
    try {
        root_ = handler_->begin(Context{*this}, input);
        root_.start();
    } catch (...) { // the input does not fit the orchestration
        fail_with(to_details(std::current_exception()));
    }
}

void Engine::apply_completion(const HistoryEvent& event,
                              StepKind kind,
                              const std::string* result,
                              const ErrorDetails* details) {
    auto* const entry = event.source_event_id ? steps_.find(*event.source_event_id) : nullptr;
    if (entry == nullptr) {
        report_corrupt(event,
                       "completion without open schedule: " +
                           describe(event.kind, event.source_event_id));
        return;
    }
    if (entry->kind != kind) {
        report_corrupt(event, kind_mismatch(entry->id, entry->kind, kind));
        return;
    }
    auto* const slot = entry->slot;
    steps_.close(*entry);
    if (slot == nullptr) {
        return; // cancelled: for the record only
    }
    slot->text = result != nullptr ? *result : std::string{};
    if (details != nullptr) {
        slot->failure = std::make_unique<Failure>(to_failure(*details));
        if (!std::holds_alternative<details::Application>(*details)) {
            rare().system_failures.emplace_back(*slot->failure, *details);
        }
    }
    make_ready(*slot, details != nullptr);
}

void Engine::arrive(StepKind kind, const std::string& name, std::string data) {
    if (!mailboxes_) {
        mailboxes_ = std::make_unique<Mailboxes>();
    }
    answer(mailboxes_->deliver(kind, name, {.sequence = ++last_order, .data = std::move(data)}));
}

// Gives a message to the wait that was found for it.
void Engine::answer(Mailboxes::Match match, std::uint64_t order) {
    if (match.wait == nullptr) {
        return;
    }
    auto& wait = *match.wait;
    steps_.close(*steps_.find(wait.event_id));
    wait.sequence = match.message.sequence;
    wait.text = std::move(match.message.data);
    make_ready(wait, false, order);
}

} // namespace durable::replay
