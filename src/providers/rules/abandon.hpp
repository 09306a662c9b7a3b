// What an abandon of a turn means (P6): whether its messages stay hidden, or the whole instance.

#pragma once

#include "providers/rules/moment.hpp"
#include "providers/rules/stored.hpp"

#include <durable/provider.hpp>

#include <optional>

namespace durable::rules {

// At most one of the two is set.
struct Waits {
    std::optional<Instant> messages; // those of the turn; newcomers are delivered
    std::optional<Instant> instance; // all its messages, newcomers too
};

// `has_new_cancellation()` tells whether a CancelInstance is deliverable that the turn was not
// given. It must not wait, so the instance is not hidden then.
template <class HasNewCancellation>
[[nodiscard]] Waits
waits_after(const AbandonTurn& abandon, Moment now, HasNewCancellation&& has_new_cancellation) {
    if (!abandon.delay || *abandon.delay <= Duration::zero()) {
        return {};
    }
    const auto until = now.wall_after(*abandon.delay);
    if (!abandon.whole_instance) {
        return {.messages = until, .instance = {}};
    }
    return {.messages = {},
            .instance = has_new_cancellation() ? std::nullopt : std::optional{until}};
}

} // namespace durable::rules
