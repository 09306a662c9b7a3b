// Reports a committed turn: the orchestration's own log lines, and metrics that count every
// execution once (T-32). The OrchestrationDispatcher calls it on its thread, after the commit.

#pragma once

#include "replay/turn_result.hpp"
#include "runtime/frame_cache.hpp"
#include "runtime/node.hpp"

#include <durable/history_event.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace durable::runtime {

// Which orchestration the turn belonged to.
struct TurnSubject {
    std::string_view instance;
    std::uint64_t execution_id = 0;
    std::string_view orchestration;
    std::string_view version;
};

// "completed", "continued_as_new", ...: for labels and spans.
[[nodiscard]] std::string_view name_of(replay::TurnStatus status) noexcept;

void report_turn(const Node& node,
                 const TurnSubject& subject,
                 Frame& frame,
                 const replay::TurnResult& result,
                 double seconds);

// Turn numbers are kept in the history, as an extra member of a turn's first event: a runtime that
// loads an execution goes on counting where another one stopped.
void mark_turn(std::vector<HistoryEvent>& delta, std::uint64_t turn);
[[nodiscard]] std::uint64_t last_turn(std::span<const HistoryEvent> history) noexcept;

// Keeps track of children for the parent's metrics, from the history of an execution that is
// loaded.
void follow_children(Frame& frame, std::span<const HistoryEvent> history);

} // namespace durable::runtime
