// A memory provider under a clock moved by hand, and threads that wait in it.

#pragma once

#include "providers/memory/memory_provider.hpp"
#include "unit/memory/observed_clock.hpp"

#include <durable/provider.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace durable {

using namespace std::chrono_literals;

class MemoryTest : public ::testing::Test {
 protected:
    using Turn = std::optional<OrchestrationItem>;
    using Lease = std::optional<WorkLease>;

    // The longest wait of a fetch, and leases that outlast it: a lease that ends is a reason to
    // wake.
    static constexpr Duration patience = 1h;
    static constexpr Duration long_lease = 2h;

    static WorkItem start(const std::string& instance) {
        return work::StartOrchestration{.instance = instance, .orchestration = "Order"};
    }
    static WorkItem raised(const std::string& instance) {
        return work::ExternalRaised{.instance = instance, .name = "approved"};
    }
    static WorkItem activity(std::uint64_t id,
                             std::optional<std::string> session = std::nullopt,
                             std::optional<std::string> tag = std::nullopt) {
        return work::ActivityExecute{.instance = "order",
                                     .execution_id = 1,
                                     .id = id,
                                     .name = "Charge",
                                     .session_id = std::move(session),
                                     .tag = std::move(tag)};
    }

    void send(const WorkItem& item, std::optional<Duration> delay = std::nullopt) {
        ASSERT_TRUE(provider.enqueue_for_orchestrator(item, delay));
    }
    Turn fetch(Duration lock_timeout = long_lease) {
        return provider.fetch_orchestration_item({.lock_timeout = lock_timeout}).value();
    }
    Lease fetch_work(const FetchWork& request = {.lock_timeout = long_lease}) {
        return provider.fetch_work_item(request).value();
    }
    std::future<Turn> waiting_fetch(FetchOrchestration request = {}) {
        request.lock_timeout =
            request.lock_timeout == Duration{} ? long_lease : request.lock_timeout;
        request.poll_timeout = patience;
        request.stop = stop.get_token();
        return std::async(std::launch::async, [this, request] {
            return provider.fetch_orchestration_item(request).value();
        });
    }
    std::future<Lease> waiting_worker(FetchWork request = {}) {
        request.lock_timeout =
            request.lock_timeout == Duration{} ? long_lease : request.lock_timeout;
        request.poll_timeout = patience;
        request.stop = stop.get_token();
        return std::async(std::launch::async,
                          [this, request] { return provider.fetch_work_item(request).value(); });
    }
    std::future<InstanceState> waiting_watch(const std::string& instance, std::uint64_t seen) {
        return std::async(std::launch::async, [this, instance, seen] {
            return provider
                .watch_instance({.instance = instance,
                                 .seen_revision = seen,
                                 .timeout = patience,
                                 .stop = stop.get_token()})
                .value();
        });
    }
    InstanceState state(const std::string& instance) {
        return provider.watch_instance({.instance = instance}).value();
    }
    // Makes the instance exist, with nothing queued.
    void run_first_turn(const std::string& instance) {
        send(start(instance));
        commit(fetch(), {});
    }
    void commit(const Turn& turn, TurnCommit commit) {
        ASSERT_TRUE(turn);
        commit.lock_token = turn->lock_token;
        commit.metadata.orchestration_name = "Order";
        commit.metadata.orchestration_version = "1.0.0";
        ASSERT_TRUE(provider.ack_orchestration_item(commit));
    }
    template <class T>
    static bool done(const std::future<T>& future) {
        return future.wait_for(0s) == std::future_status::ready;
    }

    std::shared_ptr<ObservedClock> clock = std::make_shared<ObservedClock>();
    memory::MemoryProvider provider{memory::Options{.clock = clock}};
    std::stop_source stop;
};

} // namespace durable
