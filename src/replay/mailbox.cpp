#include "replay/mailbox.hpp"

#include <algorithm>
#include <utility>

namespace durable::replay {

namespace {

using detail::StepKind;

constexpr std::size_t node_overhead = 48;

} // namespace

Mailboxes::Match Mailboxes::deliver(StepKind kind, std::string_view name, Message message) {
    const auto first = waits_.lower_bound(Place{kind, name, 0});
    if (first != waits_.end() && (*first)->kind == kind && (*first)->name == name) {
        Match match{.wait = *first, .message = std::move(message)};
        waits_.erase(first);
        return match;
    }
    if (!messages_) {
        messages_ = std::make_unique<Messages>();
    }
    messages_->emplace(Key{kind, name, message.sequence}, std::move(message.data));
    return {};
}

Mailboxes::Match Mailboxes::subscribe(WaitSlot& wait) {
    if (messages_) {
        const auto first = messages_->lower_bound(Place{wait.kind, wait.name, 0});
        if (first != messages_->end() && std::get<StepKind>(first->first) == wait.kind &&
            std::get<std::string>(first->first) == wait.name) {
            Match match{.wait = &wait,
                        .message = {.sequence = std::get<std::uint64_t>(first->first),
                                    .data = std::move(first->second)}};
            messages_->erase(first);
            if (messages_->empty()) {
                messages_.reset();
            }
            return match;
        }
    }
    waits_.insert(&wait);
    return {};
}

void Mailboxes::unsubscribe(WaitSlot& wait) noexcept {
    waits_.erase(&wait);
}

std::vector<Mailboxes::Unread> Mailboxes::unread() const {
    std::vector<Unread> all;
    if (messages_) {
        for (const auto& [key, data] : *messages_) {
            const auto& [kind, name, sequence] = key;
            all.push_back({.kind = kind, .name = name, .message = {sequence, data}});
        }
    }
    std::ranges::sort(all, {}, [](const Unread& each) { return each.message.sequence; });
    return all;
}

std::size_t Mailboxes::memory_bytes() const noexcept {
    auto bytes = sizeof(*this) + waits_.size() * node_overhead;
    if (messages_) {
        bytes += sizeof(*messages_);
        for (const auto& [key, data] : *messages_) {
            bytes += sizeof(key) + sizeof(data) + data.capacity() + node_overhead;
        }
    }
    return bytes;
}

} // namespace durable::replay
