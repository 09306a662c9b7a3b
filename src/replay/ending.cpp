// How an execution ends, and what it does last: compensations, notices, messages sent on.

#include "replay/engine.hpp"
#include "replay/failure.hpp"
#include "replay/text.hpp"

#include <memory>
#include <utility>
#include <variant>

namespace durable::replay {

namespace {

bool is_cancellation(const ErrorDetails& details) noexcept {
    const auto* const application = std::get_if<details::Application>(&details);
    return application != nullptr && application->kind == details::ApplicationKind::cancelled;
}

std::string take_nothing(detail::PromiseBase& promise) {
    static_cast<detail::TaskPromise<void>&>(promise).take();
    return {};
}

} // namespace

// The coroutine is done: the user's, or the one that runs its compensations.
bool Engine::conclude() {
    const bool may_fail = !rare_ || !rare_->failure;
    if (!(may_fail && root_.failed())) {
        drop_all_calls();
        if (undos_under_way() || cancellation_waits()) {
            return false; // the end waits for these undos
        }
    }
    std::string output;
    std::optional<ErrorDetails> failure;
    try {
        output = root_.take();
        if (!is_utf8(output)) {
            failure = orchestration_failed("the result of an orchestration must be UTF-8 text");
        }
    } catch (...) {
        failure = details_of(std::current_exception());
    }
    if (rare_ && rare_->failure) {
        end_failed(with_note(*rare_->failure, rare_->undo_failures));
    } else if (failure) {
        fail_with(*std::move(failure));
    } else if (rare_ && rare_->continuation) {
        fail_with(orchestration_failed(continue_at(rare_->continuation->where) +
                                       "was not awaited before the orchestration ended"));
    } else {
        const auto recode = root_.recode();
        close_code("orchestration_terminal_completed");
        end_completed(std::move(output), recode);
    }
    return true;
}

// A system failure that the orchestration did not catch is recorded as it came.
ErrorDetails Engine::details_of(const std::exception_ptr& thrown) const {
    if (rare_) {
        try {
            std::rethrow_exception(thrown);
        } catch (const OperationFailed& failed) {
            for (const auto& [failure, details] : rare_->system_failures) {
                if (failure == failed.failure()) {
                    return details;
                }
            }
        } catch (...) { // NOLINT(bugprone-empty-catch): handled below
        }
    }
    return to_details(thrown);
}

void Engine::fail_with(ErrorDetails details) {
    turn_->failure = details;
    if (rare_) {
        rare_->continuation.reset();
        rare_->cancellation.reset();
    }
    close_code(is_cancellation(details) ? "orchestration_terminal_cancelled"
                                        : "orchestration_terminal_failed");
    if (rare_ && rare_->failure) { // while compensating: what failed first counts
        const auto sentence = "compensation stopped: " + display_text(details);
        remark(LogLevel::error, sentence);
        end_failed(with_note(with_note(*rare_->failure, rare_->undo_failures), sentence));
        return;
    }
    if (!rare_ || (rare_->compensations.empty() && !undos_under_way())) {
        end_failed(std::move(details));
        return;
    }
    rare_->failure = std::move(details);
    root_ = detail::RootTask{compensate(this, std::move(rare_->compensations)), &take_nothing};
    root_.start();
}

// Destroys the frames and cancels every step that they held, for the given reason.
void Engine::close_code(std::string_view reason) {
    turn_->drop_reason = reason;
    turn_->closing = true;
    root_.reset();
    turn_->closing = false;
    give_up_calls();
    cancel_forgotten_steps();
    record_dropped();
    turn_->drop_reason = "dropped_future";
    turn_->queue.restart();
    if (rare_) {
        rare_->lost_wait.clear(); // no coroutine is left that could wait
    }
}

// Operations that the code keeps where no frame reaches: in a global, or on the heap.
void Engine::cancel_forgotten_steps() {
    std::vector<detail::Slot*> forgotten;
    steps_.each([&](const StepEntry& entry) {
        if (entry.slot != nullptr && !entry.slot->essential) {
            forgotten.push_back(entry.slot);
        }
    });
    for (auto* const slot : forgotten) {
        drop(*slot);
        slot->cancelled = true;
        slot->set_waiter(nullptr);
    }
}

void Engine::end_completed(std::string output, detail::Recode recode) {
    end({.kind = history::OrchestrationCompleted{.output = output}, .recode = recode},
        TurnStatus::completed,
        output);
    if (parent_ && !replaying_) {
        turn_->result.commit.orchestrator_items.emplace_back(
            work::SubOrchCompleted{.parent_instance = parent_->instance,
                                   .parent_execution_id = parent_->execution_id,
                                   .parent_id = parent_->id,
                                   .result = std::move(output),
                                   .parent_incarnation = known_life(parent_->incarnation)});
    }
}

void Engine::end_failed(ErrorDetails details) {
    end({.kind = history::OrchestrationFailed{.details = details}},
        is_cancellation(details) ? TurnStatus::cancelled : TurnStatus::failed,
        display_text(details));
    if (parent_ && !replaying_) {
        turn_->result.commit.orchestrator_items.emplace_back(
            work::SubOrchFailed{.parent_instance = parent_->instance,
                                .parent_execution_id = parent_->execution_id,
                                .parent_id = parent_->id,
                                .details = details,
                                .parent_incarnation = known_life(parent_->incarnation)});
    }
    turn_->result.details = std::move(details);
}

bool Engine::continues() const noexcept {
    return rare_ && rare_->continuation && rare_->continuation->slot->waiter != nullptr;
}

bool Engine::end_continued() {
    drop_all_calls();
    if (undos_under_way() || cancellation_waits()) {
        return false;
    }
    auto request = *std::exchange(rare_->continuation, std::nullopt);
    close_code("orchestration_terminal_continued_as_new");
    work::ContinueAsNew next{.instance = instance_,
                             .orchestration = handler_->name,
                             .input = request.input,
                             .version = std::move(request.version)};
    if (status_) {
        next.initial_custom_status = *status_;
    }
    if (parent_) {
        next.parent_instance = parent_->instance;
        next.parent_id = parent_->id;
        next.parent_execution_id = parent_->execution_id;
        next.parent_incarnation = known_life(parent_->incarnation);
    }
    // Named first: the order in which arguments are evaluated is the compiler's choice.
    Decision continued{.kind = history::OrchestrationContinuedAsNew{.input = request.input},
                       .recode = request.recode};
    end(std::move(continued), TurnStatus::continued_as_new, std::move(request.input));
    if (!replaying_ && !report_) {
        hand_over(std::move(next));
    }
    return true;
}

// Unread messages go to the next execution, in order of arrival. Events and messages of queues are
// carried in separate lists, together with the order between the two.
void Engine::hand_over(work::ContinueAsNew next) {
    turn_->successor = std::move(next);
    if (mailboxes_) {
        for (auto& unread : mailboxes_->unread()) {
            carry(unread.kind, std::move(unread.name), std::move(unread.message.data));
        }
    }
}

void Engine::end(Decision last, TurnStatus status, std::string output) {
    if (decide(std::move(last), {}, {}).id == 0) {
        return;
    }
    ended_ = true;
    if (replaying_) {
        return;
    }
    auto& result = turn_->result;
    auto& metadata = result.commit.metadata;
    result.status = status;
    switch (status) {
    case TurnStatus::completed:
        metadata.status = ExecutionStatus::completed;
        break;
    case TurnStatus::continued_as_new:
        metadata.status = ExecutionStatus::continued_as_new;
        break;
    case TurnStatus::failed:
    case TurnStatus::cancelled:
    case TurnStatus::running:
    case TurnStatus::nondeterministic:
        metadata.status = ExecutionStatus::failed;
        break;
    }
    metadata.output = output;
    result.output = std::move(output);
    if (status != TurnStatus::continued_as_new) {
        count_unread();
    }
}

void Engine::count_unread() {
    const auto unread = mailboxes_ ? mailboxes_->unread().size() : 0;
    if (unread > 0) {
        turn_->result.counters.unread += unread;
        remark(LogLevel::warn,
               std::to_string(unread) + " messages were never read: the orchestration has ended");
    }
}

} // namespace durable::replay
