// Operation<T>: one durable step that has been scheduled and will complete, perhaps months later.
//
// Calling schedules, awaiting observes. Dropping an unfinished operation cancels it, which is how
// the losers of a race are cleaned up: no cancellation token, just scope.

#pragma once

#include <durable/detail/step.hpp>
#include <durable/payload.hpp>
#include <durable/result.hpp>
#include <durable/task.hpp>

#include <string>
#include <type_traits>
#include <utility>

namespace durable {

template <class T>
class [[nodiscard("dropping an operation cancels it: await it or keep it")]] Operation
    : public detail::DurableAwaitableBase {
 public:
    using Value = T;

    explicit Operation(detail::Slot* slot) noexcept : slot_{slot} {
        if (slot_ != nullptr) {
            slot_->engine->newest = slot_;
        }
    }
    Operation(Operation&& other) noexcept { take_over(other); }
    Operation& operator=(Operation&& other) noexcept {
        if (this != &other) {
            cancel();
            take_over(other);
        }
        return *this;
    }
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;
    ~Operation() { cancel(); }

    // Whether awaiting it would go on at once. The same answer on every replay. std::logic_error
    // after it was awaited.
    [[nodiscard]] bool ready() const { return detail::is_ready(slot_); }

    // Gives up on it now, as its destruction would. Does nothing to a finished step.
    void cancel() noexcept {
        if (slot_ != nullptr) {
            auto* slot = std::exchange(slot_, nullptr);
            slot->engine->release(slot);
        }
    }

    // Awaits to Outcome<T> instead of throwing: for failures that are part of the plan.
    //     const auto receipt = co_await ctx.call(charge, order).as_result();
    class AsResult;
    [[nodiscard]] AsResult as_result() && { return AsResult{std::move(*this)}; }

    // Awaitable protocol, see task.hpp.
    void start() noexcept {}
    [[nodiscard]] detail::Source* source() noexcept { return slot_; }
    T take() { return take_from(slot_); }
    static void start_at(detail::Source&) noexcept {}
    static T take_at(detail::Source& source) {
        return take_from(static_cast<detail::Slot*>(&source));
    }
    [[nodiscard]] const detail::Slot* slot() const noexcept { return slot_; }

 private:
    void take_over(Operation& other) noexcept {
        slot_ = std::exchange(other.slot_, nullptr);
        if (slot_ != nullptr) {
            slot_->moved = true;
        }
    }
    static T take_from(detail::Slot* slot) {
        auto outcome = outcome_of(slot);
        if (!outcome) {
            throw OperationFailed{std::move(outcome.error())};
        }
        if constexpr (!std::is_void_v<T>) {
            return *std::move(outcome);
        }
    }
    static Outcome<T> outcome_of(detail::Slot* slot) {
        auto text = detail::take_result(slot);
        if (!text) {
            return std::unexpected{std::move(text.error())};
        }
        if constexpr (std::is_void_v<T>) {
            return {};
        } else if constexpr (std::is_same_v<T, std::string>) {
            return *std::move(text);
        } else {
            return detail::decode_payload<T>(*text);
        }
    }

    detail::Slot* slot_ = nullptr;
};

template <class T>
class [[nodiscard]] Operation<T>::AsResult : public detail::DurableAwaitableBase {
 public:
    using Value = Outcome<T>;

    explicit AsResult(Operation&& operation) noexcept : operation_{nullptr} {
        operation_.slot_ = std::exchange(operation.slot_, nullptr);
        if (auto* const slot = operation_.slot_) {
            slot->failure_is_value = true;
            // Directly behind the call, this is still the expression that made the step.
            slot->moved = slot->moved || slot->engine->newest != slot;
        }
    }

    void start() noexcept {}
    [[nodiscard]] detail::Source* source() noexcept { return operation_.source(); }
    Outcome<T> take() { return outcome_of(operation_.slot_); }
    static void start_at(detail::Source&) noexcept {}
    static Outcome<T> take_at(detail::Source& source) {
        return outcome_of(static_cast<detail::Slot*>(&source));
    }
    void cancel() noexcept { operation_.cancel(); }
    [[nodiscard]] const detail::Slot* slot() const noexcept { return operation_.slot(); }

 private:
    Operation operation_;
};

} // namespace durable
