// Mailboxes: where messages from outside meet the waits for them. Per name two queues, first in
// first out: messages that nobody has received, and waits that nothing has answered. At most one of
// them is not empty. Events (wait_for) and queues (dequeue) of the same name do not mix.

#pragma once

#include <durable/step.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace durable::replay {

struct Message {
    std::uint64_t sequence = 0; // of arrival in this execution
    std::string data;
};

class Mailbox {
 public:
    // The wait that takes the message, or nullptr when it is kept. A message that was handed back
    // returns to its place among the others.
    [[nodiscard]] detail::Slot* deliver(Message& message);
    // The message for a new wait, or nothing: then the wait is kept.
    [[nodiscard]] bool subscribe(detail::Slot& wait, Message& message);
    void unsubscribe(const detail::Slot& wait) noexcept;

    [[nodiscard]] bool empty() const noexcept;
    [[nodiscard]] const std::vector<Message>& messages() const noexcept { return messages_; }
    [[nodiscard]] std::size_t first_message() const noexcept { return first_message_; }

 private:
    std::vector<Message> messages_;    // from first_message_ on, sorted by sequence
    std::vector<detail::Slot*> waits_; // from first_wait_ on, in the order of subscription
    std::size_t first_message_ = 0;
    std::size_t first_wait_ = 0;
};

class Mailboxes {
 public:
    // What came of a delivery or subscription: the wait to answer and the message for it.
    struct Match {
        detail::Slot* wait = nullptr;
        Message message;
    };

    [[nodiscard]] Match deliver(detail::StepKind kind, std::string_view name, Message message);
    [[nodiscard]] Match subscribe(detail::Slot& wait, std::string_view name);
    void unsubscribe(const detail::Slot& wait, std::string_view name) noexcept;

    // Messages that nobody received, oldest first, with their names.
    struct Unread {
        detail::StepKind kind = detail::StepKind::event;
        std::string name;
        Message message;
    };
    [[nodiscard]] std::vector<Unread> unread() const;

    [[nodiscard]] std::size_t memory_bytes() const noexcept;

 private:
    using Key = std::pair<detail::StepKind, std::string>;
    struct Less {
        using is_transparent = void;
        template <class A, class B>
        bool operator()(const A& a, const B& b) const noexcept {
            return std::pair<detail::StepKind, std::string_view>{a.first, a.second} <
                   std::pair<detail::StepKind, std::string_view>{b.first, b.second};
        }
    };

    Mailbox& at(detail::StepKind kind, std::string_view name);
    void forget_if_empty(detail::StepKind kind, std::string_view name) noexcept;

    std::map<Key, Mailbox, Less> boxes_;
};

} // namespace durable::replay
