// Rules of replay that have changed. An execution keeps the ones it began with, so that a history
// means the same for ever: OrchestrationStarted::rules says which, and an absent number is 0.

#pragma once

#include <cstdint>

namespace durable::replay {

// From 1 on, a wait that finds its message in the mailbox, and a group that is complete when it
// starts, count as complete from the message that completed them. Before, both counted from the
// moment when the code awaited them.
inline constexpr std::uint64_t message_order_rule = 1;

inline constexpr std::uint64_t current_rules = 1;

} // namespace durable::replay
