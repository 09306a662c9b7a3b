#include "providers/ledger/turn_class.hpp"

#include <durable/codec.hpp>

#include <optional>
#include <utility>
#include <variant>

namespace durable::ledger {

namespace {

// The visible message of the lowest sequence number that `accept` accepts.
template <class Accept>
const Message* first_visible(const Instance& instance, Accept accept) {
    const Message* first = nullptr;
    for (const auto* message : instance.inbox().visible) {
        if (accept(message->kind) && (first == nullptr || message->seq < first->seq)) {
            first = message;
        }
    }
    return first;
}

CodeNeed begun_by(const Message* message) {
    return message == nullptr ? CodeNeed{} : code_begun_by(decode_work_item(message->text()));
}

} // namespace

CodeNeed code_needed(const Instance& instance) {
    if (!instance.exists()) {
        if (auto started = stored_start(instance)) {
            return code_need(std::move(started->name), std::move(started->version));
        }
        return begun_by(first_visible(instance, starts_instance));
    }
    const auto* current = instance.current();
    if (current != nullptr && current->status == ExecutionStatus::continued_as_new) {
        return begun_by(first_visible(
            instance, [](std::uint8_t kind) { return kind == item_kind<work::ContinueAsNew>; }));
    }
    return instance.ended() ? CodeNeed{} : code_need(*instance.name, *instance.version);
}

Suits suits(const FetchOrchestration& request, const TurnClass& turn, const SuspectHold& hold) {
    if (!can_replay(request, turn.pinned)) {
        return Suits::no;
    }
    if (request.one_suspect && turn.suspect && hold.held > 0) { // P16
        return Suits::no;
    }
    if (request.code == nullptr || turn.any_code ||
        request.code->has(turn.name, turn.version)) { // P14
        return Suits::yes;
    }
    return turn.cancelled && request.code->cancelled_for ? Suits::late : Suits::no;
}

} // namespace durable::ledger
