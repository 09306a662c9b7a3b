// sqlite_benchmark FILE: what group commit gains, and what waiting messages cost, on the disk of
// FILE.
//
// Measures events raised per second. Each caller raises them for a running instance of its own, and
// each event is on the disk before its caller goes on. Four ways: the library with 64 callers and
// with one; the bare loop, a transaction per event, with 64 threads and with one. All four run in
// turns, so that a slow phase of the machine hits all of them. Then measures five calls (start,
// fetch, commit, fetch, acknowledge) beside many delayed and parked messages.

#include "bare_loop.hpp"
#include "base/files.hpp"

#include <durable/sqlite.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace durable {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock; // real time is measured, not that of a Clock

template <class T>
T must(Result<T> result) {
    if (!result) {
        throw std::runtime_error{result.error().text()};
    }
    if constexpr (!std::is_void_v<T>) {
        return *std::move(result);
    }
}

constexpr std::size_t many_callers = 64;

WorkItem raise(const std::string& instance) {
    return work::ExternalRaised{.instance = instance, .name = "go", .data = "1"};
}

double seconds_since(Steady::time_point begin) {
    return std::chrono::duration<double>(Steady::now() - begin).count();
}

constexpr int turns = 3; // of each way
constexpr auto turn_time = 3s;

// Calls per second of `callers` callers, in one turn.
double commits(Provider& store, std::size_t callers) {
    std::atomic<std::uint64_t> made = 0;
    const auto begin = Steady::now();
    {
        std::vector<std::jthread> threads;
        for (std::size_t caller = 0; caller < callers; ++caller) {
            threads.emplace_back([&, caller] {
                while (Steady::now() - begin < turn_time) {
                    must(store.enqueue_for_orchestrator(raise("i" + std::to_string(caller)),
                                                        std::nullopt));
                    ++made;
                }
            });
        }
    }
    return static_cast<double>(made) / seconds_since(begin);
}

// Starts an instance and commits its first turn.
void begin_instance(Provider& store, const std::string& id, std::vector<WorkItem> work) {
    must(store.enqueue_for_orchestrator(
        work::StartOrchestration{
            .instance = id, .orchestration = "Hello", .input = "{}", .execution_id = 1},
        std::nullopt));
    const auto turn = must(store.fetch_orchestration_item({.lock_timeout = 60s})).value();
    TurnCommit first; // member by member: g++ 12 warns of the aggregate
    first.lock_token = turn.lock_token;
    first.metadata.orchestration_name = "Hello";
    first.metadata.orchestration_version = "1.0.0";
    first.history_delta.push_back({.event_id = 1,
                                   .kind = history::OrchestrationStarted{
                                       .name = "Hello", .version = "1.0.0", .input = "{}"}});
    first.worker_items = std::move(work);
    must(store.ack_orchestration_item(first));
}

// Microseconds of one round of five calls.
double round_trip(Provider& store, int rounds) {
    const auto begin = Steady::now();
    for (int round = 0; round < rounds; ++round) {
        const auto id = "round-" + std::to_string(Steady::now().time_since_epoch().count());
        begin_instance(
            store,
            id,
            {work::ActivityExecute{
                .instance = id, .execution_id = 1, .id = 2, .name = "Greet", .input = "{}"}});
        const auto work = must(store.fetch_work_item({.lock_timeout = 60s})).value();
        must(store.ack_work_item(work.lock_token, std::nullopt));
    }
    return seconds_since(begin) * 1e6 / rounds;
}

void fill(Provider& store, int parked, int delayed) {
    constexpr int threads = 64; // one transaction for many
    std::vector<std::jthread> fillers;
    for (int filler = 0; filler < threads; ++filler) {
        fillers.emplace_back([&, filler] {
            for (int number = filler; number < parked; number += threads) {
                must(store.enqueue_for_orchestrator(raise("parked-" + std::to_string(number)),
                                                    std::nullopt));
            }
            for (int number = filler; number < delayed; number += threads) {
                must(store.enqueue_for_orchestrator(raise("delayed-" + std::to_string(number)),
                                                    Duration{24h}));
            }
        });
    }
}

std::shared_ptr<Provider> open_fresh(const std::string& file, sqlite::Synchronous synchronous) {
    for (const auto* part : {"", "-wal", "-shm"}) {
        (void)system_files().remove(file + part);
    }
    return must(sqlite::open(file, {.synchronous = synchronous}));
}

// With the instances that the callers raise events for.
std::shared_ptr<Provider> open_with_instances(const std::string& file) {
    auto store = open_fresh(file, sqlite::Synchronous::full);
    for (std::size_t caller = 0; caller < many_callers; ++caller) {
        begin_instance(*store, "i" + std::to_string(caller), {});
    }
    return store;
}

void measure(const std::string& file) {
    std::cout << "fdatasync of a written page: " << bare::fdatasync_us(file + ".probe") << " us"
              << std::endl;
    {
        const auto bare_file = file + ".bare";
        (void)open_with_instances(bare_file);
        const auto store = open_with_instances(file);
        double one = 0;
        double many = 0;
        double bare_one = 0;
        double bare_many = 0;
        for (int made = 0; made < turns; ++made) {
            bare_one += bare::messages_per_second(bare_file, 1, turn_time) / turns;
            bare_many += bare::messages_per_second(bare_file, many_callers, turn_time) / turns;
            one += commits(*store, 1) / turns;
            many += commits(*store, many_callers) / turns;
        }
        std::cout << "calls/s, FULL, 64 callers: " << many
                  << "; ratio to 64 callers with a transaction each (" << bare_many
                  << "): " << many / bare_many << "; to one bare loop (" << bare_one
                  << "): " << many / bare_one << "; to 1 caller (" << one << "): " << many / one
                  << std::endl;
    }
    const auto store = open_fresh(file, sqlite::Synchronous::normal);
    (void)round_trip(*store, 100); // warm
    const auto empty = round_trip(*store, 1000);
    fill(*store, 100'000, 100'000);
    const auto full = round_trip(*store, 1000);
    std::cout << "five calls, NORMAL: " << empty
              << " us, beside 100,000 parked and 100,000 delayed " << full << " us, ratio "
              << full / empty << std::endl;
}

} // namespace
} // namespace durable

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: sqlite_benchmark FILE (FILE and FILE.bare are overwritten)\n";
        return 2;
    }
    durable::measure(argv[1]);
}
