// A frame: one checksummed line of JSON, in the journal, in checkpoints and in packs.
//
//   0000002a 9be3d2c1 {"lsn":7, … }\n
//   length   crc32c   the JSON of that length
//
// Length and checksum are eight hexadecimal digits each and cover the JSON alone. The line end
// makes the files readable with grep; the JSON contains no line end.

#pragma once

#include <durable/result.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace durable::fs {

inline constexpr std::size_t frame_header_size = 18;
inline constexpr std::size_t frame_overhead = frame_header_size + 1; // the line end

inline constexpr std::uint64_t longest_json = 0xffff'ffff; // the most that eight digits can say

// The two halves of append_frame: the JSON is appended in between.
[[nodiscard]] std::size_t begin_frame(std::string& out);
[[nodiscard]] Result<> end_frame(std::string& out, std::size_t begin, std::uint64_t longest);

// Appends a frame of the JSON that `encode` appends. After an error `out` is as it was: that of
// `encode`, or
//   invalid_argument  the JSON is too long
template <class Encode>
[[nodiscard]] Result<>
append_frame(std::string& out, const Encode& encode, std::uint64_t longest = longest_json) {
    const auto begin = begin_frame(out);
    Result<> done = encode(out);
    if (done) {
        done = end_frame(out, begin, longest);
    }
    if (!done) {
        out.resize(begin);
    }
    return done;
}

// A frame of a short JSON.
[[nodiscard]] std::string frame_of(std::string_view json);

// The JSON length that the header at the beginning of `bytes` claims; nullopt: not a header.
[[nodiscard]] std::optional<std::size_t> frame_length(std::string_view bytes) noexcept;

// The JSON of the frame at the beginning of `bytes`; nullopt when it is cut off or damaged.
[[nodiscard]] std::optional<std::string_view> read_frame(std::string_view bytes) noexcept;

} // namespace durable::fs
