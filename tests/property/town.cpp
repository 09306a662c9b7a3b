#include "property/town.hpp"

#include "property/program.hpp"
#include "replay/end_execution.hpp"
#include "validation/model/script.hpp"

#include <durable/client.hpp>
#include <durable/log.hpp>
#include <durable/management.hpp>
#include <durable/memory.hpp>
#include <durable/test_runtime.hpp>

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

namespace durable::property {

namespace {

using namespace std::chrono_literals; // NOLINT(google-build-using-namespace): durations read better
using validation::Dice;
using Text = std::string;

constexpr std::size_t events_of_a_case = 60;
constexpr int last_rounds = 12;
constexpr auto lease = 5s;
constexpr std::string_view by_a_client = "by a client";

std::string work_on(const Text& input) {
    const auto hash = std::hash<Text>{}(input);
    if (hash % 4 == 0) {
        throw std::runtime_error{"broken " + std::to_string(hash % 3)};
    }
    return "done " + std::to_string(hash % 100);
}

using Program = Orchestration<Text(Text)>;
using Work = Activity<Text(Text)>;

constexpr std::array programs{Program{"Program"},
                              Program{"C0"},
                              Program{"C1"},
                              Program{"C2"},
                              Program{"C3"},
                              Program{"D0"},
                              Program{"D1"},
                              Program{"D2"},
                              Program{"D3"}};
constexpr std::array activities{Work{"A0"},
                                Work{"A1"},
                                Work{"A2"},
                                Work{"A3"},
                                Work{"R0"},
                                Work{"R1"},
                                Work{"R2"},
                                Work{"R3"},
                                Work{"U0"},
                                Work{"U1"},
                                Work{"U2"},
                                Work{"U3"}};

Registry everything() {
    Registry registry;
    for (const auto& program : programs) {
        registry.add(program, run_drawn);
    }
    for (const auto& activity : activities) {
        registry.add(activity, work_on);
    }
    return registry;
}

class Town {
 public:
    Town(std::uint64_t seed, TownStatistics& statistics)
        : dice_{seed}, statistics_{statistics}, town_{everything(), options()} {}

    std::string live();

 private:
    static TestRuntime::Options options() { return {.runtime = {.logger = silent_logger()}}; }

    void happen();
    void start(const std::string& id);
    void remove(const std::string& id);
    void set_the_clock();
    void lose_a_turn();
    void call_on_everybody();
    void look_at(const std::string& id);
    void look_at(const std::string& id, const std::vector<HistoryEvent>& history);
    void look_for_waits_without_end(const std::string& id);
    void blame(const std::string& id, const std::string& what) {
        if (trouble_.empty()) {
            trouble_ = id + ": " + what;
        }
    }
    [[nodiscard]] std::string draw_id() { return "p" + std::to_string(dice_.below(shared_ids)); }
    [[nodiscard]] std::vector<std::string> everybody() const {
        return Management::of(town_.provider())->list_instances().value();
    }
    [[nodiscard]] bool runs(const std::string& id) const {
        return town_.client().status(id).value().status == RunStatus::running;
    }

    Dice dice_;
    TownStatistics& statistics_;
    TestRuntime town_;
    std::set<std::pair<std::string, std::uint64_t>> cancelled_; // by clients: id and incarnation
    std::set<std::string> used_;
    std::uint64_t lives_ = 0;
    std::string trouble_;
};

void Town::start(const std::string& id) {
    const auto input = "life " + std::to_string(++lives_) + " of " + id + "|";
    if (town_.client().start("Program", input, {.id = id})) {
        statistics_.second_lives += used_.insert(id).second ? 0U : 1U;
    }
}

// In the middle of things, if need be. What has a parent cannot be deleted alone.
void Town::remove(const std::string& id) {
    for (const auto& each : everybody()) {
        look_at(each); // it may be the last time
    }
    if (Management::of(town_.provider())->delete_instance(id, true)) {
        ++statistics_.deletions;
    }
}

void Town::set_the_clock() {
    constexpr std::size_t day_ms = 86'400'000;
    auto& clock = town_.clock();
    const Duration by{dice_.below(day_ms)};
    clock.set_wall(dice_.one_in(2) ? clock.now() + by : clock.now() - by);
}

// Another node takes a turn and dies: its lease runs out.
void Town::lose_a_turn() {
    (void)town_.provider()->fetch_orchestration_item({.lock_timeout = lease});
}

void Town::happen() {
    const auto id = draw_id();
    const auto client = town_.client();
    switch (dice_.below(16)) {
    case 0:
    case 1:
        start(id);
        break;
    case 2:
        if (dice_.one_in(3)) {
            const auto state = town_.provider()->watch_instance({.instance = id}).value();
            if (client.cancel(id, std::string{by_a_client})) {
                cancelled_.emplace(id, state.incarnation);
            }
        }
        break;
    case 3:
        (void)client.raise(id, dice_.one_in(2) ? "E0" : "E1", "event");
        break;
    case 4:
        (void)client.enqueue(id, dice_.one_in(2) ? "Q0" : "Q1", "mail");
        break;
    case 5:
        remove(id);
        if (dice_.one_in(2)) {
            start(id);
        }
        break;
    case 6:
        set_the_clock();
        break;
    case 7:
        town_.forget();
        break;
    case 8:
        lose_a_turn();
        break;
    case 9:
        town_.clock().advance(Duration{dice_.below(8'000)});
        break;
    case 10:
    case 11:
        (void)town_.run_activity();
        break;
    default:
        (void)town_.run_turn();
    }
}

// ---- What must hold

void Town::look_at(const std::string& id) {
    const auto executions = Management::of(town_.provider())->executions(id);
    if (!executions) {
        return;
    }
    for (const auto execution : *executions) {
        look_at(id, town_.provider()->read_with_execution(id, execution).value());
    }
}

void Town::look_at(const std::string& id, const std::vector<HistoryEvent>& history) {
    std::map<std::uint64_t, std::string> questions;
    const auto* const started =
        history.empty() ? nullptr
                        : std::get_if<history::OrchestrationStarted>(&history.front().kind);
    for (const auto& event : history) {
        if (const auto* call = std::get_if<history::SubOrchestrationScheduled>(&event.kind)) {
            questions[event.event_id] = question_of(call->input);
        } else if (const auto* answer =
                       std::get_if<history::SubOrchestrationCompleted>(&event.kind)) {
            const auto& asked = questions[event.source_event_id.value_or(0)];
            if (!answer->result.starts_with(asked + "/")) {
                blame(id, "asked its child " + asked + " and was answered " + answer->result);
            }
        } else if (const auto* refused =
                       std::get_if<history::SubOrchestrationFailed>(&event.kind)) {
            statistics_.taken_ids +=
                display_text(refused->details).find("already exists") != std::string::npos;
        } else if (const auto* cancelled =
                       std::get_if<history::OrchestrationCancelRequested>(&event.kind)) {
            ++statistics_.cancellations;
            const auto life = town_.provider()->watch_instance({.instance = id})->incarnation;
            if (cancelled->reason == by_a_client ? !cancelled_.contains({id, life})
                                                 : !started->parent_instance) {
                blame(id, "was cancelled by nobody who could mean it: " + cancelled->reason);
            }
        }
    }
}

// At rest: whoever waits for a child waits for one that runs and is its own.
void Town::look_for_waits_without_end(const std::string& id) {
    const auto history = town_.provider()->read(id).value();
    std::map<std::uint64_t, std::string> open;
    for (const auto& event : history) {
        if (const auto* call = std::get_if<history::SubOrchestrationScheduled>(&event.kind)) {
            open[event.event_id] = replay::child_instance(id, call->instance);
        } else if (event.source_event_id) {
            open.erase(*event.source_event_id);
        }
    }
    for (const auto& [step, child] : open) {
        const auto begun = town_.provider()->read_with_execution(child, 1).value();
        const auto* const started =
            begun.empty() ? nullptr
                          : std::get_if<history::OrchestrationStarted>(&begun.front().kind);
        if (!runs(child) || started == nullptr || started->parent_instance != id ||
            started->parent_id != step) {
            blame(id, "waits for " + child + ", which will not answer");
        }
    }
}

void Town::call_on_everybody() {
    const auto client = town_.client();
    for (const auto& id : everybody()) {
        if (runs(id)) {
            for (const auto* event : {"E0", "E1"}) {
                (void)client.raise(id, event, "at last");
            }
            for (const auto* queue : {"Q0", "Q1"}) {
                (void)client.enqueue(id, queue, "at last");
            }
        }
    }
}

std::string Town::live() {
    start("p0");
    for (std::size_t i = 0; i < events_of_a_case && trouble_.empty(); ++i) {
        happen();
    }
    town_.clock().advance(lease);
    for (int round = 0; round < last_rounds && trouble_.empty(); ++round) {
        if (!town_.run_until_idle()) {
            blame("the town", "does not come to rest");
        }
        for (const auto& id : everybody()) {
            if (runs(id)) {
                look_for_waits_without_end(id);
            }
        }
        call_on_everybody();
        town_.advance(10s);
    }
    for (const auto& parked : town_.parked()) {
        blame(parked.instance, "is parked: " + parked.report);
    }
    for (const auto& id : everybody()) {
        look_at(id);
    }
    for (const auto& id : everybody()) {
        if (runs(id) && !town_.client().cancel(id, std::string{by_a_client})) {
            blame(id, "cannot be cancelled");
        }
    }
    for (int round = 0; round < last_rounds && trouble_.empty(); ++round) {
        town_.advance(1min); // compensations, and their retries
    }
    for (const auto& id : everybody()) {
        if (runs(id)) {
            blame(id, "does not end");
        }
        ++statistics_.ends;
    }
    return trouble_;
}

} // namespace

std::string live_in_town(std::uint64_t seed, TownStatistics& statistics) {
    return Town{seed, statistics}.live();
}

} // namespace durable::property
