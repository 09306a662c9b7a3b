// OrchestrationDispatcher: fetches an instance with its messages, runs one turn and commits its
// decisions.
//
// step() does all of that on the calling thread, without a hand-off. P1: meanwhile no other
// dispatcher, of this or another process, has the instance. A dispatcher belongs to one thread;
// any number of them share a Node.

#pragma once

#include "replay/turn_result.hpp"
#include "runtime/activity_dispatcher.hpp"
#include "runtime/frame_cache.hpp"
#include "runtime/lease_keeper.hpp"
#include "runtime/step.hpp"

#include <durable/provider.hpp>
#include <durable/runtime.hpp>
#include <durable/runtime_options.hpp>
#include <durable/time.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace durable::runtime {

struct Node;

class OrchestrationDispatcher {
 public:
    OrchestrationDispatcher(Node& node, std::string worker_id);

    // Waits up to `poll` for an instance with work, `stop` ends the wait, and runs one turn of it.
    StepResult step(Duration poll, const std::stop_token& stop);

 private:
    // One fetched item and the execution that its turn belongs to.
    struct Turn {
        const OrchestrationItem& item;
        std::uint64_t execution_id = 0;        // item's, or the next one after continue-as-new
        std::span<const HistoryEvent> history; // of that execution, as far as it was sent
        const WorkItem* start = nullptr;       // what begins it, when it has no history
    };

    void handle(const OrchestrationItem& item);
    void run(const Turn& turn, std::optional<Frame> frame);

    // For items whose turn cannot run. Each commits the item, or gives it back.
    void poison(const OrchestrationItem& item);
    void poison_unreadable(const OrchestrationItem& item);
    void meet_ended(const OrchestrationItem& item, const HistoryEvent& end);
    void drop(const OrchestrationItem& item, std::string_view reason);
    // Without `version`, no version of that name is registered. Ends the instance if it was
    // cancelled.
    void leave_unregistered(const Turn& turn, std::string_view name, std::string_view version);
    void leave_incompatible(const OrchestrationItem& item, std::string_view pinned);
    void meet_nondeterminism(const Turn& turn, const replay::NondeterminismReport& report);
    void park(ParkedInstance parked, const OrchestrationItem& item, const GrowingDelay& backoff);
    // Ends the execution without its code.
    void fail(const Turn& turn, std::span<const HistoryEvent> full_history, ErrorDetails details);

    // A frame that has replayed the whole history; nothing when the item was committed without a
    // turn or given back.
    [[nodiscard]] std::optional<Frame> load(const Turn& turn, std::optional<Frame> cached);
    // The history from its first event; nothing when the item was given back.
    [[nodiscard]] std::optional<std::vector<HistoryEvent>> whole_history(const Turn& turn);
    // Adds to the commit what the engine leaves to its caller: the lock token and the answers to KV
    // reads. False: given back.
    [[nodiscard]] bool fill_in(const Turn& turn, replay::TurnResult& result);
    [[nodiscard]] bool answer_starts(const Turn& turn, replay::TurnResult& result);
    void after_commit(const Turn& turn, Frame frame, const replay::TurnResult& result);

    Node& node_;
    std::string worker_id_;
    LeaseKeeper::Slot slot_;
    FetchBackoff backoff_;
    ActivityDispatcher short_activities_;
    std::optional<Ran> short_activity_; // of this step
};

} // namespace durable::runtime
