#include "base/try.hpp"
#include "cli/bench/workloads.hpp"
#include "cli/commands.hpp"
#include "cli/interruption.hpp"
#include "cli/store_url.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <unistd.h>

namespace durable::cli {

namespace {

constexpr std::uint64_t most_orchestrations = 1'000'000'000;

struct Options {
    std::vector<std::string> names;
    std::string store;
    bool json = false;
    Load load; // zeros: the workload's own
};

std::string describe_workloads() {
    std::string text;
    for (const auto& workload : workloads()) {
        text += (text.empty() ? "" : "; ") + std::string{workload.name} + " (" +
                std::string{workload.what} + ", " + std::to_string(workload.usual.count) +
                " times, " + std::to_string(workload.usual.in_flight) + " in flight)";
    }
    return text;
}

std::vector<Workload> select(const std::vector<std::string>& names) {
    std::vector<Workload> selected;
    for (const auto& name : names) {
        const auto found = std::ranges::find(workloads(), name, &Workload::name);
        if (found == workloads().end()) {
            throw CLI::ValidationError{
                "bench", "unknown workload '" + name + "', known are: " + describe_workloads()};
        }
        selected.push_back(*found);
    }
    return selected;
}

Load load_of(const Workload& workload, const Load& asked) {
    auto load = workload.usual;
    load.time = asked.time;
    load.steps = asked.steps;
    if (asked.count != 0 || asked.time.count() != 0) {
        load.count = asked.count;
    }
    if (asked.in_flight != 0) {
        load.in_flight = asked.in_flight;
    }
    if (load.count != 0) {
        load.in_flight = std::min(load.in_flight, load.count);
    }
    return load;
}

// A progress line that is written over and over, if standard error is a terminal.
class ProgressLine {
 public:
    ProgressLine(std::ostream& err, const Workload& workload)
        : err_{&err == &std::cerr && ::isatty(STDERR_FILENO) != 0 ? &err : nullptr},
          name_{workload.name} {}
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;
    ~ProgressLine() {
        if (err_ != nullptr) {
            *err_ << "\r\033[K" << std::flush; // erases the line
        }
    }

    void show(std::uint64_t done, const Load& load) {
        if (err_ != nullptr) {
            *err_ << '\r' << name_ << ": " << done;
            if (load.count != 0) {
                *err_ << " of " << load.count;
            }
            *err_ << std::flush;
        }
    }

 private:
    std::ostream* err_; // nullptr: no terminal
    std::string_view name_;
};

Result<> unless_interrupted() {
    return Interruption::signal() == 0
               ? Result<>{}
               : fail(ErrorCode::unavailable, "interrupted; its store is removed");
}

Result<Measurement> measure(const Workload& workload, const Options& options, std::ostream& err) {
    const auto store = scratch_store(options.store);
    if (!store) {
        throw CLI::ValidationError{"bench", store.error().message};
    }
    const auto load = load_of(workload, options.load);
    ProgressLine line{err, workload};
    auto found = workload.run(*store, load, [&](std::uint64_t done) {
        line.show(done, load);
        return unless_interrupted();
    });
    DURABLE_TRY(unless_interrupted()); // the user does not want the result any more
    if (found) {
        found->workload = workload.name;
        found->store = options.store;
    }
    return found;
}

ExitCode bench(const Options& options, const Console& console) {
    const auto selected = select(options.names);
    if (options.load.steps != 0 && std::ranges::none_of(selected, &Workload::has_steps)) {
        throw CLI::ValidationError{"--steps",
                                   "is for longchain; the others have as many as they have"};
    }
    const Interruption interruption;
    bool headline = !options.json;
    for (const auto& workload : selected) {
        const auto found = measure(workload, options, console.err);
        if (!found) {
            console.err << "durable bench " << workload.name << ": " << found.error().message
                        << '\n';
            return Interruption::signal() == 0 ? bad_use : interrupted;
        }
        if (std::exchange(headline, false)) {
            print_headline(console.out);
        }
        options.json ? print_json(console.out, *found) : print_row(console.out, *found);
    }
    return success;
}

} // namespace

void add_bench(CLI::App& program, Console console) {
    auto* command = program.add_subcommand(
        "bench", "Measure the engine on a fresh store, with activities that do nothing");
    const auto options = std::make_shared<Options>();
    options->load.in_flight = 0;
    command->add_option("workload", options->names, "One or more of: " + describe_workloads())
        ->required();
    command
        ->add_option("--store",
                     options->store,
                     "Where the store is made, and removed afterwards: " + known_stores())
        ->required();
    command->add_option("--count", options->load.count, "How many orchestrations")
        ->check(CLI::Range(std::uint64_t{1}, most_orchestrations));
    command->add_option("--in-flight", options->load.in_flight, "How many at the same time")
        ->check(CLI::Range(1, 1'000));
    command
        ->add_option_function<std::uint32_t>(
            "--seconds",
            [options](std::uint32_t seconds) {
                options->load.time = std::chrono::seconds{seconds};
            },
            "For how long; without --count, any number of orchestrations")
        ->check(CLI::Range(1, 1'000'000));
    command
        ->add_option("--steps", options->load.steps, "How many activities a longchain has in a row")
        ->check(CLI::Range(1, 1'000'000));
    command->add_flag("--json", options->json, "One object per line instead of a table");
    command->callback([=] { console.result = bench(*options, console); });
}

} // namespace durable::cli
