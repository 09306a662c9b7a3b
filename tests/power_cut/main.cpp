// power_cut: cuts the power of a recorded process at many moments, and judges what is left.
//
//     power_cut fs|sqlite [--cuts N] [--seed S] [--small] [--lies files|directories|now-and-then]
//     power_cut fs|sqlite --seed S --again DIRECTORY LIFE CUT
//     power_cut recorder
//
// What is left of a failure is in the directory that is named with it; --again makes that cut once
// more, with the options of the first time. With --lies the disk takes syncs of that kind for done
// and does nothing: then it is an error if no loss is found. `recorder` makes every call that the
// recorder knows, and compares what the trace makes of them with what they have made.

#include "base/files.hpp"
#include "power_cut/every_call.hpp"
#include "power_cut/experiment.hpp"
#include "power_cut/look.hpp"
#include "power_cut/workload.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

namespace durable::power_cut {
namespace {

using Arguments = std::span<const std::string>;

Kind kind_of(const std::string& name) {
    if (name == "fs") {
        return Kind::fs;
    }
    if (name == "sqlite") {
        return Kind::sqlite;
    }
    if (name == "files") {
        return Kind::files;
    }
    throw std::invalid_argument{"fs, sqlite or files, not " + name};
}

Lies lies_of(const std::string& name) {
    if (name == "files") {
        return Lies::of_files;
    }
    if (name == "directories") {
        return Lies::of_directories;
    }
    if (name == "now-and-then") {
        return Lies::now_and_then;
    }
    throw std::invalid_argument{"files, directories or now-and-then, not " + name};
}

// ---- The children's side

int work(Arguments arguments) {
    do_work({.place = {.kind = kind_of(arguments[0]),
                       .directory = arguments[1],
                       .life = std::stoull(arguments[2])},
             .seed = std::stoull(arguments[3]),
             .member = std::stoull(arguments[4]),
             .large = arguments[5] == "large"});
    return EXIT_SUCCESS;
}

int look(Arguments arguments) {
    std::cout << power_cut::look({.kind = kind_of(arguments[0]),
                                  .directory = arguments[1],
                                  .life = std::stoull(arguments[2])})
                     .text();
    return EXIT_SUCCESS;
}

// ---- The parent's side

// In memory where there is such a place: a thousand disks are made and thrown away.
std::string make_scratch() {
    const char* base = std::getenv("TMPDIR"); // NOLINT(concurrency-mt-unsafe): read only
    std::string path = std::filesystem::exists("/dev/shm") ? "/dev/shm"
                       : base != nullptr                   ? base
                                                           : "/tmp";
    path = std::filesystem::canonical(path).string() + "/power-cut-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) {
        throw std::runtime_error{"no scratch directory below " + path};
    }
    return path;
}

int check_recorder() {
    const auto directory = make_scratch();
    const auto flaw = flaw_of_recorder(directory);
    std::cout << (flaw.empty() ? "the recorder sees every call" : flaw) << '\n';
    std::filesystem::remove_all(directory);
    return flaw.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}

struct Again {
    std::uint64_t life = 0;
    std::size_t cut = 0;
};

struct Request {
    Experiment experiment;
    std::optional<Again> again;
};

Request parse(Arguments arguments) {
    Request request;
    auto& experiment = request.experiment;
    experiment.kind = kind_of(arguments[0]);
    const auto value = [&](std::size_t index) -> const std::string& {
        if (index >= arguments.size()) {
            throw std::invalid_argument{arguments.back() + " needs a value"};
        }
        return arguments[index];
    };
    for (std::size_t index = 1; index < arguments.size(); ++index) {
        const auto& option = arguments[index];
        if (option == "--cuts") {
            experiment.cuts = std::stoull(value(++index));
        } else if (option == "--seed") {
            experiment.seed = std::stoull(value(++index));
        } else if (option == "--small") {
            experiment.large = false;
        } else if (option == "--lies") {
            experiment.lies = lies_of(value(++index));
        } else if (option == "--again") {
            experiment.directory = value(index + 1);
            request.again = {.life = std::stoull(value(index + 2)),
                             .cut = std::stoull(value(index + 3))};
            index += 3;
        } else {
            throw std::invalid_argument{"unknown option " + option};
        }
    }
    return request;
}

void show(const Failure& failure, const Request& request, const std::string& store) {
    const auto& experiment = request.experiment;
    std::cout << "FAILED in life " << failure.life;
    if (failure.cut) {
        std::cout << ", cut " << failure.cut->number << ", before call " << failure.cut->position
                  << " of the trace; left: " << describe(failure.cut->survival);
    }
    std::cout << "\n\n";
    constexpr std::size_t most = 20;
    for (std::size_t index = 0; index < std::min(most, failure.complaints.size()); ++index) {
        std::cout << "  " << failure.complaints[index] << '\n';
    }
    if (failure.complaints.size() > most) {
        std::cout << "  and " << failure.complaints.size() - most << " more\n";
    }
    if (!failure.simplest.empty()) {
        std::cout << "\nIt fails there as well with: " << failure.simplest << '\n';
    }
    std::cout << "\nThe calls before it:\n";
    for (const auto& call : failure.calls) {
        std::cout << "  " << call << '\n';
    }
    if (failure.cut) {
        std::cout << "\nAgain: power_cut " << store << " --seed " << experiment.seed
                  << (experiment.large ? "" : " --small") << " --cuts " << experiment.cuts
                  << " --again " << experiment.directory << ' ' << failure.life << ' '
                  << failure.cut->number << '\n';
    }
}

int cut_power(Arguments arguments) {
    auto request = parse(arguments);
    auto& experiment = request.experiment;
    if (!request.again) {
        experiment.directory = make_scratch();
    }
    const auto outcome = request.again
                             ? run_again(experiment, request.again->life, request.again->cut)
                             : run(experiment);
    std::cout << arguments[0] << ": " << outcome.cuts << " cuts in " << outcome.lives << " lives, "
              << outcome.records << " calls recorded, " << outcome.promised
              << " turns and messages promised and found, seed " << experiment.seed << '\n';
    if (outcome.failure) {
        show(*outcome.failure, request, arguments[0]);
    }
    const bool lying = experiment.lies != Lies::none;
    const bool good = lying ? outcome.failure && outcome.failure->cut : !outcome.failure;
    if (lying && !good) {
        std::cout << "the disk lied, and no loss was found\n";
    }
    if (!request.again && good) {
        std::filesystem::remove_all(experiment.directory);
    }
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

int run_program(Arguments arguments) {
    if (arguments.size() == 7 && arguments[0] == "work") {
        return work(arguments.subspan(1));
    }
    if (arguments.size() == 4 && arguments[0] == "look") {
        return look(arguments.subspan(1));
    }
    if (arguments.size() == 2 && arguments[0] == "calls") {
        make_every_call(arguments[1]);
        return EXIT_SUCCESS;
    }
    if (arguments.size() == 1 && arguments[0] == "recorder") {
        return check_recorder();
    }
    if (arguments.empty()) {
        throw std::invalid_argument{"usage: power_cut fs|sqlite [--cuts N] [--seed S] [--small]"};
    }
    return cut_power(arguments);
}

} // namespace
} // namespace durable::power_cut

int main(int count, char** words) {
    try {
        const std::vector<std::string> arguments(words + 1, words + count);
        return durable::power_cut::run_program(arguments);
    } catch (const std::exception& error) {
        std::cerr << "power_cut: " << error.what() << '\n';
        return EXIT_FAILURE;
    }
}
