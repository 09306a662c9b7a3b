#include "property/world.hpp"

#include <durable/codec.hpp>

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

namespace durable::property {

namespace {

using validation::Dice;

constexpr std::uint64_t start_ms = 1'700'000'000'000;
constexpr std::uint64_t parents_life = 5;
constexpr std::size_t patience = 60;     // turns until the instance is cancelled
constexpr std::size_t last_turn = 2'000; // by then it must have ended

struct Pending {
    WorkItem item;
    std::uint64_t visible_at_ms = 0;
};

// Timers fire by the clock on the wall, whatever time has passed.
bool by_the_wall(const Pending& each) {
    return std::holds_alternative<work::TimerFired>(each.item);
}

class World {
 public:
    World(std::shared_ptr<const OrchestrationHandler> handler, std::uint64_t seed, Frames frames)
        : dice_{seed}, driver_{std::move(handler), frames, ~seed} {}

    Run live();

 private:
    [[nodiscard]] WorkItem first_message();
    [[nodiscard]] std::vector<WorkItem> draw_messages();
    void happen();
    void misdirect();
    void set_the_clock();
    void wait_for_something();
    void deliver(const std::vector<WorkItem>& messages);
    void follow(const replay::TurnResult& result);
    void follow(const WorkItem& item);
    void answer(const work::ActivityExecute& item);
    void answer(const work::StartOrchestration& child);
    void forget_cancelled(const TurnCommit& commit);
    [[nodiscard]] ErrorDetails draw_failure();
    // When the message will be there, in time that passes.
    [[nodiscard]] std::uint64_t due(const Pending& each) const {
        if (!by_the_wall(each)) {
            return each.visible_at_ms;
        }
        // A copy of a timer that has fired is there at once, whatever the wall shows.
        const auto moment = static_cast<std::int64_t>(each.visible_at_ms) - ahead_ms_;
        return moment < 0 ? 0 : static_cast<std::uint64_t>(moment);
    }
    void send(WorkItem item, std::uint64_t visible_at_ms = 0) {
        pending_.push_back({.item = std::move(item), .visible_at_ms = visible_at_ms});
    }

    Dice dice_;
    Driver driver_;
    Run run_;
    std::vector<Pending> pending_;
    std::vector<WorkItem> delivered_; // of which some come again
    std::optional<WorkItem> start_;
    std::uint64_t now_ms_ = start_ms;
    std::int64_t ahead_ms_ = 0; // what the clock on the wall shows more
    bool is_child_ = false;
    std::size_t turns_ = 0;
    std::size_t raised_ = 0;
};

WorkItem World::first_message() {
    work::StartOrchestration start{
        .instance = "prop", .orchestration = "Program", .input = "input"};
    if (dice_.one_in(3)) {
        start.parent_instance = "parent";
        start.parent_id = 7;
        start.parent_execution_id = 2;
        start.parent_incarnation = parents_life;
        is_child_ = true;
    }
    return start;
}

ErrorDetails World::draw_failure() {
    switch (dice_.below(4)) {
    case 0:
        return details::Infrastructure{.operation = "op", .message = "lost", .retryable = true};
    case 1:
        return details::Configuration{
            .resource = "activity", .has_message = true, .message = "not registered"};
    default:
        return details::Application{.message = "broken " + std::to_string(dice_.below(3)),
                                    .retryable = dice_.one_in(2)};
    }
}

void World::answer(const work::ActivityExecute& item) {
    if (dice_.one_in(4)) {
        send(work::ActivityFailed{.instance = item.instance,
                                  .execution_id = item.execution_id,
                                  .id = item.id,
                                  .details = draw_failure()},
             now_ms_ + dice_.below(6'000));
    } else {
        send(work::ActivityCompleted{.instance = item.instance,
                                     .execution_id = item.execution_id,
                                     .id = item.id,
                                     .result = item.name + "#" + std::to_string(dice_.below(100))},
             now_ms_ + dice_.below(6'000));
    }
}

void World::answer(const work::StartOrchestration& child) {
    if (!child.parent_id) {
        return; // detached
    }
    if (child.instance == "prop") {
        send(child); // it has called itself
        return;
    }
    if (child.instance.starts_with("p") && child.instance.size() == 2 && dice_.one_in(2)) {
        send(work::SubOrchFailed{
            .parent_instance = "prop",
            .parent_execution_id = *child.parent_execution_id,
            .parent_id = *child.parent_id,
            .details =
                details::Application{.kind = details::ApplicationKind::orchestration_failed,
                                     .message = "instance '" + child.instance + "' already exists"},
            .parent_incarnation = child.parent_incarnation});
        return;
    }
    if (dice_.one_in(4)) {
        send(work::SubOrchFailed{.parent_instance = "prop",
                                 .parent_execution_id = *child.parent_execution_id,
                                 .parent_id = *child.parent_id,
                                 .details = draw_failure(),
                                 .parent_incarnation = child.parent_incarnation},
             now_ms_ + dice_.below(6'000));
    } else {
        send(work::SubOrchCompleted{.parent_instance = "prop",
                                    .parent_execution_id = *child.parent_execution_id,
                                    .parent_id = *child.parent_id,
                                    .result = "child " + std::to_string(dice_.below(100)),
                                    .parent_incarnation = child.parent_incarnation},
             now_ms_ + dice_.below(6'000));
    }
}

// What the instance sent, to itself and to others.
void World::follow(const WorkItem& item) {
    if (const auto* const timer = std::get_if<work::TimerFired>(&item)) {
        send(item, timer->fire_at_ms);
    } else if (const auto* const child = std::get_if<work::StartOrchestration>(&item)) {
        answer(*child);
    } else if (std::holds_alternative<work::ContinueAsNew>(item)) {
        start_ = item;
    } else if (target_instance(item) == "prop") {
        send(item);
    }
}

// Mostly what was cancelled does not come any more. Sometimes it was too late.
void World::forget_cancelled(const TurnCommit& commit) {
    std::erase_if(pending_, [&](const Pending& each) {
        const auto* const timer = std::get_if<work::TimerFired>(&each.item);
        const bool cancelled_timer =
            timer != nullptr && timer->execution_id == commit.execution_id &&
            std::ranges::find(commit.cancelled_timers, timer->id) != commit.cancelled_timers.end();
        const auto* const activity = std::get_if<work::ActivityCompleted>(&each.item);
        const bool cancelled_activity =
            activity != nullptr &&
            std::ranges::any_of(commit.cancelled_activities, [&](const ActivityId& id) {
                return id.activity_id == activity->id && id.execution_id == activity->execution_id;
            });
        return (cancelled_timer || cancelled_activity) && !dice_.one_in(4);
    });
}

void World::follow(const replay::TurnResult& result) {
    for (const auto& item : result.commit.worker_items) {
        answer(std::get<work::ActivityExecute>(item));
    }
    for (const auto& item : result.commit.orchestrator_items) {
        follow(item);
    }
    for (const auto& read : result.kv_reads) {
        const auto value = dice_.one_in(3) ? std::nullopt : std::optional<std::string>{"value"};
        send(work::ActivityCompleted{.instance = "prop",
                                     .execution_id = result.commit.execution_id,
                                     .id = read.id,
                                     .result = replay::kv_read_result(value)});
    }
    forget_cancelled(result.commit);
}

// What happens without being asked for.
void World::happen() {
    const auto number = std::to_string(++raised_);
    if (dice_.one_in(4)) {
        send(work::ExternalRaised{
            .instance = "prop", .name = dice_.one_in(2) ? "E0" : "E1", .data = "event " + number});
    }
    if (dice_.one_in(4)) {
        send(work::QueueMessage{
            .instance = "prop", .name = dice_.one_in(2) ? "Q0" : "Q1", .data = "mail " + number});
    }
    if (dice_.one_in(6) && !delivered_.empty()) {
        send(delivered_[dice_.below(delivered_.size())]);
    }
    if (dice_.one_in(12)) {
        send(work::StartOrchestration{
            .instance = "prop", .orchestration = "Program", .input = "again"});
    }
    if (turns_ > patience ? turns_ % 10 == 0 : dice_.one_in(150)) {
        work::CancelInstance cancel{.instance = "prop", .reason = std::string{meant} + number};
        if (is_child_ && dice_.one_in(2)) {
            cancel.parent_instance = "parent";
            cancel.parent_execution_id = 2;
            cancel.parent_id = 7;
            cancel.parent_incarnation = parents_life;
        }
        send(std::move(cancel));
    }
    if (dice_.one_in(8)) {
        misdirect();
    }
    if (dice_.one_in(25)) {
        set_the_clock();
    }
}

// Messages that have the id of the instance and are meant for another: for one that had it before,
// or for a child that a parent wanted to start under it.
void World::misdirect() {
    const auto execution = run_.executions.size();
    const auto& history = run_.executions.back().history;
    switch (dice_.below(5)) {
    case 0: // the parent, if it has one, but not its call
        send(work::CancelInstance{.instance = "prop",
                                  .reason = "a stranger's",
                                  .parent_instance = dice_.one_in(2) ? "parent" : "prop",
                                  .parent_execution_id = 1 + dice_.below(3),
                                  .parent_id = 20 + dice_.below(3),
                                  .parent_incarnation = parents_life});
        break;
    case 1: // the call, but of another life of the parent
        send(work::CancelInstance{.instance = "prop",
                                  .reason = "a stranger's",
                                  .parent_instance = "parent",
                                  .parent_execution_id = 2,
                                  .parent_id = 7,
                                  .parent_incarnation = parents_life - 1});
        break;
    case 2:
        send(work::CancelInstance{
            .instance = "prop", .reason = "a former life's", .incarnation = this_life - 1});
        break;
    case 3:
        send(work::SubOrchCompleted{.parent_instance = "prop",
                                    .parent_execution_id = execution,
                                    .parent_id = 1 + dice_.below(12),
                                    .result = std::string{stray},
                                    .parent_incarnation = this_life - 1});
        break;
    default: // sent by an older version: nothing tells but that the step is none of a child
        const auto place = dice_.below(history.size() + 1);
        const auto none = place == history.size();
        if (none ||
            !std::holds_alternative<history::SubOrchestrationScheduled>(history[place].kind)) {
            send(work::SubOrchCompleted{.parent_instance = "prop",
                                        .parent_execution_id = execution,
                                        .parent_id = none ? 10'000 : history[place].event_id,
                                        .result = std::string{stray}});
        }
    }
}

// As an operator does, or a machine that was asleep: to another day, and mostly back again.
void World::set_the_clock() {
    constexpr std::int64_t day_ms = 86'400'000;
    if (ahead_ms_ != 0 && !dice_.one_in(3)) {
        ahead_ms_ = 0;
        return;
    }
    ahead_ms_ = static_cast<std::int64_t>(dice_.below(2 * day_ms)) - day_ms;
}

// Nothing to do now: time passes, or a client raises an event that the instance may be waiting for.
void World::wait_for_something() {
    const auto when = [this](const Pending& each) { return due(each); };
    const auto next = std::ranges::min_element(pending_, {}, when);
    if (next != pending_.end()) {
        now_ms_ = std::max(now_ms_, due(*next));
        return;
    }
    constexpr std::array names{"E0", "E1", "Q0", "Q1"};
    const auto* const name = dice_.pick(names);
    if (name[0] == 'E') {
        send(work::ExternalRaised{.instance = "prop", .name = name, .data = "at last"});
    } else {
        send(work::QueueMessage{.instance = "prop", .name = name, .data = "at last"});
    }
}

// Some of what is visible, in any order.
std::vector<WorkItem> World::draw_messages() {
    std::vector<WorkItem> messages;
    const auto most = 1 + dice_.below(4);
    while (messages.size() < most) {
        std::vector<std::size_t> visible;
        for (std::size_t i = 0; i < pending_.size(); ++i) {
            if (due(pending_[i]) <= now_ms_) {
                visible.push_back(i);
            }
        }
        if (visible.empty()) {
            break;
        }
        const auto chosen =
            pending_.begin() + static_cast<std::ptrdiff_t>(visible[dice_.below(visible.size())]);
        messages.push_back(std::move(chosen->item));
        pending_.erase(chosen);
    }
    if (start_) {
        const auto place = static_cast<std::ptrdiff_t>(dice_.below(messages.size() + 1));
        messages.insert(messages.begin() + place, *std::exchange(start_, std::nullopt));
    }
    return messages;
}

void World::deliver(const std::vector<WorkItem>& messages) {
    for (const auto& message : messages) {
        if (!std::holds_alternative<work::StartOrchestration>(message) &&
            !std::holds_alternative<work::ContinueAsNew>(message) &&
            !std::holds_alternative<work::CancelInstance>(message)) {
            delivered_.push_back(message);
        }
    }
    // Clocks of different machines disagree a little.
    const auto behind = dice_.one_in(5) ? dice_.below(2'000) : 0;
    const auto execution = run_.executions.size() - 1;
    driver_.turn(
        run_, messages, from_epoch_ms(now_ms_ + static_cast<std::uint64_t>(ahead_ms_) - behind));
    if (!run_.trouble) {
        follow(run_.executions[execution].turns.back().result);
    }
}

Run World::live() {
    run_.executions.emplace_back();
    start_ = first_message();
    while (!run_.trouble && (run_.status == replay::TurnStatus::running ||
                             run_.status == replay::TurnStatus::continued_as_new)) {
        if (++turns_ > last_turn) {
            run_.trouble = "the program does not end";
            break;
        }
        happen();
        if (!start_) {
            wait_for_something();
        }
        deliver(draw_messages());
        now_ms_ += dice_.below(1'500);
    }
    return std::move(run_);
}

} // namespace

Run run_in_world(const std::shared_ptr<const OrchestrationHandler>& handler,
                 std::uint64_t seed,
                 Frames frames) {
    return World{handler, seed, frames}.live();
}

std::string to_text(const std::vector<HistoryEvent>& history) {
    std::string text;
    for (const auto& event : history) {
        text += "  " + encode(event).value() + "\n";
    }
    return text;
}

} // namespace durable::property
