// Turns of one instance, with whatever frames are in memory.

#include "property/world.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace durable::property {

namespace {

bool is_cancel(const WorkItem& item) {
    const auto* const cancel = std::get_if<work::CancelInstance>(&item);
    return cancel != nullptr && cancel->reason.starts_with(meant);
}

bool is_start(const WorkItem& item) {
    return std::holds_alternative<work::StartOrchestration>(item);
}

bool is_continuation(const WorkItem& item) {
    return std::holds_alternative<work::ContinueAsNew>(item);
}

void move_to_front(std::vector<WorkItem>& messages, bool (*wanted)(const WorkItem&)) {
    const auto found = std::ranges::find_if(messages, wanted);
    if (found != messages.end()) {
        std::rotate(messages.begin(), found, found + 1);
    }
}

void apply(Run& run, const HistoryEvent& event) {
    if (const auto* const set = std::get_if<history::KeyValueSet>(&event.kind)) {
        run.kv.insert_or_assign(
            set->key, KvEntry{.value = set->value, .last_updated_at_ms = set->last_updated_at_ms});
    } else if (const auto* const cleared = std::get_if<history::KeyValueCleared>(&event.kind)) {
        run.kv.erase(cleared->key);
    } else if (std::holds_alternative<history::KeyValuesCleared>(event.kind)) {
        run.kv.clear();
    } else if (const auto* const status = std::get_if<history::CustomStatusUpdated>(&event.kind)) {
        run.custom_status = status->status;
    }
}

bool same(const replay::TurnResult& a, const replay::TurnResult& b) {
    const auto same_line = [](const replay::LogLine& x, const replay::LogLine& y) {
        return x.level == y.level && x.from_user == y.from_user && x.message == y.message &&
               x.location == y.location;
    };
    const auto same_activity = [](const ActivityId& x, const ActivityId& y) {
        return x.execution_id == y.execution_id && x.activity_id == y.activity_id;
    };
    const auto same_read = [](const replay::KvRead& x, const replay::KvRead& y) {
        return x.id == y.id && x.instance == y.instance && x.key == y.key;
    };
    return a.status == b.status && a.output == b.output && a.details == b.details &&
           a.commit.history_delta == b.commit.history_delta &&
           a.commit.worker_items == b.commit.worker_items &&
           a.commit.orchestrator_items == b.commit.orchestrator_items &&
           a.commit.cancelled_timers == b.commit.cancelled_timers &&
           std::ranges::equal(
               a.commit.cancelled_activities, b.commit.cancelled_activities, same_activity) &&
           std::ranges::equal(a.kv_reads, b.kv_reads, same_read) &&
           std::ranges::equal(a.log, b.log, same_line) &&
           a.counters.messages == b.counters.messages && a.counters.ignored == b.counters.ignored &&
           a.counters.carried == b.counters.carried && a.counters.unread == b.counters.unread;
}

// What was meant for others, or what a clock that jumped has left behind; nullopt: neither.
std::optional<std::string> misunderstanding(const std::vector<HistoryEvent>& delta, Instant now) {
    constexpr std::uint64_t longest_ms = 60'000; // no program sleeps longer
    for (const auto& event : delta) {
        if (const auto* cancelled = std::get_if<history::OrchestrationCancelRequested>(&event.kind);
            cancelled != nullptr && !cancelled->reason.starts_with(meant)) {
            return "cancelled by somebody who meant another instance: " + cancelled->reason;
        }
        if (const auto* answer = std::get_if<history::SubOrchestrationCompleted>(&event.kind);
            answer != nullptr && answer->result == stray) {
            return "answered by the child of another life";
        }
        if (const auto* timer = std::get_if<history::TimerCreated>(&event.kind);
            timer != nullptr && timer->fire_at_ms > to_epoch_ms(now) + longest_ms) {
            return "a timer " + std::to_string(timer->fire_at_ms - to_epoch_ms(now)) +
                   " ms ahead of the turn's clock";
        }
    }
    return std::nullopt;
}

} // namespace

bool Driver::load(Run& run) {
    const auto& record = run.executions.back();
    if (!cached_) {
        cached_ = replay::Execution::create({.handler = handler_,
                                             .instance = "prop",
                                             .execution_id = run.executions.size(),
                                             .incarnation = this_life,
                                             .kv = record.kv_at_start,
                                             .limits = {}});
        if (!cached_->replay(record.history)) {
            run.trouble = "replay of " + std::to_string(record.history.size()) + " events:\n" +
                          cached_->nondeterminism()->text();
            return false;
        }
    }
    return true;
}

bool Driver::keeps_frames() {
    return frames_ == Frames::kept || (frames_ == Frames::mixed && !dice_.one_in(3));
}

void Driver::turn(Run& run, std::vector<WorkItem> messages, Instant now) {
    if (!load(run)) {
        return;
    }
    auto result = cached_->run(messages, now);
    if (frames_ == Frames::mixed && dice_.one_in(6)) { // the commit failed
        cached_.reset();
        if (!load(run)) {
            return;
        }
        auto again = cached_->run(messages, now);
        if (!same(result, again)) {
            run.trouble = "a turn that is run again has another result";
            return;
        }
        result = std::move(again);
    }
    if (result.nondeterminism) {
        run.trouble = "a turn:\n" + result.nondeterminism->text();
        return;
    }
    run.trouble = misunderstanding(result.commit.history_delta, now);
    if (run.trouble) {
        return;
    }
    auto& record = run.executions.back();
    for (const auto& event : result.commit.history_delta) {
        apply(run, event);
        record.history.push_back(event);
    }
    run.status = result.status;
    run.output = result.output;
    if (result.ended() || !keeps_frames()) {
        cached_.reset();
    }
    if (result.status == replay::TurnStatus::continued_as_new) {
        ExecutionRecord next;
        next.kv_at_start = run.kv;
        record.turns.push_back(
            {.messages = std::move(messages), .now = now, .result = std::move(result)});
        run.executions.push_back(std::move(next));
        return;
    }
    record.turns.push_back(
        {.messages = std::move(messages), .now = now, .result = std::move(result)});
}

Run run_message_by_message(const std::shared_ptr<const OrchestrationHandler>& handler,
                           const Run& recorded) {
    Driver driver{handler, Frames::evicted, 0};
    Run run;
    run.executions.emplace_back();
    for (const auto& record : recorded.executions) {
        const auto execution = run.executions.size();
        for (const auto& turn : record.turns) {
            auto messages = turn.messages;
            const bool begins = &turn == record.turns.data();
            // A cancellation that comes with the start keeps the code from running at all.
            if (begins && std::ranges::any_of(messages, is_cancel)) {
                driver.turn(run, std::move(messages), turn.now);
                continue;
            }
            // The order that run() gives them: the start, a cancellation, the others.
            move_to_front(messages, is_cancel);
            move_to_front(messages, is_start);
            move_to_front(messages, is_continuation);
            for (auto& message : messages) {
                if (run.trouble || run.executions.size() != execution ||
                    (run.status != replay::TurnStatus::running &&
                     run.status != replay::TurnStatus::continued_as_new)) {
                    break;
                }
                driver.turn(run, {std::move(message)}, turn.now);
            }
        }
    }
    return run;
}

std::string history_difference(const Run& a, const Run& b) {
    if (a.trouble || b.trouble) {
        return a.trouble.value_or("") + b.trouble.value_or("");
    }
    for (std::size_t i = 0; i < std::min(a.executions.size(), b.executions.size()); ++i) {
        const auto& x = a.executions[i].history;
        const auto& y = b.executions[i].history;
        if (x != y) {
            return "history of execution " + std::to_string(i + 1) + ":\n" + to_text(x) +
                   "against\n" + to_text(y);
        }
    }
    if (a.executions.size() != b.executions.size()) {
        return "number of executions";
    }
    return a.status != b.status                 ? "status"
           : a.output != b.output               ? "output: " + a.output + " / " + b.output
           : a.kv != b.kv                       ? "KV"
           : a.custom_status != b.custom_status ? "custom status"
                                                : "";
}

std::string difference(const Run& a, const Run& b) {
    if (auto found = history_difference(a, b); !found.empty()) {
        return found;
    }
    for (std::size_t i = 0; i < a.executions.size(); ++i) {
        const auto& x = a.executions[i].turns;
        const auto& y = b.executions[i].turns;
        for (std::size_t turn = 0; turn < x.size(); ++turn) {
            if (turn >= y.size() || !same(x[turn].result, y[turn].result)) {
                return "result of turn " + std::to_string(turn + 1) + " of execution " +
                       std::to_string(i + 1);
            }
        }
    }
    return {};
}

} // namespace durable::property
