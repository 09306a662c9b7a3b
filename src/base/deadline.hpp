// Moments by which a duration has passed for certain: for everything that waits.
//
// Clocks tell whole milliseconds, rounded down. Where one runs by itself, a part of the current
// millisecond is over already: a moment that is `duration` later would come too early by that part.
// So one millisecond is added. A clock that is moved by hand stands still in between.

#pragma once

#include <durable/time.hpp>

namespace durable {

// What a clock's moments may lie behind the time.
[[nodiscard]] inline Duration rounding_of(const Clock& clock) noexcept {
    const bool by_hand = clock.real_time(Duration::zero()) == Duration::max();
    return by_hand ? Duration::zero() : Duration{1};
}

// From a moment of a clock with that rounding. What need not wait is over at once.
template <class Clock>
[[nodiscard]] constexpr std::chrono::time_point<Clock, Duration>
wait_from(std::chrono::time_point<Clock, Duration> now, Duration rounding, Duration wait) noexcept {
    const auto end = add_saturating(now, wait);
    return wait > Duration::zero() ? add_saturating(end, rounding) : end;
}

[[nodiscard]] inline SteadyInstant deadline_after(const Clock& clock, Duration wait) noexcept {
    return wait_from(clock.steady(), rounding_of(clock), wait);
}

} // namespace durable
