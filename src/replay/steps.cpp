// What the code does: steps it makes and drops.

#include "model/ids.hpp"
#include "replay/end_execution.hpp"
#include "replay/engine.hpp"
#include "replay/retry.hpp"
#include "replay/slots.hpp"
#include "replay/text.hpp"

#include <durable/contract.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

namespace durable::replay {

namespace {

using detail::Slot;
using detail::StepKind;
using detail::StepRequest;

// The name that duroxide uses on the wire.
constexpr std::string_view kv_read_activity = "__duroxide_syscall:get_kv_value";

constexpr std::string_view child_prefix = "sub::";

constexpr std::string_view policy_wait = "wait"; // of ActivityScheduled

std::optional<std::string> unless_empty(std::string_view text) {
    return text.empty() ? std::nullopt : std::optional{std::string{text}};
}

// A number that only retries send to their worker; nothing for a first attempt.
template <class Number>
std::optional<Number> unless_first(const StepRequest& request, Number number) {
    return request.call_id == 0 ? std::nullopt : std::optional{number};
}

std::string policy_text(const StepRequest& request) {
    return request.child_policy == ChildPolicy::abandon ? std::string{abandon_child}
                                                        : std::string{};
}

std::unique_ptr<Slot> make_slot(Engine& engine, const StepRequest& request) {
    if (request.kind == StepKind::event || request.kind == StepKind::queue) {
        return std::make_unique<WaitSlot>(engine, request.kind, request.name, request.where);
    }
    return std::make_unique<Slot>(engine, request.kind, request.where);
}

} // namespace

std::string child_instance(std::string_view parent, std::string_view recorded) {
    return recorded.starts_with(child_prefix) ? std::string{parent} + "::" + std::string{recorded}
                                              : std::string{recorded};
}

void destroy(Slot* slot) noexcept {
    switch (slot->kind) {
    case StepKind::event:
    case StepKind::queue:
        delete static_cast<WaitSlot*>(slot);
        return;
    case StepKind::retry:
        delete static_cast<RetrySlot*>(slot);
        return;
    case StepKind::kept:
        delete static_cast<KeptSlot*>(slot);
        return;
    case StepKind::activity:
    case StepKind::child:
    case StepKind::timer:
    case StepKind::never:
        break;
    }
    delete slot;
}

Slot* Engine::schedule(const StepRequest& request) {
    auto slot = make_slot(*this, request);
    ++live_slots_;
    record_dropped();
    if (spoiled()) {
        return slot.release(); // never completes: the turn is lost or the execution over
    }
    const auto decided = decide_step(request, *slot);
    if (decided.id == 0) {
        return slot.release();
    }
    slot->event_id = decided.id;
    slot->held = cancellation_waits() && !request.essential;
    slot->essential = request.essential;
    slot->unanswered = request.unanswered;
    if (slot->kind == StepKind::activity) {
        take_policy(request, decided, *slot);
    }
    if (!steps_.add(decided.id, slot->kind, slot.get())) {
        report_corrupt(decided.id, "corrupted history: two steps with the same id");
        return slot.release();
    }
    if (!replaying_ && !slot->held) {
        dispatch(request, *slot);
    }
    if (slot->kind == StepKind::event || slot->kind == StepKind::queue) {
        if (!mailboxes_) {
            mailboxes_ = std::make_unique<Mailboxes>();
        }
        auto match = mailboxes_->subscribe(static_cast<WaitSlot&>(*slot));
        const auto order = keeps_message_order ? match.message.sequence : 0;
        answer(std::move(match), order);
    }
    return slot.release();
}

// Why a step may not be stored; empty when it may.
std::string Engine::refusal_of(const StepRequest& request) const {
    if (request.tag.size() > limits_.tag_bytes) {
        return "Activity '" + printable(request.name) + "' tag size (" +
               std::to_string(request.tag.size()) + " bytes) exceeds limit (" +
               std::to_string(limits_.tag_bytes) + " bytes)";
    }
    if (request.session.size() > limits_.session_bytes) {
        return "Activity '" + printable(request.name) + "' session size (" +
               std::to_string(request.session.size()) + " bytes) exceeds limit (" +
               std::to_string(limits_.session_bytes) + " bytes)";
    }
    for (const auto text : {request.input, request.tag, request.session}) {
        if (!is_utf8(text)) {
            return "'" + printable(request.name) + "': input and options must be UTF-8 text";
        }
    }
    if (request.reads_kv) {
        auto wrong = id_problem(request.kv_instance);
        if (wrong.empty()) {
            wrong = kv_key_refusal(request.kv_key);
        }
        return wrong.empty() ? wrong : "kv().of(): " + wrong;
    }
    if (request.kind == StepKind::timer) {
        return {};
    }
    if (const auto* problem = detail::name_problem(request.name)) {
        return std::string{problem} + ": '" + printable(request.name) + "'";
    }
    std::string problem;
    if (!request.child_id.empty()) {
        problem = given_id_problem(request.child_id);
    }
    if (problem.empty() && !request.version.empty()) {
        problem = version_problem(request.version);
    }
    if (problem.empty() && request.child_policy > ChildPolicy::abandon) {
        problem = "when_dropped is none of its values: " +
                  std::to_string(static_cast<unsigned>(request.child_policy));
    }
    return problem.empty() ? problem : "'" + std::string{request.name} + "': " + problem;
}

// A span of time counts from the turn's own clock: after a jump ahead that was put right, now()
// stands still, and a timer that counted from it would take as long as the jump.
std::uint64_t Engine::fire_at_ms(const StepRequest& request) const noexcept {
    const auto moment = to_epoch_ms(request.fire_at);
    const bool for_ever = request.fire_at == Instant::max();
    return request.from_now && !for_ever ? moment - std::min(moment, turn_->ahead_ms) : moment;
}

Engine::Decided Engine::decide_step(const StepRequest& request, Slot& slot) {
    const auto name = std::string{request.name};
    auto refusal = refusal_of(request);
    switch (request.kind) {
    case StepKind::activity:
        return decide(
            {.kind = history::ActivityScheduled{.name = name,
                                                .input = std::string{request.input},
                                                .session_id = unless_empty(request.session),
                                                .tag = unless_empty(request.tag),
                                                .on_cancel =
                                                    unless_empty(request.waits ? policy_wait : ""),
                                                .undo = unless_empty(request.undo)},
             .recode = request.recode},
            request.where,
            std::move(refusal));
    case StepKind::timer:
        return decide(history::TimerCreated{.fire_at_ms = fire_at_ms(request)},
                      request.where,
                      std::move(refusal));
    case StepKind::event:
        return decide(history::ExternalSubscribed{.name = name}, request.where, std::move(refusal));
    case StepKind::queue:
        return decide(history::QueueSubscribed{.name = name}, request.where, std::move(refusal));
    case StepKind::child: {
        auto id = std::string{request.child_id};
        if (id.empty() && !replaying_) {
            id = std::string{child_prefix} + std::to_string(execution_id_) + "_" +
                 std::to_string(last_event_id_ + 1);
        }
        const auto decided = decide(
            {.kind = history::SubOrchestrationScheduled{.name = name,
                                                        .instance = id,
                                                        .input = std::string{request.input},
                                                        .when_dropped = policy_text(request)},
             .recode = request.recode},
            request.where,
            std::move(refusal));
        slot.child_policy = request.child_policy;
        if (decided.recorded != nullptr) {
            const auto& recorded =
                std::get<history::SubOrchestrationScheduled>(decided.recorded->kind);
            id = recorded.instance;
            if (recorded.when_dropped == abandon_child) { // recorded as one that goes on
                slot.child_policy = ChildPolicy::abandon;
            }
        }
        slot.text = child_instance(instance_, id);
        return decided;
    }
    case StepKind::retry:
    case StepKind::kept:
    case StepKind::never:
        break;
    }
    return {};
}

// The recorded options count: the code's may change while instances run. An undo that the code no
// longer has cannot be run.
void Engine::take_policy(const StepRequest& request, const Decided& decided, Slot& slot) {
    slot.waits = request.waits;
    slot.undone = !request.undo.empty();
    slot.text = slot.undone ? request.input : std::string_view{};
    if (decided.recorded != nullptr) {
        const auto& recorded = std::get<history::ActivityScheduled>(decided.recorded->kind);
        slot.waits = recorded.on_cancel == policy_wait;
        slot.undone = slot.undone && recorded.undo.has_value();
        slot.essential = slot.essential && slot.waits;
        slot.text = slot.undone ? recorded.input : std::string{};
    }
}

// Sends a new step as work: to a worker, a child, the timer queue or the KV reader.
void Engine::dispatch(const StepRequest& request, const Slot& slot) {
    auto& result = turn_->result;
    if (request.reads_kv) {
        result.kv_reads.push_back({.id = slot.event_id,
                                   .instance = std::string{request.kv_instance},
                                   .key = std::string{request.kv_key}});
    } else if (request.kind == StepKind::activity) {
        result.commit.worker_items.emplace_back(
            work::ActivityExecute{.instance = instance_,
                                  .execution_id = execution_id_,
                                  .id = slot.event_id,
                                  .name = std::string{request.name},
                                  .input = std::string{request.input},
                                  .session_id = unless_empty(request.session),
                                  .tag = unless_empty(request.tag),
                                  .orchestration = handler_->name,
                                  .orchestration_version = handler_->version_text,
                                  .call_id = unless_first(request, request.call_id),
                                  .call_attempt = unless_first(request, request.attempt)});
    } else if (request.kind == StepKind::timer) {
        result.commit.orchestrator_items.emplace_back(
            work::TimerFired{.instance = instance_,
                             .execution_id = execution_id_,
                             .id = slot.event_id,
                             .fire_at_ms = fire_at_ms(request)});
    } else if (request.kind == StepKind::child) {
        result.commit.orchestrator_items.emplace_back(
            work::StartOrchestration{.instance = slot.text,
                                     .orchestration = std::string{request.name},
                                     .input = std::string{request.input},
                                     .version = unless_empty(request.version),
                                     .parent_instance = instance_,
                                     .parent_id = slot.event_id,
                                     .execution_id = 1,
                                     .parent_execution_id = execution_id_});
    }
}

std::string Engine::start_detached(const StepRequest& request) {
    record_dropped();
    auto id = std::string{request.child_id};
    if (spoiled()) {
        return id;
    }
    if (id.empty() && !replaying_) {
        id = instance_ + "::detached::" + std::to_string(execution_id_) + "_" +
             std::to_string(last_event_id_ + 1);
    }
    const auto decided =
        decide({.kind = history::OrchestrationChained{.name = std::string{request.name},
                                                      .instance = id,
                                                      .input = std::string{request.input}},
                .recode = request.recode},
               request.where,
               refusal_of(request));
    if (decided.recorded != nullptr) {
        return std::get<history::OrchestrationChained>(decided.recorded->kind).instance;
    }
    if (decided.id != 0 && !cancellation_waits()) {
        turn_->result.commit.orchestrator_items.emplace_back(
            work::StartOrchestration{.instance = id,
                                     .orchestration = std::string{request.name},
                                     .input = std::string{request.input},
                                     .version = unless_empty(request.version)});
    }
    return id;
}

Slot* Engine::continue_as_new(const StepRequest& request) {
    auto slot = std::make_unique<Slot>(*this, StepKind::never, request.where);
    ++live_slots_;
    record_dropped();
    if (spoiled() || turn_->closing) {
        return slot.release();
    }
    if (rare().continuation) {
        give_up(continue_at(rare().continuation->where) + "was called again at " +
                location_text(request.where));
        return slot.release();
    }
    auto refusal = request.name == handler_->name
                       ? refusal_of(request)
                       : "continue_as_new continues '" + handler_->name + "', not '" +
                             std::string{request.name} + "'";
    if (!refusal.empty()) {
        give_up(std::move(refusal));
        return slot.release();
    }
    rare().continuation = ContinueRequest{.input = std::string{request.input},
                                          .recode = request.recode,
                                          .version = unless_empty(request.version),
                                          .where = request.where,
                                          .slot = slot.get()};
    return slot.release();
}

// A dropped continue_as_new fails the execution: otherwise the code would go on, and the request
// would be lost without a trace. An exception that drops the request is reported itself.
void Engine::drop_continuation(const Slot& slot) {
    if (!rare_ || !rare_->continuation || rare_->continuation->slot != &slot) {
        return;
    }
    const auto where = std::exchange(rare_->continuation, std::nullopt)->where;
    if (!spoiled() && std::uncaught_exceptions() == 0) {
        give_up(continue_at(where) +
                "was dropped and not awaited: write co_return co_await ctx.continue_as_new(...)");
    }
}

// Checked when it is registered, not at the end when it runs.
bool Engine::refuses_compensation(const StepRequest& request, const CallOptions& options) {
    auto refusal = refusal_of(request);
    if (refusal.empty()) {
        refusal = retry_problem(options);
    }
    if (!refusal.empty()) {
        give_up("compensation '" + printable(request.name) + "': " + refusal);
    }
    return !refusal.empty();
}

void Engine::compensate_with(const StepRequest& request, const CallOptions& options) {
    if (spoiled()) {
        return;
    }
    if (refuses_compensation(request, options)) {
        return;
    }
    rare().compensations.push_back({.name = std::string{request.name},
                                    .input = std::string{request.input},
                                    .recode = request.recode,
                                    .options = options,
                                    .where = request.where});
}

void Engine::wrong_order(const Slot& first, const Slot& second) noexcept {
    report({.kind = NondeterminismKind::order,
            .actual_location = location_text(second.where),
            .difference = "the operands of a combinator were evaluated from right to left: step " +
                          std::to_string(first.event_id) + ", written first, was made after step " +
                          std::to_string(second.event_id)});
}

void Engine::wait_lost(const Slot* step) noexcept {
    if (!spoiled()) {
        rare().lost_wait = step != nullptr && step->where.line() != 0
                               ? "an operation, made at " + location_text(step->where) + ","
                               : "a task or a group";
    }
}

void Engine::release(Slot* slot) noexcept {
    if (turn_ != nullptr && !inert_ && !slot->cancelled) {
        drop(*slot);
    }
    if (turn_ == nullptr || inert_) {
        if (auto* const entry = slot->event_id != 0 ? steps_.find(slot->event_id) : nullptr;
            entry != nullptr && entry->slot == slot) {
            entry->slot = nullptr;
        }
    }
    destroy(slot); // of a retrying call: releases the slots of its attempts
    --live_slots_;
    if (abandoned_ && live_slots_ == 0) {
        delete this;
    }
}

// An operation was dropped during a turn. If it was unfinished, that is a decision.
void Engine::drop(Slot& slot) noexcept {
    const bool is_wait = slot.kind == StepKind::event || slot.kind == StepKind::queue;
    if (slot.kind == StepKind::never) {
        drop_continuation(slot);
        return;
    }
    if (slot.kind == StepKind::kept) {
        drop_kept(static_cast<KeptSlot&>(slot));
        return;
    }
    if (slot.event_id == 0 || slot.kind == StepKind::retry ||
        (slot.ready() && (!is_wait || slot.taken))) {
        return;
    }
    Dropped dropped{.id = slot.event_id, .kind = slot.kind, .where = slot.where, .held = slot.held};
    if (slot.unanswered != nullptr) {
        *slot.unanswered = true;
    }
    if (is_wait) {
        auto& wait = static_cast<WaitSlot&>(slot);
        if (slot.ready()) {
            dropped.has_message = true;
            dropped.sequence = wait.sequence;
            dropped.data = std::move(wait.text);
        } else {
            mailboxes_->unsubscribe(wait);
        }
        dropped.name = std::move(wait.name);
    } else if (slot.kind == StepKind::child) {
        dropped.child = std::move(slot.text);
        dropped.abandoned = slot.child_policy == ChildPolicy::abandon;
    }
    if (auto* const entry = steps_.find(slot.event_id)) {
        if (is_wait) {
            steps_.close(*entry); // nothing else will answer it
        } else {
            entry->slot = nullptr; // its answer may still come
        }
    }
    turn_->dropped.push_back(std::move(dropped));
}

} // namespace durable::replay

namespace durable::detail {

Slot* read_kv_of(Engine& engine,
                 std::string_view instance,
                 std::string_view key,
                 std::source_location where) {
    // Text that is not UTF-8 gets no input here; schedule() refuses the step.
    const bool storable = replay::is_utf8(instance) && replay::is_utf8(key);
    const auto input = storable ? replay::kv_read_input(instance, key) : std::string{};
    return engine.schedule({.kind = StepKind::activity,
                            .name = replay::kv_read_activity,
                            .input = input,
                            .reads_kv = true,
                            .kv_instance = instance,
                            .kv_key = key,
                            .where = where});
}

} // namespace durable::detail
