// Everything at once: clients, turns, activities, managers and watchers on one provider. What comes
// out must be exactly what went in; the thread sanitizer looks for the rest.

#include "providers/memory/memory_provider.hpp"

#include <durable/provider.hpp>

#include <atomic>
#include <chrono>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace durable {
namespace {

using namespace std::chrono_literals;

constexpr int instances = 100;
constexpr int clients = 2;

HistoryEvent event(std::uint64_t id, history::Kind kind) {
    return {.event_id = id, .engine_version = "0.1.0", .kind = std::move(kind)};
}

class ManyThreads : public ::testing::Test {
 protected:
    void TearDown() override {
        stop.request_stop();
        threads.clear();
    }

    template <class Body>
    void run(Body body) {
        threads.emplace_back(body);
    }

    // Each instance runs two activities and ends when both have ended.
    void client() {
        for (int i = next.fetch_add(1); i < instances; i = next.fetch_add(1)) {
            const auto id = "order-" + std::to_string(i);
            EXPECT_TRUE(provider.enqueue_for_orchestrator(
                work::StartOrchestration{.instance = id, .orchestration = "Order"}, std::nullopt));
            EXPECT_TRUE(provider.enqueue_for_orchestrator(
                work::ExternalRaised{.instance = "typo-" + std::to_string(i)}, std::nullopt));
        }
    }
    TurnCommit decide(const OrchestrationItem& item) {
        TurnCommit commit{.lock_token = item.lock_token, .execution_id = item.execution_id};
        commit.metadata.orchestration_name = item.orchestration_name;
        commit.metadata.orchestration_version = "1.0.0";
        auto id = item.history.empty() ? 0 : item.history.back().event_id;
        for (const auto& message : item.messages) {
            if (std::holds_alternative<work::StartOrchestration>(message)) {
                commit.history_delta.push_back(event(++id, history::OrchestrationStarted{}));
                for (int i = 0; i < 2; ++i) {
                    commit.history_delta.push_back(event(++id, history::ActivityScheduled{}));
                    commit.worker_items.push_back(work::ActivityExecute{
                        .instance = item.instance, .execution_id = 1, .id = id, .session_id = "s"});
                }
            } else if (std::holds_alternative<work::ActivityCompleted>(message)) {
                commit.history_delta.push_back(event(++id, history::ActivityCompleted{}));
                completions.fetch_add(1);
            }
        }
        if (id == 5) { // started, two scheduled, two completed
            commit.metadata.status = ExecutionStatus::completed;
        }
        return commit;
    }
    void turns() {
        while (!stop.stop_requested()) {
            const auto item = provider.fetch_orchestration_item(
                {.lock_timeout = 60s, .poll_timeout = 60s, .stop = stop.get_token()});
            if (!item.value()) {
                continue;
            }
            if (give_back.fetch_add(1) % 10 == 0) {
                EXPECT_TRUE(provider.abandon_orchestration_item(
                    {.lock_token = (*item)->lock_token, .delay = 1ms, .ignore_attempt = true}));
                continue;
            }
            EXPECT_TRUE(provider.renew_orchestration_item_lock((*item)->lock_token, 60s));
            EXPECT_TRUE(provider.ack_orchestration_item(decide(**item)));
        }
    }
    void activities() {
        while (!stop.stop_requested()) {
            const auto lease = provider.fetch_work_item({.lock_timeout = 60s,
                                                         .poll_timeout = 60s,
                                                         .session = SessionClaim{"worker", 60s},
                                                         .stop = stop.get_token()});
            if (!lease.value()) {
                continue;
            }
            const auto& item = (*lease)->item;
            EXPECT_TRUE(provider.ack_work_item((*lease)->lock_token,
                                               work::ActivityCompleted{.instance = item.instance,
                                                                       .execution_id = 1,
                                                                       .id = item.id}));
        }
    }
    void manager() {
        while (!stop.stop_requested()) {
            EXPECT_TRUE(provider.get_system_metrics());
            EXPECT_TRUE(provider.get_queue_depths());
            EXPECT_TRUE(provider.list_instances());
            EXPECT_TRUE(provider.read("order-1"));
            EXPECT_TRUE(provider.renew_session_lock({"worker"}, 60s, 60s));
            EXPECT_EQ(provider.delete_instance("order-0", true).error().code, ErrorCode::not_found);
        }
    }
    // Returns when the instance has ended.
    void watch(const std::string& id) {
        InstanceState state;
        while (state.status != ExecutionStatus::completed) {
            state = provider
                        .watch_instance(
                            {.instance = id, .seen_revision = state.revision, .timeout = 60s})
                        .value();
        }
    }

    memory::MemoryProvider provider{{}};
    std::stop_source stop;
    std::atomic<int> next{1}; // order-0 is never started
    std::atomic<int> give_back{0};
    std::atomic<int> completions{0};
    std::vector<std::jthread> threads;
};

TEST_F(ManyThreads, EveryInstanceEndsAfterExactlyItsTwoActivities) {
    run([this] { turns(); });
    run([this] { turns(); });
    run([this] { turns(); });
    run([this] { activities(); });
    run([this] { activities(); });
    run([this] { manager(); });
    for (int i = 0; i < clients; ++i) {
        run([this] { client(); });
    }

    for (int i = 1; i < instances; ++i) {
        watch("order-" + std::to_string(i));
    }

    EXPECT_EQ(completions.load(), 2 * (instances - 1));
    EXPECT_EQ(provider.get_system_metrics()->completed_instances, instances - 1u);
    EXPECT_EQ(provider.get_queue_depths()->worker_queue, 0u);
    EXPECT_EQ(provider.get_queue_depths()->orchestrator_queue, instances - 1u); // the typos
}

// Two threads wait in a fetch. `stop_one` stops one of them before there is work: the call for that
// work has to reach the other one.
class StoppedFetches : public ManyThreads {
 protected:
    void wait_in_fetch(std::stop_token token) {
        const FetchOrchestration request{
            .lock_timeout = 60s, .poll_timeout = 60s, .stop = std::move(token)};
        fetching.fetch_add(1);
        fetched.fetch_add(provider.fetch_orchestration_item(request).value() ? 1 : 0);
    }
    void send_start(const std::string& id) {
        ASSERT_TRUE(provider.enqueue_for_orchestrator(
            work::StartOrchestration{.instance = id, .orchestration = "Order"}, std::nullopt));
    }
    template <class StopOne>
    void run_round(int round, const StopOne& stop_one) {
        fetching = 0;
        fetched = 0;
        std::stop_source patience;
        std::jthread impatient{[&] { wait_in_fetch(patience.get_token()); }};
        std::jthread patient{[&] { wait_in_fetch({}); }};
        [[maybe_unused]] const auto stopping = stop_one(patience);
        const auto id = "round-" + std::to_string(round);
        send_start(id);
        impatient.join();
        if (fetched.load() == 1) { // the impatient one may have got it: the other needs its own
            send_start(id + "b");
        }
        patient.join();
        ASSERT_GE(fetched.load(), 1);
    }

    std::atomic<int> fetching{0};
    std::atomic<int> fetched{0};
};

TEST_F(StoppedFetches, LoseNoWorkWhenTheyAreCalledAtThatMoment) {
    for (int round = 0; round < 200; ++round) {
        run_round(round, [](std::stop_source& patience) {
            return std::jthread{[&patience] { patience.request_stop(); }};
        });
    }
}

// A fetch spins first: there the stop has to come just before the call.
TEST_F(StoppedFetches, LoseNoWorkWhileTheyAreAwake) {
    for (int round = 0; round < 500; ++round) {
        run_round(round, [this](std::stop_source& patience) {
            while (fetching.load() < 2) {
                std::this_thread::yield();
            }
            return patience.request_stop();
        });
    }
}

} // namespace
} // namespace durable
