// The experiment: records one life of the workload after the other, and cuts the power at many
// moments of each. The next life goes on from what one of the cuts has left.

#pragma once

#include "base/random.hpp"
#include "power_cut/disk.hpp"
#include "power_cut/facts.hpp"
#include "power_cut/stores.hpp"
#include "power_cut/survival.hpp"
#include "power_cut/trace.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace durable::power_cut {

struct Experiment {
    Kind kind = Kind::fs;
    std::string directory; // scratch space
    std::uint64_t seed = 1;
    std::size_t cuts = 200;
    bool large = true; // also records and transactions larger than what is ready for them
    Lies lies = Lies::none;
};

struct Cut {
    std::size_t number = 0; // in its life
    std::size_t position = 0;
    Survival survival;
};

struct Failure {
    std::uint64_t life = 0;
    std::optional<Cut> cut; // nullopt: it was not a cut that failed
    std::vector<std::string> complaints;
    std::vector<std::string> calls; // the last ones before the cut
    std::string simplest;           // survival at the same moment that fails as well
};

struct Outcome {
    std::optional<Failure> failure;
    std::size_t lives = 0;
    std::size_t cuts = 0;
    std::size_t records = 0;  // in all traces
    std::size_t promised = 0; // turns and messages that had to be there, over all cuts
};

// Throws std::runtime_error when the machine refuses something. What failed stays in the directory:
// `base`, the disk before the life, `trace`, `diary` and `left`, the disk that the cut has left.
[[nodiscard]] Outcome run(const Experiment& experiment);

// Makes one cut again, of the life whose trace is in that directory.
[[nodiscard]] Outcome
run_again(const Experiment& experiment, std::uint64_t life, std::size_t number);

} // namespace durable::power_cut
