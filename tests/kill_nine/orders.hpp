// The orders that the worker runs: steps one after the other and side by side, a timer, a value
// that counts, and a child.

#pragma once

#include "kill_nine/diary.hpp"

#include <durable/durable.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace durable::kill_nine {

inline constexpr Orchestration<std::string(std::string)> process_order{"Order"};

// Every activity writes into the diary that it runs, and which step.
[[nodiscard]] Registry make_registry(Diary& diary);

// "order-3-7: reserve charge label invoice carry"
[[nodiscard]] std::string expected_result(std::string_view id);

// The id of the order in "order-3-7/charge", the name of a step or of a child; and the step.
[[nodiscard]] std::string order_of(std::string_view name);
[[nodiscard]] std::string step_of(std::string_view name);

// What is wrong with a history of such an order or child; nullopt: nothing. The result of every
// turn is in it exactly once.
[[nodiscard]] std::optional<std::string> flaw_of(const std::vector<HistoryEvent>& history);

} // namespace durable::kill_nine
