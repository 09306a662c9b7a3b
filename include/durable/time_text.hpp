// Durations and moments as text, for payloads. Not for users.
//
//     std::chrono::milliseconds{1500}    "1500ms"
//     std::chrono::sys_seconds           "2026-01-31T12:00:00Z"
//
// A text carries its unit, so that what was written as seconds is read as milliseconds without a
// change of meaning. Reading throws std::invalid_argument for what the type cannot hold exactly.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace durable::detail {

// A part of a second, or some seconds: num / den.
struct TimeUnit {
    std::int64_t num = 1;
    std::int64_t den = 1;
};

[[nodiscard]] std::string duration_text(std::int64_t count, TimeUnit unit);
[[nodiscard]] std::string duration_text(double count, TimeUnit unit);

// How many of the unit the text is.
[[nodiscard]] std::int64_t whole_units(std::string_view text, TimeUnit unit);
[[nodiscard]] double fractional_units(std::string_view text, TimeUnit unit);

// Whether a multiple of the unit is a decimal fraction of a second.
[[nodiscard]] constexpr bool is_decimal(TimeUnit unit) {
    return 1'000'000'000'000'000'000 % unit.den == 0;
}

// A moment as so many decimal units since 1970, in UTC: always with the digits of the unit.
[[nodiscard]] std::string moment_text(std::int64_t count, TimeUnit unit);
[[nodiscard]] std::int64_t moment_units(std::string_view text, TimeUnit unit);

} // namespace durable::detail
