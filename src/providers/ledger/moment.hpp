// A moment on both clocks. The ledger never asks what time it is: it is told.

#pragma once

#include "base/deadline.hpp"

#include <durable/time.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

namespace durable::ledger {

struct Moment {
    Instant wall;         // visibility and time stamps
    SteadyInstant steady; // leases
    Duration rounding{};  // how far both may lie behind the time (base/deadline.hpp)

    // When so much has passed for certain.
    [[nodiscard]] constexpr Instant wall_after(Duration wait) const noexcept {
        return wait_from(wall, rounding, wait);
    }
    [[nodiscard]] constexpr SteadyInstant steady_after(Duration wait) const noexcept {
        return wait_from(steady, rounding, wait);
    }
};

// Heaps order by plain numbers.
template <class Clock>
[[nodiscard]] constexpr std::int64_t
key_of(std::chrono::time_point<Clock, Duration> point) noexcept {
    return point.time_since_epoch().count();
}
[[nodiscard]] constexpr std::int64_t key_of(std::uint64_t seq) noexcept {
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(std::min(seq, most));
}

// The shortest of several waits, from keys that may lie centuries away.
class Soonest {
 public:
    void consider(std::int64_t due, std::int64_t now) noexcept {
        constexpr auto most = std::numeric_limits<std::int64_t>::max();
        const auto apart = static_cast<std::uint64_t>(due) - static_cast<std::uint64_t>(now);
        const auto wait = due <= now ? 0
                                     : static_cast<std::int64_t>(std::min<std::uint64_t>(
                                           apart, static_cast<std::uint64_t>(most)));
        wait_ = std::min(wait_.value_or(Duration{most}), Duration{wait});
    }
    [[nodiscard]] std::optional<Duration> wait() const noexcept { return wait_; }

 private:
    std::optional<Duration> wait_;
};

} // namespace durable::ledger
