// Execution: one live run of an orchestration. Its coroutine frames are the cache that makes a turn
// cost O(new events); its history is what they can be rebuilt from at any time.
//
//     auto execution = Execution::create({.handler = ..., .instance = ..., ...});
//     execution->replay(item.history);                      // nothing for a new execution
//     auto result = execution->run(item.messages, clock.now());
//     ... commit result.commit; then keep the execution, or drop it: both are right ...
//
// Pure: (history, messages, time) in, decisions out. No clock, thread, file, random or log. Not
// thread-safe, but it may be used by one thread after another. After run() the frames are ahead of
// the store: if the commit fails, drop the execution and replay; never run() it again.

#pragma once

#include "replay/limits.hpp"
#include "replay/turn_result.hpp"

#include <durable/detail/handler.hpp>
#include <durable/history_event.hpp>
#include <durable/provider.hpp>
#include <durable/time.hpp>
#include <durable/work_item.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace durable::replay {

class Engine;

struct ExecutionSetup {
    // Resolved by the caller: for a new execution from its start message, else from the recorded
    // OrchestrationStarted and nothing else (T-18).
    std::shared_ptr<const OrchestrationHandler> handler;
    std::string instance;
    std::uint64_t execution_id = 1;
    std::uint64_t incarnation = 0; // OrchestrationItem::incarnation; 0: unknown
    KvSnapshot kv;                 // what earlier executions left
    Limits limits;
    bool kv_known = true; // false: what they left is unknown, as with a saved history
};

enum class ReplayMode : std::uint8_t {
    resume, // a finished history is not run again: there is nothing to resume
    verify, // run everything and compare the end as well: for testing::replay
};

class Execution final {
 public:
    [[nodiscard]] static std::unique_ptr<Execution> create(ExecutionSetup setup);

    Execution(const Execution&) = delete;
    Execution& operator=(const Execution&) = delete;
    // Inert: destroys the frames without recording a decision.
    ~Execution();

    // Feeds persisted events, in order, all that follow last_event_id(). Messages are delivered to
    // the code, its decisions are compared with the recorded ones, field by field. False when they
    // differ: run() then answers TurnStatus::nondeterministic, or see nondeterminism().
    bool replay(std::span<const HistoryEvent> history, ReplayMode mode = ReplayMode::resume);

    // One turn: each message becomes an event, the code runs to rest, its decisions follow, then
    // the next message. A new execution needs its StartOrchestration or ContinueAsNew among the
    // messages, wherever it stands. CancelInstance goes before everything else. Messages that mean
    // nothing here (duplicates, other executions, another life of the id, a cancellation by a
    // parent that this is no child of) are counted and leave no trace.
    [[nodiscard]] TurnResult run(std::span<const WorkItem> messages, Instant now);

    [[nodiscard]] const std::string& instance() const noexcept;
    [[nodiscard]] std::uint64_t execution_id() const noexcept;
    [[nodiscard]] std::uint64_t last_event_id() const noexcept; // 0: nothing yet
    [[nodiscard]] bool ended() const noexcept;                  // the history has a terminal event
    [[nodiscard]] const std::shared_ptr<const OrchestrationHandler>& handler() const noexcept;
    [[nodiscard]] const NondeterminismReport* nondeterminism() const noexcept; // nullptr: none

    // The first key that the code has read although its value is unknown: see
    // ExecutionSetup::kv_known. nullptr: none. For people: "'total'", or "all keys".
    [[nodiscard]] const std::string* unknown_kv_read() const noexcept;

    // What keeping it in memory costs, roughly: frames, steps, KV, mailboxes.
    [[nodiscard]] std::size_t memory_bytes() const noexcept;

 private:
    explicit Execution(std::unique_ptr<Engine> engine) noexcept;

    std::unique_ptr<Engine> engine_;
};

} // namespace durable::replay
