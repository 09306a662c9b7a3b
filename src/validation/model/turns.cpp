#include "validation/model/turns.hpp"

#include <optional>
#include <string_view>
#include <utility>

namespace durable::validation {

namespace {

const std::array<std::string, 5> instances = {"a", "b", "a::sub::1_2", "A", ""};
constexpr std::array<std::string_view, 3> keys = {"k1", "k2", ""};
constexpr std::array<std::string_view, 3> values = {"v", "", "a longer value \xC3\xA9"};
constexpr std::array<std::int64_t, 8> durations = {0, 1, 10, 50, 100, 1000, 5000, 30000};
constexpr std::array<std::string_view, 3> labels = {"gpu", "cpu", ""};
constexpr std::array<std::string_view, 2> session_ids = {"s1", "s2"};
constexpr std::array<std::string_view, 2> orchestrations = {"Orch", "Other"};
constexpr std::array<std::string_view, 2> versions = {"1.0.0", "2.0.0"};
constexpr std::array<std::string_view, 2> activities = {"Work", "Play"};
constexpr std::array<std::string_view, 2> reasons = {"no code", "another reason"};

template <std::size_t N>
std::string word(Dice& dice, const std::array<std::string_view, N>& choices) {
    return std::string{dice.pick(choices)};
}

std::optional<std::string> maybe(Dice& dice, std::string value) {
    return dice.one_in(2) ? std::optional{std::move(value)} : std::nullopt;
}

ErrorDetails draw_details(Dice& dice) {
    return details::Application{.message = word(dice, values), .retryable = dice.one_in(2)};
}

history::Kind draw_kind(Dice& dice, Instant now) {
    switch (dice.below(9)) {
    case 0:
        return history::OrchestrationStarted{
            .name = "Orch",
            .version = "1.0.0",
            .input = word(dice, values),
            .carry_forward_events = std::vector<CarriedMessage>(dice.below(3)),
            .carry_forward_raised = std::vector<CarriedMessage>(dice.below(2))};
    case 1:
        return history::ActivityScheduled{.name = "Work", .input = word(dice, values)};
    case 2:
        return history::CustomStatusUpdated{.status = maybe(dice, word(dice, values))};
    case 3:
    case 4:
    case 5:
        return history::KeyValueSet{.key = word(dice, keys),
                                    .value = word(dice, values),
                                    .last_updated_at_ms = to_epoch_ms(now)};
    case 6:
        return history::KeyValueCleared{.key = word(dice, keys)};
    case 7:
        return history::KeyValuesCleared{};
    default:
        return history::ExternalSubscribed{.name = "e"};
    }
}

ExecutionMetadata draw_metadata(Dice& dice) {
    constexpr std::array statuses = {ExecutionStatus::running,
                                     ExecutionStatus::completed,
                                     ExecutionStatus::failed,
                                     ExecutionStatus::continued_as_new};
    ExecutionMetadata metadata;
    if (dice.one_in(4)) {
        metadata.status = dice.pick(statuses);
        metadata.output = maybe(dice, word(dice, values));
    }
    if (dice.one_in(60)) {
        metadata.status = ExecutionStatus::pending; // must be refused
    }
    if (!dice.one_in(4)) {
        metadata.orchestration_name = dice.one_in(2) ? "Orch" : "Other";
        metadata.orchestration_version = maybe(dice, dice.one_in(2) ? "1.0.0" : "2.0.0");
    }
    if (dice.one_in(3)) {
        metadata.parent_instance_id = draw_instance(dice);
    }
    if (dice.one_in(3)) {
        metadata.pinned_version = Version{.major = 1 + dice.below(2)};
    }
    return metadata;
}

} // namespace

std::span<const std::string> world() {
    return instances;
}

const std::string& draw_instance(Dice& dice) {
    return dice.pick(instances);
}

Duration draw_duration(Dice& dice) {
    return Duration{dice.pick(durations)};
}

std::string draw_owner(Dice& dice) {
    return dice.one_in(2) ? "worker-1" : "worker-2";
}

work::StartOrchestration draw_start(Dice& dice) {
    return {.instance = draw_instance(dice),
            .orchestration = word(dice, orchestrations),
            .input = word(dice, values),
            .version = maybe(dice, word(dice, versions)),
            .parent_instance = dice.one_in(3) ? std::optional{draw_instance(dice)} : std::nullopt};
}

std::shared_ptr<const OrchestrationCode> draw_code(Dice& dice) {
    if (!dice.one_in(3)) {
        return nullptr;
    }
    auto code = std::make_shared<OrchestrationCode>();
    for (auto count = dice.below(3); count > 0; --count) {
        auto& known = code->versions[word(dice, orchestrations)];
        for (auto more = dice.below(3); more > 0; --more) {
            known.insert(word(dice, versions));
        }
    }
    if (dice.one_in(2)) {
        code->cancelled_for = draw_duration(dice);
    }
    return code;
}

std::shared_ptr<const std::set<std::string, std::less<>>> draw_activity_names(Dice& dice) {
    if (!dice.one_in(3)) {
        return nullptr;
    }
    std::set<std::string, std::less<>> names;
    for (auto count = dice.below(3); count > 0; --count) {
        names.insert(word(dice, activities));
    }
    return std::make_shared<const std::set<std::string, std::less<>>>(std::move(names));
}

AbandonTurn draw_abandon(Dice& dice) {
    AbandonTurn abandon;
    if (!dice.one_in(3)) {
        abandon.delay = draw_duration(dice);
    }
    abandon.ignore_attempt = dice.one_in(3);
    abandon.whole_instance = dice.one_in(2);
    if (dice.one_in(2)) {
        abandon.parked = dice.one_in(20) ? "\xff" : word(dice, reasons);
    }
    return abandon;
}

WorkItem draw_message(Dice& dice, const std::string& instance, Instant now) {
    const std::uint64_t id = dice.below(6);
    const std::uint64_t execution = 1 + dice.below(2);
    switch (dice.below(12)) {
    case 0:
    case 1:
    case 2: {
        auto start = draw_start(dice);
        start.instance = instance;
        start.execution_id = execution;
        return start;
    }
    case 3:
        return work::ContinueAsNew{
            .instance = instance, .orchestration = "Orch", .version = maybe(dice, "2.0.0")};
    case 4:
        return work::ActivityCompleted{
            .instance = instance, .execution_id = execution, .id = id, .result = "r"};
    case 5:
        return work::ActivityFailed{.instance = instance,
                                    .execution_id = execution,
                                    .id = id,
                                    .details = draw_details(dice)};
    case 6:
    case 7:
        return work::TimerFired{.instance = instance,
                                .execution_id = execution,
                                .id = id,
                                .fire_at_ms = to_epoch_ms(now + draw_duration(dice))};
    case 8:
        return work::ExternalRaised{.instance = instance, .name = "e", .data = word(dice, values)};
    case 9:
        return work::QueueMessage{.instance = instance, .name = "q", .data = word(dice, values)};
    case 10:
        return work::SubOrchCompleted{
            .parent_instance = instance, .parent_execution_id = execution, .parent_id = id};
    default:
        return work::CancelInstance{.instance = instance, .reason = "why"};
    }
}

work::ActivityExecute
draw_activity(Dice& dice, const std::string& instance, std::uint64_t execution_id) {
    work::ActivityExecute item{.instance = instance,
                               .execution_id = execution_id,
                               .id = dice.below(6),
                               .name = word(dice, activities),
                               .input = word(dice, values)};
    if (dice.one_in(3)) {
        item.tag = word(dice, labels);
    }
    if (dice.one_in(3)) {
        item.session_id = word(dice, session_ids);
    }
    return item;
}

TagFilter draw_tags(Dice& dice) {
    switch (dice.below(6)) {
    case 0:
        return TagFilter::any();
    case 1:
        return TagFilter::none();
    case 2:
        return TagFilter::tags({word(dice, labels), word(dice, labels)}).value();
    case 3:
        return TagFilter::default_and({word(dice, labels)}).value();
    default:
        return TagFilter::default_only();
    }
}

HistoryEvent draw_event(Dice& dice, std::uint64_t id, Instant now) {
    return {.event_id = id,
            .instance_id = dice.one_in(8) ? "elsewhere" : "a",
            .execution_id = 1,
            .timestamp_ms = to_epoch_ms(now),
            .engine_version = "0.1.0",
            .kind = draw_kind(dice, now)};
}

TurnCommit draw_commit(Dice& dice,
                       const std::string& instance,
                       std::uint64_t execution_id,
                       Instant now,
                       std::uint64_t& last_event_id) {
    TurnCommit commit{.execution_id = execution_id + (dice.one_in(6) ? 1 : 0),
                      .metadata = draw_metadata(dice)};
    for (auto count = dice.below(4); count > 0; --count) {
        // Now and then an id that is taken, or none at all: the whole commit must be refused.
        const bool bad = dice.one_in(40);
        const std::uint64_t id = bad ? dice.below(2) * last_event_id : ++last_event_id;
        commit.history_delta.push_back(draw_event(dice, id, now));
    }
    for (auto count = dice.below(3); count > 0; --count) {
        commit.worker_items.emplace_back(draw_activity(dice, instance, execution_id));
    }
    if (dice.one_in(40)) {
        commit.worker_items.emplace_back(work::CancelInstance{.instance = instance});
    }
    for (auto count = dice.below(3); count > 0; --count) {
        commit.cancelled_activities.push_back(
            {.instance = instance, .execution_id = execution_id, .activity_id = dice.below(6)});
    }
    for (auto count = dice.below(3); count > 0; --count) {
        commit.orchestrator_items.push_back(draw_message(dice, draw_instance(dice), now));
    }
    if (dice.one_in(40)) {
        commit.orchestrator_items.emplace_back(draw_activity(dice, instance, execution_id));
    }
    for (auto count = dice.below(2); count > 0; --count) {
        commit.cancelled_timers.push_back(dice.below(6));
    }
    return commit;
}

} // namespace durable::validation
