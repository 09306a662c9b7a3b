// The turns of an OrchestrationDispatcher that cannot be run: poisoned, finished, unknown here,
// incompatible, or different from their history.

#include "base/utf8.hpp"
#include "replay/end_execution.hpp"
#include "runtime/incoming.hpp"
#include "runtime/node.hpp"
#include "runtime/orchestration_dispatcher.hpp"
#include "runtime/turn_commit.hpp"
#include "runtime/turn_report.hpp"

#include <optional>
#include <utility>
#include <variant>

namespace durable::runtime {

using observability::Metric;
using observability::Where;

namespace {

constexpr Duration short_delay{1000};

// P8: a commit never reads history, so an unreadable one can still be ended. The event has an id
// above every real one, and still a number that every JSON reader keeps exact.
constexpr std::uint64_t unreadable_history_event_id = (1ULL << 53U) - 1;

// The version of an execution that begins with its failure: the one that its start asks for. (In
// the item of a successor, `version` is that of the predecessor.)
std::string
version_of(const OrchestrationItem& item, std::uint64_t execution_id, const WorkItem* start) {
    if (start != nullptr) {
        if (const auto wanted = wanted_by(*start).version) {
            return std::string{*wanted};
        }
    }
    return execution_id == item.execution_id ? item.version : "unknown";
}

bool continued(const HistoryEvent& end) {
    return std::holds_alternative<history::OrchestrationContinuedAsNew>(end.kind);
}

// The end of an instance that was cancelled, without its code. Nothing: no message cancels it.
// `history` and `start` say which parent it has.
std::optional<ErrorDetails> cancellation_in(const OrchestrationItem& item,
                                            std::span<const HistoryEvent> history,
                                            const WorkItem* start) {
    std::optional<replay::ParentLink> link;
    if (const auto* started = started_in(history)) {
        link = replay::parent_link(*started);
    } else if (start != nullptr) {
        link = replay::parent_link(replay::started_event(*start, {}));
    }
    for (const auto& message : item.messages) {
        const auto* cancel = std::get_if<work::CancelInstance>(&message);
        if (cancel != nullptr &&
            replay::concerns(*cancel, link ? &*link : nullptr, item.incarnation)) {
            return details::Application{.kind = details::ApplicationKind::cancelled,
                                        .reason = cancel->reason};
        }
    }
    return std::nullopt;
}

// Compensations are not recorded, only the code knows them: so the warning is always given.
void warn_of_compensations(const Node& node, const Where& where, const ErrorDetails& end) {
    node.observer.log(
        LogLevel::warn,
        where,
        "ended without its code: compensations that it had registered did not run",
        {{.name = "kind", .value = kind_of(end)}, {.name = "error", .value = display_text(end)}});
}

} // namespace

void OrchestrationDispatcher::poison(const OrchestrationItem& item) {
    node_.frames.take(item.instance, item.execution_id).reset();
    if (item.history_error) {
        poison_unreadable(item);
        return;
    }
    Turn turn{.item = item, .execution_id = item.execution_id, .history = item.history};
    auto history = whole_history(turn);
    if (!history) {
        return;
    }
    turn.start = find_start(item.messages);
    if (const auto* end = replay::terminal_event(*history)) {
        const bool successor = find_message<work::ContinueAsNew>(item.messages) != nullptr;
        if (!continued(*end) || !successor) {
            meet_ended(item, *end);
            return;
        }
        // T-31: recorded in the execution that could not begin.
        ++turn.execution_id;
        history->clear();
    }
    if (history->empty() && turn.start == nullptr) {
        drop(item, "unknown_instance");
        return;
    }
    auto cause = utf8::printable(node_.diagnostics.take(item.instance));
    // It was cancelled anyway, and its code cannot run the compensations: it ends as cancelled.
    if (auto cancelled = cancellation_in(item, *history, turn.start)) {
        fail(turn, *history, *std::move(cancelled));
        return;
    }
    node_.observer.count(Metric::orchestration_poison);
    fail(turn,
         *history,
         details::Poison{.attempt_count = item.attempt_count,
                         .max_attempts = node_.options.max_attempts,
                         .kind = details::PoisonKind::orchestration,
                         .instance = item.instance,
                         .execution_id = turn.execution_id,
                         .message = describe(item.messages),
                         .cause = std::move(cause)});
}

void OrchestrationDispatcher::poison_unreadable(const OrchestrationItem& item) {
    const ErrorDetails details =
        details::Poison{.attempt_count = item.attempt_count,
                        .max_attempts = node_.options.max_attempts,
                        .kind = details::PoisonKind::failed_deserialization,
                        .instance = item.instance,
                        .execution_id = item.execution_id,
                        .error = *item.history_error,
                        .message = describe(item.messages)};
    TurnCommit commit{.lock_token = item.lock_token, .execution_id = item.execution_id};
    commit.metadata.status = ExecutionStatus::failed;
    commit.metadata.output = display_text(details);
    commit.history_delta.push_back({.event_id = unreadable_history_event_id,
                                    .instance_id = item.instance,
                                    .execution_id = item.execution_id,
                                    .timestamp_ms = to_epoch_ms(node_.clock->now()),
                                    .engine_version = engine_version_text(),
                                    .kind = history::OrchestrationFailed{.details = details}});
    node_.observer.count(Metric::orchestration_poison);
    node_.observer.log(LogLevel::error, where_of(item), display_text(details));
    if (commit_turn(node_, item, commit) == Committed::yes) { // otherwise it is fetched again
        warn_of_compensations(node_, where_of(item), details);
    }
}

void OrchestrationDispatcher::meet_ended(const OrchestrationItem& item, const HistoryEvent& end) {
    if (!continued(end)) {
        drop(item, "instance_ended");
        return;
    }
    const auto* next = find_message<work::ContinueAsNew>(item.messages);
    if (next == nullptr) {
        // T-17: the next execution has not begun yet, but these messages are for it.
        node_.observer.log(
            LogLevel::warn, where_of(item), "messages wait for the next execution to begin");
        give_back(node_, item, {.delay = short_delay});
        return;
    }
    if (item.history_after > 0) {
        // Another runtime ended the execution that this one has cached. For a cached execution the
        // provider sends no KV values, but the next execution begins with them. The frame is
        // dropped, so the next fetch gets them.
        give_back(node_, item, {});
        return;
    }
    run({.item = item, .execution_id = item.execution_id + 1, .history = {}, .start = next}, {});
}

void OrchestrationDispatcher::drop(const OrchestrationItem& item, std::string_view reason) {
    const Turn turn{.item = item, .execution_id = item.execution_id, .history = item.history};
    replay::TurnResult nothing;
    nothing.commit.execution_id = item.execution_id;
    if (!fill_in(turn, nothing) || !answer_starts(turn, nothing) ||
        commit_turn(node_, item, nothing.commit) != Committed::yes) {
        return;
    }
    node_.parked.leave(item.instance);
    node_.observer.record(Metric::orchestration_dropped_messages,
                          static_cast<double>(item.messages.size()),
                          {reason});
    for (const auto& message : item.messages) {
        const auto* start = std::get_if<work::StartOrchestration>(&message);
        if (start != nullptr && !start->parent_instance) {
            node_.observer.log(LogLevel::warn, where_of(item), replay::ignored_start(*start));
        }
        node_.observer.log(LogLevel::info,
                           where_of(item),
                           "message dropped",
                           {{.name = "reason", .value = reason},
                            {.name = "message", .value = type_name(message)}});
    }
}

void OrchestrationDispatcher::leave_unregistered(const Turn& turn,
                                                 std::string_view name,
                                                 std::string_view version) {
    const auto& item = turn.item;
    // The store has waited for a node with the code (OrchestrationCode::cancelled_for), which could
    // have run the compensations. None came, and ending needs no code.
    if (find_message<work::CancelInstance>(item.messages) != nullptr) {
        const auto history = whole_history(turn);
        if (!history) {
            return;
        }
        if (auto cancelled = cancellation_in(item, *history, turn.start)) {
            fail(turn, *history, *std::move(cancelled));
            return;
        }
    }
    // Either the store breaks P14, or the cancellation was meant for another instance of this id.
    const auto what =
        version.empty() ? std::string{name} : std::string{name} + ' ' + std::string{version};
    node_.observer.count(Metric::orchestration_configuration_errors, {name, "unregistered"});
    node_.observer.log(LogLevel::warn,
                       where_of(item),
                       "no such orchestration is registered here",
                       {{.name = "orchestration", .value = what}});
    park({.instance = item.instance,
          .execution_id = turn.execution_id,
          .orchestration = what,
          .report = "no orchestration " + what +
                    " is in the registry of this runtime; it is given back for others",
          .reason = ParkReason::unregistered},
         item,
         node_.options.unregistered_backoff);
}

void OrchestrationDispatcher::leave_incompatible(const OrchestrationItem& item,
                                                 std::string_view pinned) {
    node_.observer.log(LogLevel::warn,
                       where_of(item),
                       "this history was begun by an engine that this runtime cannot replay",
                       {{.name = "engine_version", .value = pinned}});
    give_back(node_,
              item,
              {.delay = short_delay,
               .parked = "its history was begun by engine " + std::string{pinned} +
                         ", which this runtime cannot replay"});
}

// Drops the turn and counts no attempt: the instance waits for other code.
void OrchestrationDispatcher::park(ParkedInstance parked,
                                   const OrchestrationItem& item,
                                   const GrowingDelay& backoff) {
    const auto now = node_.clock->now();
    auto report = parked.report;
    parked.since = now;
    const auto delay = backoff.delay(node_.parked.park(std::move(parked)));
    node_.parked.set_next_attempt(item.instance, add_saturating(now, delay));
    give_back(node_, item, {.delay = delay, .parked = std::move(report)});
}

void OrchestrationDispatcher::meet_nondeterminism(const Turn& turn,
                                                  const replay::NondeterminismReport& report) {
    const auto& item = turn.item;
    node_.observer.count(Metric::orchestration_configuration_errors,
                         {item.orchestration_name, "nondeterminism"});
    node_.observer.log(LogLevel::error, where_of(item), report.text());
    // Ending needs no code: an instance whose code is gone can always be cancelled.
    std::optional<std::vector<HistoryEvent>> history;
    std::optional<ErrorDetails> cancelled;
    if (find_message<work::CancelInstance>(item.messages) != nullptr) {
        history = whole_history(turn);
        if (!history) {
            return;
        }
        cancelled = cancellation_in(item, *history, turn.start);
    }
    if (!cancelled && node_.options.nondeterminism == NondeterminismPolicy::park) {
        park({.instance = item.instance,
              .execution_id = turn.execution_id,
              .orchestration = report.orchestration,
              .report = report.text()},
             item,
             node_.options.park_backoff);
        return;
    }
    if (!history) {
        history = whole_history(turn);
    }
    if (!history) {
        return;
    }
    fail(turn,
         *history,
         cancelled ? *std::move(cancelled)
                   : details::Configuration{.resource = report.orchestration,
                                            .has_message = true,
                                            .message = report.summary()});
}

void OrchestrationDispatcher::fail(const Turn& turn,
                                   std::span<const HistoryEvent> full_history,
                                   ErrorDetails details) {
    const auto& item = turn.item;
    const auto version = version_of(item, turn.execution_id, turn.start);
    auto result = replay::fail_execution({.instance = item.instance,
                                          .execution_id = turn.execution_id,
                                          .incarnation = item.incarnation,
                                          .history = full_history,
                                          .start = turn.start,
                                          .version = version,
                                          .details = std::move(details),
                                          .now = node_.clock->now()});
    Frame frame{.turns = last_turn(full_history) + 1,
                .started_at_ms = full_history.empty() ? to_epoch_ms(node_.clock->now())
                                                      : full_history.front().timestamp_ms};
    mark_turn(result.commit.history_delta, frame.turns);
    if (!fill_in(turn, result) || !answer_starts(turn, result) ||
        commit_turn(node_, item, result.commit) != Committed::yes) {
        return;
    }
    node_.parked.leave(item.instance);
    node_.activities.cancel(result.commit.cancelled_activities, item.incarnation);
    const auto* started = started_in(full_history);
    report_turn(node_,
                {.instance = item.instance,
                 .execution_id = turn.execution_id,
                 .orchestration = started != nullptr ? started->name : item.orchestration_name,
                 .version = started != nullptr ? started->version : version},
                frame,
                result,
                0);
    if (!full_history.empty()) {
        warn_of_compensations(
            node_,
            {.instance = item.instance, .execution_id = turn.execution_id, .turn = frame.turns},
            *result.details);
    }
}

} // namespace durable::runtime
