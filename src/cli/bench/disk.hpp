// The disk below a store, measured in the same run: the other numbers depend on it.

#pragma once

#include "cli/bench/latencies.hpp"

#include <durable/result.hpp>

#include <string>

namespace durable::cli {

class DiskProbe {
 public:
    explicit DiskProbe(std::string directory) : directory_{std::move(directory)} {}

    // Times some small writes, each with its `fdatasync`, into a file that is zero-filled before,
    // as a good journal is, and removed afterwards.
    [[nodiscard]] Result<> sample();

    // The median of all samples.
    [[nodiscard]] double fdatasync_us() const { return latencies_.percentile(0.5); }

 private:
    std::string directory_;
    Latencies latencies_;
};

} // namespace durable::cli
