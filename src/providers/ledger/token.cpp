#include "providers/ledger/token.hpp"

#include <charconv>

namespace durable::ledger {

namespace {

constexpr std::string_view digits = "0123456789abcdef";

void write_hex(std::string& out, std::uint64_t bits) {
    for (int shift = 60; shift >= 0; shift -= 4) {
        out += digits[(bits >> static_cast<unsigned>(shift)) & 0xfU];
    }
}

std::optional<std::uint64_t> read_hex(std::string_view text) noexcept {
    std::uint64_t bits = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits, 16);
    if (error != std::errc{} || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return bits;
}

} // namespace

std::string Token::text() const {
    std::string out;
    out.reserve(32);
    write_hex(out, high);
    write_hex(out, low);
    return out;
}

std::optional<Token> Token::parse(std::string_view text) noexcept {
    if (text.size() != 32) {
        return std::nullopt;
    }
    const auto high = read_hex(text.substr(0, 16));
    const auto low = read_hex(text.substr(16));
    if (!high || !low) {
        return std::nullopt;
    }
    return Token{*high, *low};
}

} // namespace durable::ledger
