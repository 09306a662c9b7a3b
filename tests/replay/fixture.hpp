// Replay tests: given a history, when this code runs and these messages come, then these events
// follow. Events are compared as lines ("3 ActivityCompleted <-2 Hello"), so that a red test reads
// like the history it got.
//
// Every turn is checked twice: after it ran, its whole history is replayed from scratch against the
// same code and must be found equal.

#pragma once

#include "replay/execution.hpp"

#include <durable/context.hpp>
#include <durable/history_event.hpp>
#include <durable/registry.hpp>
#include <durable/work_item.hpp>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace durable::replay_test {

using namespace std::chrono_literals; // NOLINT(google-build-using-namespace): durations read better
using Lines = std::vector<std::string>;
using Code = Task<std::string> (*)(Context, std::string);
using replay::TurnStatus;

inline constexpr std::uint64_t start_ms = 1'000'000;
inline const std::string test_instance = "test-instance";

// ---- Histories. Event ids count from 1; at() sets one by hand.

HistoryEvent event(history::Kind kind, std::optional<std::uint64_t> source = std::nullopt);
HistoryEvent at(std::uint64_t id, HistoryEvent event);
HistoryEvent made_at(std::string location, HistoryEvent event);

HistoryEvent started(std::string input = "test-input");
HistoryEvent activity(std::string name, std::string input = "");
HistoryEvent completed(std::uint64_t step, std::string result = "");
HistoryEvent failed(std::uint64_t step, ErrorDetails details);
HistoryEvent failed(std::uint64_t step, std::string message);
HistoryEvent timer(std::uint64_t fire_at_ms = start_ms + 60'000);
HistoryEvent fired(std::uint64_t step);
HistoryEvent wait(std::string name);
HistoryEvent raised(std::string name, std::string data);
HistoryEvent dequeue(std::string name);
HistoryEvent queued(std::string name, std::string data);
HistoryEvent child(std::string name, std::string instance, std::string input = "");
HistoryEvent child_completed(std::uint64_t step, std::string result);
HistoryEvent child_failed(std::uint64_t step, ErrorDetails details);
HistoryEvent activity_cancelled(std::uint64_t step, std::string reason = "dropped_future");
HistoryEvent timer_cancelled(std::uint64_t step, std::string reason = "dropped_future");
HistoryEvent child_cancelled(std::uint64_t step, std::string reason = "dropped_future");
HistoryEvent kv_set(std::string key, std::string value, std::uint64_t time_ms = start_ms);
HistoryEvent cancel_requested(std::string reason);

ErrorDetails application(std::string message);
ErrorDetails infrastructure(std::string message);

// ---- Messages, for the first execution of the test instance unless said otherwise.

WorkItem start_message(std::string input = "test-input");
WorkItem completion(std::uint64_t step, std::string result, std::uint64_t execution = 1);
WorkItem failure(std::uint64_t step, ErrorDetails details, std::uint64_t execution = 1);
WorkItem timer_fires(std::uint64_t step, std::uint64_t execution = 1);
WorkItem raise(std::string name, std::string data);
WorkItem enqueue(std::string name, std::string data);
WorkItem child_answers(std::uint64_t step, std::string result, std::uint64_t execution = 1);
WorkItem child_fails(std::uint64_t step, ErrorDetails details, std::uint64_t execution = 1);
WorkItem cancel(std::string reason);

// "3 ActivityCompleted <-2 Hello"
std::string show(const HistoryEvent& event);
Lines show(std::span<const HistoryEvent> history);
// "ActivityExecute#2 Greet(Alice)", "TimerFired#3", "StartOrchestration child(input)"
std::string show(const WorkItem& item);
Lines show(std::span<const WorkItem> items);

std::shared_ptr<const OrchestrationHandler>
handler_of(Code code, std::string name = "TestOrch", std::string version = "1.0.0");

// ---- One turn

class Then {
 public:
    explicit Then(replay::TurnResult result) : result_{std::move(result)} {}

    using Where = std::source_location;
    // The events this turn appends.
    const Then& then(const Lines& events, Where where = Where::current()) const;
    const Then& runs_on(Where where = Where::current()) const; // not ended
    const Then& completes(std::string_view output, Where where = Where::current()) const;
    const Then& fails(std::string_view text, Where where = Where::current()) const;
    const Then& is_cancelled(std::string_view reason, Where where = Where::current()) const;
    const Then& continues_as_new(std::string_view input, Where where = Where::current()) const;
    // The report holds every one of these texts.
    const Then& is_nondeterministic(replay::NondeterminismKind kind,
                                    std::initializer_list<std::string_view> texts,
                                    Where where = Where::current()) const;
    const Then& gives_to_workers(const Lines& items, Where where = Where::current()) const;
    const Then& sends(const Lines& items, Where where = Where::current()) const;
    const Then& cancels_activities(std::initializer_list<std::uint64_t> ids,
                                   Where where = Where::current()) const;
    const Then& cancels_timers(std::initializer_list<std::uint64_t> ids,
                               Where where = Where::current()) const;
    const Then& ignores(std::uint64_t messages, Where where = Where::current()) const;

    [[nodiscard]] const replay::TurnResult& result() const noexcept { return result_; }
    [[nodiscard]] const std::vector<HistoryEvent>& delta() const noexcept {
        return result_.commit.history_delta;
    }

 private:
    replay::TurnResult result_;
};

class Given {
 public:
    explicit Given(std::vector<HistoryEvent> history);

    Given& with_kv(KvSnapshot kv);
    Given& with_limits(Limits limits);
    Given& at_time(std::uint64_t now_ms); // default: one second after the last event
    Given& as_execution(std::uint64_t execution_id);
    Given& as_incarnation(std::uint64_t incarnation);
    Given& without_replay_check(); // for code that is nondeterministic on purpose

    template <class... Messages>
    [[nodiscard]] Then when(Code code, Messages... messages) const {
        return run(code, std::vector<WorkItem>{std::move(messages)...});
    }
    [[nodiscard]] Then run(Code code, const std::vector<WorkItem>& messages) const;
    // Replays and compares the end as well; the report, if any.
    [[nodiscard]] std::optional<replay::NondeterminismReport> verify(Code code) const;

 private:
    [[nodiscard]] std::unique_ptr<replay::Execution> create(Code code) const;

    std::vector<HistoryEvent> history_;
    KvSnapshot kv_;
    Limits limits_;
    std::uint64_t now_ms_;
    std::uint64_t execution_id_ = 1;
    std::uint64_t incarnation_ = 0;
    bool check_replay_ = true;
};

template <class... Events>
Given given(Events... events) {
    return Given{std::vector<HistoryEvent>{std::move(events)...}};
}

// A new execution: its start is the first message.
template <class... Messages>
Then fresh(Code code, Messages... messages) {
    return Given{{}}.run(code, std::vector<WorkItem>{start_message(), std::move(messages)...});
}

} // namespace durable::replay_test
