#include "replay/mailbox.hpp"

#include <algorithm>
#include <iterator>

namespace durable::replay {

namespace {

using detail::Slot;
using detail::StepKind;

// Takes the first element out of a vector that is read from `first` on. Amortised O(1).
template <class T>
T pop_front(std::vector<T>& items, std::size_t& first) {
    T item = std::move(items[first]);
    if (++first == items.size()) {
        items = {};
        first = 0;
    } else if (first > 16 && first * 2 > items.size()) {
        items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(first));
        first = 0;
    }
    return item;
}

} // namespace

Slot* Mailbox::deliver(Message& message) {
    if (!waits_.empty()) {
        return pop_front(waits_, first_wait_);
    }
    const auto begin = messages_.begin() + static_cast<std::ptrdiff_t>(first_message_);
    const auto place = std::upper_bound(
        begin, messages_.end(), message.sequence, [](std::uint64_t sequence, const Message& each) {
            return sequence < each.sequence;
        });
    messages_.insert(place, std::move(message));
    return nullptr;
}

bool Mailbox::subscribe(Slot& wait, Message& message) {
    if (messages_.empty()) {
        waits_.push_back(&wait);
        return false;
    }
    message = pop_front(messages_, first_message_);
    return true;
}

void Mailbox::unsubscribe(const Slot& wait) noexcept {
    const auto begin = waits_.begin() + static_cast<std::ptrdiff_t>(first_wait_);
    if (*begin == &wait) {
        pop_front(waits_, first_wait_);
        return;
    }
    // Mostly the newest: what is dropped together is dropped forwards or backwards.
    const auto place =
        waits_.back() == &wait ? waits_.end() - 1 : std::find(begin, waits_.end(), &wait);
    waits_.erase(place);
}

bool Mailbox::empty() const noexcept {
    return messages_.empty() && waits_.empty();
}

Mailboxes::Match Mailboxes::deliver(StepKind kind, std::string_view name, Message message) {
    Match match;
    match.wait = at(kind, name).deliver(message);
    if (match.wait != nullptr) {
        match.message = std::move(message);
        forget_if_empty(kind, name);
    }
    return match;
}

Mailboxes::Match Mailboxes::subscribe(Slot& wait, std::string_view name) {
    Match match;
    if (at(wait.kind, name).subscribe(wait, match.message)) {
        match.wait = &wait;
        forget_if_empty(wait.kind, name);
    }
    return match;
}

void Mailboxes::unsubscribe(const Slot& wait, std::string_view name) noexcept {
    at(wait.kind, name).unsubscribe(wait);
    forget_if_empty(wait.kind, name);
}

std::vector<Mailboxes::Unread> Mailboxes::unread() const {
    std::vector<Unread> all;
    for (const auto& [key, box] : boxes_) {
        const auto& messages = box.messages();
        for (auto i = box.first_message(); i < messages.size(); ++i) {
            all.push_back({.kind = key.first, .name = key.second, .message = messages[i]});
        }
    }
    std::ranges::sort(all, {}, [](const Unread& each) { return each.message.sequence; });
    return all;
}

std::size_t Mailboxes::memory_bytes() const noexcept {
    std::size_t bytes = sizeof(*this);
    for (const auto& [key, box] : boxes_) {
        bytes += sizeof(key) + sizeof(box) + 48;
        for (const auto& message : box.messages()) {
            bytes += sizeof(message) + message.data.capacity();
        }
    }
    return bytes;
}

Mailbox& Mailboxes::at(StepKind kind, std::string_view name) {
    const auto found = boxes_.find(std::pair{kind, name});
    return found != boxes_.end() ? found->second
                                 : boxes_.try_emplace(Key{kind, std::string{name}}).first->second;
}

void Mailboxes::forget_if_empty(StepKind kind, std::string_view name) noexcept {
    const auto found = boxes_.find(std::pair{kind, name});
    if (found != boxes_.end() && found->second.empty()) {
        boxes_.erase(found);
    }
}

} // namespace durable::replay
