// Strings are read in two passes: the first finds the end and checks every byte, the second copies
// and may trust what it sees. Skipping a value needs the first alone.

#include "model/json_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace durable::wire {

namespace {

[[nodiscard]] constexpr int hex_value(char c) noexcept {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// The four hexadecimal digits at `at`, or -1.
[[nodiscard]] constexpr int hex_quad(const char* at, const char* end) noexcept {
    if (end - at < 4) {
        return -1;
    }
    int value = 0;
    for (int digit = 0; digit < 4; ++digit) {
        const int next = hex_value(at[digit]);
        if (next < 0) {
            return -1;
        }
        value = value * 16 + next;
    }
    return value;
}

[[nodiscard]] constexpr bool is_high_surrogate(int unit) noexcept {
    return unit >= 0xD800 && unit < 0xDC00;
}
[[nodiscard]] constexpr bool is_low_surrogate(int unit) noexcept {
    return unit >= 0xDC00 && unit < 0xE000;
}

char* put_utf8(char* out, std::uint32_t code) noexcept {
    const auto put = [&](std::uint32_t byte) { *out++ = static_cast<char>(byte); };
    if (code < 0x80) {
        put(code);
    } else if (code < 0x800) {
        put(0xC0U | (code >> 6U));
        put(0x80U | (code & 0x3FU));
    } else if (code < 0x10000) {
        put(0xE0U | (code >> 12U));
        put(0x80U | ((code >> 6U) & 0x3FU));
        put(0x80U | (code & 0x3FU));
    } else {
        put(0xF0U | (code >> 18U));
        put(0x80U | ((code >> 12U) & 0x3FU));
        put(0x80U | ((code >> 6U) & 0x3FU));
        put(0x80U | (code & 0x3FU));
    }
    return out;
}

[[nodiscard]] constexpr char unescaped(char letter) noexcept {
    switch (letter) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return letter; // quote, backslash, slash
    }
}

// `raw` was checked by raw_string: every escape is complete and legal. `out` never overtakes `at`,
// because every escape is longer than what it stands for: so whole words may be copied.
char* unescape_to(char* out, std::string_view raw) noexcept {
    constexpr std::ptrdiff_t word = sizeof(std::uint64_t);
    const char* at = raw.data();
    const char* const end = at + raw.size();
    while (at != end) {
        if (end - at >= word) {
            std::memcpy(out, at, word);
            const std::uint64_t marks = backslash_marks(load_eight(at));
            if (marks == 0) {
                out += word;
                at += word;
                continue;
            }
            out += bytes_before(marks);
            at += bytes_before(marks);
        } else if (*at != '\\') {
            *out++ = *at++;
            continue;
        }
        const char letter = at[1];
        at += 2;
        if (letter != 'u') {
            *out++ = unescaped(letter);
            continue;
        }
        int code = hex_quad(at, end);
        at += 4;
        if (is_high_surrogate(code)) {
            code = 0x10000 + ((code - 0xD800) << 10) + (hex_quad(at + 2, end) - 0xDC00);
            at += 6;
        }
        out = put_utf8(out, static_cast<std::uint32_t>(code));
    }
    return out;
}

void assign_unescaped(std::string& out, std::string_view raw) {
    out.resize_and_overwrite(raw.size(), [raw](char* buffer, std::size_t) {
        return static_cast<std::size_t>(unescape_to(buffer, raw) - buffer);
    });
}

} // namespace

void JsonReader::string(std::string& out) {
    bool escaped = false;
    const std::string_view raw = raw_string(escaped);
    if (escaped) {
        assign_unescaped(out, raw);
    } else {
        out.assign(raw);
    }
}

JsonName JsonReader::name() {
    bool escaped = false;
    skip_space();
    const char* const start = at_;
    const std::string_view raw = raw_string(escaped);
    if (failed_) {
        return {};
    }
    JsonName result{.text = raw,
                    .raw = {start, static_cast<std::size_t>(at_ - start)},
                    .offset = offset_of(start)};
    if (escaped) {
        assign_unescaped(unescaped_name_, raw);
        result.text = unescaped_name_;
    }
    return result;
}

std::string_view JsonReader::raw_string(bool& escaped) {
    constexpr std::ptrdiff_t word = sizeof(std::uint64_t);
    if (peek() != '"') {
        wrong_type("a string");
        return {};
    }
    const char* const start = ++at_;
    const char* at = start; // a local, because it stays in a register
    while (at != end_) {
        if (end_ - at >= word) {
            const std::uint64_t marks = special_marks(load_eight(at));
            if (marks == 0) {
                at += word;
                continue;
            }
            at += bytes_before(marks);
        } else if (!is_special(*at)) {
            ++at;
            continue;
        }
        if (*at == '"') {
            at_ = at + 1;
            return {start, static_cast<std::size_t>(at - start)};
        }
        std::size_t length = 0;
        if (*at == '\\') {
            escaped = true;
            length = escape_length(at);
        } else if (byte_of(*at) < 0x20) {
            fail_at(offset_of(at), "control character in a string");
        } else if (length = utf8_length(at, end_); length == 0) {
            fail_at(offset_of(at), "not UTF-8");
        }
        if (length == 0) {
            return {};
        }
        at += length;
    }
    fail_at(offset_of(end_), "the text ends inside a string");
    return {};
}

// Length of the escape at a backslash, which for a surrogate pair is two; fails and returns 0 when
// it is none.
std::size_t JsonReader::escape_length(const char* at) {
    const char letter = end_ - at < 2 ? '\0' : at[1];
    switch (letter) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        return 2;
    case 'u':
        break;
    default:
        fail_at(offset_of(at), "no such escape");
        return 0;
    }
    const int unit = hex_quad(at + 2, end_);
    if (unit < 0) {
        fail_at(offset_of(at), "\\u needs four hexadecimal digits");
        return 0;
    }
    if (!is_high_surrogate(unit) && !is_low_surrogate(unit)) {
        return 6;
    }
    const bool paired = is_high_surrogate(unit) && end_ - at >= 12 && at[6] == '\\' &&
                        at[7] == 'u' && is_low_surrogate(hex_quad(at + 8, end_));
    if (!paired) {
        fail_at(offset_of(at), "half of a surrogate pair");
        return 0;
    }
    return 12;
}

} // namespace durable::wire
