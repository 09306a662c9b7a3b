#include "crash/workload.hpp"

#include "base/try.hpp"

#include <chrono>
#include <utility>

#include <gtest/gtest.h>

namespace durable::fs {

namespace {

using namespace std::chrono_literals;

// What a turn decides follows from its history alone: the same state gives the same turn.
TurnCommit decide(const OrchestrationItem& item) {
    TurnCommit commit{
        .lock_token = item.lock_token,
        .execution_id = item.execution_id,
        .metadata = {.orchestration_name = "Order", .orchestration_version = "1.0.0"}};
    const auto done = item.history.size();
    const auto record = [&](history::Kind kind) {
        commit.history_delta.push_back({.event_id = done + commit.history_delta.size() + 1,
                                        .instance_id = item.instance,
                                        .execution_id = item.execution_id,
                                        .engine_version = "0.1.0",
                                        .kind = std::move(kind)});
    };
    if (done == 0) {
        record(history::OrchestrationStarted{
            .name = "Order", .version = "1.0.0", .input = "{\"n\":1}"});
        record(history::KeyValueSet{.key = "k", .value = item.instance});
        record(history::ActivityScheduled{.name = "Step", .input = "\"in\""});
        commit.worker_items = {work::ActivityExecute{.instance = item.instance,
                                                     .execution_id = item.execution_id,
                                                     .id = 3,
                                                     .name = "Step",
                                                     .input = "\"in\""}};
        return commit;
    }
    if (done == 3) {
        record(history::ExternalEvent{.name = "go", .data = "true"});
        if (item.instance == "order-1") {
            commit.orchestrator_items = {work::StartOrchestration{
                .instance = "child", .orchestration = "Order", .input = "{}"}};
        }
        return commit;
    }
    record(history::OrchestrationCompleted{.output = "\"done\""});
    commit.metadata.status = ExecutionStatus::completed;
    commit.metadata.output = "\"done\"";
    return commit;
}

// The whole of a turn is one step: a fetch alone only counts an attempt.
Result<> take_turn(FsProvider& store) {
    DURABLE_TRY_ASSIGN(const auto item, store.fetch_orchestration_item({.lock_timeout = 30s}));
    return item ? store.ack_orchestration_item(decide(*item)) : Result<>{};
}

Result<> run_activity(FsProvider& store) {
    DURABLE_TRY_ASSIGN(const auto lease, store.fetch_work_item({.lock_timeout = 30s}));
    if (!lease) {
        return {};
    }
    return store.ack_work_item(lease->lock_token,
                               work::ActivityCompleted{.instance = lease->item.instance,
                                                       .execution_id = lease->item.execution_id,
                                                       .id = lease->item.id,
                                                       .result = "\"out\""});
}

Step start(const std::string& instance) {
    return {.name = "start " + instance, .run = [=](FsProvider& store) {
                return store.enqueue_for_orchestrator(
                    work::StartOrchestration{
                        .instance = instance, .orchestration = "Order", .input = "{\"n\":1}"},
                    std::nullopt);
            }};
}

Step raise(const std::string& instance, const std::string& data = "true") {
    return {.name = "raise " + instance, .run = [=](FsProvider& store) {
                return store.enqueue_for_orchestrator(
                    work::ExternalRaised{.instance = instance, .name = "go", .data = data},
                    std::nullopt);
            }};
}

Step remove(const std::string& instance) {
    return {.name = "delete " + instance, .run = [=](FsProvider& store) -> Result<> {
                DURABLE_TRY(store.delete_instance(instance, true));
                return {};
            }};
}

} // namespace

std::vector<Step> make_workload() {
    const Step turn{.name = "turn", .run = take_turn, .durable = false};
    const Step activity{.name = "activity", .run = run_activity, .durable = false};
    constexpr auto large = largest_segment + largest_segment / 2;
    std::vector<Step> steps;
    for (int number = 1; number <= 8; ++number) {
        const auto id = "order-" + std::to_string(number);
        // The record of every third event is larger than the segment that waits for it.
        const auto event =
            number % 3 == 0 ? raise(id, '"' + std::string(large, 'x') + '"') : raise(id);
        steps.insert(steps.end(), {start(id), turn, event, turn, activity, turn});
        if (number % 2 == 0) {
            steps.insert(steps.end(),
                         {turn, activity, remove("order-" + std::to_string(number - 1))});
        }
    }
    // One that has finished gets a message all the same.
    steps.insert(steps.end(), {raise("order-2"), turn, start("last")});
    return steps;
}

FsProvider::State comparable(FsProvider::State state) {
    state.lsn = 0;
    for (auto& instance : state.instances) {
        for (auto& message : instance.messages) {
            message.attempts = 0;
        }
        for (auto& work : instance.work) {
            work.attempts = 0;
        }
    }
    return state;
}

Result<Store> open_store(const Machine& machine) {
    return FsProvider::open("/store", {.clock = std::make_shared<ManualClock>()}, machine);
}

Played play(const std::vector<Step>& steps, FsProvider& store, std::size_t first) {
    Played played{.acknowledged = first, .promised = first, .error = {}};
    for (; played.acknowledged < steps.size(); ++played.acknowledged) {
        const auto& step = steps[played.acknowledged];
        if (auto done = step.run(store); !done) {
            played.error = std::move(done).error();
            break;
        }
        if (step.durable) {
            played.promised = played.acknowledged + 1;
        }
    }
    return played;
}

std::vector<FsProvider::State> reference_states(const std::vector<Step>& steps,
                                                const Machine& machine) {
    const auto store = open_store(machine).value();
    std::vector<FsProvider::State> states{comparable(store->state())};
    for (const auto& step : steps) {
        const auto done = step.run(*store);
        EXPECT_TRUE(done) << step.name << ": " << done.error().text();
        states.push_back(comparable(store->state()));
    }
    return states;
}

} // namespace durable::fs
