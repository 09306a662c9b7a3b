// Turn: what exists only while an execution runs or replays. Parked executions do not pay for it.

#pragma once

#include "replay/turn_result.hpp"

#include <durable/detail/step.hpp>
#include <durable/error_details.hpp>
#include <durable/history_event.hpp>
#include <durable/work_item.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace durable::replay {

// A step that was dropped. Recorded at the next decision or when the code comes to rest, sorted by
// id: the order in which a container destroys its elements is up to the container, and history must
// not depend on it.
struct Dropped {
    std::uint64_t id = 0;
    detail::StepKind kind = detail::StepKind::never;
    std::source_location where;
    bool held = false;          // it was never begun
    std::string child;          // of a child: its instance
    bool abandoned = false;     // of a child: it goes on without its parent
    std::string name;           // of a wait: what for
    bool has_message = false;   // of a wait: it was answered, but the code did not read it
    std::uint64_t sequence = 0; // of that message
    std::string data;
};

struct Turn {
    explicit Turn(detail::Engine& engine) noexcept : queue{engine} {}

    // Replay: the recorded events and the next one to look at.
    std::span<const HistoryEvent> recorded;
    std::size_t next = 0;

    // How far now() is ahead of the clock, which was set back: now() never goes back.
    std::uint64_t ahead_ms = 0;

    detail::RunQueue queue;
    TurnResult result;
    std::vector<Dropped> dropped;
    std::string_view drop_reason = "dropped_future";
    bool closing = false;                         // the frames are destroyed: destructors run
    std::optional<work::ContinueAsNew> successor; // the message that begins the next execution
    std::optional<ErrorDetails> failure;          // why the code failed, for reports
    std::optional<ErrorDetails> verdict;          // why the engine fails it: a broken limit
};

} // namespace durable::replay
