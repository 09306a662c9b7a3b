// TurnResult: everything that follows from one turn, as data. Nothing has happened yet: the runtime
// fills in the lock token, answers the KV reads and commits.

#pragma once

#include "replay/nondeterminism.hpp"

#include <durable/error_details.hpp>
#include <durable/log.hpp>
#include <durable/provider.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace durable::replay {

enum class TurnStatus : std::uint8_t {
    running,          // waits for its next message
    completed,        // `output` is its result
    failed,           // `details` says why
    cancelled,        // failed because of a CancelInstance; `details` has the reason
    continued_as_new, // `output` is the input of the next execution
    nondeterministic, // nothing to commit: drop the execution, see `nondeterminism`
};

// ctx.log() while not replaying, and the engine's own remarks ("3 unread messages discarded").
struct LogLine {
    LogLevel level = LogLevel::info;
    bool from_user = true;
    std::string message;
    std::string location; // "order.cpp:42"
};

// ctx.kv_of(instance, key): a read of another instance's KV. The dispatcher that commits the turn
// reads the value and adds work::ActivityCompleted{id, result = kv_read_result(value)} to the
// commit's orchestrator items, so that no worker is needed (T-08).
struct KvRead {
    std::uint64_t id = 0; // event id of its ActivityScheduled
    std::string instance;
    std::string key;
};

// The payload of the answer to a KvRead: "null", or the value as a JSON string.
[[nodiscard]] std::string kv_read_result(const std::optional<std::string>& value);

struct TurnCounters {
    std::uint64_t messages = 0; // became history
    std::uint64_t ignored = 0;  // duplicates, answers for other executions, start of a started one
    std::uint64_t carried = 0;  // unread: part of the message that begins the next execution
    std::uint64_t unread = 0;   // discarded because the orchestration ended without reading them
};

struct TurnResult {
    TurnStatus status = TurnStatus::running;
    TurnCommit commit; // complete but for lock_token and the answers to kv_reads
    std::vector<KvRead> kv_reads;

    std::string output;
    std::optional<ErrorDetails> details;                // failed, cancelled
    std::optional<NondeterminismReport> nondeterminism; // nondeterministic

    std::vector<LogLine> log;
    TurnCounters counters;

    // Nothing follows in this execution.
    [[nodiscard]] bool ended() const noexcept {
        return status != TurnStatus::running && status != TurnStatus::nondeterministic;
    }
};

} // namespace durable::replay
