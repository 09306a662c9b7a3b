#include "replay/engine.hpp"

#include "replay/end_execution.hpp"
#include "replay/failure.hpp"
#include "replay/rules.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <variant>

namespace durable::replay {

namespace {

// Rough overhead of the heap for an object, and of a map for an entry.
constexpr std::size_t heap_overhead = 16;
constexpr std::size_t entry_overhead = 48;

bool is_start(const WorkItem& item) noexcept {
    return std::holds_alternative<work::StartOrchestration>(item) ||
           std::holds_alternative<work::ContinueAsNew>(item);
}

const WorkItem* find(std::span<const WorkItem> messages, bool (*wanted)(const WorkItem&)) {
    const auto found = std::ranges::find_if(messages, wanted);
    return found == messages.end() ? nullptr : &*found;
}

// The message that begins an execution. After the first one only ContinueAsNew can: a client's
// start that overtakes it must not begin the instance anew (T-18).
const WorkItem* find_start(std::span<const WorkItem> messages, std::uint64_t execution_id) {
    const auto* const next = find(messages, [](const WorkItem& item) {
        return std::holds_alternative<work::ContinueAsNew>(item);
    });
    return next != nullptr || execution_id > 1 ? next : find(messages, is_start);
}

} // namespace

// Its end leaves no coroutine in the queue: a lost turn destroys the frames.
class Engine::TurnScope {
 public:
    TurnScope(Engine& engine, Turn& turn, bool replaying) noexcept : engine_{engine} {
        engine_.turn_ = &turn;
        engine_.replaying_ = replaying;
    }
    TurnScope(const TurnScope&) = delete;
    TurnScope& operator=(const TurnScope&) = delete;
    ~TurnScope() {
        if (engine_.report_ || !engine_.turn_->queue.empty()) {
            engine_.inert_ = true;
            engine_.root_.reset();
            engine_.forget_calls();
        }
        engine_.replaying_ = false;
        engine_.turn_ = nullptr;
    }

 private:
    Engine& engine_;
};

Engine::Engine(ExecutionSetup setup)
    : handler_{std::move(setup.handler)},
      instance_{std::move(setup.instance)},
      execution_id_{setup.execution_id},
      incarnation_{setup.incarnation},
      limits_{setup.limits},
      kv_known_{setup.kv_known} {
    if (!setup.kv.empty()) {
        kv_ = std::make_unique<KvSnapshot>(std::move(setup.kv));
    }
}

Engine::~Engine() = default;

bool Engine::close() noexcept {
    // Destructors in the frames may use their context: it must find its engine.
    const detail::RunQueue frames_end{*this};
    inert_ = true;
    root_.reset();
    forget_calls();
    abandoned_ = live_slots_ != 0;
    return !abandoned_;
}

bool Engine::replay(std::span<const HistoryEvent> history, ReplayMode mode) {
    if (report_ || history.empty()) {
        return report_ == nullptr;
    }
    Turn turn{*this};
    turn.recorded = history;
    const TurnScope scope{*this, turn, true};
    const auto* const end = terminal_event(history);
    if (ended_ || (end != nullptr && end != &history.back())) {
        const auto& after = ended_ ? history.front() : *std::next(end);
        report_corrupt(after,
                       "corrupted history: " + describe(after.kind, after.source_event_id) +
                           " after the end");
        return false;
    }
    if (mode == ReplayMode::resume && end != nullptr) {
        last_event_id_ = history.back().event_id;
        ended_ = true;
        return true;
    }
    if (given_up(history)) {
        // The runtime made this end, so it is not compared with the code. With the start alone
        // before it, no turn of the code was ever stored.
        turn.recorded = before_given_up(history);
        if (turn.recorded.size() > 1) {
            replay_events();
        }
        return report_ == nullptr;
    }
    replay_events();
    return report_ == nullptr;
}

void Engine::replay_events() {
    auto& turn = *turn_;
    while (turn.next < turn.recorded.size() && !report_) {
        skip_recorded_patches();
        if (turn.next == turn.recorded.size()) {
            return;
        }
        const auto& event = turn.recorded[turn.next];
        if (!started_ && !std::holds_alternative<history::OrchestrationStarted>(event.kind)) {
            report_corrupt(event,
                           "corrupted history: first event must be OrchestrationStarted, not " +
                               std::string{type_name(event.kind)});
            return;
        }
        if (is_decision(event.kind)) {
            report_missing(event);
            return;
        }
        ++turn.next;
        last_event_id_ = std::max(last_event_id_, event.event_id);
        now_ms_ = event.timestamp_ms;
        apply(event);
        // Cancelled before it ran: code that runs makes a decision before it can be cancelled.
        const bool never_ran = std::holds_alternative<history::OrchestrationStarted>(event.kind) &&
                               turn.next < turn.recorded.size() &&
                               std::holds_alternative<history::OrchestrationCancelRequested>(
                                   turn.recorded[turn.next].kind);
        if (never_ran) {
            root_.reset();
        }
        come_to_rest();
    }
}

TurnResult Engine::run(std::span<const WorkItem> messages, Instant now) {
    Turn turn{*this};
    const TurnScope scope{*this, turn, false};
    const auto before = std::exchange(now_ms_, std::max(now_ms_, to_epoch_ms(now)));
    turn.ahead_ms = now_ms_ - to_epoch_ms(now);
    if (last_event_id_ == 0) {
        begin(messages);
    } else if (!report_) {
        process_all(messages, nullptr);
    }
    // A turn without events leaves the time as it was: a replay could not know it.
    if (turn.result.commit.history_delta.empty()) {
        now_ms_ = before;
    }
    return finish();
}

void Engine::begin(std::span<const WorkItem> messages) {
    const auto* const start = find_start(messages, execution_id_);
    if (start == nullptr) {
        report_corrupt(0, "corrupted history: empty, and no message starts the execution");
        return;
    }
    auto started = started_event(*start, handler_->version_text);
    started.rules = current_rules;
    auto& metadata = turn_->result.commit.metadata;
    metadata.orchestration_name = handler_->name;
    metadata.orchestration_version = handler_->version_text;
    metadata.parent_instance_id = started.parent_instance;
    metadata.pinned_version = engine_version();

    append_message(std::move(started), std::nullopt);
    // A cancellation among the first messages comes first: then the code never runs.
    if (find_cancel(messages) != nullptr) {
        root_.reset();
    }
    come_to_rest();
    process_all(messages, start);
}

void Engine::process_all(std::span<const WorkItem> messages, const WorkItem* start) {
    const auto* const cancel = find_cancel(messages);
    if (cancel != nullptr && !ended_) {
        process(*cancel);
    }
    for (const auto& message : messages) {
        if (report_) {
            return;
        }
        if (&message == start || (&message == cancel && ended_)) {
            continue;
        }
        if (ended_) {
            pass_on(message);
        } else if (&message != cancel) {
            process(message);
        }
    }
}

void Engine::run_to_rest() {
    do {
        turn_->queue.drain();
        if (!spoiled()) {
            record_dropped();
            begin_undos();
        }
    } while (!spoiled() && !turn_->queue.empty());
}

// After each message: runs the code until it waits, and ends the execution when it is done.
void Engine::come_to_rest() {
    run_to_rest();
    while (!report_ && !ended_) {
        if (turn_->verdict) {
            fail_with(*std::exchange(turn_->verdict, std::nullopt));
        } else if (cancellation_is_due()) {
            fail_with(cancelled(*std::exchange(rare_->cancellation, std::nullopt)));
        } else if (root_.exists() && root_.ready()) {
            if (!conclude() && turn_->queue.empty()) {
                break;
            }
        } else if (continues()) {
            if (!end_continued() && turn_->queue.empty()) {
                break;
            }
        } else {
            break;
        }
        run_to_rest(); // compensations and undos may have begun
    }
    if (!report_ && !ended_ && root_.exists() && armed_steps == 0) {
        std::string difference = "the orchestration is unfinished but waits for no step";
        if (rare_ && !rare_->lost_wait.empty()) {
            difference += ": " + rare_->lost_wait +
                          " was cancelled or destroyed while a coroutine waited for it";
        }
        report({.kind = NondeterminismKind::stuck, .difference = std::move(difference)});
    }
}

// Also outside of turns: destructors in the user's frames may use the context while an execution is
// evicted, and must not decide anything.
bool Engine::spoiled() const noexcept {
    return turn_ == nullptr || inert_ || report_ != nullptr || ended_ || turn_->verdict.has_value();
}

TurnResult Engine::finish() {
    if (report_) {
        TurnResult lost;
        lost.status = TurnStatus::nondeterministic;
        lost.nondeterminism = *report_;
        lost.log = std::move(turn_->result.log);
        return lost;
    }
    auto& result = turn_->result;
    if (turn_->successor) {
        if (result.counters.carried > 0) {
            remark(LogLevel::debug,
                   std::to_string(result.counters.carried) +
                       " unread messages are carried into the next execution");
        }
        auto& next = *turn_->successor;
        if (next.carry_forward_events.empty() || !next.carry_forward_raised) {
            next.carry_forward_order.clear(); // of one kind: its list is the order
        }
        result.commit.orchestrator_items.emplace_back(std::move(next));
    }
    result.commit.execution_id = execution_id_;
    stamp(result.commit, instance_, incarnation_);
    return std::move(result);
}

std::size_t Engine::memory_bytes() const noexcept {
    std::size_t bytes = sizeof(*this) + instance_.capacity() + steps_.memory_bytes();
    bytes += static_cast<std::size_t>(std::max<std::ptrdiff_t>(frame_bytes, 0));
    bytes += live_slots_ * (sizeof(detail::Slot) + heap_overhead);
    if (mailboxes_) {
        bytes += mailboxes_->memory_bytes();
    }
    if (kv_) {
        for (const auto& [key, entry] : *kv_) {
            bytes += entry_overhead + sizeof(key) + sizeof(entry) + key.capacity() +
                     entry.value.capacity();
        }
    }
    if (texts_) {
        for (const auto& text : *texts_) {
            bytes += entry_overhead + sizeof(text) + text.capacity();
        }
    }
    return bytes;
}

RareState& Engine::rare() {
    if (!rare_) {
        rare_ = std::make_unique<RareState>();
    }
    return *rare_;
}

} // namespace durable::replay
