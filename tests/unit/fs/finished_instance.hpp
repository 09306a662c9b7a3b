// An instance that runs to its end in one turn, for tests of what happens to finished ones.

#pragma once

#include "providers/fs/fs_provider.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace durable::fs {

// A start, a status, a value, the completion: four events.
inline void finish_instance(FsProvider& store,
                            const std::string& id,
                            std::optional<std::string> parent = std::nullopt,
                            const std::string& input = "{}",
                            std::vector<WorkItem> sent = {}) {
    ASSERT_TRUE(store.enqueue_for_orchestrator(
        work::StartOrchestration{.instance = id, .orchestration = "Order", .input = input},
        std::nullopt));
    const auto item =
        store.fetch_orchestration_item({.lock_timeout = std::chrono::seconds{30}}).value();
    ASSERT_TRUE(item);
    TurnCommit commit{.lock_token = item->lock_token,
                      .metadata = {.status = ExecutionStatus::completed,
                                   .output = "\"done " + id + "\"",
                                   .orchestration_name = "Order",
                                   .orchestration_version = "1.0.0",
                                   .parent_instance_id = std::move(parent)},
                      .orchestrator_items = std::move(sent)};
    const std::vector<history::Kind> kinds{
        history::OrchestrationStarted{.name = "Order", .version = "1.0.0", .input = input},
        history::CustomStatusUpdated{.status = "half"},
        history::KeyValueSet{.key = "k", .value = id},
        history::OrchestrationCompleted{.output = "\"done " + id + "\""}};
    for (const auto& kind : kinds) {
        commit.history_delta.push_back({.event_id = commit.history_delta.size() + 1,
                                        .instance_id = id,
                                        .execution_id = 1,
                                        .engine_version = "0.1.0",
                                        .kind = kind});
    }
    ASSERT_TRUE(store.ack_orchestration_item(commit));
}

// Without threads every call does one piece of the work.
inline void keep_house(FsProvider& store) {
    for (int call = 0; call < 20; ++call) {
        ASSERT_TRUE(store.get_queue_depths());
    }
}

} // namespace durable::fs
