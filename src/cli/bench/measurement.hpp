// What one run of `durable bench` found, and how it is shown.

#pragma once

#include "cli/bench/latencies.hpp"

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace durable::cli {

struct Extra {
    std::string_view name; // "reopen_seconds"
    double value = 0;
};

struct Measurement {
    std::string_view workload;
    std::string store; // its URL
    std::uint64_t orchestrations = 0;
    double seconds = 0;
    Latencies latencies;                     // of the orchestrations
    std::optional<double> fdatasync_us;      // of the disk; none without one
    std::optional<std::uint64_t> sync_calls; // during the run; none without a disk
    std::vector<Extra> extras;               // what else the workload is about

    [[nodiscard]] double per_second() const noexcept;
    [[nodiscard]] std::optional<double> syncs_per_orchestration() const noexcept;
};

// One JSON object on one line; what was not measured is null.
void print_json(std::ostream& out, const Measurement& measurement);

// For people: one line per measurement below one headline, extras on lines of their own.
void print_headline(std::ostream& out);
void print_row(std::ostream& out, const Measurement& measurement);

} // namespace durable::cli
