// Checks UTF-8, and makes any bytes printable.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace durable::utf8 {

// Unsigned value of a byte of text.
[[nodiscard]] constexpr std::uint8_t byte_of(char c) noexcept {
    return static_cast<std::uint8_t>(c);
}

// Length of the UTF-8 sequence of more than one byte at `at`, 0 when it is not one. Overlong forms,
// surrogates and code points above U+10FFFF are not (Unicode 15, table 3-7).
[[nodiscard]] constexpr std::size_t utf8_length(const char* at, const char* end) noexcept {
    const auto left = static_cast<std::size_t>(end - at);
    const auto continues = [&](std::size_t index) { return (byte_of(at[index]) & 0xC0U) == 0x80U; };
    const std::uint8_t first = byte_of(at[0]);
    if (first >= 0xC2 && first <= 0xDF) {
        return left >= 2 && continues(1) ? 2 : 0;
    }
    if (first >= 0xE0 && first <= 0xEF) {
        if (left < 3 || !continues(1) || !continues(2)) {
            return 0;
        }
        const std::uint8_t second = byte_of(at[1]);
        const bool overlong = first == 0xE0 && second < 0xA0;
        const bool surrogate = first == 0xED && second > 0x9F;
        return overlong || surrogate ? 0 : 3;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        if (left < 4 || !continues(1) || !continues(2) || !continues(3)) {
            return 0;
        }
        const std::uint8_t second = byte_of(at[1]);
        const bool overlong = first == 0xF0 && second < 0x90;
        const bool too_large = first == 0xF4 && second > 0x8F;
        return overlong || too_large ? 0 : 4;
    }
    return 0;
}

// Length of the character at `at`, also of one byte; 0 when there is none.
[[nodiscard]] constexpr std::size_t character_length(const char* at, const char* end) noexcept {
    return byte_of(*at) < 0x80 ? 1 : utf8_length(at, end);
}

[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

// The character at `at` moves a cursor instead of being seen: below U+0020, or U+007F to U+009F.
[[nodiscard]] constexpr bool is_control(const char* at, std::size_t length) noexcept {
    return length == 1   ? byte_of(*at) < 0x20 || byte_of(*at) == 0x7F
           : length == 2 ? byte_of(at[0]) == 0xC2 && byte_of(at[1]) < 0xA0
                         : false;
}
[[nodiscard]] bool has_control(std::string_view text) noexcept; // of UTF-8 text

// The same text with every byte that is not UTF-8 written as \xNN: for messages of exceptions,
// which are recorded whatever bytes they have.
[[nodiscard]] std::string printable(std::string_view text);

// One line that any terminal can show: control characters are escaped, too.
void append_one_line(std::string& out, std::string_view text);

} // namespace durable::utf8
