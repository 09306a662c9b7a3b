// The world around one instance: it answers steps, fires timers, raises events, repeats and delays
// messages, all drawn from a seed. It drives the replay engine directly, without threads.

#pragma once

#include "property/program.hpp"
#include "replay/execution.hpp"
#include "validation/model/script.hpp"

#include <durable/history_event.hpp>
#include <durable/provider.hpp>
#include <durable/time.hpp>
#include <durable/work_item.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace durable::property {

// Marks of messages. `meant` begins the reason of a cancellation that concerns the instance;
// `stray` is an answer for another instance.
inline constexpr std::string_view meant = "enough";
inline constexpr std::string_view stray = "of another life";
inline constexpr std::uint64_t this_life = 2; // the incarnation of the instance

// What becomes of the coroutine frames between two turns.
enum class Frames : std::uint8_t {
    kept,    // always cached
    evicted, // always rebuilt from history
    mixed,   // at random; some turns also lose their commit and are run again
};

struct Turn {
    std::vector<WorkItem> messages;
    Instant now;
    replay::TurnResult result;
};

struct ExecutionRecord {
    KvSnapshot kv_at_start;
    std::vector<HistoryEvent> history;
    std::vector<Turn> turns;
};

// Everything that came of one run of a program.
struct Run {
    std::vector<ExecutionRecord> executions;
    KvSnapshot kv;
    std::optional<std::string> custom_status;
    replay::TurnStatus status = replay::TurnStatus::running;
    std::string output;
    std::optional<std::string> trouble; // the run could not be finished: why
};

// One execution in the engine: made from its history when it is not in memory.
class Driver {
 public:
    Driver(std::shared_ptr<const OrchestrationHandler> handler, Frames frames, std::uint64_t seed)
        : handler_{std::move(handler)}, frames_{frames}, dice_{seed} {}

    // Runs the turn, appends it to the last execution of `run`, and reports trouble there.
    void turn(Run& run, std::vector<WorkItem> messages, Instant now);

 private:
    [[nodiscard]] bool load(Run& run);
    [[nodiscard]] bool keeps_frames();

    std::shared_ptr<const OrchestrationHandler> handler_;
    Frames frames_;
    validation::Dice dice_; // its own: what is evicted must not change what happens
    std::unique_ptr<replay::Execution> cached_;
};

// Runs the program to its end. Runs with the same seed meet the same world.
[[nodiscard]] Run run_in_world(const std::shared_ptr<const OrchestrationHandler>& handler,
                               std::uint64_t seed,
                               Frames frames);

// The same messages at the same times, but one message a turn, and every turn from history.
[[nodiscard]] Run run_message_by_message(const std::shared_ptr<const OrchestrationHandler>& handler,
                                         const Run& recorded);

// The first difference between two runs as text; empty when there is none.
[[nodiscard]] std::string difference(const Run& a, const Run& b);
[[nodiscard]] std::string history_difference(const Run& a, const Run& b);

[[nodiscard]] std::string to_text(const std::vector<HistoryEvent>& history);

} // namespace durable::property
