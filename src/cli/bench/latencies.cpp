#include "cli/bench/latencies.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace durable::cli {

void Latencies::add(const Latencies& others) {
    spans_.insert(spans_.end(), others.spans_.begin(), others.spans_.end());
}

double Latencies::percentile(double share) const {
    if (spans_.empty()) {
        return 0;
    }
    const auto rank = std::ceil(share * static_cast<double>(spans_.size()));
    const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
    const auto at = spans_.begin() + static_cast<std::ptrdiff_t>(std::min(index, count() - 1));
    std::ranges::nth_element(spans_, at);
    return std::chrono::duration<double, std::micro>{*at}.count();
}

} // namespace durable::cli
