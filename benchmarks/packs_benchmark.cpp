// What finished instances cost in a filesystem store: memory, disk, time to list and to open.
//
//     packs_benchmark DIRECTORY [instances]
//
// The directory must not exist. Instances have five activities, as many events as a small order.

#include <durable/fs.hpp>
#include <durable/provider.hpp>
#include <durable/provider_admin.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <malloc.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

double resident_bytes() {
    malloc_trim(0);
    std::ifstream statm{"/proc/self/statm"};
    double total = 0;
    double resident = 0;
    statm >> total >> resident;
    return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double disk_bytes(const std::string& directory) {
    double sum = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator{directory}) {
        if (entry.is_regular_file()) {
            sum += static_cast<double>(entry.file_size());
        }
    }
    return sum;
}

double seconds_since(Clock::time_point begun) {
    return std::chrono::duration<double>(Clock::now() - begun).count();
}

durable::TurnCommit life_of(const durable::OrchestrationItem& item) {
    durable::TurnCommit commit{.lock_token = item.lock_token,
                               .metadata = {.status = durable::ExecutionStatus::completed,
                                            .output = "{\"total\":4711}",
                                            .orchestration_name = "Order",
                                            .orchestration_version = "1.0.0"}};
    const auto add = [&](durable::history::Kind kind, std::optional<std::uint64_t> source) {
        commit.history_delta.push_back({.event_id = commit.history_delta.size() + 1,
                                        .source_event_id = source,
                                        .instance_id = item.instance,
                                        .execution_id = 1,
                                        .timestamp_ms = 1'760'000'000'000,
                                        .engine_version = "0.1.0",
                                        .kind = std::move(kind)});
    };
    add(durable::history::OrchestrationStarted{.name = "Order",
                                               .version = "1.0.0",
                                               .input = "{\"customer\":17}"},
        std::nullopt);
    for (int step = 0; step < 5; ++step) {
        add(durable::history::ActivityScheduled{.name = "Charge", .input = "{\"amount\":17}"},
            std::nullopt);
        add(durable::history::ActivityCompleted{.result = "{\"receipt\":4711}"},
            commit.history_delta.size());
    }
    add(durable::history::OrchestrationCompleted{.output = "{\"total\":4711}"}, std::nullopt);
    return commit;
}

template <class T>
T must(durable::Result<T> result) {
    if (!result) {
        std::fprintf(stderr, "%s\n", result.error().text().c_str());
        std::exit(1);
    }
    if constexpr (!std::is_void_v<T>) {
        return *std::move(result);
    }
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 2 || std::filesystem::exists(argv[1])) {
        std::fprintf(stderr, "packs_benchmark DIRECTORY [instances]: DIRECTORY must not exist\n");
        return 2;
    }
    const std::string directory = argv[1];
    const int instances = argc > 2 ? std::atoi(argv[2]) : 200'000;
    const durable::fs::Options options{.durability = durable::Durability::process_crash};
    const double before = resident_bytes();
    auto store = must(durable::fs::open(directory, options));
    auto longest = Clock::duration::zero();
    auto begun = Clock::now();
    for (int number = 0; number < instances; ++number) {
        const auto called = Clock::now();
        must(store->enqueue_for_orchestrator(
            durable::work::StartOrchestration{.instance = "order-" + std::to_string(number),
                                              .orchestration = "Order",
                                              .input = "{\"customer\":17}"},
            std::nullopt));
        const auto item = must(store->fetch_orchestration_item({.lock_timeout = 30s}));
        must(store->ack_orchestration_item(life_of(*item)));
        longest = std::max(longest, Clock::now() - called);
    }
    std::printf("%d instances in %.1f s, the slowest in %.1f ms\n",
                instances,
                seconds_since(begun),
                std::chrono::duration<double, std::milli>(longest).count());
    std::printf("memory, the process that made them: %.0f bytes each\n",
                (resident_bytes() - before) / instances);
    begun = Clock::now();
    const auto listed = must(store->as_management_capability()->list_instances()).size();
    std::printf("%zu listed in %.2f s\n", listed, seconds_since(begun));
    double own = 0;
    for (int number = 0; number < 100; ++number) {
        const auto stats = must(store->get_instance_stats("order-" + std::to_string(number)));
        own += static_cast<double>(stats->history_size_bytes) / 100 * instances;
    }
    store.reset();
    const double disk = disk_bytes(directory);
    std::printf("disk: %.0f bytes each, packs %.0f; their histories: %.0f\n",
                disk / instances,
                disk_bytes(directory + "/packs") / instances,
                own / instances);
    malloc_trim(0);
    const double closed = resident_bytes();
    begun = Clock::now();
    store = must(durable::fs::open(directory, options));
    std::printf("opened in %.2f s, %.0f bytes of memory each\n",
                seconds_since(begun),
                (resident_bytes() - closed) / instances);
    begun = Clock::now();
    const auto read = must(store->read("order-" + std::to_string(instances / 2))).size();
    std::printf("a history of %zu events read in %.0f us\n", read, seconds_since(begun) * 1e6);
    return 0;
}
