#include "power_cut/turn.hpp"

#include "power_cut/stores.hpp"

#include <utility>
#include <variant>

namespace durable::power_cut {

namespace {

constexpr std::uint64_t youngest_end = 4; // turns

template <class T>
const T* find(const std::vector<WorkItem>& messages) {
    for (const auto& message : messages) {
        if (const auto* found = std::get_if<T>(&message)) {
            return found;
        }
    }
    return nullptr;
}

std::uint64_t last_turn(const std::vector<HistoryEvent>& history) {
    std::uint64_t turn = 0;
    for (const auto& event : history) {
        if (const auto* started = std::get_if<history::OrchestrationStarted>(&event.kind)) {
            turn = std::stoull(started->input);
        } else if (const auto* set = std::get_if<history::KeyValueSet>(&event.kind)) {
            turn = std::stoull(set->value);
        }
    }
    return turn;
}

class Deciding {
 public:
    Deciding(const OrchestrationItem& item, std::uint64_t execution, std::uint64_t turn)
        : item_{item}, turn_{turn} {
        commit_.lock_token = item.lock_token;
        commit_.execution_id = execution;
        commit_.metadata.orchestration_name = "Order";
        commit_.metadata.orchestration_version = "1.0.0";
        first_ = execution == item.execution_id ? item.history.size() : 0;
    }

    std::uint64_t record(history::Kind kind, std::optional<std::uint64_t> source = {}) {
        const auto id = first_ + commit_.history_delta.size() + 1;
        commit_.history_delta.push_back({.event_id = id,
                                         .source_event_id = source,
                                         .instance_id = item_.instance,
                                         .execution_id = commit_.execution_id,
                                         .engine_version = "0.1.0",
                                         .kind = std::move(kind)});
        return id;
    }

    void begin(bool execution_begins) {
        if (execution_begins) {
            record(history::OrchestrationStarted{
                .name = "Order", .version = "1.0.0", .input = std::to_string(turn_ - 1)});
        }
        marker_ = commit_.history_delta.size();
        record(history::KeyValueSet{.key = std::string{turn_key}});
        record(history::CustomStatusUpdated{});
    }

    void consume(const WorkItem& message) {
        std::vector<std::string> flaws;
        if (const auto* done = std::get_if<work::ActivityCompleted>(&message)) {
            record(history::ActivityCompleted{.result = done->result}, done->id);
        } else if (const auto tag = tag_of(message, flaws); !tag.empty() && !tag.ends_with('^')) {
            record(history::ExternalEvent{.name = tag});
        }
    }

    void send(const std::string& target, std::size_t size) {
        const auto tag = name() + "." + std::to_string(++sent_);
        record(history::OrchestrationChained{.name = tag, .instance = target});
        commit_.orchestrator_items.push_back(make_message(target, tag, size));
    }

    void schedule() {
        const auto tag = name() + "!" + std::to_string(++scheduled_);
        const auto id = record(history::ActivityScheduled{.name = "Step", .input = tag});
        commit_.worker_items.emplace_back(
            work::ActivityExecute{.instance = item_.instance,
                                  .execution_id = commit_.execution_id,
                                  .id = id,
                                  .name = "Step",
                                  .input = tag,
                                  .orchestration = "Order",
                                  .orchestration_version = "1.0.0"});
    }

    void complete() {
        record(history::OrchestrationCompleted{.output = "1"});
        commit_.metadata.status = ExecutionStatus::completed;
        commit_.metadata.output = "1";
    }

    void continue_as_new() {
        const auto input = std::to_string(turn_);
        record(history::OrchestrationContinuedAsNew{.input = input});
        commit_.metadata.status = ExecutionStatus::continued_as_new;
        commit_.metadata.output = input;
        commit_.orchestrator_items.emplace_back(work::ContinueAsNew{.instance = item_.instance,
                                                                    .orchestration = "Order",
                                                                    .input = input,
                                                                    .version = "1.0.0"});
    }

    Turn end() {
        auto& events = commit_.history_delta;
        const auto marker = std::to_string(turn_) + "/" + std::to_string(events.size());
        std::get<history::KeyValueSet>(events[marker_].kind).value = marker;
        std::get<history::CustomStatusUpdated>(events[marker_ + 1].kind).status = marker;
        return {.commit = std::move(commit_),
                .note = "turn " + item_.instance + " " + std::to_string(turn_)};
    }

 private:
    [[nodiscard]] std::string name() const { return item_.instance + "#" + std::to_string(turn_); }

    const OrchestrationItem& item_;
    std::uint64_t turn_;
    TurnCommit commit_;
    std::size_t first_ = 0;
    std::size_t marker_ = 0;
    std::size_t sent_ = 0;
    std::size_t scheduled_ = 0;
};

// Messages that arrive after the end of their instance are dropped.
Turn drop(const OrchestrationItem& item) {
    Turn turn{.commit = {.lock_token = item.lock_token, .execution_id = item.execution_id},
              .note = "drop"};
    std::vector<std::string> flaws;
    for (const auto& message : item.messages) {
        turn.note += " " + tag_of(message, flaws);
    }
    return turn;
}

} // namespace

WorkItem make_message(const std::string& target, const std::string& tag, std::size_t size) {
    if (size % 2 == 0) {
        return work::ExternalRaised{
            .instance = target, .name = tag, .data = make_payload(tag, size)};
    }
    return work::QueueMessage{.instance = target, .name = tag, .data = make_payload(tag, size)};
}

std::optional<Turn> decide(const OrchestrationItem& item,
                           const Outgoing& outgoing,
                           Random& random,
                           const std::function<std::string()>& target) {
    const auto* end = item.history.empty() ? nullptr : &item.history.back().kind;
    if (end != nullptr && std::holds_alternative<history::OrchestrationCompleted>(*end)) {
        return drop(item);
    }
    const auto* next = find<work::ContinueAsNew>(item.messages);
    const bool between =
        end != nullptr && std::holds_alternative<history::OrchestrationContinuedAsNew>(*end);
    const bool begins = next != nullptr || item.history.empty();
    if (between != (next != nullptr) ||
        (item.history.empty() && find<work::StartOrchestration>(item.messages) == nullptr)) {
        return std::nullopt;
    }
    const auto execution = item.execution_id + (next != nullptr ? 1 : 0);
    const auto turn = next != nullptr ? std::stoull(next->input) + 1 : last_turn(item.history) + 1;
    Deciding deciding{item, execution, turn};
    deciding.begin(begins);
    for (const auto& message : item.messages) {
        deciding.consume(message);
    }
    for (std::size_t number = 0; number < outgoing.messages; ++number) {
        if (const auto id = target(); !id.empty()) {
            deciding.send(id, outgoing.size + random.next() % 2);
        }
    }
    for (std::size_t number = 0; number < outgoing.activities; ++number) {
        deciding.schedule();
    }
    if (const auto dice = random.next() % 10; turn >= youngest_end && dice < 3) {
        deciding.complete();
    } else if (dice == 3) {
        deciding.continue_as_new();
    }
    return deciding.end();
}

std::string tag_of(const WorkItem& item, std::vector<std::string>& flaws) {
    const auto checked = [&](const auto& message) {
        if (!is_payload(message.name, message.data)) {
            flaws.push_back("the payload of message " + message.name + " is not what it was");
        }
        return message.name;
    };
    if (const auto* start = std::get_if<work::StartOrchestration>(&item)) {
        return start->instance + "^";
    }
    if (const auto* raised = std::get_if<work::ExternalRaised>(&item)) {
        return checked(*raised);
    }
    if (const auto* message = std::get_if<work::QueueMessage>(&item)) {
        return checked(*message);
    }
    if (const auto* done = std::get_if<work::ActivityCompleted>(&item)) {
        return done->result;
    }
    return {};
}

// ---- Reading

void HistoryReader::complain(const std::string& what) {
    found_.flaws.push_back("the history of " + instance_ + ": " + what);
}

void HistoryReader::read(std::uint64_t execution, const std::vector<HistoryEvent>& history) {
    std::uint64_t number = 0;
    for (const auto& event : history) {
        if (event.event_id != ++number) {
            complain("event " + std::to_string(number) + " is missing");
            return;
        }
        take(execution, event);
    }
    if (rest_ != 0 || started_) {
        complain("half there: turn " + marker_);
    }
    found_.instances[instance_].turn = turn_;
}

void HistoryReader::take(std::uint64_t execution, const HistoryEvent& event) {
    if (const auto* started = std::get_if<history::OrchestrationStarted>(&event.kind)) {
        if (rest_ != 0) {
            complain("half there: turn " + marker_);
        }
        started_ = true;
        if (execution == 1) {
            ++found_.messages[instance_ + "^"];
        }
        turn_ = std::stoull(started->input);
        return;
    }
    if (const auto* set = std::get_if<history::KeyValueSet>(&event.kind)) {
        take_marker(set->value);
        return;
    }
    if (rest_ == 0) {
        complain("an event of no turn behind " + marker_);
        return;
    }
    --rest_;
    if (const auto* consumed = std::get_if<history::ExternalEvent>(&event.kind)) {
        ++found_.messages[consumed->name];
    } else if (const auto* done = std::get_if<history::ActivityCompleted>(&event.kind)) {
        ++found_.messages[done->result];
    } else if (const auto* sent = std::get_if<history::OrchestrationChained>(&event.kind)) {
        found_.instances[instance_].sent[sent->name] = sent->instance;
    } else if (const auto* scheduled = std::get_if<history::ActivityScheduled>(&event.kind)) {
        found_.instances[instance_].scheduled.insert(scheduled->input);
    } else if (std::holds_alternative<history::OrchestrationCompleted>(event.kind)) {
        completed_ = true;
    }
}

void HistoryReader::take_marker(const std::string& value) {
    if (rest_ != 0) {
        complain("half there: turn " + marker_);
    }
    marker_ = value;
    if (const auto turn = std::stoull(value); turn != turn_ + 1) {
        complain("turn " + value + " follows turn " + std::to_string(turn_));
    }
    ++turn_;
    rest_ = std::stoull(value.substr(value.find('/') + 1)) - 1 - (started_ ? 1U : 0U);
    started_ = false;
}

} // namespace durable::power_cut
