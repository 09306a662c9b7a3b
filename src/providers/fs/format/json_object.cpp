#include "providers/fs/format/json_object.hpp"

#include "model/json_extent.hpp"

namespace durable::fs {

namespace {

bool is_utf8(std::string_view text) {
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at != end) {
        const auto length = wire::byte_of(*at) < 0x80 ? 1 : wire::utf8_length(at, end);
        if (length == 0) {
            return false;
        }
        at += length;
    }
    return true;
}

constexpr std::string_view digits = "0123456789abcdef";

std::string to_hex(std::string_view bytes) {
    std::string hex;
    hex.reserve(bytes.size() * 2);
    for (const char byte : bytes) {
        hex += digits[wire::byte_of(byte) >> 4U];
        hex += digits[wire::byte_of(byte) & 0xFU];
    }
    return hex;
}

bool from_hex(std::string_view hex, std::string& bytes) {
    if (hex.size() % 2 != 0) {
        return false;
    }
    for (std::size_t at = 0; at < hex.size(); at += 2) {
        const auto high = digits.find(hex[at]);
        const auto low = digits.find(hex[at + 1]);
        if (high == std::string_view::npos || low == std::string_view::npos) {
            return false;
        }
        bytes += static_cast<char>(high * 16 + low);
    }
    return true;
}

} // namespace

void ObjectWriter::raw(std::string_view key, std::string_view text) {
    write_raw(value(key), text);
}

void write_raw(wire::JsonWriter& out, std::string_view text) {
    if (wire::object_extent(text) == text.size() && !text.empty()) {
        out.token(text);
    } else if (is_utf8(text)) {
        out.string(text, "text");
    } else {
        out.literal("[\"");
        out.token(to_hex(text));
        out.literal("\"]");
    }
}

void read_raw(wire::JsonReader& in, std::string& text) {
    switch (in.peek()) {
    case '{':
        text = in.raw_object();
        return;
    case '[': {
        std::string hex;
        in.array([&] { in.string(hex); });
        text.clear();
        if (!from_hex(hex, text)) {
            in.fail_here("expected hexadecimal digits");
        }
        return;
    }
    default:
        in.string(text);
    }
}

Instant read_instant(wire::JsonReader& in) {
    std::uint64_t milliseconds = 0;
    in.number(milliseconds);
    return from_epoch_ms(milliseconds);
}

void read_string(wire::JsonReader& in, std::optional<std::string>& text) {
    in.string(text.emplace());
}

void read_numbers(wire::JsonReader& in, std::vector<std::uint64_t>& numbers) {
    in.array([&] { in.number(numbers.emplace_back()); });
}

void unknown_member(wire::JsonReader& in, const wire::JsonName& name) {
    in.fail_at(name.offset, "unknown member " + std::string{name.raw});
}

} // namespace durable::fs
