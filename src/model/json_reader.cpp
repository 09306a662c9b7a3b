#include "model/json_reader.hpp"

#include <cstring>

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

std::unexpected<Error> JsonReader::error(std::string_view operation) const {
    return fail(ErrorCode::corrupt, failure_, std::string{operation});
}

void JsonReader::fail_at(std::size_t offset, std::string_view what) {
    if (failed_) {
        return;
    }
    failed_ = true;
    failure_ = "byte " + std::to_string(offset) + ": ";
    failure_ += what;
    at_ = end_;
}

void JsonReader::expected(char c) {
    fail_here(std::string{"expected '"} + c + "', found " + std::string{found()});
}

void JsonReader::wrong_type(std::string_view what) {
    fail_here("expected " + std::string{what} + ", found " + std::string{found()});
}

std::string_view JsonReader::found() const {
    const std::string_view rest{at_, static_cast<std::size_t>(end_ - at_)};
    if (rest.empty()) {
        return "the end of the text";
    }
    if (rest.starts_with("true") || rest.starts_with("false")) {
        return "a boolean";
    }
    if (rest.starts_with("null")) {
        return "null";
    }
    switch (rest.front()) {
    case '"':
        return "a string";
    case '{':
        return "an object";
    case '[':
        return "an array";
    default:
        return rest.front() == '-' || is_digit(rest.front()) ? "a number" : "no value";
    }
}

void JsonReader::open(char bracket) {
    if (peek() != bracket) {
        wrong_type(bracket == '{' ? "an object" : "an array");
    } else if (depth_ == max_depth) {
        fail_here("nesting deeper than 64");
    } else {
        ++at_;
    }
    ++depth_;
}

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

void JsonReader::number_up_to(std::uint64_t& out, std::uint64_t most) {
    const char first = peek();
    if (first != '-' && !is_digit(first)) {
        wrong_type("a number");
        return;
    }
    const char* const start = at_;
    const auto refuse = [&](std::string_view what) { fail_at(offset_of(start), what); };
    std::uint64_t value = 0;
    bool overflow = false;
    while (at_ != end_ && is_digit(*at_)) {
        overflow |= __builtin_mul_overflow(value, std::uint64_t{10}, &value);
        overflow |= __builtin_add_overflow(value, static_cast<std::uint64_t>(*at_ - '0'), &value);
        ++at_;
    }
    if (first == '0' && at_ - start > 1) {
        return refuse("a number begins with 0");
    }
    if (first == '-' || (at_ != end_ && (*at_ == '.' || *at_ == 'e' || *at_ == 'E'))) {
        return refuse("expected a whole number that is not negative");
    }
    if (overflow || value > most) {
        return refuse("number out of range");
    }
    out = value;
}

void JsonReader::boolean(bool& out) {
    const char first = peek();
    if (first == 't' && skip_literal("true")) {
        out = true;
    } else if (first == 'f' && skip_literal("false")) {
        out = false;
    } else {
        wrong_type("a boolean");
    }
}

bool JsonReader::null() {
    return peek() == 'n' && skip_literal("null");
}

bool JsonReader::skip_literal(std::string_view literal) noexcept {
    if (!std::string_view{at_, static_cast<std::size_t>(end_ - at_)}.starts_with(literal)) {
        return false;
    }
    at_ += literal.size();
    return true;
}

// Without recursion: one bit per open container says what it is, and 64 are allowed.
std::string_view JsonReader::skip() {
    skip_space();
    const char* const start = at_;
    std::uint64_t kinds = 0; // lowest bit: the innermost container is an object
    unsigned open = 0;
    do {
        const char first = peek();
        if (first == '{' || first == '[') {
            if (depth_ + open == max_depth) {
                fail_here("nesting deeper than 64");
                return {};
            }
            ++at_;
            ++open;
            kinds = (kinds << 1U) | (first == '{' ? 1U : 0U);
            if (!accept(first == '{' ? '}' : ']')) {
                if (first == '{') {
                    skip_key();
                }
                continue; // its first value
            }
            --open;
            kinds >>= 1U;
        } else {
            skip_scalar();
        }
        // A value ended: either its container goes on, or that container ends too, and so on.
        while (open > 0 && !failed_) {
            const bool object = (kinds & 1U) != 0;
            if (accept(',')) {
                if (object) {
                    skip_key();
                }
                break;
            }
            expect(object ? '}' : ']');
            --open;
            kinds >>= 1U;
        }
    } while (open > 0 && !failed_);
    return failed_ ? std::string_view{}
                   : std::string_view{start, static_cast<std::size_t>(at_ - start)};
}

void JsonReader::skip_key() {
    bool escaped = false;
    raw_string(escaped);
    expect(':');
}

void JsonReader::skip_scalar() {
    bool escaped = false;
    switch (peek()) {
    case '"':
        raw_string(escaped);
        return;
    case 't':
        return skip_literal("true") ? void() : wrong_type("a value");
    case 'f':
        return skip_literal("false") ? void() : wrong_type("a value");
    case 'n':
        return skip_literal("null") ? void() : wrong_type("a value");
    default:
        return skip_number();
    }
}

bool JsonReader::skip_digits() noexcept {
    const char* const start = at_;
    while (at_ != end_ && is_digit(*at_)) {
        ++at_;
    }
    return at_ != start;
}

void JsonReader::skip_number() {
    const std::size_t start = offset();
    const bool negative = at_ != end_ && *at_ == '-';
    at_ += negative ? 1 : 0;
    const char* const digits = at_;
    if (!skip_digits()) {
        return negative ? fail_at(start, "expected digits after '-'") : wrong_type("a value");
    }
    if (*digits == '0' && at_ - digits > 1) {
        return fail_at(start, "a number begins with 0");
    }
    if (at_ != end_ && *at_ == '.') {
        ++at_;
        if (!skip_digits()) {
            return fail_at(start, "expected digits after '.'");
        }
    }
    if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
        ++at_;
        at_ += at_ != end_ && (*at_ == '+' || *at_ == '-') ? 1 : 0;
        if (!skip_digits()) {
            return fail_at(start, "expected digits in the exponent");
        }
    }
}

std::pair<std::string, std::size_t> JsonReader::look_ahead(std::string_view key) {
    JsonReader ahead = *this; // a copy, so that names that were read here stay valid
    ahead.skip();
    while (ahead.accept(',')) {
        const bool is_key = ahead.name().text == key;
        ahead.expect(':');
        if (is_key) {
            const JsonName value = ahead.name();
            if (!ahead.failed()) {
                return {std::string{value.text}, value.offset};
            }
        }
        ahead.skip();
    }
    ahead.expect('}');
    ahead.fail_here("missing member \"" + std::string{key} + '"');
    *this = std::move(ahead);
    return {};
}

void JsonReader::finish() {
    if (peek() != '\0' || at_ != end_) {
        fail_here("unexpected text after the value");
    }
}

} // namespace durable::wire
