#include "property/town.hpp"

#include "property/hospital.hpp"
#include "property/program.hpp"
#include "replay/end_execution.hpp"
#include "validation/model/script.hpp"

#include <durable/client.hpp>
#include <durable/log.hpp>
#include <durable/management.hpp>
#include <durable/memory.hpp>
#include <durable/test_runtime.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
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

// What one node has of the code. Each piece is somewhere.
class Deployment {
 public:
    Deployment(Dice& dice, std::size_t nodes) : registries_(nodes) {
        for (const auto& program : programs) {
            deploy(dice, [&](Registry& registry) { registry.add(program, run_drawn); });
        }
        for (const auto& activity : activities) {
            deploy(dice, [&](Registry& registry) { registry.add(activity, work_on); });
        }
        deploy(dice, [](Registry& registry) { Hospital::add_orchestrations(registry); });
    }

    [[nodiscard]] const std::vector<Registry>& registries() const { return registries_; }

 private:
    template <class Add>
    void deploy(Dice& dice, Add add) {
        const auto always = dice.below(registries_.size());
        for (std::size_t node = 0; node < registries_.size(); ++node) {
            if (node == always || dice.one_in(3)) {
                add(registries_[node]);
            }
        }
    }

    std::vector<Registry> registries_;
};

class Town {
 public:
    Town(std::uint64_t seed, Fleet fleet, TownStatistics& statistics)
        : dice_{seed},
          fleet_dice_{~seed},
          mixed_{fleet == Fleet::mixed},
          statistics_{statistics},
          deployment_{fleet_dice_, mixed_ ? 1 + fleet_dice_.below(3) : 1} {
        for (const auto& registry : deployment_.registries()) {
            nodes_.emplace_back(registry, options());
        }
    }

    std::string live();

 private:
    [[nodiscard]] TestRuntime::Options options() const {
        // All code is somewhere: no node has to end what it cannot run, however the clock is set.
        return {.runtime = {.cancel_without_code_after = 24h * 1000, .logger = silent_logger()},
                .clock = clock_,
                .provider = store_};
    }

    void happen();
    bool work();
    void come_to_rest();
    void advance(Duration by);
    void open_the_hospital();
    void discharge();
    void start(const std::string& id);
    void remove(const std::string& id);
    void set_the_clock();
    void lose_a_turn();
    void call_on_everybody();
    void look_at(const std::string& id);
    void look_for_the_innocent(const std::string& id, const HistoryEvent& event);
    void look_at(const std::string& id, const std::vector<HistoryEvent>& history);
    void look_for_waits_without_end(const std::string& id);
    void blame(const std::string& id, const std::string& what) {
        if (trouble_.empty()) {
            trouble_ = id + ": " + what;
        }
    }
    [[nodiscard]] std::string draw_id() { return "p" + std::to_string(dice_.below(shared_ids)); }
    [[nodiscard]] std::vector<std::string> everybody() const {
        return Management::of(store_)->list_instances().value();
    }
    [[nodiscard]] bool runs(const std::string& id) const {
        const auto status = client_.status(id).value().status;
        return status == RunStatus::running || status == RunStatus::pending;
    }
    [[nodiscard]] TestRuntime& draw_node() { return nodes_[fleet_dice_.below(nodes_.size())]; }

    Dice dice_;
    Dice fleet_dice_; // of its own: the events of a seed stay what they are
    bool mixed_;
    TownStatistics& statistics_;
    std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
    std::shared_ptr<Provider> store_ = memory::open({.clock = clock_});
    Client client_{store_, clock_};
    Hospital hospital_{store_};
    Deployment deployment_;
    std::deque<TestRuntime> nodes_;
    std::set<std::pair<std::string, std::uint64_t>> cancelled_; // by clients: id and incarnation
    std::set<std::string> used_;
    std::uint64_t lives_ = 0;
    std::string trouble_;
};

void Town::start(const std::string& id) {
    const auto input = "life " + std::to_string(++lives_) + " of " + id + "|";
    if (client_.start("Program", input, {.id = id})) {
        statistics_.second_lives += used_.insert(id).second ? 0U : 1U;
    }
}

// In the middle of things, if need be. What has a parent cannot be deleted alone.
void Town::remove(const std::string& id) {
    for (const auto& each : everybody()) {
        look_at(each); // it may be the last time
    }
    if (Management::of(store_)->delete_instance(id, true)) {
        ++statistics_.deletions;
    }
}

void Town::set_the_clock() {
    constexpr std::size_t day_ms = 86'400'000;
    const Duration by{dice_.below(day_ms)};
    clock_->set_wall(dice_.one_in(2) ? clock_->now() + by : clock_->now() - by);
}

// Another node takes a turn and dies: its lease runs out.
void Town::lose_a_turn() {
    (void)store_->fetch_orchestration_item({.lock_timeout = lease});
}

void Town::open_the_hospital() {
    const auto day = hospital_.open();
    statistics_.deaths += day.dies ? 1 : 0;
    if (!day.trouble.empty()) {
        blame("the hospital", day.trouble);
    }
}

void Town::discharge() {
    constexpr int most_days = 40;
    for (int day = 0; day < most_days && trouble_.empty() && hospital_.has_patients(); ++day) {
        come_to_rest(); // suspects that others can run come to their end, one after the other
        open_the_hospital();
    }
    come_to_rest();
    if (const auto trouble = hospital_.judge(); !trouble.empty()) {
        blame("the hospital", trouble);
    }
}

// One step of some node.
bool Town::work() {
    for (std::size_t i = 0, first = fleet_dice_.below(nodes_.size()); i < nodes_.size(); ++i) {
        auto& node = nodes_[(first + i) % nodes_.size()];
        if (node.run_turn() || node.run_activity()) {
            return true;
        }
    }
    return false;
}

void Town::come_to_rest() {
    constexpr int most_steps = 100'000;
    for (int step = 0; step < most_steps; ++step) {
        if (!work()) {
            return;
        }
    }
    blame("the town", "does not come to rest");
}

void Town::advance(Duration by) {
    const auto until = clock_->now() + by;
    come_to_rest();
    while (clock_->now() < until && trouble_.empty()) {
        auto next = until;
        for (const auto& node : nodes_) {
            next = std::min(next, node.next_event().value_or(until));
        }
        clock_->advance(next - clock_->now());
        come_to_rest();
    }
}

void Town::happen() {
    const auto id = draw_id();
    const auto& client = client_;
    if (mixed_ && fleet_dice_.one_in(12)) {
        open_the_hospital();
    }
    switch (dice_.below(16)) {
    case 0:
    case 1:
        start(id);
        break;
    case 2:
        if (dice_.one_in(3)) {
            const auto state = store_->watch_instance({.instance = id}).value();
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
        draw_node().forget();
        break;
    case 8:
        lose_a_turn();
        break;
    case 9:
        clock_->advance(Duration{dice_.below(8'000)});
        break;
    case 10:
    case 11:
        (void)draw_node().run_activity();
        break;
    default:
        (void)draw_node().run_turn();
    }
}

// ---- What must hold

void Town::look_at(const std::string& id) {
    const auto executions = Management::of(store_)->executions(id);
    if (!executions) {
        return;
    }
    for (const auto execution : *executions) {
        look_at(id, store_->read_with_execution(id, execution).value());
    }
}

void Town::look_at(const std::string& id, const std::vector<HistoryEvent>& history) {
    std::map<std::uint64_t, std::string> questions;
    const auto* const started =
        history.empty() ? nullptr
                        : std::get_if<history::OrchestrationStarted>(&history.front().kind);
    for (const auto& event : history) {
        look_for_the_innocent(id, event);
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
            const auto life = store_->watch_instance({.instance = id})->incarnation;
            if (cancelled->reason == by_a_client ? !cancelled_.contains({id, life})
                                                 : !started->parent_instance) {
                blame(id, "was cancelled by nobody who could mean it: " + cancelled->reason);
            }
        }
    }
}

// Missing code is no reason to fail, and neither is a neighbour who kills.
void Town::look_for_the_innocent(const std::string& id, const HistoryEvent& event) {
    const ErrorDetails* why = nullptr;
    if (const auto* activity = std::get_if<history::ActivityFailed>(&event.kind)) {
        why = &activity->details;
    } else if (const auto* end = std::get_if<history::OrchestrationFailed>(&event.kind)) {
        why = &end->details;
    }
    if (why != nullptr && std::holds_alternative<details::Poison>(*why) &&
        id != Hospital::deadly_patient) {
        blame(id, display_text(*why));
    }
}

// At rest: a parent that waits for a child waits for one that runs and is its own.
void Town::look_for_waits_without_end(const std::string& id) {
    const auto history = store_->read(id).value();
    std::map<std::uint64_t, std::string> open;
    for (const auto& event : history) {
        if (const auto* call = std::get_if<history::SubOrchestrationScheduled>(&event.kind)) {
            open[event.event_id] = replay::child_instance(id, call->instance);
        } else if (event.source_event_id) {
            open.erase(*event.source_event_id);
        }
    }
    for (const auto& [step, child] : open) {
        const auto begun = store_->read_with_execution(child, 1).value();
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
    for (const auto& id : everybody()) {
        if (runs(id)) {
            for (const auto* event : {"E0", "E1"}) {
                (void)client_.raise(id, event, "at last");
            }
            for (const auto* queue : {"Q0", "Q1"}) {
                (void)client_.enqueue(id, queue, "at last");
            }
        }
    }
}

std::string Town::live() {
    start("p0");
    const bool has_hospital = mixed_ && fleet_dice_.one_in(3);
    if (has_hospital) {
        hospital_.admit();
    }
    for (std::size_t i = 0; i < events_of_a_case && trouble_.empty(); ++i) {
        happen();
    }
    clock_->advance(lease);
    if (has_hospital) {
        discharge();
    }
    for (int round = 0; round < last_rounds && trouble_.empty(); ++round) {
        come_to_rest();
        for (const auto& id : everybody()) {
            if (runs(id)) {
                look_for_waits_without_end(id);
            }
        }
        call_on_everybody();
        advance(10s);
    }
    const auto waiting = Management::of(store_)->parked(0s).value();
    for (const auto& parked : waiting) {
        blame(parked.instance, "waits for " + parked.name + " " + parked.reason);
    }
    for (const auto& id : everybody()) {
        look_at(id);
    }
    for (const auto& id : everybody()) {
        if (runs(id) && !client_.cancel(id, std::string{by_a_client})) {
            blame(id, "cannot be cancelled");
        }
    }
    for (int round = 0; round < last_rounds && trouble_.empty(); ++round) {
        advance(1min); // compensations, and their retries
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

std::string live_in_town(std::uint64_t seed, TownStatistics& statistics, Fleet fleet) {
    return Town{seed, fleet, statistics}.live();
}

} // namespace durable::property
