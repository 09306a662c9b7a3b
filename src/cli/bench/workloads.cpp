#include "cli/bench/workloads.hpp"

#include "base/stopwatch.hpp"
#include "base/try.hpp"
#include "cli/bench/disk.hpp"
#include "cli/bench/engine.hpp"
#include "cli/bench/stall_probe.hpp"
#include "cli/bench/sync_counter.hpp"

#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <malloc.h>
#include <unistd.h>

namespace durable::cli {

namespace {

constexpr int chain_steps = 5;
constexpr int fan_width = 100;
constexpr int long_chain_steps = 1'000;
constexpr Duration longest_wait = std::chrono::minutes{10}; // for one orchestration
constexpr Duration one_wait = std::chrono::seconds{5};      // then the store is probed

constexpr Event<> still_there{"StillThere"};

// One run on a store: counts syncs while orchestrations run, and times the disk while none do.
class Session {
 public:
    explicit Session(const ScratchStore& store) {
        if (store.directory) {
            disk_.emplace(*store.directory);
        }
    }

    Result<> run(const Load& load, const Progress& progress, const std::function<Result<>()>& one) {
        DURABLE_TRY(probe());
        const auto syncs = sync_calls();
        const Stopwatch watch;
        const StallProbe probed{watch};
        DURABLE_TRY_ASSIGN(auto made, make_calls(load, one, progress, watch));
        if (disk_) {
            found_.sync_calls = sync_calls() - syncs;
        }
        DURABLE_TRY(probe());
        found_.orchestrations = made.count;
        found_.seconds = made.seconds;
        found_.latencies = std::move(made.latencies);
        using Milliseconds = std::chrono::duration<double, std::milli>;
        const auto stalls = probed.stalls();
        add("longest_pause_ms", Milliseconds{made.longest_pause}.count());
        add("longest_stall_ms", Milliseconds{longest_without(stalls, {})}.count());
        if (probed.goes_first()) {
            const auto own =
                made.pauses.empty() ? made.longest_pause : longest_without(made.pauses, stalls);
            add("longest_own_pause_ms", Milliseconds{own}.count());
        }
        return {};
    }

    void add(std::string_view name, double value) {
        found_.extras.push_back({.name = name, .value = value});
    }
    [[nodiscard]] const Measurement& found() const noexcept { return found_; }
    [[nodiscard]] Measurement result() {
        if (disk_) {
            found_.fdatasync_us = disk_->fdatasync_us();
        }
        return std::move(found_);
    }

 private:
    [[nodiscard]] Result<> probe() { return disk_ ? disk_->sample() : Result<>{}; }

    std::optional<DiskProbe> disk_;
    Measurement found_;
};

Result<> run_to_the_end(const Client& client, const Orchestration<int(int)>& what, int input) {
    DURABLE_TRY_ASSIGN(const auto run, client.start(what, input));
    const Stopwatch watch;
    auto result = run.wait(one_wait);
    while (!result && result.error().code == ErrorCode::timed_out &&
           watch.elapsed() < longest_wait) {
        // On a full disk the engine retries for ever, and this wait sees no error. A call of the
        // client does; an event that the orchestration does not wait for costs little.
        DURABLE_TRY(client.raise(run.id(), still_there));
        result = run.wait(one_wait);
    }
    DURABLE_TRY(result);
    if (*result != input) {
        return fail(ErrorCode::corrupt,
                    "an orchestration answered " + std::to_string(*result) + " instead of " +
                        std::to_string(input));
    }
    return {};
}

// Orchestrations from their start to their result.
Result<> run_all(Session& session,
                 const ScratchStore& store,
                 const Load& load,
                 const Progress& progress,
                 const Orchestration<int(int)>& what,
                 int activities) {
    DURABLE_TRY_ASSIGN(const auto provider, store.open());
    const Engine engine{provider};
    return session.run(
        load, progress, [&] { return run_to_the_end(engine.client, what, activities); });
}

// With what one activity costs.
Result<Measurement> measure_steps(const ScratchStore& store,
                                  const Load& load,
                                  const Progress& progress,
                                  const Orchestration<int(int)>& what,
                                  int activities) {
    Session session{store};
    DURABLE_TRY(run_all(session, store, load, progress, what, activities));
    session.add("steps_per_second", session.found().per_second() * activities);
    if (const auto syncs = session.found().syncs_per_orchestration()) {
        session.add("fsyncs_per_step", *syncs / activities);
    }
    return session.result();
}

Result<Measurement> hello(const ScratchStore& store, const Load& load, const Progress& progress) {
    return measure_steps(store, load, progress, chain, 1);
}

Result<Measurement> five(const ScratchStore& store, const Load& load, const Progress& progress) {
    return measure_steps(store, load, progress, chain, chain_steps);
}

Result<Measurement> fanout(const ScratchStore& store, const Load& load, const Progress& progress) {
    return measure_steps(store, load, progress, fan, fan_width);
}

Result<Measurement>
longchain(const ScratchStore& store, const Load& load, const Progress& progress) {
    const auto steps = load.steps == 0 ? long_chain_steps : static_cast<int>(load.steps);
    return measure_steps(store, load, progress, chain, steps);
}

double resident_bytes() {
    ::malloc_trim(0); // memory that the allocator keeps for later does not count
    std::ifstream statm{"/proc/self/statm"};
    double total = 0;
    double resident = 0;
    statm >> total >> resident;
    return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// Opens the store again and says how long that took.
Result<std::shared_ptr<Provider>> reopen(Session& session, const ScratchStore& store) {
    const Stopwatch watch;
    DURABLE_TRY_ASSIGN(auto provider, store.open());
    session.add("reopen_seconds", watch.seconds());
    return provider;
}

// Until its first turn is committed, and with it the timer.
Result<> put_to_sleep(const Engine& engine) {
    DURABLE_TRY_ASSIGN(const auto run, engine.client.start(sleeper, 0));
    DURABLE_TRY_ASSIGN(
        const auto state,
        engine.provider->watch_instance({.instance = run.id(), .timeout = longest_wait}));
    return state.exists ? Result<>{}
                        : fail(ErrorCode::timed_out, run.id() + " has not begun in ten minutes");
}

Result<Measurement> parked(const ScratchStore& store, const Load& load, const Progress& progress) {
    Session session{store};
    const double before = resident_bytes();
    const auto note_memory = [&](std::string_view name) {
        session.add(name,
                    (resident_bytes() - before) /
                        static_cast<double>(session.found().orchestrations));
    };
    {
        DURABLE_TRY_ASSIGN(const auto provider, store.open());
        const Engine engine{provider};
        DURABLE_TRY(session.run(load, progress, [&] { return put_to_sleep(engine); }));
        note_memory("resident_bytes_each");
    }
    if (store.directory) { // else nothing is left to open
        DURABLE_TRY_ASSIGN(const auto provider, reopen(session, store));
        note_memory("resident_bytes_each_after_reopen");
    }
    return session.result();
}

Result<Measurement>
recovery(const ScratchStore& store, const Load& load, const Progress& progress) {
    if (!store.directory) {
        return fail(ErrorCode::unsupported, "recovery needs a store that keeps what it is told");
    }
    Session session{store};
    DURABLE_TRY(run_all(session, store, load, progress, chain, 1));
    DURABLE_TRY_ASSIGN(const auto provider, reopen(session, store));
    return session.result();
}

} // namespace

std::span<const Workload> workloads() {
    static constexpr Workload all_of_them[] = {
        {"hello", "one activity", {.count = 2'000, .in_flight = 1}, hello},
        {"chain", "5 activities in a row", {.count = 20'000, .in_flight = 64}, five},
        {"fanout", "100 activities at once", {.count = 200, .in_flight = 4}, fanout},
        {"longchain", "1,000 activities in a row", {.count = 10, .in_flight = 1}, longchain, true},
        {"parked", "asleep: memory, reopening", {.count = 100'000, .in_flight = 64}, parked},
        {"recovery", "finished: reopening", {.count = 50'000, .in_flight = 64}, recovery},
    };
    return all_of_them;
}

} // namespace durable::cli
