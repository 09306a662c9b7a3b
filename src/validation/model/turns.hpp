// Draws the arguments of operations: items, events and commits over a few names and ids, so that
// collisions are frequent.

#pragma once

#include "validation/model/script.hpp"

#include <durable/provider.hpp>
#include <durable/time.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>

namespace durable::validation {

// The instances of that world. One id contains another: prefixes must not be confused.
[[nodiscard]] std::span<const std::string> world();

[[nodiscard]] const std::string& draw_instance(Dice& dice);
[[nodiscard]] Duration draw_duration(Dice& dice);
[[nodiscard]] WorkItem draw_message(Dice& dice, const std::string& instance, Instant now);
[[nodiscard]] work::StartOrchestration draw_start(Dice& dice);
[[nodiscard]] work::ActivityExecute
draw_activity(Dice& dice, const std::string& instance, std::uint64_t execution_id);
[[nodiscard]] TagFilter draw_tags(Dice& dice);
[[nodiscard]] std::string draw_owner(Dice& dice);

// The code of a node: nullptr most of the time, else some of what there is.
[[nodiscard]] std::shared_ptr<const OrchestrationCode> draw_code(Dice& dice);
[[nodiscard]] std::shared_ptr<const std::set<std::string, std::less<>>>
draw_activity_names(Dice& dice);

// How a turn is given back; its token is the caller's.
[[nodiscard]] AbandonTurn draw_abandon(Dice& dice);

// A turn's outcome, mostly legal. `last_event_id` grows, so that ids are usually fresh.
[[nodiscard]] TurnCommit draw_commit(Dice& dice,
                                     const std::string& instance,
                                     std::uint64_t execution_id,
                                     Instant now,
                                     std::uint64_t& last_event_id);
[[nodiscard]] HistoryEvent draw_event(Dice& dice, std::uint64_t id, Instant now);

} // namespace durable::validation
