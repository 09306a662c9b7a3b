#include "replay/retry.hpp"

#include "replay/engine.hpp"
#include "replay/failure.hpp"
#include "replay/slots.hpp"
#include "replay/text.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

namespace durable {

Duration RetryPolicy::delay_after(int failures) const noexcept {
    const auto count = static_cast<double>(std::max(failures, 1));
    const auto first =
        static_cast<double>(std::max<Duration>(first_delay, Duration::zero()).count());
    double delay = 0;
    switch (backoff) {
    case Backoff::none:
        return Duration::zero();
    case Backoff::fixed:
        return std::max<Duration>(first_delay, Duration::zero());
    case Backoff::linear:
        delay = first * count;
        break;
    case Backoff::exponential:
        delay = first * std::pow(multiplier, count - 1);
        break;
    }
    // Also catches infinity and NaN, which a long series of failures can reach.
    const auto most = static_cast<double>(max_delay.count());
    return delay >= 0 && delay < most ? Duration{static_cast<Duration::rep>(delay)}
                                      : Duration{max_delay};
}

} // namespace durable

namespace durable::replay {

namespace {

Failure timed_out(std::string activity) {
    return {.kind = std::string{failure_kind::timed_out},
            .message = "timeout: activity timed out",
            .retryable = true,
            .activity = std::move(activity)};
}

Operation<std::string> attempt(const RetryPlan& plan, int number) {
    return Operation<std::string>{
        plan.engine->schedule({.kind = detail::StepKind::activity,
                               .name = plan.name,
                               .input = plan.input,
                               .recode = plan.recode,
                               .tag = plan.tag,
                               .session = plan.session,
                               .call_id = plan.call_id,
                               .attempt = static_cast<std::uint32_t>(number),
                               .waits = plan.waits,
                               .undo = plan.undo,
                               .essential = plan.essential,
                               .unanswered = plan.unanswered,
                               .where = plan.where})};
}

// A pause or a limit: goes on as long as the attempts do.
Operation<void> timer(detail::Engine& engine,
                      Duration duration,
                      bool essential,
                      const std::source_location& where) {
    return Operation<void>{engine.schedule({.kind = detail::StepKind::timer,
                                            .fire_at = add_saturating(engine.now(), duration),
                                            .from_now = true,
                                            .essential = essential,
                                            .where = where})};
}

std::string not_positive(std::string_view field, Duration value) {
    return std::string{field} + " must be positive, not " + std::to_string(value.count()) + " ms";
}

std::string negative(std::string_view field, Duration value) {
    return std::string{field} + " must not be negative: " + std::to_string(value.count()) + " ms";
}

std::string retry_remark(const RetryPlan& plan, int attempt_number, const Failure& failure) {
    const auto session = plan.session.empty() ? "" : " (session=" + plan.session + ")";
    return "Activity '" + plan.name + "'" + session + " attempt " + std::to_string(attempt_number) +
           "/" + std::to_string(plan.retry.max_attempts) + " failed: " + failure.message +
           ". Retrying...";
}

// One attempt with its own time limit: nullopt when the time ran out.
detail::Within<Operation<std::string>::AsResult> within(Operation<std::string> call,
                                                        Operation<void> limit) {
    return {std::move(call).as_result(), std::move(limit)};
}

} // namespace

bool is_plain(const CallOptions& options) noexcept {
    const auto& retry = options.retry;
    return retry.max_attempts == 1 && options.timeout == no_timeout &&
           options.total_timeout == no_timeout && retry_problem(options).empty();
}

std::string retry_problem(const CallOptions& options) {
    const auto& retry = options.retry;
    if (retry.max_attempts < 1) {
        return "retry.max_attempts must be at least 1, not " + std::to_string(retry.max_attempts);
    }
    if (retry.backoff > Backoff::none) {
        return "retry.backoff is none of its values: " +
               std::to_string(static_cast<unsigned>(retry.backoff));
    }
    if (!(retry.multiplier >= 1) || !std::isfinite(retry.multiplier)) {
        return "retry.multiplier must be a number from 1 on, not " +
               std::to_string(retry.multiplier);
    }
    if (retry.first_delay < Duration::zero()) {
        return negative("retry.first_delay", retry.first_delay);
    }
    if (retry.max_delay < Duration::zero()) {
        return negative("retry.max_delay", retry.max_delay);
    }
    if (retry.only_retryable && retry.retry_permanent) {
        return "retry.only_retryable and retry.retry_permanent contradict each other";
    }
    if (options.on_cancel > CancelPolicy::wait) {
        return "on_cancel is none of its values: " +
               std::to_string(static_cast<unsigned>(options.on_cancel));
    }
    if (options.timeout <= Duration::zero()) {
        return not_positive("timeout", options.timeout);
    }
    if (options.total_timeout <= Duration::zero()) {
        return not_positive("total_timeout", options.total_timeout);
    }
    return {};
}

Task<Outcome<std::string>> attempts(Context ctx,
                                    RetryPlan plan,
                                    Operation<std::string> first,
                                    std::optional<Operation<void>> first_limit) {
    auto call = std::move(first);
    auto limit = std::move(first_limit);
    for (int number = 1;; ++number) {
        Outcome<std::string> outcome;
        if (limit) {
            auto limited_call = within(std::move(call), *std::move(limit));
            auto in_time = co_await limited_call;
            if (in_time) {
                outcome = *std::move(in_time);
            } else {
                outcome = std::unexpected{timed_out(plan.name)};
            }
        } else {
            auto plain_call = std::move(call).as_result();
            outcome = co_await plain_call;
        }
        const bool again = !outcome && number < plan.retry.max_attempts &&
                           plan.retry.retries(outcome.error().retryable);
        if (!again) {
            co_return outcome;
        }
        ctx.log(LogLevel::warn, retry_remark(plan, number, outcome.error()), plan.where);
        const auto pause = plan.retry.delay_after(number);
        if (pause > Duration::zero()) {
            auto waited = timer(*plan.engine, pause, plan.essential, plan.where);
            co_await waited;
        }
        call = attempt(plan, number + 1);
        limit.reset();
        if (plan.timeout != no_timeout) {
            limit.emplace(timer(*plan.engine, plan.timeout, plan.essential, plan.where));
        }
    }
}

Task<Outcome<std::string>>
limited(Task<Outcome<std::string>> work, Operation<void> total_limit, std::string activity) {
    auto first = co_await race{std::move(work), std::move(total_limit)};
    if (first.index() == 0) {
        co_return std::get<0>(std::move(first));
    }
    co_return std::unexpected{timed_out(std::move(activity))};
}

void RetrySlot::finished(Waiter& self, detail::Source& loop) noexcept {
    auto& slot = static_cast<RetrySlot&>(self);
    loop.set_waiter(nullptr);
    try {
        auto outcome = slot.loop.take();
        if (outcome) {
            slot.text = *std::move(outcome);
        } else {
            slot.failure = std::make_unique<Failure>(std::move(outcome.error()));
        }
    } catch (const std::exception& error) {
        slot.failure = std::make_unique<Failure>(Failure{
            .kind = std::string{failure_kind::panicked}, .message = detail::text_of(error)});
    }
    make_ready(slot, slot.failure != nullptr);
}

detail::Slot* Engine::schedule_retrying(const detail::StepRequest& request,
                                        const CallOptions& options) {
    if (spoiled()) {
        return schedule(request);
    }
    if (auto problem = retry_problem(options); !problem.empty()) {
        give_up("activity '" + printable(request.name) + "': " + problem);
    }
    const Context ctx{*this};
    auto* const first_slot = schedule(request);
    Operation<std::string> first{first_slot};
    std::optional<Operation<void>> limit;
    if (options.timeout != no_timeout) {
        limit.emplace(timer(*this, options.timeout, first_slot->essential, request.where));
    }
    std::optional<Operation<void>> total;
    if (options.total_timeout != no_timeout) {
        total.emplace(timer(*this, options.total_timeout, first_slot->essential, request.where));
    }
    auto loop = attempts(
        ctx, RetryPlan{*this, request, options, *first_slot}, std::move(first), std::move(limit));
    if (total) {
        loop = limited(std::move(loop), *std::move(total), std::string{request.name});
    }
    // Nested too deep, it throws: only what exists is counted.
    auto* const slot = new RetrySlot{*this, first_slot->event_id, std::move(loop), request.where};
    ++live_slots_;
    slot->waits = first_slot->waits;
    slot->undone = first_slot->undone;
    slot->held = first_slot->held;
    slot->text = first_slot->text; // the input, where it is undone
    return slot;
}

} // namespace durable::replay
