// Messages and recorded events to steps: what the world tells an execution.

#include "replay/end_execution.hpp"
#include "replay/engine.hpp"
#include "replay/failure.hpp"
#include "replay/slots.hpp"

#include <durable/context.hpp>

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

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
    case StepKind::never:
        break;
    }
    return "step";
}

std::string kind_mismatch(std::uint64_t id, StepKind expected, StepKind got) {
    return "completion kind mismatch for id=" + std::to_string(id) + ", expected '" +
           std::string{name_of(expected)} + "', got '" + std::string{name_of(got)} + "'";
}

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
                process_completion(each.parent_execution_id,
                                   each.parent_id,
                                   StepKind::child,
                                   history::SubOrchestrationCompleted{each.result});
            },
            [&](const work::SubOrchFailed& each) {
                process_completion(each.parent_execution_id,
                                   each.parent_id,
                                   StepKind::child,
                                   history::SubOrchestrationFailed{each.details});
            },
            [&](const work::ExternalRaised& each) {
                append_message(history::ExternalEvent{each.name, each.data}, std::nullopt);
            },
            [&](const work::QueueMessage& each) {
                append_message(history::QueueEventDelivered{each.name, each.data}, std::nullopt);
            },
            [&](const work::CancelInstance& each) {
                if (rare_ && rare_->failure) {
                    ignore("the orchestration is ending already");
                } else {
                    append_message(history::OrchestrationCancelRequested{each.reason},
                                   std::nullopt);
                }
            },
        },
        item);
    settle();
}

// The answer to a step. Once a step has any answer, later ones are duplicates (T-12); a step that
// was cancelled keeps the answer for the record, but a timer's is worth nothing.
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
            const auto* const what = kind == StepKind::timer   ? "timer"
                                     : kind == StepKind::child ? "sub-orchestration"
                                                               : "completion";
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
        // The table stays as it is: nothing is recorded, so a replay could not follow.
        ignore("a timer that was cancelled");
        return;
    }
    append_message(std::move(event), id);
}

void Engine::second_start(const work::StartOrchestration& item) {
    history::OrchestrationStarted existing;
    if (parent_) {
        existing.parent_instance = parent_->instance;
        existing.parent_id = parent_->id;
        existing.parent_execution_id = parent_->execution_id;
    }
    if (auto answer = answer_to_second_start(item, existing)) {
        turn_->result.commit.orchestrator_items.push_back(*std::move(answer));
    }
    if (!item.parent_instance) { // of a client or detached: nobody is told but the operator
        remark(LogLevel::warn, ignored_start(item));
    }
    ignore("a start of an instance that has started");
}

// The execution is over. What was meant for the instance is the next execution's, behind what this
// one left unread. (A cancellation is never left over: it goes before everything else in its batch,
// and an execution that is cancelled does not continue.)
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

// Into the message that begins the next execution: whatever else comes to the instance, and
// whenever it came, is taken after it.
void Engine::carry(StepKind kind, std::string name, std::string data) {
    auto& next = *turn_->successor;
    if (kind == StepKind::event && !next.carry_forward_raised) {
        next.carry_forward_raised.emplace();
    }
    auto& messages =
        kind == StepKind::event ? *next.carry_forward_raised : next.carry_forward_events;
    messages.push_back({.name = std::move(name), .data = std::move(data)});
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

// The effect of a message event, new or recorded. Runs no code: that is settle()'s.
void Engine::apply(const HistoryEvent& event) {
    std::visit(Match{
                   [&](const history::OrchestrationStarted& each) { apply_start(event, each); },
                   [&](const history::OrchestrationCancelRequested& each) {
                       if (!rare_ || !rare_->failure) {
                           fail_with(cancelled(each.reason));
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
    if (started.parent_instance && started.parent_id) {
        parent_ = std::make_unique<ParentLink>(
            ParentLink{.instance = *started.parent_instance,
                       .id = *started.parent_id,
                       .execution_id = started.parent_execution_id.value_or(1)});
    }
    if (started.initial_custom_status) {
        status_ = std::make_unique<std::string>(*started.initial_custom_status);
    }
    if (started.carry_forward_events) {
        for (const auto& carried : *started.carry_forward_events) {
            arrive(StepKind::queue, carried.name, carried.data);
        }
    }
    if (started.carry_forward_raised) {
        for (const auto& carried : *started.carry_forward_raised) {
            arrive(StepKind::event, carried.name, carried.data);
        }
    }
    begin_code(started.input);
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
    answer(mailboxes_->deliver(kind, name, {.sequence = ++arrivals_, .data = std::move(data)}));
}

// Gives a message to the wait that was found for it.
void Engine::answer(Mailboxes::Match match) {
    if (match.wait == nullptr) {
        return;
    }
    auto& wait = *match.wait;
    steps_.close(*steps_.find(wait.event_id));
    wait.sequence = match.message.sequence;
    wait.text = std::move(match.message.data);
    make_ready(wait, false);
}

} // namespace durable::replay
