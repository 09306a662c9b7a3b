// Latencies: durations of one kind, and their percentiles.

#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

namespace durable::cli {

class Latencies {
 public:
    using Span = std::chrono::nanoseconds;

    void add(Span span) { spans_.push_back(span); }
    void add(const Latencies& others);

    [[nodiscard]] std::size_t count() const noexcept { return spans_.size(); }
    // The smallest that `share` (0.5, 0.99) of them do not exceed, in microseconds; 0 of none.
    [[nodiscard]] double percentile(double share) const;

 private:
    mutable std::vector<Span> spans_; // partly sorted by percentile()
};

} // namespace durable::cli
