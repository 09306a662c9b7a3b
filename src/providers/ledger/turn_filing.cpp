// The half of TurnQueue that files instances by what they could do next.

#include "base/check.hpp"
#include "providers/ledger/turn_queue.hpp"

#include <algorithm>
#include <utility>

namespace durable::ledger {

namespace {

const Version* pinned_version(const Instance& instance) {
    const auto* current = instance.exists() ? instance.current() : nullptr;
    return current == nullptr ? nullptr : current->pinned;
}

// P15: the messages of a pending instance wait for the start that made it, the first in its queue.
bool own_start_is_visible(const Instance& instance) {
    for (const auto* message = instance.messages; message != nullptr; message = message->next) {
        if (message->kind == item_kind<work::StartOrchestration>) {
            return message->place != Message::Place::delayed;
        }
    }
    return false;
}

// A cancellation that becomes visible while the instance is hidden ends the hiding; one that was
// abandoned with the turn does not.
bool cancelled_while_hidden(const Instance& instance) {
    const auto& inbox = instance.inbox();
    return std::ranges::any_of(inbox.visible, [&](const Message* message) {
        return message->cancels() &&
               (message->seq >= inbox.hidden_seq || message->deliverable_at() > inbox.hidden_at);
    });
}

Instant oldest_cancellation(const Instance& instance) {
    auto oldest = Instant::max();
    for (const auto* message : instance.inbox().visible) {
        if (message->cancels()) {
            oldest = std::min(oldest, message->deliverable_at());
        }
    }
    return oldest;
}

} // namespace

Instance::Place TurnQueue::place_of(Instance& instance) const {
    const auto& inbox = instance.inbox();
    if (inbox.lease != nullptr && inbox.lease->slot != no_slot) {
        return Instance::Place::leased;
    }
    if (instance.hidden && !cancelled_while_hidden(instance)) {
        return Instance::Place::hidden;
    }
    if (inbox.visible.empty()) {
        return Instance::Place::idle;
    }
    if (instance.pending()) {
        return own_start_is_visible(instance) ? Instance::Place::ready : Instance::Place::parked;
    }
    if (instance.exists() || inbox.visible_starts > 0) {
        return Instance::Place::ready;
    }
    if (instance.started == Instance::Started::unknown) {
        instance.started = stored_start(instance) ? Instance::Started::yes : Instance::Started::no;
    }
    return instance.started == Instance::Started::yes ? Instance::Place::ready
                                                      : Instance::Place::parked;
}

void TurnQueue::leave(Instance& instance) {
    switch (instance.place) {
    case Instance::Place::ready: {
        DURABLE_CHECK(instance.under_way && instance.under_way->ready != nullptr,
                      "a ready instance knows its class");
        auto& ready = *std::exchange(instance.under_way->ready, nullptr);
        ready.instances.erase(instance);
        const auto cancelled =
            ready.by_cancellation.erase({instance.under_way->cancelled_at, &instance});
        DURABLE_CHECK((cancelled == 1) == ready.turn.cancelled,
                      "a cancelled instance stands in both orders of its class");
        if (ready.instances.empty()) {
            ready_.erase(ready_.find(ready.turn));
        }
        break;
    }
    case Instance::Place::hidden:
        hidden_.erase(instance);
        break;
    case Instance::Place::parked:
        for (auto* message : instance.inbox().visible) {
            if (message->place == Message::Place::parked) {
                parked_.erase(*message);
                message->place = Message::Place::visible;
            }
        }
        break;
    case Instance::Place::idle:
    case Instance::Place::leased:
        break;
    }
    instance.place = Instance::Place::idle;
}

void TurnQueue::hold(Instance& instance) {
    leave(instance);
    instance.place = Instance::Place::leased; // until the caller has made its change
}

void TurnQueue::push_ready(Instance& instance) {
    auto& inbox = instance.open_inbox();
    const auto code = code_needed(instance);
    const TurnClassView turn{.pinned = pinned_version(instance),
                             .any_code = code.any,
                             .name = code.name,
                             .version = code.version,
                             .suspect = std::ranges::any_of(inbox.visible, &Message::suspect),
                             .cancelled = std::ranges::any_of(inbox.visible, &Message::cancels)};
    auto found = ready_.find(turn);
    if (found == ready_.end()) {
        TurnClass made{.pinned = turn.pinned,
                       .any_code = turn.any_code,
                       .name = code.name,
                       .version = code.version,
                       .suspect = turn.suspect,
                       .cancelled = turn.cancelled};
        found = ready_.try_emplace(made, ReadyTurns{.turn = made}).first;
    }
    inbox.ready = &found->second;
    inbox.ready->instances.push(instance, key_of(inbox.first_visible));
    if (turn.cancelled) {
        inbox.cancelled_at = oldest_cancellation(instance);
        inbox.ready->by_cancellation.emplace(inbox.cancelled_at, &instance);
    }
    if (listener_ != nullptr) {
        listener_->turn_ready(inbox.ready->turn);
    }
}

void TurnQueue::file(Instance& instance) {
    leave(instance);
    instance.place = place_of(instance);
    switch (instance.place) {
    case Instance::Place::ready:
        push_ready(instance);
        break;
    case Instance::Place::hidden:
        hidden_.push(instance, key_of(instance.inbox().hidden_until));
        break;
    case Instance::Place::parked:
        if (instance.exists()) {
            break; // P15: its start will come, so its messages do not expire
        }
        for (auto* message : instance.inbox().visible) {
            message->place = Message::Place::parked;
            parked_.push(*message, key_of(message->deliverable_at()));
        }
        break;
    case Instance::Place::idle:
        instance.close_inbox();
        break;
    case Instance::Place::leased:
        break;
    }
}

void TurnQueue::refile_after_removal(Instance& instance) {
    // Messages that are still parked stay in their heap: filing all of them again for every message
    // that expires would cost the square of their number.
    if (instance.place != Instance::Place::parked || instance.inbox().visible.empty()) {
        file(instance);
    }
}

void TurnQueue::hide(Instance& instance, Instant until, Instant at, Seq next) {
    auto& inbox = instance.open_inbox();
    inbox.hidden_until = until;
    inbox.hidden_at = at;
    inbox.hidden_seq = next;
    instance.hidden = true;
}

void TurnQueue::reveal(Instance& instance) {
    if (instance.under_way) {
        instance.under_way->hidden_until = {};
        instance.under_way->hidden_at = {};
        instance.under_way->hidden_seq = 0;
    }
    instance.hidden = false;
}

void TurnQueue::hide(Instance& instance, std::span<const Seq> messages, Instant until, Instant at) {
    if (until <= at) {
        return;
    }
    auto& inbox = instance.open_inbox();
    for (const auto seq : messages) {
        auto* message = find(seq);
        if (message == nullptr) {
            continue;
        }
        message->hidden_until = until;
        if (message->place == Message::Place::delayed) {
            delayed_.change_key(*message, key_of(message->deliverable_at()));
            continue;
        }
        inbox.visible_starts -= starts_instance(message->kind) ? 1U : 0U;
        message->place = Message::Place::delayed;
        delayed_.push(*message, key_of(message->deliverable_at()));
    }
    std::erase_if(inbox.visible,
                  [](const Message* message) { return message->place == Message::Place::delayed; });
    compact(instance);
}

void TurnQueue::announce_suspects() const {
    if (listener_ == nullptr) {
        return;
    }
    for (const auto& [turn, ready] : ready_) {
        if (turn.suspect) {
            listener_->turn_ready(turn);
        }
    }
}

} // namespace durable::ledger
