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

} // namespace

void JsonWriter::string(std::string_view value, std::string_view member) {
    constexpr std::size_t word = sizeof(std::uint64_t);
    const char* from = value.data();
    const char* const end = from + value.size();
    reserve(1);
    *at_++ = '"';
    while (from != end) {
        reserve(word + longest_escape);
        if (static_cast<std::size_t>(end - from) >= word) {
            // The word is copied before it is judged: what follows overwrites the rest.
            std::memcpy(at_, from, word);
            const std::uint64_t marks = special_marks(load_eight(from));
            const std::size_t plain = marks == 0 ? word : bytes_before(marks);
            from += plain;
            at_ += plain;
            if (marks == 0) {
                continue;
            }
        } else if (!is_special(*from)) {
            *at_++ = *from++;
            continue;
        }
        from = special(from, end);
        if (from == nullptr) {
            refuse('"' + std::string{member} + "\" is not UTF-8");
            return;
        }
    }
    reserve(1);
    *at_++ = '"';
}

const char* JsonWriter::special(const char* from, const char* end) {
    const std::uint8_t byte = byte_of(*from);
    if (byte >= 0x80) {
        const std::size_t length = utf8_length(from, end);
        if (length == 0) {
            return nullptr;
        }
        std::memcpy(at_, from, length);
        at_ += length;
        return from + length;
    }
    const char letter = escape_letters[byte];
    *at_++ = '\\';
    *at_++ = letter;
    if (letter == 'u') {
        *at_++ = '0';
        *at_++ = '0';
        *at_++ = hex_digits[byte >> 4U];
        *at_++ = hex_digits[byte & 0x0FU];
    }
    return from + 1;
}

} // namespace durable::wire
