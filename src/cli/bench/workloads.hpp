// The workloads of `durable bench`: the engine alone, with activities that do nothing.

#pragma once

#include "cli/bench/callers.hpp"
#include "cli/bench/measurement.hpp"
#include "cli/scratch_store.hpp"

#include <durable/result.hpp>

#include <span>
#include <string_view>

namespace durable::cli {

struct Workload {
    std::string_view name;
    std::string_view what; // for --help
    Load usual;
    Result<Measurement> (*run)(const ScratchStore& store,
                               const Load& load,
                               const Progress& progress);
    bool has_steps = false; // as many as Load says
};

[[nodiscard]] std::span<const Workload> workloads();

} // namespace durable::cli
