// Ledger::check: what must hold in a ledger between calls, beyond what each function checks.

#include "base/check.hpp"

#include "providers/ledger/ledger.hpp"

#include <algorithm>
#include <limits>

namespace durable::ledger {

namespace {

// fn(item) for all items of a heap.
template <class Heap, class Fn>
void each(const Heap& heap, Fn fn) {
    heap.visit_due(std::numeric_limits<std::int64_t>::max(), [&](const auto& item) {
        fn(item);
        return true;
    });
}

void check_ready(const ReadyTurns& ready, const Instance& instance) {
    const auto& inbox = instance.inbox();
    const auto code = code_needed(instance);
    DURABLE_CHECK(instance.place == Instance::Place::ready, "what stands in a class is ready");
    DURABLE_CHECK(inbox.ready == &ready, "a ready instance stands in its own class");
    DURABLE_CHECK(!inbox.visible.empty() &&
                      inbox.first_visible ==
                          (*std::ranges::min_element(inbox.visible, {}, &Message::seq))->seq,
                  "a ready instance knows its oldest message");
    DURABLE_CHECK(inbox.lease == nullptr || inbox.lease->slot == no_slot,
                  "what is leased is not ready (P1)");
    DURABLE_CHECK(code.any == ready.turn.any_code && code.name == ready.turn.name &&
                      code.version == ready.turn.version,
                  "the class says which code the next turn needs (P14)");
    DURABLE_CHECK(ready.turn.suspect == std::ranges::any_of(inbox.visible, &Message::suspect),
                  "the class says whether an instance is a suspect (P16)");
    DURABLE_CHECK(ready.turn.cancelled == std::ranges::any_of(inbox.visible, &Message::cancels),
                  "the class says whether an instance is cancelled");
}

} // namespace

std::uint32_t TurnQueue::check() const {
    for (const auto& [turn, ready] : ready_) {
        DURABLE_CHECK(!ready.instances.empty(), "a class without instances is gone");
        each(ready.instances, [&](const Instance& instance) { check_ready(ready, instance); });
        DURABLE_CHECK(ready.by_cancellation.size() == (turn.cancelled ? ready.instances.size() : 0),
                      "cancelled instances, and no others, are ordered by that");
    }
    each(hidden_, [](const Instance& instance) {
        DURABLE_CHECK(instance.place == Instance::Place::hidden && instance.hidden,
                      "what stands among the hidden ones is hidden");
    });
    each(delayed_, [](const Message& message) {
        DURABLE_CHECK(message.place == Message::Place::delayed, "a delayed message is not visible");
    });
    each(parked_, [](const Message& message) {
        DURABLE_CHECK(message.place == Message::Place::parked && !message.instance->exists(),
                      "messages expire only where there is no instance (P6)");
    });
    std::uint64_t leased = 0;
    std::uint32_t suspects = 0;
    for (const auto& [token, lease] : leases_) {
        DURABLE_CHECK(lease.instance->inbox().lease == &lease,
                      "an instance has one lease, and both know it (P1)");
        if (lease.slot != no_slot) {
            leased += lease.messages.size();
            suspects += lease.suspect ? 1 : 0;
            DURABLE_CHECK(lease.instance->place == Instance::Place::leased,
                          "a live lease keeps its instance (P1)");
        }
    }
    DURABLE_CHECK(leased == leased_, "messages under live leases are counted");
    return suspects;
}

std::uint32_t WorkQueue::check() const {
    std::size_t ready = 0;
    for (const auto& [key, group] : groups_) {
        DURABLE_CHECK(group.items > 0 && group.items >= group.ready.size(),
                      "a group counts its items, and is gone with the last one");
        DURABLE_CHECK((group.slot == no_slot) == group.ready.empty(),
                      "a group is on a shelf while it has something ready");
        ready += group.ready.size();
        each(group.ready, [&](const WorkEntry& entry) {
            DURABLE_CHECK(entry.group == &group && entry.place == WorkEntry::Place::ready,
                          "a ready item stands in its own group");
            DURABLE_CHECK(entry.suspect() == group.shelf->suspect,
                          "suspects stand apart from the others (P16)");
        });
    }
    std::uint32_t suspects = 0;
    for (const auto& [token, lease] : leases_) {
        DURABLE_CHECK(lease.entry->lease == &lease, "an item has one lease, and both know it (P1)");
        suspects += lease.slot != no_slot && lease.suspect ? 1 : 0;
    }
    DURABLE_CHECK(ready + delayed_.size() + lease_ends_.size() == entries_.size(),
                  "each item is ready, delayed or under a live lease");
    return suspects;
}

void Ledger::check() const {
    const auto held = turns.check() + work.check();
    DURABLE_CHECK(held == suspects.held, "suspects under live leases are counted (P16)");
    for (const auto* instance : parked_) {
        DURABLE_CHECK(instance->exists() && instance->extras && instance->extras->parked,
                      "what is listed as parked has its reason");
    }
}

} // namespace durable::ledger
