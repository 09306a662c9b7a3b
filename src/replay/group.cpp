#include <durable/detail/group.hpp>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace durable::detail {

void GroupBase::consider(Source* operand) {
    const auto& source = checked_source(operand);
    latest_ = std::max(latest_, source.order);
    if (!source.ready()) {
        ++pending_;
    } else if (decides(source) && (complete_ == nullptr || source.order < complete_->order)) {
        complete_ = operand; // of several complete operands, the earliest in history wins
    }
}

bool GroupBase::decide_at_start() {
    if (complete_ != nullptr || (pending_ == 0 && mode_ != GroupMode::first)) {
        // The group counts as complete from the moment of that operand.
        const bool keeps = RunQueue::current()->engine().keeps_message_order;
        decide(complete_, !keeps ? 0 : complete_ != nullptr ? complete_->order : latest_);
        return true;
    }
    if (pending_ == 0) {
        throw std::invalid_argument{"a race needs at least one operand"};
    }
    return false;
}

void GroupBase::wait_for(Source& operand) {
    if (!operand.ready()) {
        checked_source(&operand).set_waiter(this); // an operand that is named twice is found here
    }
}

void GroupBase::stop_waiting(Source* operand) noexcept {
    if (operand != nullptr && operand->waiter == this) {
        operand->set_waiter(nullptr);
    }
}

void GroupBase::begin_take() {
    if (!ready()) {
        throw_not_finished();
    }
    if (std::exchange(taken, true)) {
        throw_already_awaited();
    }
}

// Inside of braces, operands that are made in place are made from left to right. Operands that were
// made before may come in any order: that is the program's choice. A step without an id was
// refused: the turn ends with the reason.
void GroupBase::check_order(const Slot*& last, const Slot* next) noexcept {
    if (next == nullptr || next->moved || next->event_id == 0) {
        return;
    }
    if (last != nullptr && last->event_id > next->event_id) {
        next->engine->wrong_order(*last, *next);
    }
    last = next;
}

void GroupBase::operand_ready(Waiter& self, Source& operand) noexcept {
    auto& group = static_cast<GroupBase&>(self);
    operand.set_waiter(nullptr);
    --group.pending_;
    if (group.decides(operand)) {
        group.decide(&operand, 0);
    } else if (group.pending_ == 0) {
        group.decide(nullptr, 0);
    }
}

bool GroupBase::decides(const Source& operand) const noexcept {
    switch (mode_) {
    case GroupMode::every:
        return operand.failed && !operand.failure_is_value;
    case GroupMode::settled:
        return false;
    case GroupMode::first:
        return true;
    }
    return false;
}

// Losers are destroyed at once, not when the result is taken: the group may be an operand of
// another one that goes on waiting. That may destroy the owner of the decider, or of this group.
void GroupBase::decide(const Source* decider, std::uint64_t order) noexcept {
    const bool fails = decider != nullptr && decider->failed && !decider->failure_is_value;
    if (decider != nullptr) {
        const SourceRef self{this};
        decider_ = place_of(*decider);
        cancel_all_but(decider_);
        if (self.get() == nullptr) {
            return;
        }
    }
    make_ready(*this, fails, order);
}

} // namespace durable::detail
