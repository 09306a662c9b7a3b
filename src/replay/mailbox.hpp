// Mailboxes: where messages from outside meet the waits for them. Each name has one line, first in
// first out: of unread messages, or of unanswered waits, never of both. Events (wait_for) and
// queues (dequeue) of the same name do not mix.
//
// Small, because most parked executions have one wait in it and nothing else.

#pragma once

#include "replay/slots.hpp"

#include <durable/detail/step.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace durable::replay {

struct Message {
    std::uint64_t sequence = 0; // of arrival, among everything that has become ready
    std::string data;
};

class Mailboxes {
 public:
    // The result of a delivery or subscription: the wait to answer and the message for it.
    struct Match {
        WaitSlot* wait = nullptr; // nullptr: the message, or the wait, stands in line
        Message message;
    };

    // A message that a dropped wait hands back returns to its place among the others.
    [[nodiscard]] Match deliver(detail::StepKind kind, std::string_view name, Message message);
    [[nodiscard]] Match subscribe(WaitSlot& wait); // its event id is its place
    void unsubscribe(WaitSlot& wait) noexcept;

    // Messages that the code has not received, oldest first, with their names.
    struct Unread {
        detail::StepKind kind = detail::StepKind::event;
        std::string name;
        Message message;
    };
    [[nodiscard]] std::vector<Unread> unread() const;

    [[nodiscard]] std::size_t memory_bytes() const noexcept;

 private:
    using Place = std::tuple<detail::StepKind, std::string_view, std::uint64_t>;
    using Key = std::tuple<detail::StepKind, std::string, std::uint64_t>; // the sequence
    struct Less {
        using is_transparent = void;
        static Place place(const WaitSlot* wait) noexcept {
            return {wait->kind, wait->name, wait->event_id};
        }
        static Place place(const Key& key) noexcept { return key; }
        static Place place(const Place& place) noexcept { return place; }
        template <class A, class B>
        bool operator()(const A& a, const B& b) const noexcept {
            return place(a) < place(b);
        }
    };
    using Messages = std::map<Key, std::string, Less>;

    std::set<WaitSlot*, Less> waits_;
    std::unique_ptr<Messages> messages_; // nullptr: none
};

} // namespace durable::replay
