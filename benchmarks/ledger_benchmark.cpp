// What a turn and an activity cost on the memory provider while the store is full of entries that
// must not slow them down: instances parked on a timer, messages that are not visible yet, work
// with a tag that no fetch asks for, instances of an engine version that the caller cannot replay.

#include "base/blocks.hpp"

#include <durable/memory.hpp>
#include <durable/provider.hpp>
#include <durable/testing.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include <benchmark/benchmark.h>
#include <malloc.h>

namespace {

using namespace std::chrono_literals;

void must(const durable::Result<>& result) {
    if (!result) {
        throw std::runtime_error{result.error().text()};
    }
}

durable::HistoryEvent
event(const std::string& instance, std::uint64_t id, durable::history::Kind kind) {
    return {.event_id = id,
            .instance_id = instance,
            .execution_id = 1,
            .timestamp_ms = 1'760'000'000'000,
            .engine_version = "0.1.0",
            .kind = std::move(kind)};
}

class Store {
 public:
    Store() : clock_{std::make_shared<durable::ManualClock>()} {
        provider_ = durable::memory::open({.clock = clock_});
    }

    durable::Provider& operator*() const { return *provider_; }
    durable::Provider* operator->() const { return provider_.get(); }

    // Started, and waiting for a timer that fires in a year.
    void park(const std::string& instance, std::uint64_t engine_major = 0) {
        must(provider_->enqueue_for_orchestrator(
            durable::work::StartOrchestration{
                .instance = instance, .orchestration = "Parked", .version = "1.0.0"},
            std::nullopt));
        const auto turn =
            provider_->fetch_orchestration_item({.lock_timeout = 30s}).value().value();
        const auto fire_at = durable::to_epoch_ms(clock_->now() + std::chrono::hours{24 * 365});
        durable::TurnCommit commit{.lock_token = turn.lock_token};
        commit.metadata = {.orchestration_name = "Parked",
                           .orchestration_version = "1.0.0",
                           .pinned_version = durable::Version{.major = engine_major, .minor = 1}};
        commit.history_delta = {
            event(instance,
                  1,
                  durable::history::OrchestrationStarted{
                      .name = "Parked", .version = "1.0.0", .input = "{}"}),
            event(instance, 2, durable::history::TimerCreated{.fire_at_ms = fire_at})};
        commit.orchestrator_items = {durable::work::TimerFired{
            .instance = instance, .execution_id = 1, .id = 2, .fire_at_ms = fire_at}};
        must(provider_->ack_orchestration_item(commit));
    }

    // `count` of each kind of work that is stored but not due.
    void fill(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            park("parked-" + std::to_string(i));
            must(provider_->enqueue_for_orchestrator(
                durable::work::ExternalRaised{
                    .instance = "later-" + std::to_string(i), .name = "e", .data = "{}"},
                std::chrono::hours{1}));
            must(provider_->enqueue_for_worker(
                durable::work::ActivityExecute{.instance = "later-" + std::to_string(i),
                                               .execution_id = 1,
                                               .id = i,
                                               .name = "Elsewhere",
                                               .tag = "gpu"}));
        }
    }

    // Instances with a message, pinned to an engine that the benchmark's filter leaves out.
    void fill_incompatible(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            park("old-" + std::to_string(i), 9);
        }
        for (std::size_t i = 0; i < count; ++i) {
            must(provider_->enqueue_for_orchestrator(
                durable::work::ExternalRaised{.instance = "old-" + std::to_string(i), .name = "e"},
                std::nullopt));
        }
    }

 private:
    std::shared_ptr<durable::ManualClock> clock_;
    std::shared_ptr<durable::Provider> provider_;
};

// Queues a message, fetches its turn, commits one event and one activity, and runs the activity.
class Chain {
 public:
    explicit Chain(Store& store) : store_{store} { store_.park("hot"); }

    void turn(const durable::FetchOrchestration& request) {
        must(store_->enqueue_for_orchestrator(
            durable::work::ExternalRaised{.instance = "hot", .name = "e", .data = "{}"},
            std::nullopt));
        const auto turn = store_->fetch_orchestration_item(request).value().value();
        durable::TurnCommit commit{.lock_token = turn.lock_token};
        commit.history_delta = {event(
            "hot", ++last_event_, durable::history::ActivityScheduled{.name = "A", .input = "{}"})};
        commit.worker_items = {durable::work::ActivityExecute{
            .instance = "hot", .execution_id = 1, .id = last_event_, .name = "A", .input = "{}"}};
        must(store_->ack_orchestration_item(commit));
    }
    void activity() {
        const auto lease = store_->fetch_work_item({.lock_timeout = 30s}).value().value();
        must(store_->ack_work_item(lease.lock_token, std::nullopt));
    }
    [[nodiscard]] std::uint64_t last_event() const { return last_event_; }

 private:
    Store& store_;
    std::uint64_t last_event_ = 2;
};

void run_chain(benchmark::State& state, Chain& chain, durable::FetchOrchestration request) {
    request.lock_timeout = 30s;
    // Without the history: the runtime has it cached.
    request.cached = [&](std::string_view) {
        return durable::CachedHistory{.execution_id = 1, .last_event_id = chain.last_event()};
    };
    for (auto _ : state) {
        chain.turn(request);
        chain.activity();
    }
}

void turn_beside_parked(benchmark::State& state) {
    Store store;
    Chain chain{store};
    store.fill(static_cast<std::size_t>(state.range(0)));
    run_chain(state, chain, {});
}
BENCHMARK(turn_beside_parked)->Arg(100)->Arg(100'000);

void turn_beside_incompatible(benchmark::State& state) {
    Store store;
    Chain chain{store};
    store.fill_incompatible(static_cast<std::size_t>(state.range(0)));
    durable::FetchOrchestration request;
    request.filter = durable::CapabilityFilter{.supported = {{.min = {}, .max = {.major = 1}}}};
    run_chain(state, chain, request);
}
BENCHMARK(turn_beside_incompatible)->Arg(100)->Arg(100'000);

// What the process has allocated: the heap, and the chunks of small blocks beside it.
std::size_t allocated_bytes() {
    constexpr std::size_t chunk_size = 65'536;
    const auto heap = mallinfo2();
    return heap.uordblks + heap.hblkhd + durable::block_usage().chunks * chunk_size;
}

// Bytes of one instance parked on a timer: two events, one delayed message, all indexes.
void memory_of_a_parked_instance(benchmark::State& state) {
    constexpr std::size_t count = 100'000;
    for (auto _ : state) {
        Store store;
        const auto before = allocated_bytes();
        for (std::size_t i = 0; i < count; ++i) {
            store.park("parked-" + std::to_string(i));
        }
        const auto after = allocated_bytes();
        state.counters["bytes_each"] = static_cast<double>(after - before) / count;
    }
}
BENCHMARK(memory_of_a_parked_instance)->Iterations(1)->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
