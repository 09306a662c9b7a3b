// Decisions: appended to history when they are new, compared with it when they are not.

#include "replay/engine.hpp"
#include "replay/text.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <memory>
#include <utility>
#include <variant>

namespace durable::replay {

namespace {

using detail::StepKind;

history::Kind cancellation(StepKind kind, std::string reason) {
    switch (kind) {
    case StepKind::child:
        return history::SubOrchestrationCancelRequested{std::move(reason)};
    case StepKind::timer:
        return history::TimerCancelRequested{std::move(reason)};
    case StepKind::event:
        return history::ExternalSubscribedCancelled{std::move(reason)};
    case StepKind::queue:
        return history::QueueSubscriptionCancelled{std::move(reason)};
    case StepKind::activity:
    case StepKind::retry:
    case StepKind::kept:
    case StepKind::never:
        break;
    }
    return history::ActivityCancelRequested{std::move(reason)};
}

// The reason that the child gets.
std::string reason_for_child(std::string_view drop_reason) {
    if (drop_reason == "dropped_future") {
        return "parent dropped sub-orchestration future";
    }
    if (drop_reason == "orchestration_terminal_cancelled") {
        return "parent canceled";
    }
    return "parent ended";
}

} // namespace

Engine::Decided
Engine::decide(history::Kind kind, std::source_location where, std::string refusal) {
    return decide({.kind = std::move(kind), .source = std::nullopt}, where, std::move(refusal));
}

Engine::Decided
Engine::decide(Decision made, const std::source_location& where, std::string refusal) {
    record_dropped();
    if (spoiled()) {
        return {};
    }
    if (replaying_) {
        return compare(made, where, std::move(refusal));
    }
    if (!refusal.empty()) {
        give_up(std::move(refusal));
        return {};
    }
    if (!ids_left()) {
        return {};
    }
    return {.id = append(std::move(made.kind), made.source, where).event_id};
}

Engine::Decided
Engine::compare(const Decision& made, const std::source_location& where, std::string refusal) {
    skip_recorded_patches();
    auto& turn = *turn_;
    const auto* const next = turn.next < turn.recorded.size() ? &turn.recorded[turn.next] : nullptr;
    const bool comparable = next != nullptr && is_decision(next->kind);
    auto differs = comparable ? difference(*next, made) : std::string{};
    if (comparable && differs.empty()) {
        ++turn.next;
        last_event_id_ = std::max(last_event_id_, next->event_id);
        return {.id = next->event_id, .recorded = next};
    }
    if (!refusal.empty()) {
        give_up(std::move(refusal));
        return {};
    }
    NondeterminismReport found{.kind = comparable ? NondeterminismKind::different
                                                  : NondeterminismKind::extra,
                               .actual = describe(made.kind, made.source),
                               .actual_location = location_text(where),
                               .failed_before = failed_before(made),
                               .difference = std::move(differs)};
    if (next != nullptr) {
        found.event_id = next->event_id;
        found.expected = describe(next->kind, next->source_event_id);
        found.expected_location = next->location;
    }
    report(std::move(found));
    return {};
}

// Code that fails cancels its steps and undoes its calls. A report about such a cancellation or
// undo also names the failure before it.
std::string Engine::failed_before(const Decision& made) {
    if (std::holds_alternative<history::OrchestrationFailed>(made.kind)) {
        return {}; // names the failure itself
    }
    if (turn_->failure) {
        return describe(*turn_->failure);
    }
    if (rare_ && rare_->failure) {
        return describe(*rare_->failure);
    }
    if (root_.exists() && root_.ready()) { // the code threw, and its frame has dropped its steps
        try {
            static_cast<void>(root_.take()); // the turn is lost: the result has no other reader
        } catch (...) {
            return describe(details_of(std::current_exception()));
        }
    }
    return {};
}

bool Engine::ids_left() {
    if (last_event_id_ == std::numeric_limits<std::uint64_t>::max()) {
        report_corrupt(last_event_id_, "corrupted history: no event id is left");
        return false;
    }
    return true;
}

HistoryEvent& Engine::append(history::Kind kind,
                             std::optional<std::uint64_t> source,
                             const std::source_location& where) {
    auto& delta = turn_->result.commit.history_delta;
    delta.push_back({.event_id = ++last_event_id_,
                     .source_event_id = source,
                     .instance_id = instance_,
                     .execution_id = execution_id_,
                     .timestamp_ms = now_ms_,
                     .engine_version = engine_version_text(),
                     .kind = std::move(kind),
                     .location = location_text(where)});
    return delta.back();
}

void Engine::record_dropped() {
    if (spoiled() || turn_->dropped.empty()) {
        return;
    }
    auto dropped = std::exchange(turn_->dropped, {});
    std::ranges::sort(dropped, {}, &Dropped::id);
    for (const auto& each : dropped) {
        if (!each.abandoned || was_cancelled(each.id)) {
            record_drop(each);
        }
    }
    // A message that answered a dropped wait, but was not read, goes back to its place.
    if (keeps_message_order) {
        std::ranges::sort(dropped, {}, &Dropped::sequence);
    }
    for (auto& each : dropped) {
        if (each.has_message) {
            answer(mailboxes_->deliver(
                each.kind, each.name, {.sequence = each.sequence, .data = std::move(each.data)}));
        }
    }
}

// A child that today's code abandons, where history says that it was cancelled: history counts.
bool Engine::was_cancelled(std::uint64_t child) {
    if (!replaying_) {
        return false;
    }
    skip_recorded_patches();
    const auto& turn = *turn_;
    const auto* const next = turn.next < turn.recorded.size() ? &turn.recorded[turn.next] : nullptr;
    return next != nullptr && next->source_event_id == child &&
           std::holds_alternative<history::SubOrchestrationCancelRequested>(next->kind);
}

void Engine::record_drop(const Dropped& dropped) {
    const auto decided = decide(
        {.kind = cancellation(dropped.kind, std::string{turn_->drop_reason}), .source = dropped.id},
        dropped.where,
        {});
    if (decided.id == 0 || replaying_ || dropped.held) {
        return;
    }
    auto& result = turn_->result;
    if (dropped.kind == StepKind::activity) {
        const auto reads = std::erase_if(result.kv_reads,
                                         [&](const KvRead& each) { return each.id == dropped.id; });
        if (reads == 0) {
            result.commit.cancelled_activities.push_back(
                {.instance = instance_, .execution_id = execution_id_, .activity_id = dropped.id});
        }
    } else if (dropped.kind == StepKind::timer) {
        result.commit.cancelled_timers.push_back(dropped.id);
    } else if (dropped.kind == StepKind::child) {
        result.commit.orchestrator_items.emplace_back(
            work::CancelInstance{.instance = dropped.child,
                                 .reason = reason_for_child(turn_->drop_reason),
                                 .parent_instance = instance_,
                                 .parent_execution_id = execution_id_,
                                 .parent_id = dropped.id});
    }
}

// A patch marker makes patched() answer true. Replay skips markers that the code no longer asks
// for: the patch has become the code.
void Engine::skip_recorded_patches() {
    auto& turn = *turn_;
    while (turn.next < turn.recorded.size()) {
        const auto& event = turn.recorded[turn.next];
        const auto* const marker = std::get_if<history::PatchMarked>(&event.kind);
        if (marker == nullptr) {
            return;
        }
        rare().patches.insert_or_assign(marker->id, true);
        last_event_id_ = std::max(last_event_id_, event.event_id);
        ++turn.next;
    }
}

// Only the first report is kept: later ones are its consequences.
void Engine::report(NondeterminismReport report) {
    if (report_) {
        return;
    }
    report.orchestration = handler_->name + " " + handler_->version_text;
    report.instance = instance_;
    report.execution_id = execution_id_;
    report.advice = advice_for(report.kind);
    report_ = std::make_unique<NondeterminismReport>(std::move(report));
    turn_->queue.stop();
}

void Engine::report_missing(const HistoryEvent& event) {
    report({.kind = NondeterminismKind::missing,
            .event_id = event.event_id,
            .expected = describe(event.kind, event.source_event_id),
            .expected_location = event.location});
}

void Engine::report_corrupt(std::uint64_t event_id, std::string what) {
    report(
        {.kind = NondeterminismKind::corrupt, .event_id = event_id, .difference = std::move(what)});
}

void Engine::report_corrupt(const HistoryEvent& event, std::string what) {
    report({.kind = NondeterminismKind::corrupt,
            .event_id = event.event_id,
            .expected = describe(event.kind, event.source_event_id),
            .expected_location = event.location,
            .difference = std::move(what)});
}

void Engine::report_unmatched(std::string what) {
    report({.kind = NondeterminismKind::unmatched, .difference = std::move(what)});
}

// The engine ends the execution as failed: what the code asked for cannot be stored.
void Engine::give_up(std::string sentence) {
    if (!turn_->verdict) {
        turn_->verdict = details::Application{
            .kind = details::ApplicationKind::orchestration_failed, .message = std::move(sentence)};
        turn_->queue.stop();
    }
}

std::string_view Engine::keep(std::string_view text) {
    if (!texts_) {
        texts_ = std::make_unique<std::set<std::string, std::less<>>>();
    }
    const auto found = texts_->find(text);
    return found != texts_->end() ? *found : *texts_->emplace(text).first;
}

// Not compared with history here: a difference shows when the end is compared.
void Engine::refuse(std::string sentence) {
    record_dropped();
    if (!spoiled()) {
        give_up(printable(sentence)); // it may contain text of the user
    }
}

void Engine::remark(LogLevel level, std::string message) {
    if (!replaying_) {
        turn_->result.log.push_back(
            {.level = level, .from_user = false, .message = std::move(message)});
    }
}

} // namespace durable::replay
