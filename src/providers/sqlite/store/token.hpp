// Lock tokens: the row id of the leased instance or item, the life that leases it (lives.hpp), and
// 128 random bits. So finding a lease needs no index of tokens, and a token cannot be guessed.

#pragma once

#include "base/random.hpp"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace durable::sqlite {

// "t17-3-0123456789abcdef0123456789abcdef"; `kind` is t for turns, w for work.
[[nodiscard]] inline std::string
new_token(char kind, std::int64_t number, std::int64_t life, Random& random) {
    constexpr std::string_view digits = "0123456789abcdef";
    auto token = kind + std::to_string(number) + "-" + std::to_string(life) + "-";
    for (int half = 0; half < 2; ++half) {
        auto bits = random.next();
        for (int digit = 0; digit < 16; ++digit) {
            token += digits[bits & 0xfU];
            bits >>= 4U;
        }
    }
    return token;
}

// The row id in the token. P3: the token is valid only if that row stores this very token.
[[nodiscard]] inline std::optional<std::int64_t> leased_number(char kind, std::string_view token) {
    std::int64_t number = 0;
    if (token.size() < 2 || token.front() != kind) {
        return std::nullopt;
    }
    const auto* const end = token.data() + token.size();
    const auto [stop, error] = std::from_chars(token.data() + 1, end, number);
    return error == std::errc{} && stop != end && *stop == '-' ? std::optional{number}
                                                               : std::nullopt;
}

} // namespace durable::sqlite
