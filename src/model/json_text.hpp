// What the reader and the writer of JSON share: which bytes stand for themselves inside a string,
// eight bytes at a time.

#pragma once

#include "base/utf8.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace durable::wire {

using utf8::byte_of;
using utf8::utf8_length;

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

} // namespace durable::wire
