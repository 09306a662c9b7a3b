#include "base/utf8.hpp"

#include <cstring>

namespace durable::utf8 {

namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

void append_byte(std::string& out, char byte) {
    out += "\\x";
    out += hex_digits[byte_of(byte) >> 4U];
    out += hex_digits[byte_of(byte) & 0xFU];
}

// Calls `use(at, length)` for each character; length 0: a byte that belongs to no character.
template <class Use>
void each_character(std::string_view text, Use use) {
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); at != end;) {
        const auto length = character_length(at, end);
        use(at, length);
        at += length == 0 ? 1 : length;
    }
}

} // namespace

bool is_utf8(std::string_view text) noexcept {
    const char* at = text.data();
    const char* const end = at + text.size();
    while (end - at >= 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, at, sizeof word);
        if ((word & 0x8080808080808080U) != 0) {
            break;
        }
        at += 8;
    }
    while (at != end) {
        const auto length = character_length(at, end);
        if (length == 0) {
            return false;
        }
        at += length;
    }
    return true;
}

bool has_control(std::string_view text) noexcept {
    bool found = false;
    each_character(
        text, [&](const char* at, std::size_t length) { found = found || is_control(at, length); });
    return found;
}

std::string printable(std::string_view text) {
    if (is_utf8(text)) {
        return std::string{text};
    }
    std::string out;
    each_character(text, [&](const char* at, std::size_t length) {
        length == 0 ? append_byte(out, *at) : void(out.append(at, length));
    });
    return out;
}

void append_one_line(std::string& out, std::string_view text) {
    each_character(text, [&](const char* at, std::size_t length) {
        if (length != 0 && !is_control(at, length)) {
            out.append(at, length);
        } else if (*at == '\n') {
            out += "\\n";
        } else {
            for (std::size_t i = 0; i < (length == 0 ? 1 : length); ++i) {
                append_byte(out, at[i]);
            }
        }
    });
}

} // namespace durable::utf8
