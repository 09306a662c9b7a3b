// Moment: a time on both clocks. Callers pass it to rules and ledgers, which never read a clock.

#pragma once

#include "base/deadline.hpp"

#include <durable/time.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

namespace durable::rules {

struct Moment {
    Instant wall;         // visibility and time stamps
    SteadyInstant steady; // leases
    Duration rounding{};  // how far both may lag behind the true time (base/deadline.hpp)

    // The earliest time at which `wait` has passed for certain.
    [[nodiscard]] constexpr Instant wall_after(Duration wait) const noexcept {
        return wait_from(wall, rounding, wait);
    }
    [[nodiscard]] constexpr SteadyInstant steady_after(Duration wait) const noexcept {
        return wait_from(steady, rounding, wait);
    }
};

// Heaps order by plain numbers.
template <class TimeScale>
[[nodiscard]] constexpr std::int64_t
key_of(std::chrono::time_point<TimeScale, Duration> point) noexcept {
    return point.time_since_epoch().count();
}
[[nodiscard]] constexpr std::int64_t key_of(std::uint64_t seq) noexcept {
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(std::min(seq, most));
}

// The shortest of several waits; keys may lie centuries apart.
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

} // namespace durable::rules
