#include "model/json_reader.hpp"

#include "model/json_extent.hpp"

namespace durable::wire {

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

void JsonReader::fail_at(std::size_t offset, std::string_view what, std::string_view name) {
    // A long name would hide the rest of the message.
    constexpr std::size_t longest = 80;
    const std::string quoted =
        name.size() <= longest ? '"' + std::string{name} + '"' : "with a long name";
    fail_at(offset, std::string{what} + ' ' + quoted);
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

// Without recursion: one bit per open container tells object from array; 64 may be open.
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
    ahead.fail_at(ahead.offset(), "missing member", key);
    *this = std::move(ahead);
    return {};
}

std::string_view JsonReader::raw_object() {
    skip_space();
    const std::string_view rest{at_, static_cast<std::size_t>(end_ - at_)};
    const auto length = object_extent(rest);
    if (length == 0) {
        fail_here("expected an object");
        return {};
    }
    at_ += length;
    return rest.substr(0, length);
}

void JsonReader::finish() {
    if (peek() != '\0' || at_ != end_) {
        fail_here("unexpected text after the value");
    }
}

} // namespace durable::wire
