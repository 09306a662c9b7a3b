#include "runtime/turn_report.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <ranges>
#include <variant>

namespace durable::runtime {

using observability::Metric;
using observability::Where;

namespace {

constexpr std::string_view turn_member = "\"turn\":";

std::optional<std::uint64_t> number_after(std::string_view members, std::string_view name) {
    const auto at = members.find(name);
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    std::uint64_t number = 0;
    std::from_chars(members.data() + at + name.size(), members.data() + members.size(), number);
    return number;
}

std::string_view turn_count_label(std::uint64_t turns) {
    if (turns <= 5) {
        return "1-5";
    }
    if (turns <= 10) {
        return "6-10";
    }
    return turns <= 50 ? "11-50" : "50+";
}

std::string_view initiator(const history::OrchestrationStarted& started,
                           std::uint64_t execution_id) {
    if (execution_id > 1) {
        return "continue_as_new";
    }
    return started.parent_instance ? "parent" : "client";
}

double seconds_between(std::uint64_t from_ms, std::uint64_t to_ms) {
    return to_ms > from_ms ? static_cast<double>(to_ms - from_ms) / 1000.0 : 0;
}

void write_log(const Node& node, const Where& where, const replay::TurnResult& result) {
    for (const auto& line : result.log) {
        const auto* const source = line.from_user ? "orchestration" : "runtime";
        if (line.location.empty()) {
            node.observer.log_as(source, line.level, where, line.message);
        } else {
            node.observer.log_as(source,
                                 line.level,
                                 where,
                                 line.message,
                                 {{.name = "location", .value = line.location}});
        }
    }
}

// Calls `on_answer(name, scheduled_at_ms, event, completed)` for every child that answers.
template <class OnAnswer>
void walk_children(Frame& frame, std::span<const HistoryEvent> events, OnAnswer on_answer) {
    for (const auto& event : events) {
        if (const auto* child = std::get_if<history::SubOrchestrationScheduled>(&event.kind)) {
            if (!frame.children) {
                frame.children = std::make_unique<OpenChildren>();
            }
            frame.children->try_emplace(event.event_id, child->name, event.timestamp_ms);
            continue;
        }
        const bool completed =
            std::holds_alternative<history::SubOrchestrationCompleted>(event.kind);
        const bool failed = std::holds_alternative<history::SubOrchestrationFailed>(event.kind);
        if ((completed || failed) && frame.children && event.source_event_id) {
            const auto child = frame.children->extract(*event.source_event_id);
            if (!child.empty()) {
                on_answer(child.mapped().first, child.mapped().second, event, completed);
            }
        }
    }
}

void report_children(const Node& node,
                     std::string_view parent,
                     Frame& frame,
                     std::span<const HistoryEvent> delta) {
    walk_children(frame,
                  delta,
                  [&](std::string_view name,
                      std::uint64_t scheduled_at_ms,
                      const HistoryEvent& event,
                      bool completed) {
                      const std::string_view outcome = completed ? "completed" : "failed";
                      node.observer.count(Metric::suborchestration_calls, {parent, name, outcome});
                      node.observer.record(Metric::suborchestration_duration,
                                           seconds_between(scheduled_at_ms, event.timestamp_ms),
                                           {parent, name, outcome});
                  });
}

void report_end(const Node& node,
                const TurnSubject& subject,
                const Frame& frame,
                const replay::TurnResult& result) {
    const auto& observer = node.observer;
    const auto status = name_of(result.status);
    const auto& [instance, execution_id, name, version] = subject;
    observer.count(Metric::orchestration_completions,
                   {name, version, status, turn_count_label(frame.turns)});
    observer.record(Metric::orchestration_turns, static_cast<double>(frame.turns), {name});
    if (!result.commit.history_delta.empty()) {
        const auto& last = result.commit.history_delta.back();
        observer.record(Metric::orchestration_duration,
                        seconds_between(frame.started_at_ms, last.timestamp_ms),
                        {name, version, status});
        observer.record(
            Metric::orchestration_history_size, static_cast<double>(last.event_id), {name});
    }
    const Where where{.instance = instance, .execution_id = execution_id, .turn = frame.turns};
    if (result.status == replay::TurnStatus::continued_as_new) {
        observer.count(Metric::orchestration_continue_as_new, {name});
    }
    if (!result.details) {
        observer.log(LogLevel::debug, where, "orchestration ended", {{"status", status}});
        return;
    }
    const auto category = durable::category(*result.details);
    const bool expected = category == "application";
    observer.count(Metric::orchestration_failures, {name, version, category});
    observer.log(expected ? LogLevel::warn : LogLevel::error,
                 where,
                 "orchestration failed",
                 {{.name = "orchestration", .value = name},
                  {.name = "version", .value = version},
                  {.name = "category", .value = category},
                  {.name = "kind", .value = kind_of(*result.details)},
                  {.name = "error", .value = display_text(*result.details)}});
}

} // namespace

std::string_view name_of(replay::TurnStatus status) noexcept {
    switch (status) {
    case replay::TurnStatus::completed:
        return "completed";
    case replay::TurnStatus::failed:
        return "failed";
    case replay::TurnStatus::cancelled:
        return "cancelled";
    case replay::TurnStatus::continued_as_new:
        return "continued_as_new";
    case replay::TurnStatus::running:
        return "running";
    case replay::TurnStatus::nondeterministic:
        break;
    }
    return "nondeterministic";
}

void report_turn(const Node& node,
                 const TurnSubject& subject,
                 Frame& frame,
                 const replay::TurnResult& result,
                 double seconds) {
    const Where where{
        .instance = subject.instance, .execution_id = subject.execution_id, .turn = frame.turns};
    write_log(node, where, result);
    const auto& delta = result.commit.history_delta;
    if (node.observer.has_metrics()) {
        if (!delta.empty()) {
            if (const auto* started =
                    std::get_if<history::OrchestrationStarted>(&delta.front().kind)) {
                node.observer.count(Metric::orchestration_starts,
                                    {subject.orchestration,
                                     subject.version,
                                     initiator(*started, subject.execution_id)});
            }
        }
        report_children(node, subject.orchestration, frame, delta);
        node.observer.record(Metric::turn_duration, seconds, {subject.orchestration});
        if (result.counters.ignored > 0) {
            node.observer.record(Metric::orchestration_dropped_messages,
                                 static_cast<double>(result.counters.ignored),
                                 {"stale"});
        }
        if (result.counters.unread > 0) {
            node.observer.record(Metric::orchestration_dropped_messages,
                                 static_cast<double>(result.counters.unread),
                                 {"unread"});
        }
    }
    if (result.ended()) {
        report_end(node, subject, frame, result);
    }
}

void mark_turn(std::vector<HistoryEvent>& delta, std::uint64_t turn) {
    if (!delta.empty() && delta.front().extra.empty()) {
        delta.front().extra = std::string{turn_member} + std::to_string(turn);
    }
}

std::uint64_t last_turn(std::span<const HistoryEvent> history) noexcept {
    for (const auto& event : history | std::views::reverse) {
        if (const auto turn = number_after(event.extra, turn_member)) {
            return *turn;
        }
    }
    return 0;
}

void follow_children(Frame& frame, std::span<const HistoryEvent> history) {
    walk_children(frame, history, [](auto&&...) {});
}

} // namespace durable::runtime
