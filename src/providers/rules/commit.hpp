// What the commit of a turn means (P2), as far as it needs no stored state: its checks, its texts,
// and what it changes besides events and queues.

#pragma once

#include "providers/rules/stored.hpp"

#include <durable/provider.hpp>
#include <durable/result.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace durable::rules {

// P9: a change of the running execution's key-value layer.
struct KvChange {
    enum class Kind : std::uint8_t { set, clear, clear_all };
    Kind kind = Kind::set;
    std::string key;
    std::string value;
    std::uint64_t last_updated_at_ms = 0;
    bool operator==(const KvChange&) const = default;
};

// What a commit does to the custom status; a missing change leaves it alone.
struct StatusChange {
    std::optional<std::string> status; // nullopt clears
    bool operator==(const StatusChange&) const = default;
};

// A commit, checked and encoded. Activities that it schedules and cancels are left out: they are
// never queued. `visible_at` of a message is the time of its timer, or the beginning of time.
struct PreparedTurn {
    std::vector<NewEvent> events;
    std::vector<KvChange> kv;
    std::optional<StatusChange> custom_status;
    std::vector<NewWork> work;
    std::vector<NewMessage> messages;
    std::set<ActivityId> cancelled_activities;
    std::set<std::uint64_t> cancelled_timers; // of the execution that is committed

    // Whether the message is a timer that the same turn made and cancelled. The store passes the
    // instance of the turn: the commit does not name it.
    [[nodiscard]] bool
    cancels(const NewMessage& message, std::string_view instance, std::uint64_t execution_id) const;
};

//   invalid_argument  the turn leaves its execution pending (P15), text is not UTF-8, an item is of
//                     the wrong queue, an event id comes twice
[[nodiscard]] Result<PreparedTurn> prepare_turn(const TurnCommit& commit);

// Whether the execution has ended with this commit: completed, failed or continued as new.
[[nodiscard]] inline bool ends_execution(const ExecutionMetadata& metadata) {
    return metadata.status.value_or(ExecutionStatus::running) != ExecutionStatus::running;
}

} // namespace durable::rules
