#include "replay/fixture.hpp"

#include "replay/end_execution.hpp"

#include <durable/codec.hpp>

#include <algorithm>
#include <type_traits>
#include <variant>

#include <gtest/gtest.h>

namespace durable::replay_test {

namespace {

template <class Kind>
std::string content(const Kind& kind) {
    if constexpr (std::is_same_v<Kind, history::OrchestrationStarted>) {
        return kind.name + "(" + kind.input + ")";
    } else if constexpr (requires { kind.instance; }) {
        return kind.name + "(" + kind.input + ") as " + kind.instance;
    } else if constexpr (requires { kind.tag; }) {
        return kind.name + "(" + kind.input + ")" + (kind.tag ? " tag=" + *kind.tag : "") +
               (kind.session_id ? " session=" + *kind.session_id : "") +
               (kind.on_cancel ? " on_cancel=" + *kind.on_cancel : "") +
               (kind.undo ? " undo=" + *kind.undo : "");
    } else if constexpr (requires { kind.data; }) {
        return kind.name + "=" + kind.data;
    } else if constexpr (requires { kind.name; }) {
        return kind.name;
    } else if constexpr (requires { kind.result; }) {
        return kind.result;
    } else if constexpr (requires { kind.output; }) {
        return kind.output;
    } else if constexpr (requires { kind.details; }) {
        return display_text(kind.details);
    } else if constexpr (requires { kind.reason; }) {
        return kind.reason;
    } else if constexpr (requires { kind.status; }) {
        return kind.status.value_or("(none)");
    } else if constexpr (requires { kind.value; }) {
        return kind.key + "=" + kind.value;
    } else if constexpr (requires { kind.key; }) {
        return kind.key;
    } else if constexpr (requires { kind.id; }) {
        return kind.id;
    } else if constexpr (requires { kind.input; }) {
        return kind.input;
    } else {
        return {};
    }
}

std::string joined(std::string head, const std::string& tail) {
    return tail.empty() ? head : std::move(head) + " " + tail;
}

std::string content(const work::ActivityExecute& item) {
    return "#" + std::to_string(item.id) + " " + item.name + "(" + item.input + ")";
}
std::string content(const work::TimerFired& item) {
    return "#" + std::to_string(item.id);
}
std::string content(const work::StartOrchestration& item) {
    return " " + item.orchestration + "(" + item.input + ") as " + item.instance;
}
std::string content(const work::ContinueAsNew& item) {
    return " " + item.orchestration + "(" + item.input + ")";
}
std::string content(const work::CancelInstance& item) {
    return " " + item.instance + ": " + item.reason;
}
std::string content(const work::ExternalRaised& item) {
    return " " + item.name + "=" + item.data;
}
std::string content(const work::QueueMessage& item) {
    return " " + item.name + "=" + item.data;
}
std::string content(const work::SubOrchCompleted& item) {
    return " to " + item.parent_instance + "/" + std::to_string(item.parent_execution_id) + "#" +
           std::to_string(item.parent_id) + ": " + item.result;
}
std::string content(const work::SubOrchFailed& item) {
    return " to " + item.parent_instance + "/" + std::to_string(item.parent_execution_id) + "#" +
           std::to_string(item.parent_id) + ": " + display_text(item.details);
}
std::string content(const work::ActivityCompleted& item) {
    return "#" + std::to_string(item.id);
}
std::string content(const work::ActivityFailed& item) {
    return "#" + std::to_string(item.id);
}

::testing::ScopedTrace trace(const std::source_location& where) {
    return {where.file_name(), static_cast<int>(where.line()), "expected here"};
}

} // namespace

HistoryEvent event(history::Kind kind, std::optional<std::uint64_t> source) {
    HistoryEvent made;
    made.source_event_id = source;
    made.instance_id = test_instance;
    made.execution_id = 1;
    made.timestamp_ms = start_ms;
    made.engine_version = "0.1.0";
    made.kind = std::move(kind);
    return made;
}

HistoryEvent at(std::uint64_t id, HistoryEvent event) {
    event.event_id = id;
    return event;
}
HistoryEvent made_at(std::string location, HistoryEvent event) {
    event.location = std::move(location);
    return event;
}

HistoryEvent started(std::string input) {
    return event(history::OrchestrationStarted{
        .name = "TestOrch", .version = "1.0.0", .input = std::move(input)});
}
HistoryEvent activity(std::string name, std::string input) {
    return event(history::ActivityScheduled{.name = std::move(name), .input = std::move(input)});
}
HistoryEvent completed(std::uint64_t step, std::string result) {
    return event(history::ActivityCompleted{std::move(result)}, step);
}
HistoryEvent failed(std::uint64_t step, ErrorDetails details) {
    return event(history::ActivityFailed{std::move(details)}, step);
}
HistoryEvent failed(std::uint64_t step, std::string message) {
    return failed(step, application(std::move(message)));
}
HistoryEvent timer(std::uint64_t fire_at_ms) {
    return event(history::TimerCreated{fire_at_ms});
}
HistoryEvent fired(std::uint64_t step) {
    return event(history::TimerFired{start_ms + 60'000}, step);
}
HistoryEvent wait(std::string name) {
    return event(history::ExternalSubscribed{std::move(name)});
}
HistoryEvent raised(std::string name, std::string data) {
    return event(history::ExternalEvent{std::move(name), std::move(data)});
}
HistoryEvent dequeue(std::string name) {
    return event(history::QueueSubscribed{std::move(name)});
}
HistoryEvent queued(std::string name, std::string data) {
    return event(history::QueueEventDelivered{std::move(name), std::move(data)});
}
HistoryEvent child(std::string name, std::string instance, std::string input) {
    return event(history::SubOrchestrationScheduled{
        .name = std::move(name), .instance = std::move(instance), .input = std::move(input)});
}
HistoryEvent child_completed(std::uint64_t step, std::string result) {
    return event(history::SubOrchestrationCompleted{std::move(result)}, step);
}
HistoryEvent child_failed(std::uint64_t step, ErrorDetails details) {
    return event(history::SubOrchestrationFailed{std::move(details)}, step);
}
HistoryEvent activity_cancelled(std::uint64_t step, std::string reason) {
    return event(history::ActivityCancelRequested{std::move(reason)}, step);
}
HistoryEvent timer_cancelled(std::uint64_t step, std::string reason) {
    return event(history::TimerCancelRequested{std::move(reason)}, step);
}
HistoryEvent child_cancelled(std::uint64_t step, std::string reason) {
    return event(history::SubOrchestrationCancelRequested{std::move(reason)}, step);
}
HistoryEvent kv_set(std::string key, std::string value, std::uint64_t time_ms) {
    return event(history::KeyValueSet{
        .key = std::move(key), .value = std::move(value), .last_updated_at_ms = time_ms});
}
HistoryEvent cancel_requested(std::string reason) {
    return event(history::OrchestrationCancelRequested{std::move(reason)});
}

ErrorDetails application(std::string message) {
    return details::Application{.message = std::move(message)};
}
ErrorDetails infrastructure(std::string message) {
    return details::Infrastructure{.operation = "op", .message = std::move(message)};
}

WorkItem start_message(std::string input) {
    return work::StartOrchestration{
        .instance = test_instance, .orchestration = "TestOrch", .input = std::move(input)};
}
WorkItem completion(std::uint64_t step, std::string result, std::uint64_t execution) {
    return work::ActivityCompleted{.instance = test_instance,
                                   .execution_id = execution,
                                   .id = step,
                                   .result = std::move(result)};
}
WorkItem failure(std::uint64_t step, ErrorDetails details, std::uint64_t execution) {
    return work::ActivityFailed{.instance = test_instance,
                                .execution_id = execution,
                                .id = step,
                                .details = std::move(details)};
}
WorkItem timer_fires(std::uint64_t step, std::uint64_t execution) {
    return work::TimerFired{
        .instance = test_instance, .execution_id = execution, .id = step, .fire_at_ms = start_ms};
}
WorkItem raise(std::string name, std::string data) {
    return work::ExternalRaised{
        .instance = test_instance, .name = std::move(name), .data = std::move(data)};
}
WorkItem enqueue(std::string name, std::string data) {
    return work::QueueMessage{
        .instance = test_instance, .name = std::move(name), .data = std::move(data)};
}
WorkItem child_answers(std::uint64_t step, std::string result, std::uint64_t execution) {
    return work::SubOrchCompleted{.parent_instance = test_instance,
                                  .parent_execution_id = execution,
                                  .parent_id = step,
                                  .result = std::move(result)};
}
WorkItem child_fails(std::uint64_t step, ErrorDetails details, std::uint64_t execution) {
    return work::SubOrchFailed{.parent_instance = test_instance,
                               .parent_execution_id = execution,
                               .parent_id = step,
                               .details = std::move(details)};
}
WorkItem cancel(std::string reason) {
    return work::CancelInstance{.instance = test_instance, .reason = std::move(reason)};
}

std::string show(const HistoryEvent& event) {
    auto line = std::to_string(event.event_id) + " " + std::string{type_name(event.kind)};
    if (event.source_event_id) {
        line += " <-" + std::to_string(*event.source_event_id);
    }
    return joined(line, std::visit([](const auto& kind) { return content(kind); }, event.kind));
}

Lines show(std::span<const HistoryEvent> history) {
    Lines lines;
    for (const auto& event : history) {
        lines.push_back(show(event));
    }
    return lines;
}

std::string show(const WorkItem& item) {
    return std::string{type_name(item)} +
           std::visit([](const auto& each) { return content(each); }, item);
}

Lines show(std::span<const WorkItem> items) {
    Lines lines;
    for (const auto& item : items) {
        lines.push_back(show(item));
    }
    return lines;
}

std::shared_ptr<const OrchestrationHandler>
handler_of(Code code, std::string name, std::string version) {
    Registry registry;
    registry.add_raw_orchestration(name, version, code);
    return registry.find_orchestration(name);
}

const Then& Then::then(const Lines& events, Where where) const {
    const auto scope = trace(where);
    EXPECT_EQ(show(std::span{delta()}), events);
    return *this;
}
const Then& Then::runs_on(Where where) const {
    const auto scope = trace(where);
    EXPECT_EQ(result_.status, TurnStatus::running)
        << (result_.nondeterminism ? result_.nondeterminism->text() : result_.output);
    return *this;
}
const Then& Then::completes(std::string_view output, Where where) const {
    const auto scope = trace(where);
    EXPECT_EQ(result_.status, TurnStatus::completed)
        << (result_.nondeterminism ? result_.nondeterminism->text() : result_.output);
    EXPECT_EQ(result_.output, output);
    return *this;
}
const Then& Then::fails(std::string_view text, Where where) const {
    const auto scope = trace(where);
    EXPECT_EQ(result_.status, TurnStatus::failed);
    EXPECT_EQ(result_.output, text);
    return *this;
}
const Then& Then::is_cancelled(std::string_view reason, Where where) const {
    const auto scope = trace(where);
    EXPECT_EQ(result_.status, TurnStatus::cancelled);
    EXPECT_EQ(result_.output, "canceled: " + std::string{reason});
    return *this;
}
const Then& Then::continues_as_new(std::string_view input, Where where) const {
    const auto scope = trace(where);
    EXPECT_EQ(result_.status, TurnStatus::continued_as_new);
    EXPECT_EQ(result_.output, input);
    return *this;
}
const Then& Then::is_nondeterministic(replay::NondeterminismKind kind,
                                      std::initializer_list<std::string_view> texts,
                                      Where where) const {
    const auto scope = trace(where);
    EXPECT_EQ(result_.status, TurnStatus::nondeterministic);
    EXPECT_TRUE(delta().empty()) << "a lost turn has nothing to commit";
    if (!result_.nondeterminism) {
        ADD_FAILURE() << "no report";
        return *this;
    }
    EXPECT_EQ(result_.nondeterminism->kind, kind) << result_.nondeterminism->text();
    for (const auto text : texts) {
        EXPECT_NE(result_.nondeterminism->text().find(text), std::string::npos)
            << "no '" << text << "' in\n"
            << result_.nondeterminism->text();
    }
    return *this;
}
const Then& Then::gives_to_workers(const Lines& items, Where where) const {
    const auto scope = trace(where);
    EXPECT_EQ(show(std::span{result_.commit.worker_items}), items);
    return *this;
}
const Then& Then::sends(const Lines& items, Where where) const {
    const auto scope = trace(where);
    EXPECT_EQ(show(std::span{result_.commit.orchestrator_items}), items);
    return *this;
}
const Then& Then::cancels_activities(std::initializer_list<std::uint64_t> ids, Where where) const {
    const auto scope = trace(where);
    std::vector<std::uint64_t> cancelled;
    for (const auto& id : result_.commit.cancelled_activities) {
        EXPECT_EQ(id.instance, test_instance);
        cancelled.push_back(id.activity_id);
    }
    EXPECT_EQ(cancelled, std::vector<std::uint64_t>{ids});
    return *this;
}
const Then& Then::cancels_timers(std::initializer_list<std::uint64_t> ids, Where where) const {
    const auto scope = trace(where);
    EXPECT_EQ(result_.commit.cancelled_timers, std::vector<std::uint64_t>{ids});
    return *this;
}
const Then& Then::ignores(std::uint64_t messages, Where where) const {
    const auto scope = trace(where);
    EXPECT_EQ(result_.counters.ignored, messages);
    return *this;
}

Given::Given(std::vector<HistoryEvent> history) : history_{std::move(history)} {
    std::uint64_t next = 1;
    now_ms_ = start_ms;
    for (auto& event : history_) {
        if (event.event_id == 0) {
            event.event_id = next;
        }
        next = event.event_id + 1;
        now_ms_ = std::max(now_ms_, event.timestamp_ms);
    }
    now_ms_ += 1'000;
}

Given& Given::with_kv(KvSnapshot kv) {
    kv_ = std::move(kv);
    return *this;
}
Given& Given::with_limits(Limits limits) {
    limits_ = limits;
    return *this;
}
Given& Given::at_time(std::uint64_t now_ms) {
    now_ms_ = now_ms;
    return *this;
}
Given& Given::as_execution(std::uint64_t execution_id) {
    execution_id_ = execution_id;
    return *this;
}
Given& Given::without_replay_check() {
    check_replay_ = false;
    return *this;
}

Given& Given::as_incarnation(std::uint64_t incarnation) {
    incarnation_ = incarnation;
    return *this;
}

std::unique_ptr<replay::Execution> Given::create(Code code) const {
    return replay::Execution::create({.handler = handler_of(code),
                                      .instance = test_instance,
                                      .execution_id = execution_id_,
                                      .incarnation = incarnation_,
                                      .kv = kv_,
                                      .limits = limits_});
}

Then Given::run(Code code, const std::vector<WorkItem>& messages) const {
    auto execution = create(code);
    execution->replay(history_);
    auto result = execution->run(messages, from_epoch_ms(now_ms_));
    execution.reset();

    if (check_replay_ && result.status != TurnStatus::nondeterministic &&
        replay::terminal_event(history_) == nullptr) {
        auto history = history_;
        for (const auto& event : result.commit.history_delta) {
            history.push_back(event);
            EXPECT_EQ(decode_event(encode(event).value()).value(), event) << "survives the wire";
        }
        const auto again = create(code);
        EXPECT_TRUE(again->replay(history, replay::ReplayMode::verify))
            << "the replay of what just ran differs:\n"
            << again->nondeterminism()->text();
    }
    return Then{std::move(result)};
}

std::optional<replay::NondeterminismReport> Given::verify(Code code) const {
    const auto execution = create(code);
    execution->replay(history_, replay::ReplayMode::verify);
    const auto* const report = execution->nondeterminism();
    return report == nullptr ? std::nullopt : std::optional{*report};
}

} // namespace durable::replay_test
