// sqlite_fleet: several processes run orders from one SQLite file, while a parent that is their
// client kills one of them again and again with kill -9 and starts another one in its place.
//
//     sqlite_fleet [--orders N] [--seed S]
//
// Every order must end with the right result, and its history must hold every step exactly once.

#include "base/random.hpp"
#include "unit/fs/temporary_directory.hpp"

#include <durable/durable.hpp>
#include <durable/sqlite.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ; // NOLINT(readability-redundant-declaration): POSIX has it nowhere else

namespace durable::fleet {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t processes = 4;
constexpr std::size_t in_flight = 32;

constexpr Activity<std::string(std::string)> step{"Step"};
constexpr Orchestration<std::string(std::string)> order{"Order"};

Task<std::string> run_order(Context ctx, std::string id) {
    std::string done = co_await ctx.call(step, id);
    done = co_await ctx.call(step, done);
    done = co_await ctx.call(step, done);
    co_return done;
}

std::string expected_result(const std::string& id) {
    return id + "+++";
}

Registry make_registry() {
    Registry registry;
    registry.add(step, [](const std::string& text) { return text + "+"; });
    registry.add(order, run_order);
    return registry;
}

template <class T>
T must(Result<T> result, const std::string& what) {
    if (!result) {
        throw std::runtime_error{what + ": " + result.error().text()};
    }
    return *std::move(result);
}

// ---- A worker: sqlite_fleet worker FILE. Lives until it is killed.

int work(const std::string& file) {
    const auto store = must(sqlite::open(file), "open");
    RuntimeOptions options;
    options.orchestrator_lock_timeout = 1s; // a killed process holds no lease for long
    options.worker_lock_timeout = 1s;
    options.max_attempts = 1'000'000; // a kill counts an attempt, and here nothing else happens
    const auto runtime = Runtime::start(store, make_registry(), options);
    for (;;) {
        ::pause();
    }
}

// ---- The parent

class Worker {
 public:
    explicit Worker(const std::string& file) {
        std::string words[] = {"sqlite_fleet", "worker", file};
        char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
        if (const int error =
                ::posix_spawn(&pid_, "/proc/self/exe", nullptr, nullptr, arguments, environ);
            error != 0) {
            throw std::system_error{error, std::generic_category(), "posix_spawn"};
        }
    }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    ~Worker() {
        ::kill(pid_, SIGKILL);
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        if (WIFEXITED(status)) {
            std::cerr << "a worker ended by itself, with code " << WEXITSTATUS(status) << std::endl;
            std::_Exit(EXIT_FAILURE);
        }
    }

 private:
    pid_t pid_ = 0;
};

// What is wrong with a finished order; empty: nothing.
std::string flaw_of(const std::vector<HistoryEvent>& history) {
    std::size_t scheduled = 0;
    std::size_t completed = 0;
    std::size_t ends = 0;
    for (const auto& event : history) {
        scheduled += std::holds_alternative<history::ActivityScheduled>(event.kind) ? 1U : 0U;
        completed += std::holds_alternative<history::ActivityCompleted>(event.kind) ? 1U : 0U;
        ends += std::holds_alternative<history::OrchestrationCompleted>(event.kind) ? 1U : 0U;
    }
    if (scheduled == 3 && completed == 3 && ends == 1 && history.size() == 8) {
        return {};
    }
    return std::to_string(history.size()) + " events, " + std::to_string(scheduled) +
           " steps scheduled, " + std::to_string(completed) + " completed, " +
           std::to_string(ends) + " ends";
}

void run_orders(const std::shared_ptr<Provider>& store, std::uint64_t orders) {
    const Client client{store};
    std::deque<std::string> open;
    const auto finish_oldest = [&] {
        const auto id = open.front();
        open.pop_front();
        const auto result = must(client.attach(order, id).wait(300s), "wait for " + id);
        if (result != expected_result(id)) {
            throw std::runtime_error{id + " ended with " + result};
        }
        if (const auto flaw = flaw_of(must(store->read(id), "read")); !flaw.empty()) {
            throw std::runtime_error{id + ": " + flaw};
        }
    };
    for (std::uint64_t number = 1; number <= orders; ++number) {
        const auto id = "order-" + std::to_string(number);
        (void)must(client.start(order, id, {.id = id}), "start");
        open.push_back(id);
        if (open.size() >= in_flight) {
            finish_oldest();
        }
    }
    while (!open.empty()) {
        finish_oldest();
    }
}

int lead(std::uint64_t orders, std::uint64_t seed) {
    std::cout << "seed " << seed << std::endl;
    const TemporaryDirectory directory;
    const auto file = directory.path() + "/fleet.db";
    const auto store = must(sqlite::open(file), "open");
    std::atomic<std::uint64_t> kills = 0;
    {
        const std::jthread killer{[&](const std::stop_token& stop) {
            SeededRandom random{seed};
            std::deque<Worker> workers;
            std::mutex mutex;
            std::condition_variable_any pause;
            while (!stop.stop_requested()) {
                while (workers.size() < processes) {
                    workers.emplace_back(file);
                }
                std::unique_lock lock{mutex};
                const std::chrono::milliseconds nap{100 + random.next() % 400};
                (void)pause.wait_for(lock, stop, nap, [] { return false; });
                if (!stop.stop_requested()) {
                    workers.pop_front();
                    ++kills;
                }
            }
        }};
        run_orders(store, orders);
    }
    auto& admin = *store->as_management_capability();
    const auto metrics = must(admin.get_system_metrics(), "metrics");
    const auto depths = must(admin.get_queue_depths(), "depths");
    std::cout << orders << " orders, " << kills << " kills" << std::endl;
    if (metrics.completed_instances != orders || metrics.total_instances != orders ||
        metrics.quarantined_items != 0 || depths.orchestrator_queue + depths.worker_queue != 0) {
        throw std::runtime_error{"something is left over"};
    }
    return EXIT_SUCCESS;
}

int run(const std::vector<std::string>& arguments) {
    if (arguments.size() == 2 && arguments[0] == "worker") {
        return work(arguments[1]);
    }
    std::uint64_t orders = 100;
    std::uint64_t seed = to_epoch_ms(system_clock()->now());
    for (std::size_t at = 0; at + 1 < arguments.size(); at += 2) {
        if (arguments[at] == "--orders") {
            orders = std::stoull(arguments[at + 1]);
        } else if (arguments[at] == "--seed") {
            seed = std::stoull(arguments[at + 1]);
        } else {
            throw std::invalid_argument{"what is " + arguments[at] + "?"};
        }
    }
    return lead(orders, seed);
}

} // namespace
} // namespace durable::fleet

int main(int argc, char** argv) {
    try {
        return durable::fleet::run({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        std::cerr << "sqlite_fleet: " << error.what() << std::endl;
        return 2;
    }
}
