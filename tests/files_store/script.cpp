#include "files_store/script.hpp"

#include <durable/codec.hpp>
#include <durable/provider_admin.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

namespace files_store {

namespace {

using namespace std::chrono_literals;
namespace history = durable::history;
namespace work = durable::work;
using durable::ExecutionStatus;
using durable::OrchestrationItem;
using durable::Provider;
using durable::Result;
using durable::TurnCommit;

durable::HistoryEvent event(std::uint64_t id, history::Kind kind) {
    return {.event_id = id, .engine_version = "0.1.0", .kind = std::move(kind)};
}

// A turn of whatever instance is next.
Script::Action turn(std::function<void(TurnCommit&, const OrchestrationItem&)> decide) {
    return [decide](Provider& store) -> Result<> {
        const auto item = store.fetch_orchestration_item({.lock_timeout = 30s});
        if (!item || !*item) {
            return item ? durable::fail(durable::ErrorCode::not_found, "no turn")
                        : std::unexpected{item.error()};
        }
        TurnCommit commit{.lock_token = (*item)->lock_token, .execution_id = (*item)->execution_id};
        decide(commit, **item);
        return store.ack_orchestration_item(commit);
    };
}

void begins(TurnCommit& commit, const OrchestrationItem& item) {
    commit.metadata = {.orchestration_name = "Order", .orchestration_version = "1.0.0"};
    commit.history_delta = {
        event(1, history::OrchestrationStarted{.name = "Order", .version = "1.0.0"}),
        event(2, history::KeyValueSet{.key = "who", .value = item.instance}),
        event(3, history::CustomStatusUpdated{.status = "begun"})};
}

void ends(TurnCommit& commit, const OrchestrationItem& item) {
    commit.metadata = {.status = ExecutionStatus::completed, .output = "done"};
    commit.history_delta = {
        event(item.history.size() + 1, history::OrchestrationCompleted{.output = "done"})};
}

Script::Action send(durable::WorkItem item) {
    return [item](Provider& store) { return store.enqueue_for_orchestrator(item, std::nullopt); };
}

template <class Call>
Script::Action manage(Call call) {
    return [call](Provider& store) -> Result<> {
        const auto done = call(*store.as_management_capability());
        return done ? Result<>{} : std::unexpected{done.error()};
    };
}

Result<> finish_activity(Provider& store) {
    const auto lease = store.fetch_work_item({.lock_timeout = 30s});
    if (!lease || !*lease) {
        return lease ? durable::fail(durable::ErrorCode::not_found, "no work")
                     : std::unexpected{lease.error()};
    }
    const auto& item = (*lease)->item;
    return store.ack_work_item((*lease)->lock_token,
                               work::ActivityCompleted{.instance = item.instance,
                                                       .execution_id = item.execution_id,
                                                       .id = item.id,
                                                       .result = "charged"});
}

Result<> park(Provider& store) {
    const auto item = store.fetch_orchestration_item({.lock_timeout = 30s});
    if (!item || !*item) {
        return item ? durable::fail(durable::ErrorCode::not_found, "no turn")
                    : std::unexpected{item.error()};
    }
    return store.abandon_orchestration_item({.lock_token = (*item)->lock_token,
                                             .delay = 1min,
                                             .whole_instance = true,
                                             .parked = "no code"});
}

work::ActivityExecute activity(std::uint64_t id) {
    return {.instance = "order", .execution_id = 1, .id = id, .name = "Charge", .input = "7"};
}

} // namespace

Script::Script() {
    const auto step = [&](std::string name, Action action) {
        steps_.emplace_back(std::move(name), std::move(action));
    };
    step("an orphan waits", send(work::ExternalRaised{.instance = "ghost", .name = "boo"}));
    step("start", [](Provider& store) {
        return store.start_instance({.instance = "order", .orchestration = "Order"}, std::nullopt);
    });
    step("the first turn schedules", turn([](TurnCommit& commit, const OrchestrationItem& item) {
             begins(commit, item);
             commit.worker_items = {activity(4), activity(5), activity(6)};
             commit.orchestrator_items = {
                 work::TimerFired{.instance = "order", .execution_id = 1, .id = 7, .fire_at_ms = 1},
                 work::TimerFired{.instance = "order",
                                  .execution_id = 1,
                                  .id = 8,
                                  .fire_at_ms = 9'000'000'000'000},
                 work::StartOrchestration{
                     .instance = "order::1", .orchestration = "Order", .parent_instance = "order"}};
         }));
    step("an activity ends", finish_activity);
    step("the second turn cancels", turn([](TurnCommit& commit, const OrchestrationItem&) {
             commit.history_delta = {event(9, history::ActivityCompleted{.result = "charged"}),
                                     event(10, history::KeyValueSet{.key = "paid", .value = "7"})};
             commit.cancelled_activities = {{"order", 1, 5}};
             commit.cancelled_timers = {8};
         }));
    step("the child begins", turn([](TurnCommit& commit, const OrchestrationItem& item) {
             begins(commit, item);
             commit.metadata.parent_instance_id = "order";
         }));
    step("an event", send(work::ExternalRaised{.instance = "order", .name = "go", .data = "1"}));
    step("parked", park);
    step("continued as new", turn([](TurnCommit& commit, const OrchestrationItem&) {
             commit.metadata.status = ExecutionStatus::continued_as_new;
             commit.history_delta = {event(11, history::OrchestrationContinuedAsNew{.input = "2"})};
             commit.orchestrator_items = {
                 work::ContinueAsNew{.instance = "order", .orchestration = "Order", .input = "2"}};
         }));
    step("the next execution", turn([](TurnCommit& commit, const OrchestrationItem& item) {
             begins(commit, item);
             commit.execution_id = 2;
         }));
    step("old executions go", manage([](durable::ProviderAdmin& admin) {
             return admin.prune_executions("order", {.keep_last = 1});
         }));
    step("history of a tool", [](Provider& store) {
        return store.append_with_execution(
            "order",
            2,
            {event(5, history::PatchMarked{.id = "a"}), event(4, history::PatchMarked{.id = "b"})});
    });
    step("an activity of nobody",
         [](Provider& store) { return store.enqueue_for_worker(activity(6)); });
    step("another event", send(work::QueueMessage{.instance = "order", .name = "q"}));
    step("the end", turn(ends));
    step("expiry",
         manage([](durable::ProviderAdmin& admin) { return admin.get_system_metrics(); }));
    step("deletion", manage([](durable::ProviderAdmin& admin) {
             return admin.delete_instance("order", true);
         }));
    step("a namesake", [](Provider& store) {
        return store.start_instance({.instance = "order", .orchestration = "Order"}, 1min);
    });
}

void Script::at(std::size_t step) {
    const auto start = durable::from_epoch_ms(1'760'000'000'000);
    clock_->set_wall(start + step * 10min);
}

Result<> Script::play(Provider& store, std::size_t step) {
    at(step);
    return steps_[step].second(store);
}

std::string Script::describe(Provider& store) {
    auto& admin = *store.as_management_capability();
    std::string text;
    const auto say = [&](const auto&... parts) { ((text += parts, text += ' '), ...); };
    const auto number = [](std::uint64_t value) { return std::to_string(value); };
    const auto instances = admin.list_instances().value();
    for (const auto& id : instances) {
        const auto info = admin.get_instance_info(id).value();
        const auto status = store.get_custom_status(id, 0).value();
        say("\n" + id, info.orchestration_name, info.status, info.output.value_or("-"));
        say(number(durable::to_epoch_ms(info.updated_at)), info.parent_instance_id.value_or("-"));
        say(info.parked ? info.parked->reason : "-", status ? number(status->version) : "-");
        const auto values = store.get_kv_all_values(id).value();
        for (const auto& [key, value] : values) {
            say("\n  " + key, "=", value);
        }
        const auto executions = admin.list_executions(id).value();
        for (const auto execution : executions) {
            say("\n  execution", number(execution));
            say(admin.get_execution_info(id, execution).value().status);
            const auto history = store.read_with_execution(id, execution).value();
            for (const auto& each : history) {
                say("\n   ", durable::encode(each).value());
            }
        }
    }
    const auto depths = admin.get_queue_depths().value();
    const auto metrics = admin.get_system_metrics().value();
    say("\nqueues", number(depths.orchestrator_queue), number(depths.worker_queue));
    say("\ntotal", number(metrics.total_executions), number(metrics.total_events));
    say(number(metrics.expired_messages));
    const auto waiting = admin.list_parked(0ms, 1000).value();
    for (const auto& parked : waiting) {
        say("\nwaiting", parked.instance, parked.name, parked.reason);
    }
    return text;
}

} // namespace files_store
