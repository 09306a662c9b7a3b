// Time: the only door through which the library reads the clock and waits for time to pass.

#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <ratio>
#include <utility>

namespace durable {

using Duration = std::chrono::milliseconds;

namespace detail {

template <std::integral Rep, class Period>
[[nodiscard]] constexpr Duration
to_duration(const std::chrono::duration<Rep, Period>& other) noexcept {
    using Ratio = std::ratio_divide<Period, Duration::period>;
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    static_assert(Ratio::den <= most / Ratio::num - 1, "this unit of time is too odd");
    if (std::cmp_greater(other.count(), most)) {
        return Duration::max();
    }
    const auto count = static_cast<std::int64_t>(other.count());
    const std::int64_t whole = count / Ratio::den;
    if (whole >= most / Ratio::num || whole <= least / Ratio::num) {
        return whole > 0 ? Duration::max() : Duration::min();
    }
    const std::int64_t rest = (count % Ratio::den) * Ratio::num;
    return Duration{whole * Ratio::num + (rest + (rest > 0 ? Ratio::den - 1 : 0)) / Ratio::den};
}

} // namespace detail

// A Duration that converts from any other: the type of options and parameters. Beyond the range of
// milliseconds it becomes Duration::max(), which means for ever; fractions are rounded up. The
// conversions of std::chrono overflow: hours::max() would be a moment in the past.
class Timespan : public Duration {
 public:
    constexpr Timespan() noexcept : Duration{Duration::zero()} {}
    template <std::integral Rep, class Period>
    constexpr Timespan(const std::chrono::duration<Rep, Period>& other) noexcept // NOLINT(google-*)
        : Duration{detail::to_duration(other)} {}
};

// Wall clock: what is stored, compared across processes and shown to people.
using Instant = std::chrono::sys_time<Duration>;

// Steady clock: leases and deadlines inside one process. A different type, so that a jump of the
// wall clock can never be mistaken for the passing of time.
using SteadyInstant = std::chrono::time_point<std::chrono::steady_clock, Duration>;

// Milliseconds since 1970, as the wire format writes an instant.
[[nodiscard]] constexpr std::uint64_t to_epoch_ms(Instant instant) noexcept {
    const auto count = instant.time_since_epoch().count();
    return count < 0 ? 0 : static_cast<std::uint64_t>(count);
}

// The inverse; values past the representable range saturate, so year-9999 timers are harmless.
[[nodiscard]] constexpr Instant from_epoch_ms(std::uint64_t milliseconds) noexcept {
    const auto most = static_cast<std::uint64_t>(Duration::max().count());
    return Instant{Duration{static_cast<Duration::rep>(milliseconds < most ? milliseconds : most)}};
}

// `from + by`, saturating: "a lease of Duration::max()" must not wrap into the past.
template <class Clock>
[[nodiscard]] constexpr std::chrono::time_point<Clock, Duration>
add_saturating(std::chrono::time_point<Clock, Duration> from, Duration by) noexcept {
    using Point = std::chrono::time_point<Clock, Duration>;
    if (by > Duration::zero() && from > Point::max() - by) {
        return Point::max();
    }
    if (by < Duration::zero() && from < Point::min() - by) {
        return Point::min();
    }
    return from + by;
}

class Clock {
 public:
    Clock() = default;
    Clock(const Clock&) = delete;
    Clock& operator=(const Clock&) = delete;
    virtual ~Clock() = default;

    [[nodiscard]] virtual Instant now() const noexcept = 0;
    [[nodiscard]] virtual SteadyInstant steady() const noexcept = 0;

    // How long a thread really sleeps while `duration` passes on this clock. A clock that is moved
    // by hand answers Duration::max(): its sleepers are woken by on_jump instead.
    [[nodiscard]] virtual Duration real_time(Duration duration) const noexcept = 0;

    // Keeps calling `wake` after every movement made by hand, until the returned handle is
    // destroyed; destroying it waits for a call in progress. `wake` may take the caller's own
    // locks: no lock of the clock is needed by now() and steady().
    [[nodiscard]] virtual std::shared_ptr<void> on_jump(std::function<void()> wake) = 0;
};

// The machine's clock. Lives as long as the program.
[[nodiscard]] const std::shared_ptr<Clock>& system_clock();

} // namespace durable
