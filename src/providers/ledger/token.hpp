// Token: 128 random bits that prove the ownership of a lease; 32 hexadecimal digits outside.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace durable::ledger {

struct Token {
    std::uint64_t high = 0;
    std::uint64_t low = 0;

    bool operator==(const Token&) const = default;

    [[nodiscard]] std::string text() const;
    [[nodiscard]] static std::optional<Token> parse(std::string_view text) noexcept;
};

struct TokenHash {
    [[nodiscard]] std::size_t operator()(const Token& token) const noexcept {
        return static_cast<std::size_t>(token.low); // random already
    }
};

} // namespace durable::ledger
