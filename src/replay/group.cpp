#include <durable/group.hpp>

#include <cstring>
#include <source_location>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace durable::detail {

namespace {

// Scheduled later but written earlier, in one function: the compiler went from right to left.
// Operands that were named before may come in any order: that order is the program's own.
bool evaluated_backwards(const Slot& first, const Slot& second) noexcept {
    const auto& a = first.where;
    const auto& b = second.where;
    return first.event_id > second.event_id && std::strcmp(a.file_name(), b.file_name()) == 0 &&
           std::strcmp(a.function_name(), b.function_name()) == 0 &&
           std::tuple{a.line(), a.column()} < std::tuple{b.line(), b.column()};
}

} // namespace

void GroupBase::consider(Source* operand) {
    const auto& source = checked_source(operand);
    if (!source.ready()) {
        ++pending_;
    } else if (decides(source) && (decider_ == nullptr || source.order < decider_->order)) {
        decider_ = operand; // among those complete already, the earlier in history wins
    }
}

bool GroupBase::decide_at_start() {
    if (decider_ != nullptr || (pending_ == 0 && mode_ != GroupMode::first)) {
        decide(decider_);
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

void GroupBase::check_order(const Slot*& last, const Slot* next) noexcept {
    if (last != nullptr && next != nullptr && evaluated_backwards(*last, *next)) {
        next->engine->wrong_order(*last, *next);
    }
    last = next;
}

void GroupBase::operand_ready(Waiter& self, Source& operand) noexcept {
    auto& group = static_cast<GroupBase&>(self);
    operand.set_waiter(nullptr);
    --group.pending_;
    if (group.decides(operand)) {
        group.decide(&operand);
    } else if (group.pending_ == 0) {
        group.decide(nullptr);
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

// Losers go at once, not when the result is taken: the group may be an operand of another one that
// goes on waiting.
void GroupBase::decide(Source* decider) noexcept {
    decider_ = decider;
    if (decider != nullptr) {
        cancel_all_but(decider);
    }
    make_ready(*this, decider != nullptr && decider->failed && !decider->failure_is_value);
}

} // namespace durable::detail
