// Deadlines that never come too early, for every wait of the library.
//
// Clocks report whole milliseconds, rounded down. On a running clock a part of the current
// millisecond is already over, so `now + duration` comes too early by that part: one millisecond
// is added. A clock that is moved by hand stands still and needs none.

#pragma once

#include <durable/time.hpp>

namespace durable {

// How far a clock's reading may lie behind the time.
[[nodiscard]] inline Duration rounding_of(const Clock& clock) noexcept {
    const bool by_hand = clock.real_time(Duration::zero()) == Duration::max();
    return by_hand ? Duration::zero() : Duration{1};
}

// The end of a wait that begins at `now` on a clock with that rounding. A wait of zero ends at
// once.
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
