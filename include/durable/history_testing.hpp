// Histories in tests: can today's code still replay what yesterday's code has recorded?
//
//     const auto saved = durable::testing::parse_history(file_content).value();
//     EXPECT_TRUE(durable::testing::replay(registry, saved)); // or read the error: both sides,
//     lines
//
// Keep histories of running instances beside the tests, exported, saved with save_history() or
// written with HistoryBuilder, and a change that would break them fails before it is deployed.
//
// An execution that continued as new may read KV that the ones before it have set. Its own history
// does not have those values: events of earlier executions that stand before it do. All that counts
// of them are their changes of KV, so `cat exec_1/history.jsonl exec_2/history.jsonl` is a whole
// saved history, and so is the short form that save_history() makes.

#pragma once

#include <durable/error_details.hpp>
#include <durable/history_event.hpp>
#include <durable/provider.hpp>
#include <durable/registry.hpp>
#include <durable/result.hpp>
#include <durable/time.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace durable::testing {

// Runs the orchestration that this history names against it, from the first event to the last, the
// end included; of several executions the last one. Nothing is executed: results come from the
// history.
//   invalid_argument  code and history differ; the message is the report for people. Or they seem
//                     to, because the code has read KV that this history does not have: the message
//                     names the key. Or the registry has problems()
//   not_found         the registry has no such orchestration or version
//   corrupt           this is no history: empty, or it does not begin with OrchestrationStarted
[[nodiscard]] Result<> replay(const Registry& registry, std::span<const HistoryEvent> whole);

// The history of the instance's last execution as replay() wants it: before it stands the KV it
// began with, as events of the execution before (KeyValuesCleared, then KeyValueSet). When earlier
// executions were pruned, that KV is unknown and left out.
//   not_found  there is no such instance
[[nodiscard]] Result<std::vector<HistoryEvent>> save_history(Provider& provider,
                                                             const std::string& instance);

// One JSON event per line, as stores and exports write them. Blank lines are skipped.
[[nodiscard]] Result<std::vector<HistoryEvent>> parse_history(std::string_view lines);
[[nodiscard]] Result<std::string> print_history(std::span<const HistoryEvent> history);

// Writes a history by hand; ids count up from 1. The common steps, with their answers, are one line
// each:
//
//     const auto history = HistoryBuilder{"Hello", "world"}
//                              .slept(1h)
//                              .called("Greet", "world", "Hello, world!")
//                              .completed("Hello, world!");
//     EXPECT_TRUE(replay(registry, history.events()));
//
// For steps whose answers come in another order, event by event: functions that make a step answer
// its id.
class HistoryBuilder final {
 public:
    explicit HistoryBuilder(std::string orchestration,
                            std::string input = "null",
                            std::string version = "1.0.0");

    // What the execution before this one left unread, oldest first.
    HistoryBuilder& carried_message(std::string queue, std::string data);
    HistoryBuilder& carried_event(std::string event, std::string data);
    // KV that earlier executions have set. It becomes the second execution; events() begins with
    // what the first one has set.
    HistoryBuilder& carried_kv(std::string key, std::string value);

    // Later events carry a later time.
    HistoryBuilder& pass(Timespan time);

    // ---- Steps with their answers

    HistoryBuilder& called(std::string activity, std::string input, std::string result);
    // The failure names the activity, unless it has a name itself.
    HistoryBuilder& call_failed(std::string activity, std::string input, Failure failure);
    HistoryBuilder& slept(Timespan time);
    HistoryBuilder& received(std::string event, std::string data); // it waits, then the event comes
    HistoryBuilder& dequeued(std::string queue, std::string data); // likewise
    HistoryBuilder& called_child(std::string orchestration,
                                 std::string instance,
                                 std::string input,
                                 std::string result);
    HistoryBuilder& child_call_failed(std::string orchestration,
                                      std::string instance,
                                      std::string input,
                                      Failure failure);
    HistoryBuilder& kv_set(std::string key, std::string value);
    HistoryBuilder& status_set(std::string status);
    HistoryBuilder& cancel_requested(std::string reason);

    // ---- The end

    HistoryBuilder& completed(std::string output);
    HistoryBuilder& failed(Failure failure);
    HistoryBuilder& continued_as_new(std::string input);

    // ---- Event by event

    std::uint64_t activity_scheduled(std::string name, std::string input);
    void activity_completed(std::uint64_t step, std::string result);
    void activity_failed(std::uint64_t step, std::string message);
    void activity_failed(std::uint64_t step, Failure failure);
    std::uint64_t timer_created(Timespan from_now);
    void timer_fired(std::uint64_t step); // time passes to its moment
    std::uint64_t waiting_for(std::string event);
    void raised(std::string event, std::string data);
    std::uint64_t waiting_for_message(std::string queue);
    void enqueued(std::string queue, std::string data);
    std::uint64_t
    child_scheduled(std::string orchestration, std::string instance, std::string input);
    void child_completed(std::uint64_t step, std::string result);
    void child_failed(std::uint64_t step, Failure failure);

    // Anything else.
    std::uint64_t add(history::Kind kind, std::optional<std::uint64_t> answers = std::nullopt);

    [[nodiscard]] const std::vector<HistoryEvent>& events() const noexcept { return events_; }

 private:
    [[nodiscard]] history::OrchestrationStarted& started();
    [[nodiscard]] const HistoryEvent* find_step(std::uint64_t step) const; // nullptr: there is none

    std::size_t earlier_ = 0; // events of the execution before this one
    std::uint64_t execution_ = 1;
    std::uint64_t now_ms_ = 1'760'000'000'000;
    std::vector<HistoryEvent> events_;
};

} // namespace durable::testing
