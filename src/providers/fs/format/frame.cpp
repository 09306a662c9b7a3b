#include "providers/fs/format/frame.hpp"

#include "base/crc32c.hpp"

namespace durable::fs {

namespace {

constexpr std::string_view digits = "0123456789abcdef";

void put_hex(char* at, std::uint32_t value) {
    for (int digit = 7; digit >= 0; --digit) {
        at[digit] = digits[value & 0xFU];
        value >>= 4U;
    }
}

std::optional<std::uint32_t> get_hex(std::string_view text) noexcept {
    std::uint32_t value = 0;
    for (const char c : text) {
        // Lower case only: there is one way to write a frame.
        const bool letter = c >= 'a' && c <= 'f';
        if (!letter && (c < '0' || c > '9')) {
            return std::nullopt;
        }
        value = value << 4U | static_cast<std::uint32_t>(letter ? c - 'a' + 10 : c - '0');
    }
    return value;
}

} // namespace

std::size_t begin_frame(std::string& out) {
    const auto begin = out.size();
    out.append(frame_header_size, ' ');
    return begin;
}

Result<> end_frame(std::string& out, std::size_t begin, std::uint64_t longest) {
    const auto json = std::string_view{out}.substr(begin + frame_header_size);
    if (json.size() > longest) {
        return fail(ErrorCode::invalid_argument,
                    "a record of " + std::to_string(json.size()) +
                        " bytes is too long for a store in a directory, which keeps up to " +
                        std::to_string(longest) + " in one piece");
    }
    put_hex(&out[begin], static_cast<std::uint32_t>(json.size()));
    put_hex(&out[begin + 9], crc32c(json));
    out += '\n';
    return {};
}

std::string frame_of(std::string_view json) {
    std::string frame;
    const auto begin = begin_frame(frame);
    frame += json;
    (void)end_frame(frame, begin, longest_json); // cannot fail: it is short
    return frame;
}

std::optional<std::size_t> frame_length(std::string_view bytes) noexcept {
    if (bytes.size() < frame_header_size || bytes[8] != ' ' || bytes[17] != ' ') {
        return std::nullopt;
    }
    return get_hex(bytes.substr(0, 8));
}

std::optional<std::string_view> read_frame(std::string_view bytes) noexcept {
    const auto length = frame_length(bytes);
    if (!length || bytes.size() < *length + frame_overhead ||
        bytes[frame_header_size + *length] != '\n') {
        return std::nullopt;
    }
    const auto json = bytes.substr(frame_header_size, *length);
    const auto checksum = get_hex(bytes.substr(9, 8));
    return checksum && *checksum == crc32c(json) ? std::optional{json} : std::nullopt;
}

} // namespace durable::fs
