// What the runtime costs on the memory provider: turns, replay, fan-in, parked orchestrations.
//
// Everything runs on one thread by hand, so that CPU time is what the work costs and not what
// waking a core costs; the last lines run the real threads. Limits are those of
// benchmarks/README.md; a number past its limit makes the program fail.

#include <durable/durable.hpp>
#include <durable/test_runtime.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <malloc.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

constexpr durable::Activity<int(int)> step{"Step"};
constexpr durable::Orchestration<int(int)> chain{"Chain"};
constexpr durable::Orchestration<int(int)> child{"Child"};
constexpr durable::Orchestration<int(int)> parent{"Parent"};
constexpr durable::Orchestration<int(int)> parked{"Parked"};
constexpr durable::Event<> never{"Never"};

durable::Task<int> run_chain(durable::Context ctx, int steps) {
    int sum = 0;
    for (int i = 0; i < steps; ++i) {
        sum = co_await ctx.call(step, sum);
    }
    co_return sum;
}

durable::Task<int> run_child(durable::Context, int n) {
    co_return n;
}

durable::Task<int> run_parent(durable::Context ctx, int children) {
    std::vector<durable::Operation<int>> parts;
    parts.reserve(static_cast<std::size_t>(children));
    for (int i = 0; i < children; ++i) {
        parts.push_back(ctx.call(child, 1));
    }
    const auto results = co_await durable::all{std::move(parts)};
    int sum = 0;
    for (const int result : results) {
        sum += result;
    }
    co_return sum;
}

durable::Task<int> run_parked(durable::Context ctx, int n) {
    co_await ctx.wait_for(never);
    co_return n;
}

durable::Registry handlers() {
    durable::Registry registry;
    registry.add(step, [](int n) { return n + 1; });
    registry.add(chain, run_chain);
    registry.add(child, run_child);
    registry.add(parent, run_parent);
    registry.add(parked, run_parked);
    return registry;
}

double cpu_seconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

double resident_bytes() {
    std::ifstream statm{"/proc/self/statm"};
    double total = 0;
    double resident = 0;
    statm >> total >> resident;
    return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

bool within = true;

void report(const char* what, double value, const char* unit, double limit, bool least = false) {
    const bool good = least ? value >= limit : value <= limit;
    within = within && good;
    std::printf("%-58s %12.2f %-9s %s %.2f%s\n",
                what,
                value,
                unit,
                least ? "at least" : "at most",
                limit,
                good ? "" : "   MISSED");
    std::fflush(stdout);
}

durable::TestRuntime::Options quiet(bool evict_always = false) {
    durable::TestRuntime::Options options;
    options.runtime.logger = durable::silent_logger();
    options.runtime.evict_always = evict_always;
    options.runtime.cache_max_bytes = std::size_t{4} << 30U;
    options.runtime.cache_max_frames = 1'000'000;
    options.max_steps = 10'000'000;
    return options;
}

// CPU per step: one turn and one activity, each from fetch to acknowledgement.
double chain_seconds_per_step(int steps, int instances) {
    durable::TestRuntime test{handlers(), quiet()};
    const auto client = test.client();
    for (int i = 0; i < instances; ++i) {
        client.start(chain, steps).value();
    }
    const auto begun = cpu_seconds();
    test.run_until_idle();
    return (cpu_seconds() - begun) / (static_cast<double>(steps) * instances);
}

void measure_chain() {
    const double small = chain_seconds_per_step(100, 200);
    const double large = chain_seconds_per_step(10'000, 2);
    report("chain of 100: CPU per turn and activity", small * 1e6, "us", 15);
    report("chain of 10,000: CPU per turn and activity", large * 1e6, "us", 15);
    report("chain of 10,000 against 100, per step", large / small, "x", 1.2);
}

void measure_replay() {
    constexpr int steps = 20'000;
    durable::TestRuntime test{handlers(), quiet()};
    const auto run = test.client().start(chain, steps, {.id = "long"}).value();
    for (int i = 0; i < steps; ++i) {
        test.run_turn();
        test.run_activity();
    }
    test.forget();
    const auto begun = cpu_seconds();
    test.run_turn(); // reads and replays everything, then makes one step
    const double seconds = cpu_seconds() - begun;
    report("replay from scratch", 2.0 * steps / seconds, "events/s", 100'000, true);
    static_cast<void>(test.finish(run));
}

// CPU per child. The number of children in the store is the same, however many parents share them.
double fan_in_seconds(int children, int parents) {
    durable::TestRuntime test{handlers(), quiet()};
    const auto begun = cpu_seconds();
    for (int i = 0; i < parents; ++i) {
        const auto run = test.client().start(parent, children).value();
        const bool right = test.finish(run).value() == children;
        within = within && right;
    }
    return (cpu_seconds() - begun) / (static_cast<double>(children) * parents);
}

void measure_fan_in() {
    const double small = fan_in_seconds(10'000, 10);
    const double large = fan_in_seconds(100'000, 1);
    report("100,000 children in one all(): CPU per child", large * 1e6, "us", 100);
    report("against ten times 10,000, per child", large / small, "x", 1.5);
}

struct Parked {
    double with_runtime = 0; // resident bytes per parked orchestration
    double store = 0;        // of them, the rows of the memory provider
};

Parked parked_bytes(bool evicted, int instances) {
    const auto clock = std::make_shared<durable::ManualClock>();
    malloc_trim(0);
    const double before = resident_bytes();
    const auto provider = durable::memory::open({.clock = clock});
    auto options = quiet(evicted);
    options.clock = clock;
    options.provider = provider;
    auto test = std::make_unique<durable::TestRuntime>(handlers(), std::move(options));
    const auto client = test->client();
    for (int i = 0; i < instances; ++i) {
        client.start(parked, i, {.id = "parked-" + std::to_string(i)}).value();
        test->run_until_idle();
    }
    malloc_trim(0);
    const double all = resident_bytes();
    test.reset();
    malloc_trim(0);
    return {.with_runtime = (all - before) / instances,
            .store = (resident_bytes() - before) / instances};
}

// The limits are for all that a parked orchestration takes, the rows of its store included.
void measure_parked() {
    const auto evicted = parked_bytes(true, 100'000);
    const auto cached = parked_bytes(false, 100'000);
    report("parked, frames evicted", evicted.with_runtime, "bytes", 600);
    report("parked, frames cached", cached.with_runtime, "bytes", 1536);
    std::printf("%-58s %12.2f bytes\n", "    of them, the store's rows", evicted.store);
}

void measure_threads() {
    constexpr int steps = 20'000;
    const auto provider = durable::memory::open();
    auto registry = handlers();
    registry.mark_short(step);
    const auto runtime =
        durable::Runtime::start(provider, registry, {.logger = durable::silent_logger()});
    const auto begun = cpu_seconds();
    const auto wall = std::chrono::steady_clock::now();
    const auto run = durable::Client{provider}.start(chain, steps).value();
    run.wait(60s).value();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - wall;
    std::printf("%-58s %12.2f us of CPU, %.2f us of time\n",
                "threads: one chain, per turn and short activity",
                (cpu_seconds() - begun) / steps * 1e6,
                elapsed.count() / steps * 1e6);
}

struct Measurement {
    std::string_view name;
    void (*run)();
};

constexpr Measurement measurements[] = {
    {"parked", measure_parked}, // first: the heap is still clean
    {"chain", measure_chain},
    {"replay", measure_replay},
    {"fan_in", measure_fan_in},
    {"threads", measure_threads},
};

} // namespace

// runtime_benchmark [measurement...]: all of them unless named.
int main(int argc, char** argv) {
    const std::vector<std::string_view> wanted(argv + 1, argv + argc);
    for (const auto& [name, run] : measurements) {
        if (wanted.empty() || std::ranges::find(wanted, name) != wanted.end()) {
            run();
        }
    }
    return within ? 0 : 1;
}
