// The order in which a turn is given an instance's messages (P5).
//
// Messages come as they went in. A timer goes in when it is made, perhaps a month before it is due,
// and comes as if it had gone in when it was due: after a time in which nobody ran the instance, an
// event that arrived before a deadline is still before it, and the shorter of two sleeps is over
// first. Nothing but timers moves, so setting the time of day never turns messages around.

#pragma once

#include "providers/ledger/record.hpp"

#include <durable/time.hpp>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace durable::ledger {

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
    const auto timers = std::stable_partition(
        messages.begin(), messages.end(), [&](const Message& it) { return !arrival(it).timer; });
    if (timers == messages.end()) {
        return;
    }
    std::sort(timers, messages.end(), [&](const Message& a, const Message& b) {
        return arrival(a).before(arrival(b));
    });
    // Not std::merge: the times of the others need not ascend.
    std::vector<Message> merged;
    merged.reserve(messages.size());
    auto other = messages.begin();
    auto timer = timers;
    while (other != timers && timer != messages.end()) {
        merged.push_back(std::move(arrival(*timer).before(arrival(*other)) ? *timer++ : *other++));
    }
    std::move(other, timers, std::back_inserter(merged));
    std::move(timer, messages.end(), std::back_inserter(merged));
    messages = std::move(merged);
}

} // namespace durable::ledger
