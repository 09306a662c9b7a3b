#include "base/try.hpp"
#include "replay/execution.hpp"
#include "replay/failure.hpp"
#include "replay/rules.hpp"
#include "runtime/node.hpp"

#include <durable/codec.hpp>
#include <durable/history_testing.hpp>
#include <durable/version.hpp>

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

namespace durable::testing {

namespace {

constexpr std::string_view instance_name = "history";

void carry(std::optional<std::vector<CarriedMessage>>& messages,
           std::string name,
           std::string data) {
    if (!messages) {
        messages.emplace();
    }
    messages->push_back({.name = std::move(name), .data = std::move(data)});
}

// The details as a worker writes them.
details::Application activity_details(Failure failure) {
    details::Application details{.message = std::move(failure.message),
                                 .retryable = failure.retryable,
                                 .permanent = failure.retryable.permanent(),
                                 .activity = std::move(failure.activity)};
    if (failure.kind != failure_kind::activity_failed) {
        details.failure_kind = std::move(failure.kind);
    }
    return details;
}

// The KV values after the changes in these events.
KvSnapshot kv_after(std::span<const HistoryEvent> events, KvSnapshot kv = {}) {
    for (const auto& event : events) {
        if (const auto* const set = std::get_if<history::KeyValueSet>(&event.kind)) {
            kv.insert_or_assign(
                set->key,
                KvEntry{.value = set->value, .last_updated_at_ms = set->last_updated_at_ms});
        } else if (const auto* const cleared = std::get_if<history::KeyValueCleared>(&event.kind)) {
            kv.erase(cleared->key);
        } else if (std::holds_alternative<history::KeyValuesCleared>(event.kind)) {
            kv.clear();
        }
    }
    return kv;
}

// An execution before `first` that sets these values and does nothing else.
std::vector<HistoryEvent> as_events(const KvSnapshot& kv, const HistoryEvent& first) {
    std::vector<HistoryEvent> events;
    const auto add = [&](history::Kind kind) {
        events.push_back({.event_id = events.size() + 1,
                          .instance_id = first.instance_id,
                          .execution_id = first.execution_id - 1,
                          .timestamp_ms = first.timestamp_ms,
                          .engine_version = first.engine_version,
                          .kind = std::move(kind)});
    };
    add(history::KeyValuesCleared{});
    for (const auto& [key, entry] : kv) {
        add(history::KeyValueSet{
            .key = key, .value = entry.value, .last_updated_at_ms = entry.last_updated_at_ms});
    }
    return events;
}

std::string unknown_kv(const std::string& what, std::uint64_t execution) {
    return "this history depends on KV values from before: execution " + std::to_string(execution) +
           " has read " + what +
           ", which earlier executions may have set, and their events do not stand before it. "
           "Save it with save_history() or TestRuntime::saved_history(), put the histories of the "
           "earlier executions before it, or write HistoryBuilder::carried_kv(). Without those "
           "values:\n";
}

} // namespace

Result<> replay(const Registry& registry, std::span<const HistoryEvent> whole) {
    if (const auto valid = runtime::check(registry, {}); !valid) {
        return fail(ErrorCode::invalid_argument, valid.error().message, "replay");
    }
    const auto last = whole.empty() ? 0 : whole.back().execution_id;
    const auto begin = std::ranges::find(whole, last, &HistoryEvent::execution_id);
    const auto earlier = whole.first(static_cast<std::size_t>(begin - whole.begin()));
    const auto history = whole.subspan(earlier.size());
    const auto* started = history.empty()
                              ? nullptr
                              : std::get_if<history::OrchestrationStarted>(&history.front().kind);
    if (started == nullptr) {
        return fail(ErrorCode::corrupt, "a history begins with OrchestrationStarted", "replay");
    }
    const auto version = Version::parse(started->version);
    auto handler = version ? registry.find_orchestration(started->name, *version) : nullptr;
    if (!handler) {
        return fail(ErrorCode::not_found,
                    "the registry has no " + started->name + ' ' + started->version,
                    "replay");
    }
    const auto& first = history.front();
    const auto execution = replay::Execution::create(
        {.handler = std::move(handler),
         .instance = first.instance_id.empty() ? std::string{instance_name} : first.instance_id,
         .execution_id = std::max<std::uint64_t>(1, first.execution_id),
         .kv = kv_after(earlier),
         .kv_known = first.execution_id <= 1 || !earlier.empty()});
    if (!execution->replay(history, replay::ReplayMode::verify)) {
        const auto* report = execution->nondeterminism();
        auto text = report != nullptr ? report->text() : "the code differs from the history";
        if (const auto* const read = execution->unknown_kv_read()) {
            text = unknown_kv(*read, first.execution_id) + text;
        }
        return fail(ErrorCode::invalid_argument, std::move(text), "replay");
    }
    return {};
}

Result<std::vector<HistoryEvent>> save_history(Provider& provider, const std::string& instance) {
    DURABLE_TRY_ASSIGN(auto history, provider.read(instance));
    if (history.empty()) {
        return fail(ErrorCode::not_found, "there is no instance " + instance, "save_history");
    }
    const auto last = history.front().execution_id;
    KvSnapshot kv;
    for (std::uint64_t execution = 1; execution < last; ++execution) {
        DURABLE_TRY_ASSIGN(const auto events, provider.read_with_execution(instance, execution));
        if (events.empty()) {
            return history;
        }
        kv = kv_after(events, std::move(kv));
    }
    if (last <= 1) {
        return history;
    }
    auto whole = as_events(kv, history.front());
    whole.insert(whole.end(),
                 std::make_move_iterator(history.begin()),
                 std::make_move_iterator(history.end()));
    return whole;
}

Result<std::vector<HistoryEvent>> parse_history(std::string_view lines) {
    std::vector<HistoryEvent> history;
    std::size_t number = 0;
    while (!lines.empty()) {
        const auto end = std::min(lines.find('\n'), lines.size());
        const auto line = lines.substr(0, end);
        lines.remove_prefix(std::min(end + 1, lines.size()));
        ++number;
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
            continue;
        }
        auto event = decode_event(line);
        if (!event) {
            return fail(event.error().code,
                        "line " + std::to_string(number) + ": " + event.error().message,
                        "parse_history");
        }
        history.push_back(*std::move(event));
    }
    return history;
}

Result<std::string> print_history(std::span<const HistoryEvent> history) {
    std::string lines;
    for (const auto& event : history) {
        DURABLE_TRY(encode_to(lines, event));
        lines += '\n';
    }
    return lines;
}

HistoryBuilder::HistoryBuilder(std::string orchestration, std::string input, std::string version) {
    add(history::OrchestrationStarted{.name = std::move(orchestration),
                                      .version = std::move(version),
                                      .input = std::move(input),
                                      .rules = replay::current_rules});
}

HistoryBuilder& HistoryBuilder::carried_message(std::string queue, std::string data) {
    carry(started().carry_forward_events, std::move(queue), std::move(data));
    return *this;
}

HistoryBuilder& HistoryBuilder::carried_event(std::string event, std::string data) {
    carry(started().carry_forward_raised, std::move(event), std::move(data));
    return *this;
}

HistoryBuilder& HistoryBuilder::carried_kv(std::string key, std::string value) {
    if (earlier_ == 0) {
        execution_ = 2;
        std::ranges::for_each(events_, [](HistoryEvent& event) { event.execution_id = 2; });
    }
    auto carried = events_.at(earlier_); // a copy of the start: same instance, same time
    carried.event_id = earlier_ + 1;
    carried.execution_id = 1;
    carried.kind = history::KeyValueSet{.key = std::move(key),
                                        .value = std::move(value),
                                        .last_updated_at_ms = carried.timestamp_ms};
    events_.insert(events_.begin() + static_cast<std::ptrdiff_t>(earlier_), std::move(carried));
    ++earlier_;
    return *this;
}

history::OrchestrationStarted& HistoryBuilder::started() {
    return std::get<history::OrchestrationStarted>(events_.at(earlier_).kind);
}

const HistoryEvent* HistoryBuilder::find_step(std::uint64_t step) const {
    const auto own = std::span{events_}.subspan(earlier_);
    const auto found = std::ranges::find(own, step, &HistoryEvent::event_id);
    return found == own.end() ? nullptr : &*found;
}

HistoryBuilder& HistoryBuilder::pass(Timespan time) {
    now_ms_ = to_epoch_ms(
        add_saturating(from_epoch_ms(now_ms_), std::max<Duration>(Duration::zero(), time)));
    return *this;
}

std::uint64_t HistoryBuilder::activity_scheduled(std::string name, std::string input) {
    return add(history::ActivityScheduled{.name = std::move(name), .input = std::move(input)});
}

void HistoryBuilder::activity_completed(std::uint64_t step, std::string result) {
    add(history::ActivityCompleted{.result = std::move(result)}, step);
}

void HistoryBuilder::activity_failed(std::uint64_t step, std::string message) {
    activity_failed(
        step,
        Failure{.kind = std::string{failure_kind::activity_failed}, .message = std::move(message)});
}

void HistoryBuilder::activity_failed(std::uint64_t step, Failure failure) {
    if (const auto* const call = find_step(step); call != nullptr && failure.activity.empty()) {
        const auto* const scheduled = std::get_if<history::ActivityScheduled>(&call->kind);
        failure.activity = scheduled != nullptr ? scheduled->name : "";
    }
    add(history::ActivityFailed{.details = activity_details(std::move(failure))}, step);
}

std::uint64_t HistoryBuilder::timer_created(Timespan from_now) {
    const auto fire_at = add_saturating(from_epoch_ms(now_ms_), from_now);
    return add(history::TimerCreated{.fire_at_ms = to_epoch_ms(fire_at)});
}

void HistoryBuilder::timer_fired(std::uint64_t step) {
    const auto* const found = find_step(step);
    const auto* timer =
        found == nullptr ? nullptr : std::get_if<history::TimerCreated>(&found->kind);
    const auto fire_at = timer != nullptr ? timer->fire_at_ms : now_ms_;
    now_ms_ = std::max(now_ms_, fire_at);
    add(history::TimerFired{.fire_at_ms = fire_at}, step);
}

std::uint64_t HistoryBuilder::waiting_for(std::string event) {
    return add(history::ExternalSubscribed{.name = std::move(event)});
}

void HistoryBuilder::raised(std::string event, std::string data) {
    add(history::ExternalEvent{.name = std::move(event), .data = std::move(data)});
}

std::uint64_t HistoryBuilder::waiting_for_message(std::string queue) {
    return add(history::QueueSubscribed{.name = std::move(queue)});
}

void HistoryBuilder::enqueued(std::string queue, std::string data) {
    add(history::QueueEventDelivered{.name = std::move(queue), .data = std::move(data)});
}

std::uint64_t HistoryBuilder::child_scheduled(std::string orchestration,
                                              std::string instance,
                                              std::string input) {
    return add(history::SubOrchestrationScheduled{.name = std::move(orchestration),
                                                  .instance = std::move(instance),
                                                  .input = std::move(input)});
}

void HistoryBuilder::child_completed(std::uint64_t step, std::string result) {
    add(history::SubOrchestrationCompleted{.result = std::move(result)}, step);
}

void HistoryBuilder::child_failed(std::uint64_t step, Failure failure) {
    add(history::SubOrchestrationFailed{.details = replay::to_details(failure)}, step);
}

HistoryBuilder&
HistoryBuilder::called(std::string activity, std::string input, std::string result) {
    const auto step = activity_scheduled(std::move(activity), std::move(input));
    activity_completed(step, std::move(result));
    return *this;
}

HistoryBuilder&
HistoryBuilder::call_failed(std::string activity, std::string input, Failure failure) {
    const auto step = activity_scheduled(std::move(activity), std::move(input));
    activity_failed(step, std::move(failure));
    return *this;
}

HistoryBuilder& HistoryBuilder::slept(Timespan time) {
    timer_fired(timer_created(time));
    return *this;
}

HistoryBuilder& HistoryBuilder::received(std::string event, std::string data) {
    waiting_for(event);
    raised(std::move(event), std::move(data));
    return *this;
}

HistoryBuilder& HistoryBuilder::dequeued(std::string queue, std::string data) {
    waiting_for_message(queue);
    enqueued(std::move(queue), std::move(data));
    return *this;
}

HistoryBuilder& HistoryBuilder::called_child(std::string orchestration,
                                             std::string instance,
                                             std::string input,
                                             std::string result) {
    const auto step =
        child_scheduled(std::move(orchestration), std::move(instance), std::move(input));
    child_completed(step, std::move(result));
    return *this;
}

HistoryBuilder& HistoryBuilder::child_call_failed(std::string orchestration,
                                                  std::string instance,
                                                  std::string input,
                                                  Failure failure) {
    const auto step =
        child_scheduled(std::move(orchestration), std::move(instance), std::move(input));
    child_failed(step, std::move(failure));
    return *this;
}

HistoryBuilder& HistoryBuilder::kv_set(std::string key, std::string value) {
    add(history::KeyValueSet{
        .key = std::move(key), .value = std::move(value), .last_updated_at_ms = now_ms_});
    return *this;
}

HistoryBuilder& HistoryBuilder::status_set(std::string status) {
    add(history::CustomStatusUpdated{.status = std::move(status)});
    return *this;
}

HistoryBuilder& HistoryBuilder::cancel_requested(std::string reason) {
    add(history::OrchestrationCancelRequested{.reason = std::move(reason)});
    return *this;
}

HistoryBuilder& HistoryBuilder::completed(std::string output) {
    add(history::OrchestrationCompleted{.output = std::move(output)});
    return *this;
}

HistoryBuilder& HistoryBuilder::failed(Failure failure) {
    add(history::OrchestrationFailed{.details = replay::to_details(failure)});
    return *this;
}

HistoryBuilder& HistoryBuilder::continued_as_new(std::string input) {
    add(history::OrchestrationContinuedAsNew{.input = std::move(input)});
    return *this;
}

std::uint64_t HistoryBuilder::add(history::Kind kind, std::optional<std::uint64_t> answers) {
    events_.push_back({.event_id = events_.size() - earlier_ + 1,
                       .source_event_id = answers,
                       .instance_id = std::string{instance_name},
                       .execution_id = execution_,
                       .timestamp_ms = now_ms_,
                       .engine_version = engine_version_text(),
                       .kind = std::move(kind)});
    return events_.back().event_id;
}

} // namespace durable::testing
