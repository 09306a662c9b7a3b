// The order in which a turn is given an instance's messages (P5).
//
// Messages come out in the order in which they went in. A timer goes in when it is made, perhaps a
// month before it is due, and comes out as if it had gone in when it was due. So after a time in
// which no node ran the instance, an event that arrived before a deadline is still before it, and
// the shorter of two sleeps is over first. Only timers move: setting the wall clock never reorders
// other messages.

#pragma once

#include "providers/rules/stored.hpp"

#include <durable/time.hpp>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <tuple>
#include <utility>
#include <vector>

namespace durable::rules {

// When a message went in or, if it is a timer, was due. Comparing two tells which comes first.
struct Arrival {
    Instant at;
    Seq seq = 0;
    bool timer = false;

    [[nodiscard]] bool before(const Arrival& other) const noexcept {
        return std::tie(at, seq) < std::tie(other.at, other.seq);
    }
};

// `messages` ascend by sequence number; arrival(message) -> Arrival.
template <class Message, class ArrivalOf>
void put_in_delivery_order(std::vector<Message>& messages, ArrivalOf&& arrival) {
    const auto is_timer = [&](const Message& message) { return arrival(message).timer; };
    if (std::ranges::none_of(messages, is_timer)) {
        return;
    }
    std::vector<Message> timers;
    std::vector<Message> others;
    for (auto& message : messages) {
        (is_timer(message) ? timers : others).push_back(std::move(message));
    }
    std::ranges::sort(
        timers, [&](const Message& a, const Message& b) { return arrival(a).before(arrival(b)); });
    // From the last to the first: a timer stands behind the last message that arrived before it was
    // due. (The times of the other messages need not ascend.)
    messages.clear();
    auto other = others.rbegin();
    for (auto& timer : std::views::reverse(timers)) {
        while (other != others.rend() && !arrival(*other).before(arrival(timer))) {
            messages.push_back(std::move(*other++));
        }
        messages.push_back(std::move(timer));
    }
    std::move(other, others.rend(), std::back_inserter(messages));
    std::ranges::reverse(messages);
}

} // namespace durable::rules
