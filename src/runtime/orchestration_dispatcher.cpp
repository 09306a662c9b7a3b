#include "runtime/orchestration_dispatcher.hpp"

#include "base/stopwatch.hpp"
#include "replay/end_execution.hpp"
#include "runtime/incoming.hpp"
#include "runtime/node.hpp"
#include "runtime/turn_commit.hpp"
#include "runtime/turn_report.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace durable::runtime {

using observability::Metric;

namespace {

constexpr Duration short_delay{1000};

// Drops a frame that belongs to a deleted instance of the same id.
std::optional<Frame> usable(std::optional<Frame> frame, const OrchestrationItem& item) {
    if (frame && (frame->incarnation != item.incarnation ||
                  frame->execution->last_event_id() < item.history_after)) {
        frame.reset();
    }
    return frame;
}

} // namespace

OrchestrationDispatcher::OrchestrationDispatcher(Node& node, std::string worker_id)
    : node_{node},
      worker_id_{std::move(worker_id)},
      slot_{node.leases.open_slot(LeaseKind::turn)},
      short_activities_{node, worker_id_} {}

StepResult OrchestrationDispatcher::step(Duration poll, const std::stop_token& stop) {
    // The promise covers the turn as well: events that the item leaves out must stay cached.
    FrameCache::Promise promise{node_.frames};
    const auto fetched = node_.provider->fetch_orchestration_item(
        {.lock_timeout = node_.options.orchestrator_lock_timeout,
         .poll_timeout = poll,
         .filter = node_.capabilities,
         .cached = [&](std::string_view instance) { return promise.lookup(instance); },
         .stop = stop,
         .code = node_.orchestration_code,
         .one_suspect = true});
    if (!fetched) {
        if (node_.turn_fetches.due(fetched.error().message, node_.clock->steady())) {
            node_.observer.log(LogLevel::warn,
                               {},
                               "cannot fetch orchestrations",
                               {{.name = "error", .value = fetched.error().message}});
        }
        return backoff_.failed(fetched.error());
    }
    backoff_.succeeded();
    node_.turn_fetches.reset();
    if (!fetched->has_value()) {
        return {.step = Step::idle};
    }
    const auto& item = **fetched;
    slot_.hold(item.lock_token,
               std::stop_source{std::nostopstate},
               {.instance = item.instance, .execution_id = item.execution_id});
    handle(item);
    slot_.release();
    return {.step = Step::worked, .short_activity = std::exchange(short_activity_, std::nullopt)};
}

void OrchestrationDispatcher::handle(const OrchestrationItem& item) {
    // P7: attempts are counted before the turn runs, so those that killed their process count too.
    if (item.attempt_count > node_.options.max_attempts) {
        poison(item);
        return;
    }
    if (item.history_error) {
        node_.observer.log(LogLevel::error,
                           where_of(item),
                           "the history cannot be read",
                           {{.name = "error", .value = *item.history_error}});
        node_.diagnostics.remember(item.instance, *item.history_error);
        give_back(node_,
                  item,
                  {.delay = short_delay,
                   .count_attempt = true,
                   .parked = "its history cannot be read: " + *item.history_error});
        return;
    }
    auto frame = usable(node_.frames.take(item.instance, item.execution_id), item);
    if (const auto* end = replay::terminal_event(item.history)) {
        meet_ended(item, *end);
        return;
    }
    Turn turn{.item = item, .execution_id = item.execution_id, .history = item.history};
    if (!frame && item.history_after > 0) {
        // The provider left out events that no cached frame has: a defect. The next fetch reports
        // no frame and gets all events.
        give_back(node_, item, {});
        return;
    }
    if (!frame && item.history.empty()) {
        turn.start = find_start(item.messages);
        if (turn.start == nullptr) {
            drop(item, "unknown_instance");
            return;
        }
    }
    run(turn, std::move(frame));
}

void OrchestrationDispatcher::run(const Turn& turn, std::optional<Frame> cached) {
    const Stopwatch watch;
    const auto& item = turn.item;
    if (item.attempt_count > suspect_after) {
        log_suspect(
            node_, where_of(item), "orchestration", item.orchestration_name, item.attempt_count);
    }
    node_.observer.count(Metric::frame_cache_lookups, {cached ? "hit" : "miss"});
    auto frame = load(turn, std::move(cached));
    if (!frame) {
        return;
    }
    const auto& handler = *frame->execution->handler();
    const auto span = node_.observer.span({.kind = SpanKind::turn,
                                           .name = handler.name,
                                           .instance = item.instance,
                                           .execution_id = turn.execution_id,
                                           .turn = frame->turns + 1,
                                           .attempt = item.attempt_count});
    auto result = frame->execution->run(item.messages, node_.clock->now());
    if (span) {
        span->set_outcome(name_of(result.status));
    }
    if (result.status == replay::TurnStatus::nondeterministic) {
        frame.reset(); // its state differs from the history: it never runs again
        meet_nondeterminism(turn, *result.nondeterminism);
        return;
    }
    frame->turns += result.commit.history_delta.empty() ? 0U : 1U;
    mark_turn(result.commit.history_delta, frame->turns);
    if (!fill_in(turn, result) || commit_turn(node_, item, result.commit) != Committed::yes) {
        return; // the frame is ahead of the store: it is destroyed here
    }
    report_turn(node_,
                {.instance = item.instance,
                 .execution_id = turn.execution_id,
                 .orchestration = handler.name,
                 .version = handler.version_text},
                *frame,
                result,
                watch.seconds());
    after_commit(turn, *std::move(frame), result);
}

std::optional<Frame> OrchestrationDispatcher::load(const Turn& turn, std::optional<Frame> cached) {
    if (!cached) {
        const auto* started = started_in(turn.history);
        // T-18: once an execution has begun, its history alone says which code it runs.
        const auto wanted = started != nullptr
                                ? Wanted{.name = started->name, .version = started->version}
                                : wanted_by(*turn.start);
        if (started != nullptr) {
            const auto& pinned = turn.history.front().engine_version;
            const auto version = Version::parse(pinned);
            if (version && !node_.capabilities.matches(*version)) {
                leave_incompatible(turn.item, pinned);
                return std::nullopt;
            }
        }
        std::optional<Version> version;
        if (wanted.version) {
            version = Version::parse(*wanted.version);
        }
        auto handler = wanted.version && !version
                           ? nullptr // not a version: no registry can have it
                           : node_.registry.find_orchestration(wanted.name, version);
        if (!handler) {
            leave_unregistered(turn, wanted.name, wanted.version.value_or(""));
            return std::nullopt;
        }
        cached = Frame{.execution = replay::Execution::create({.handler = std::move(handler),
                                                               .instance = turn.item.instance,
                                                               .execution_id = turn.execution_id,
                                                               .incarnation = turn.item.incarnation,
                                                               .kv = turn.item.kv_snapshot,
                                                               .limits = node_.options.limits})};
    }
    auto& frame = *cached;
    // A provider that ignores FetchOrchestration::cached also sends events that the frame has.
    const auto known = frame.execution->last_event_id();
    const auto fresh = std::ranges::find_if(
        turn.history, [&](const HistoryEvent& event) { return event.event_id > known; });
    const std::span<const HistoryEvent> missed{fresh, turn.history.end()};
    if (!missed.empty()) {
        frame.execution->replay(missed); // a difference shows in the result of run()
        frame.turns = std::max(frame.turns, last_turn(missed));
        if (node_.observer.has_metrics()) {
            follow_children(frame, missed);
        }
    }
    if (frame.started_at_ms == 0) {
        frame.started_at_ms = turn.history.empty() ? to_epoch_ms(node_.clock->now())
                                                   : turn.history.front().timestamp_ms;
    }
    frame.incarnation = turn.item.incarnation;
    return cached;
}

bool OrchestrationDispatcher::fill_in(const Turn& turn, replay::TurnResult& result) {
    auto& commit = result.commit;
    commit.lock_token = turn.item.lock_token;
    for (const auto& read : result.kv_reads) {
        // P9: a reader sees both layers.
        const auto value = node_.provider->get_kv_value(read.instance, read.key);
        if (!value) {
            node_.observer.log(LogLevel::warn,
                               where_of(turn.item),
                               "cannot read the KV of another instance, will try again",
                               {{.name = "of", .value = read.instance},
                                {.name = "error", .value = value.error().message}});
            node_.observer.count(Metric::turns_discarded, {"kv_read"});
            give_back(node_,
                      turn.item,
                      {.delay = short_delay, .count_attempt = !value.error().retryable()});
            return false;
        }
        commit.orchestrator_items.emplace_back(
            work::ActivityCompleted{.instance = turn.item.instance,
                                    .execution_id = turn.execution_id,
                                    .id = read.id,
                                    .result = replay::kv_read_result(*value)});
    }
    return true;
}

// T-05: another parent may have chosen this id; it must not wait for ever. After a turn that ran,
// the engine has answered it already.
bool OrchestrationDispatcher::answer_starts(const Turn& turn, replay::TurnResult& result) {
    auto& commit = result.commit;
    if (find_message<work::StartOrchestration>(turn.item.messages) == nullptr) {
        return true;
    }
    std::optional<std::vector<HistoryEvent>> whole;
    const auto* existing = started_in(commit.history_delta);
    if (existing == nullptr) {
        whole = whole_history(turn);
        if (!whole) {
            return false;
        }
        existing = started_in(*whole);
    }
    if (existing == nullptr) {
        return true;
    }
    const auto link = replay::parent_link(*existing);
    for (const auto& message : turn.item.messages) {
        const auto* start = std::get_if<work::StartOrchestration>(&message);
        if (start == nullptr) {
            continue;
        }
        if (auto answer = replay::answer_to_second_start(*start, link ? &*link : nullptr)) {
            commit.orchestrator_items.push_back(*std::move(answer));
        }
    }
    return true;
}

void OrchestrationDispatcher::after_commit(const Turn& turn,
                                           Frame frame,
                                           const replay::TurnResult& result) {
    node_.activities.cancel(result.commit.cancelled_activities, turn.item.incarnation);
    node_.parked.leave(turn.item.instance);
    if (!result.ended()) {
        node_.frames.put(std::move(frame));
    }
    const bool has_short =
        node_.options.activity_threads != 0U &&
        std::ranges::any_of(result.commit.worker_items, [&](const WorkItem& item) {
            return node_.registry.is_short(std::get<work::ActivityExecute>(item).name);
        });
    if (has_short) {
        slot_.release(); // the commit has ended the lease
        short_activity_ = short_activities_.run_short();
    }
}

std::optional<std::vector<HistoryEvent>> OrchestrationDispatcher::whole_history(const Turn& turn) {
    if (turn.item.history_after == 0 || turn.execution_id != turn.item.execution_id) {
        return std::vector<HistoryEvent>{turn.history.begin(), turn.history.end()};
    }
    auto history = node_.provider->read_with_execution(turn.item.instance, turn.item.execution_id);
    if (!history) {
        node_.observer.log(LogLevel::warn,
                           where_of(turn.item),
                           "cannot read the history, will try again",
                           {{.name = "error", .value = history.error().message}});
        give_back(node_,
                  turn.item,
                  {.delay = short_delay, .count_attempt = !history.error().retryable()});
        return std::nullopt;
    }
    return *std::move(history);
}

} // namespace durable::runtime
