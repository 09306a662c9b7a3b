// How long it takes to open a store with a million journal records and no checkpoint: the cost of a
// crash at the worst moment.
//
//     recovery_benchmark [directory] [records]

#include "base/files.hpp"
#include "base/stopwatch.hpp"
#include "providers/fs/fs_provider.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using durable::fs::FsProvider;

durable::HistoryEvent
event(const std::string& instance, std::uint64_t id, durable::history::Kind kind) {
    return {.event_id = id,
            .instance_id = instance,
            .execution_id = 1,
            .timestamp_ms = 1'760'000'000'000,
            .engine_version = "0.1.0",
            .kind = std::move(kind)};
}

// Seven records: what an orchestration with one activity leaves behind.
void run_one(FsProvider& store, const std::string& instance) {
    store
        .enqueue_for_orchestrator(
            durable::work::StartOrchestration{
                .instance = instance, .orchestration = "Hello", .input = "1", .version = "1.0.0"},
            std::nullopt)
        .value();
    const auto first = store.fetch_orchestration_item({.lock_timeout = 30s}).value().value();
    durable::TurnCommit begin{.lock_token = first.lock_token};
    begin.metadata = {.orchestration_name = "Hello",
                      .orchestration_version = "1.0.0",
                      .pinned_version = durable::engine_version()};
    begin.history_delta = {
        event(instance,
              1,
              durable::history::OrchestrationStarted{
                  .name = "Hello", .version = "1.0.0", .input = "1"}),
        event(instance, 2, durable::history::ActivityScheduled{.name = "Step", .input = "1"})};
    begin.worker_items = {durable::work::ActivityExecute{.instance = instance,
                                                         .execution_id = 1,
                                                         .id = 2,
                                                         .name = "Step",
                                                         .input = "1",
                                                         .orchestration = "Hello",
                                                         .orchestration_version = "1.0.0"}};
    store.ack_orchestration_item(begin).value();
    const auto work = store.fetch_work_item({.lock_timeout = 30s}).value().value();
    store
        .ack_work_item(work.lock_token,
                       durable::work::ActivityCompleted{
                           .instance = instance, .execution_id = 1, .id = 2, .result = "2"})
        .value();
    const auto last = store.fetch_orchestration_item({.lock_timeout = 30s}).value().value();
    durable::TurnCommit end{.lock_token = last.lock_token};
    end.metadata = {.status = durable::ExecutionStatus::completed, .output = "2"};
    end.history_delta = {
        event(instance, 3, durable::history::ActivityCompleted{.result = "2"}),
        event(instance, 4, durable::history::OrchestrationCompleted{.output = "2"})};
    end.history_delta.front().source_event_id = 2;
    store.ack_orchestration_item(end).value();
}

constexpr std::uint64_t records_each = 7;

} // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> arguments{argv + 1, argv + argc};
    const auto directory = arguments.empty() ? std::string{"recovery-benchmark"} : arguments[0];
    const std::uint64_t records = arguments.size() > 1 ? std::stoull(arguments[1]) : 1'000'000;
    auto& files = durable::system_files();
    remove_tree(files, directory).value();

    // No checkpoint, and no disk to wait for while the store is filled.
    const durable::fs::Machine machine{.checkpoint_bytes = UINT64_MAX};
    const durable::fs::Options options{.durability = durable::Durability::process_crash};
    std::uint64_t bytes = 0;
    {
        const durable::Stopwatch watch;
        const auto store = FsProvider::open(directory, options, machine).value();
        for (std::uint64_t i = 0; i * records_each < records; ++i) {
            run_one(*store, "order-" + std::to_string(i));
        }
        bytes = store->counters().bytes;
        std::printf("written:   %.1f s\n", watch.seconds());
    }
    const durable::Stopwatch watch;
    const auto store = FsProvider::open(directory, options, machine).value();
    const double seconds = watch.seconds();
    std::printf("recovered: %.2f s, %llu records of %llu bytes on average, %.0f records/s\n",
                seconds,
                static_cast<unsigned long long>(records),
                static_cast<unsigned long long>(bytes / records),
                static_cast<double>(records) / seconds);
    remove_tree(files, directory).value();
    return seconds < 5 ? 0 : 1;
}
