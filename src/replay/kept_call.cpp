// Calls that a cancellation waits for, and calls that are undone: undos and compensations.

#include "replay/kept_call.hpp"

#include "model/ids.hpp"
#include "replay/failure.hpp"
#include "replay/retry.hpp"
#include "replay/text.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace durable::replay {

using detail::Slot;
using detail::StepKind;
using detail::StepRequest;

RareState::RareState() = default;
RareState::~RareState() = default;

KeptSlot::KeptSlot(detail::Engine& owner,
                   KeptCall& of,
                   std::uint64_t step,
                   std::source_location location)
    : Slot{owner, StepKind::kept, location}, call{&of} {
    event_id = step;
    of.slot = this;
}

KeptSlot::~KeptSlot() {
    if (call != nullptr && call->slot == this) {
        call->slot = nullptr;
    }
}

KeptCall::~KeptCall() {
    if (slot != nullptr) {
        slot->call = nullptr;
    }
    if (Waiter::source != nullptr) {
        Waiter::source->set_waiter(nullptr);
    }
}

void KeptCall::inner_ended(Waiter& self, detail::Source& source) noexcept {
    auto& call = static_cast<KeptCall&>(self);
    source.set_waiter(nullptr);
    call.outcome = detail::take_result(static_cast<Slot*>(&source));
    call.ended = true;
    if (call.slot == nullptr) {
        return;
    }
    auto& slot = *call.slot;
    if (call.outcome) {
        slot.text = *call.outcome;
    } else {
        slot.failure = std::make_unique<Failure>(call.outcome.error());
    }
    make_ready(slot, !call.outcome);
}

void KeptCall::give_up() {
    if (ended) {
        return;
    }
    if (Waiter::source != nullptr) {
        Waiter::source->set_waiter(nullptr);
    }
    inner->cancel();
    ended = true;
    *unanswered = true;
    outcome = std::unexpected{Failure{.kind = std::string{failure_kind::cancelled}}};
}

Slot* Engine::schedule_kept(const StepRequest& request,
                            const CallOptions& options,
                            const detail::UndoRequest* undo) {
    record_dropped();
    if (spoiled()) {
        return schedule(request);
    }
    auto call = std::make_unique<KeptCall>();
    auto asked = request;
    asked.waits = options.on_cancel == CancelPolicy::wait ||
                  (options.on_cancel == CancelPolicy::automatic && undo != nullptr);
    asked.essential = asked.waits && !cancellation_waits();
    // Owned by the engine, not by the call: attempts of an ordinary call point to it, too.
    call->unanswered = &rare().unanswered.emplace_back(false);
    asked.unanswered = call->unanswered;
    if (undo != nullptr) {
        const StepRequest compensation{.name = undo->activity,
                                       .tag = undo->options->tag,
                                       .session = undo->options->session,
                                       .where = request.where};
        if (refuses_compensation(compensation, *undo->options)) {
            return schedule(request);
        }
        asked.undo = undo->activity;
    }
    auto* const inner = detail::schedule_call(*this, asked, options);
    if (inner->event_id == 0 || inner->held || (!inner->waits && !inner->undone)) {
        return inner; // never begun, or an ordinary call when it was recorded
    }
    call->id = inner->event_id;
    call->input = inner->text;
    call->waits = inner->waits;
    call->inner.emplace(inner);
    inner->set_waiter(call.get());
    auto slot = std::make_unique<KeptSlot>(*this, *call, call->id, request.where);
    ++live_slots_;
    if (inner->undone) {
        call->undo = Compensation{.name = std::string{undo->activity},
                                  .options = *undo->options,
                                  .where = request.where,
                                  .call = call.get()};
        rare().compensations.push_back(*call->undo);
    }
    rare().calls.push_back(std::move(call));
    return slot.release();
}

// ---- Cancellation

bool Engine::calls_under_way() const noexcept {
    return rare_ && std::ranges::any_of(
                        rare_->calls, [](const auto& call) { return call->waits && !call->ended; });
}

bool Engine::cancellation_waits() const noexcept {
    return rare_ && rare_->cancellation;
}

bool Engine::cancellation_is_due() const noexcept {
    return cancellation_waits() && !calls_under_way();
}

// From now on the code can make steps, but none of them begins; when the calls have ended and the
// code has seen their results, it is cancelled.
void Engine::request_cancellation(const std::string& reason) {
    if (!calls_under_way()) {
        fail_with(cancelled(reason));
    } else if (!rare_->cancellation) {
        rare_->cancellation = reason;
    }
}

// ---- Dropping

void Engine::drop_kept(KeptSlot& slot) noexcept {
    if (slot.call == nullptr) {
        return;
    }
    auto& call = *slot.call;
    call.slot = nullptr;
    slot.call = nullptr;
    call.taken = call.taken || slot.taken;
    if (call.taken || turn_->closing) {
        return; // at the end of the code, drop_all_calls() handles all of its calls
    }
    call.dropped = true;
    if (!call.waits) {
        call.give_up();
    }
}

void Engine::give_up_calls() {
    if (!rare_) {
        return;
    }
    for (const auto& call : rare_->calls) {
        if (!call->waits) {
            call->give_up();
        }
    }
}

// The code is over: calls whose result it has not taken are dropped, and undone.
void Engine::drop_all_calls() {
    if (!rare_) {
        return;
    }
    for (const auto& call : rare_->calls) {
        if (!call->observed()) {
            call->dropped = true;
            if (!call->waits) {
                call->give_up();
            }
        }
    }
    record_dropped();
    begin_undos();
}

// ---- Undoing

// For calls that the code gave up while it went on, oldest first. When the code fails, compensate()
// undoes all of them.
void Engine::begin_undos() {
    if (!rare_ || rare_->failure || spoiled() || cancellation_waits() ||
        (root_.exists() && root_.ready() && root_.failed())) {
        return;
    }
    for (const auto& call : rare_->calls) {
        if (call->undo && call->dropped && call->ended && !call->undo_begun) {
            call->undo_begun = true;
            call->undo_task.emplace(undo_call(this, call.get()));
            call->undo_task->start();
        }
    }
    std::erase_if(rare_->calls, [](const auto& call) {
        return call->ended && !call->undo && call->slot == nullptr;
    });
}

bool Engine::undos_under_way() const noexcept {
    return rare_ && std::ranges::any_of(rare_->calls, [this](const auto& call) {
               const bool begun = call->undo_task.has_value();
               const bool due = call->undo && call->dropped && !call->undo_begun;
               return (begun && !call->undo_task->source()->ready()) || (due && !rare_->failure);
           });
}

void Engine::forget_calls() noexcept {
    if (rare_) {
        rare_->compensations.clear();
        const auto gone = std::exchange(rare_->calls, {});
    }
}

namespace {

std::string_view outcome_name(const KeptCall& call, const RareState& rare) {
    if (call.outcome) {
        return "succeeded";
    }
    // A system failure (poison, for example) says nothing about what the activity did before.
    const bool told =
        !*call.unanswered && std::ranges::none_of(rare.system_failures, [&](const auto& each) {
            return each.first == call.outcome.error();
        });
    return told ? "failed" : "unknown";
}

// The payload of an Undo<In, R>.
std::string undo_input(const Engine& engine, const KeptCall& call, const RareState& rare) {
    auto text = R"({"input":)" + json_string(call.input) + R"(,"outcome":")" +
                std::string{outcome_name(call, rare)} + '"';
    if (call.outcome) {
        text += R"(,"result":)" + json_string(*call.outcome);
    }
    return text + R"(,"idempotency_key":)" +
           json_string(idempotency_key(engine.instance(), engine.execution_id(), call.id)) + '}';
}

} // namespace

Operation<std::string>
Engine::call_undo(const Compensation& undo, std::string_view input, bool essential) {
    const StepRequest request{.kind = StepKind::activity,
                              .name = undo.name,
                              .input = input,
                              .recode = undo.recode,
                              .tag = undo.options.tag,
                              .session = undo.options.session,
                              .waits = essential,
                              .essential = essential,
                              .where = undo.where};
    return Operation<std::string>{
        is_plain(undo.options) ? schedule(request) : schedule_retrying(request, undo.options)};
}

void Engine::note_undo_failure(const Compensation& undo, const Failure& failure) {
    const auto sentence = "compensation '" + undo.name + "' failed: " + failure.message;
    log(LogLevel::error, sentence, undo.where);
    auto& noted = rare().undo_failures;
    noted += (noted.empty() ? "" : "; ") + sentence;
}

Operation<std::string> Engine::watch(KeptCall& call) {
    auto slot = std::make_unique<KeptSlot>(*this, call, call.id, call.undo->where);
    ++live_slots_;
    return Operation<std::string>{slot.release()};
}

Task<void> Engine::undo_call(Engine* engine, KeptCall* call) {
    const auto input = undo_input(*engine, *call, *engine->rare_);
    auto undo = engine->call_undo(*call->undo, input, true).as_result();
    const auto outcome = co_await undo;
    if (!outcome) {
        engine->note_undo_failure(*call->undo, outcome.error());
    }
}

// Undoes what the orchestration did, newest first. One that fails is reported, and the others still
// run: they are independent.
Task<void> Engine::compensate(Engine* engine, std::vector<Compensation> compensations) {
    while (!compensations.empty()) {
        const Compensation undo = std::move(compensations.back());
        compensations.pop_back();
        auto input = undo.input;
        if (undo.call != nullptr) {
            if (std::exchange(undo.call->undo_begun, true)) {
                continue;
            }
            if (!undo.call->ended) {
                auto end = engine->watch(*undo.call).as_result();
                const auto ended = co_await end;
                static_cast<void>(ended);
            }
            input = undo_input(*engine, *undo.call, *engine->rare_);
        }
        auto call = engine->call_undo(undo, input, false).as_result();
        const auto outcome = co_await call;
        if (!outcome) {
            engine->note_undo_failure(undo, outcome.error());
        }
    }
}

} // namespace durable::replay
