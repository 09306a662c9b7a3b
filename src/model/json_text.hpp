// What the reader and the writer of JSON know about bytes: which ones stand for themselves inside a
// string, and which sequences are UTF-8.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace durable::wire {

// Unsigned value of a byte of text.
[[nodiscard]] constexpr std::uint8_t byte_of(char c) noexcept {
    return static_cast<std::uint8_t>(c);
}

// Eight bytes of text, the first one in the lowest bits whatever the machine.
[[nodiscard]] inline std::uint64_t load_eight(const char* text) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, text, sizeof word);
    if constexpr (std::endian::native == std::endian::big) {
        word = std::byteswap(word);
    }
    return word;
}

// Marks bytes that need a closer look inside a string: quote, backslash, control character, or part
// of a longer UTF-8 sequence. Exact up to the first marked byte, which is all that callers use:
// borrows can mark wrong bytes only above a rightly marked one.
[[nodiscard]] constexpr std::uint64_t special_marks(std::uint64_t word) noexcept {
    constexpr std::uint64_t ones = 0x0101010101010101U;
    constexpr std::uint64_t tops = ones * 0x80U;
    const std::uint64_t quotes = word ^ (ones * '"');
    const std::uint64_t backslashes = word ^ (ones * '\\');
    const std::uint64_t found = ((quotes - ones) & ~quotes) |
                                ((backslashes - ones) & ~backslashes) |
                                ((word - ones * 0x20U) & ~word) | word;
    return found & tops;
}

// Likewise for backslashes alone.
[[nodiscard]] constexpr std::uint64_t backslash_marks(std::uint64_t word) noexcept {
    constexpr std::uint64_t ones = 0x0101010101010101U;
    const std::uint64_t backslashes = word ^ (ones * '\\');
    return (backslashes - ones) & ~backslashes & (ones * 0x80U);
}

// How many bytes precede the first marked one.
[[nodiscard]] constexpr std::size_t bytes_before(std::uint64_t marks) noexcept {
    return static_cast<std::size_t>(std::countr_zero(marks)) / 8;
}

[[nodiscard]] constexpr bool is_special(char c) noexcept {
    return byte_of(c) < 0x20 || byte_of(c) >= 0x80 || c == '"' || c == '\\';
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

} // namespace durable::wire
