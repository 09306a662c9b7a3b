#include <durable/time_text.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace durable::detail {

namespace {

// Counts times units: no product of two 64-bit numbers overflows it.
__extension__ using Wide = __int128;

struct NamedUnit {
    std::string_view name;
    TimeUnit unit;
};

constexpr std::array<NamedUnit, 7> named_units{{{"ns", {1, 1'000'000'000}},
                                                {"us", {1, 1'000'000}},
                                                {"ms", {1, 1'000}},
                                                {"s", {1, 1}},
                                                {"min", {60, 1}},
                                                {"h", {3'600, 1}},
                                                {"d", {86'400, 1}}}};

// The names that std::format gives: "ms", "min"; "[1/30]s" and "[604800]s" for units without one.
std::string name_of(TimeUnit unit) {
    for (const auto& named : named_units) {
        if (named.unit.num == unit.num && named.unit.den == unit.den) {
            return std::string{named.name};
        }
    }
    const auto part = unit.den == 1 ? std::string{} : "/" + std::to_string(unit.den);
    return "[" + std::to_string(unit.num) + part + "]s";
}

[[noreturn]] void refuse(std::string_view text, std::string_view expected) {
    throw std::invalid_argument{"expected " + std::string{expected} + ", found '" +
                                std::string{text.substr(0, 64)} + "'"};
}

constexpr std::string_view a_duration = "a duration like 1500ms";
constexpr std::string_view a_moment = "a moment like 2026-01-31T12:00:00Z";

// A number at the beginning of the text, which is cut off.
template <class Number>
[[nodiscard]] bool take(std::string_view& text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) {
        return false;
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

[[nodiscard]] bool take(std::string_view& text, char expected) {
    if (!text.starts_with(expected)) {
        return false;
    }
    text.remove_prefix(1);
    return true;
}

// Exactly so many digits.
[[nodiscard]] bool take_digits(std::string_view& text, std::size_t count, std::int64_t& number) {
    auto digits = text.substr(0, count);
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (digits.size() != count || !std::ranges::all_of(digits, is_digit)) {
        return false;
    }
    text.remove_prefix(count);
    return take(digits, number);
}

void append_padded(std::string& text, std::int64_t number, std::size_t width) {
    const auto digits = std::to_string(number);
    text.append(width > digits.size() ? width - digits.size() : 0, '0');
    text += digits;
}

[[nodiscard]] bool read_unit(std::string_view text, TimeUnit& unit) {
    for (const auto& named : named_units) {
        if (named.name == text) {
            unit = named.unit;
            return true;
        }
    }
    unit.den = 1;
    return take(text, '[') && take(text, unit.num) && (!take(text, '/') || take(text, unit.den)) &&
           text == "]s" && unit.num > 0 && unit.den > 0;
}

[[nodiscard]] Wide power_of_ten(std::size_t exponent) {
    Wide power = 1;
    for (; exponent > 0; --exponent) {
        power *= 10;
    }
    return power;
}

// Of a decimal unit: milliseconds have three.
[[nodiscard]] std::size_t digits_of(TimeUnit unit) {
    std::size_t digits = 0;
    while (power_of_ten(digits) % unit.den != 0) {
        ++digits;
    }
    return digits;
}

[[nodiscard]] Wide floor_divide(Wide dividend, Wide divisor) {
    return dividend / divisor - (dividend % divisor < 0 ? 1 : 0);
}

[[nodiscard]] bool fits(Wide number) {
    return number >= std::numeric_limits<std::int64_t>::min() &&
           number <= std::numeric_limits<std::int64_t>::max();
}

struct Date {
    std::int64_t year = 0;
    std::int64_t month = 0;
    std::int64_t day = 0;
};

constexpr std::int64_t days_per_era = 146'097; // 400 years

// The proleptic Gregorian calendar without the limits of std::chrono::year: the latest moment of
// the clock's range has a text, too. Years begin in March, so that a leap day is the last one.
[[nodiscard]] Date date_of(Wide days_since_1970) {
    const Wide days = days_since_1970 + 719'468; // since 0000-03-01
    const auto era = floor_divide(days, days_per_era);
    const auto day_of_era = static_cast<std::int64_t>(days - era * days_per_era);
    const auto year_of_era =
        (day_of_era - day_of_era / 1'460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
    const auto day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const auto month_from_march = (5 * day_of_year + 2) / 153;
    const auto month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
    return {.year = static_cast<std::int64_t>(era) * 400 + year_of_era + (month <= 2 ? 1 : 0),
            .month = month,
            .day = day_of_year - (153 * month_from_march + 2) / 5 + 1};
}

[[nodiscard]] Wide days_of(const Date& date) {
    const auto year = Wide{date.year} - (date.month <= 2 ? 1 : 0);
    const auto era = floor_divide(year, 400);
    const auto year_of_era = static_cast<std::int64_t>(year - era * 400);
    const auto month_from_march = date.month > 2 ? date.month - 3 : date.month + 9;
    const auto day_of_year = (153 * month_from_march + 2) / 5 + date.day - 1;
    const auto day_of_era = 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * days_per_era + day_of_era - 719'468;
}

[[nodiscard]] bool exists(const Date& date) {
    const auto again = date_of(days_of(date));
    return date.month >= 1 && date.month <= 12 && date.day >= 1 && again.month == date.month &&
           again.day == date.day;
}

// Four digits, or a sign and more digits.
[[nodiscard]] bool take_year(std::string_view& text, std::int64_t& year) {
    if (text.starts_with('-')) {
        return take(text, year);
    }
    return take(text, '+') ? !text.starts_with('-') && take(text, year)
                           : take_digits(text, 4, year);
}

} // namespace

std::string duration_text(std::int64_t count, TimeUnit unit) {
    return std::to_string(count) + name_of(unit);
}

std::string duration_text(double count, TimeUnit unit) {
    std::array<char, 64> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), count).ptr;
    return std::string{text.data(), end} + name_of(unit);
}

std::int64_t whole_units(std::string_view text, TimeUnit unit) {
    auto rest = text;
    std::int64_t count = 0;
    TimeUnit written;
    if (!take(rest, count) || !read_unit(rest, written)) {
        refuse(text, a_duration);
    }
    // count * written / unit, in terms that have nothing in common.
    const auto nums = std::gcd(written.num, unit.num);
    const auto dens = std::gcd(written.den, unit.den);
    const auto times = Wide{written.num / nums} * (unit.den / dens);
    const auto by = Wide{written.den / dens} * (unit.num / nums);
    if (count == 0) {
        return 0;
    }
    if (!fits(times) || !fits(by) || Wide{count} * times % by != 0 ||
        !fits(Wide{count} * times / by)) {
        refuse(text, "a duration that is a whole number of " + name_of(unit) + ", in range");
    }
    return static_cast<std::int64_t>(Wide{count} * times / by);
}

double fractional_units(std::string_view text, TimeUnit unit) {
    auto rest = text;
    double count = 0;
    TimeUnit written;
    if (!take(rest, count) || !read_unit(rest, written)) {
        refuse(text, a_duration);
    }
    if (written.num == unit.num && written.den == unit.den) {
        return count;
    }
    return count * (static_cast<double>(written.num) / static_cast<double>(unit.num)) *
           (static_cast<double>(unit.den) / static_cast<double>(written.den));
}

std::string moment_text(std::int64_t count, TimeUnit unit) {
    const auto digits = digits_of(unit);
    const auto parts = Wide{count} * unit.num;
    const auto seconds = floor_divide(parts, unit.den);
    const auto fraction = (parts - seconds * unit.den) * (power_of_ten(digits) / unit.den);
    const auto day = floor_divide(seconds, 86'400);
    const auto second_of_day = static_cast<std::int64_t>(seconds - day * 86'400);
    const auto date = date_of(day);

    std::string text;
    if (date.year < 0 || date.year > 9'999) {
        text += date.year < 0 ? '-' : '+';
    }
    append_padded(text, date.year < 0 ? -date.year : date.year, 4);
    for (const auto& [before, number] : {std::pair{'-', date.month},
                                         std::pair{'-', date.day},
                                         std::pair{'T', second_of_day / 3'600},
                                         std::pair{':', second_of_day / 60 % 60},
                                         std::pair{':', second_of_day % 60}}) {
        text += before;
        append_padded(text, number, 2);
    }
    if (digits > 0) {
        text += '.';
        append_padded(text, static_cast<std::int64_t>(fraction), digits);
    }
    return text + 'Z';
}

std::int64_t moment_units(std::string_view text, TimeUnit unit) {
    auto rest = text;
    Date date;
    std::int64_t hour = 0;
    std::int64_t minute = 0;
    std::int64_t second = 0;
    std::string_view fraction;
    const auto is_written = [&] {
        if (!take_year(rest, date.year) || !take(rest, '-') || !take_digits(rest, 2, date.month) ||
            !take(rest, '-') || !take_digits(rest, 2, date.day) || !take(rest, 'T') ||
            !take_digits(rest, 2, hour) || !take(rest, ':') || !take_digits(rest, 2, minute) ||
            !take(rest, ':') || !take_digits(rest, 2, second)) {
            return false;
        }
        if (take(rest, '.')) {
            fraction = rest.substr(0, rest.find_first_not_of("0123456789"));
            rest.remove_prefix(fraction.size());
            if (fraction.empty()) {
                return false;
            }
        }
        return rest == "Z" && exists(date) && hour < 24 && minute < 60 && second < 60;
    };
    if (!is_written()) {
        refuse(text, a_moment);
    }
    // Zeros at the end are dropped; eighteen digits are more than any clock has.
    fraction = fraction.substr(0, fraction.find_last_not_of('0') + 1);
    std::int64_t numerator = 0;
    const auto digits = fraction.size();
    const auto seconds = days_of(date) * 86'400 + hour * 3'600 + minute * 60 + second; // since 1970
    if (digits <= 18 && (digits == 0 || take_digits(fraction, digits, numerator)) &&
        fits(seconds)) {
        const auto power = power_of_ten(digits);
        const auto exact_part = Wide{numerator} * unit.den % power == 0;
        const auto parts = seconds * unit.den + Wide{numerator} * unit.den / power;
        if (exact_part && parts % unit.num == 0 && fits(parts / unit.num)) {
            return static_cast<std::int64_t>(parts / unit.num);
        }
    }
    refuse(text, "a moment that is a whole number of " + name_of(unit) + ", in range");
}

} // namespace durable::detail
