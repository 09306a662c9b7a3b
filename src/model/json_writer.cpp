#include "model/json_writer.hpp"

namespace durable::wire {

namespace {

// The letter after the backslash, 'u' for the long form, 0 for bytes that are written as they are.
constexpr auto escape_letters = [] {
    std::array<char, 128> letters{};
    for (std::size_t control = 0; control < 0x20; ++control) {
        letters[control] = 'u';
    }
    letters['\b'] = 'b';
    letters['\t'] = 't';
    letters['\n'] = 'n';
    letters['\f'] = 'f';
    letters['\r'] = 'r';
    letters['"'] = '"';
    letters['\\'] = '\\';
    return letters;
}();

constexpr std::string_view hex_digits = "0123456789abcdef";

char* put_escape(char* at, std::uint8_t byte) noexcept {
    const char letter = escape_letters[byte];
    *at++ = '\\';
    *at++ = letter;
    if (letter == 'u') [[unlikely]] {
        *at++ = '0';
        *at++ = '0';
        *at++ = hex_digits[byte >> 4U];
        *at++ = hex_digits[byte & 0x0FU];
    }
    return at;
}

} // namespace

// The cursor is a local copy on purpose: through the member, every byte written might alias it and
// the compiler would store and load it each time.
void JsonWriter::string(std::string_view value, std::string_view member) {
    constexpr std::size_t word = sizeof(std::uint64_t);
    const char* from = value.data();
    const char* const end = from + value.size();
    reserve(1);
    char* at = at_;
    *at++ = '"';
    while (from != end) {
        if (static_cast<std::size_t>(buffer_.data() + buffer_.size() - at) <
            word + longest_escape) {
            at_ = at;
            flush();
            at = at_;
        }
        if (static_cast<std::size_t>(end - from) >= word) {
            // The word is copied before it is judged: what follows overwrites the rest.
            std::memcpy(at, from, word);
            const std::uint64_t marks = special_marks(load_eight(from));
            if (marks == 0) {
                from += word;
                at += word;
                continue;
            }
            const std::size_t plain = bytes_before(marks);
            from += plain;
            at += plain;
        } else if (!is_special(*from)) {
            *at++ = *from++;
            continue;
        }
        if (byte_of(*from) < 0x80) {
            at = put_escape(at, byte_of(*from++));
            continue;
        }
        const std::size_t length = utf8_length(from, end);
        if (length == 0) {
            refuse('"' + std::string{member} + "\" is not UTF-8");
            return;
        }
        std::memcpy(at, from, length);
        from += length;
        at += length;
    }
    at_ = at;
    reserve(1);
    *at_++ = '"';
}

} // namespace durable::wire
