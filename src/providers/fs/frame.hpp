// A frame: one checksummed line of JSON, in the journal, in checkpoints and in packs.
//
//   0000002a 9be3d2c1 {"lsn":7, … }\n
//   length   crc32c   the JSON of that length
//
// Length and checksum are eight hexadecimal digits and belong to the JSON alone. The line end makes
// the files readable with grep; JSON has none inside.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace durable::fs {

inline constexpr std::size_t frame_header_size = 18;
inline constexpr std::size_t frame_overhead = frame_header_size + 1; // the line end

// Begins a frame at the end of `out`; the JSON is appended by the caller; end_frame completes it.
[[nodiscard]] std::size_t begin_frame(std::string& out);
void end_frame(std::string& out, std::size_t begin);

// The JSON length that the header at the beginning of `bytes` claims; nullopt: not a header.
[[nodiscard]] std::optional<std::size_t> frame_length(std::string_view bytes) noexcept;

// The JSON of the frame at the beginning of `bytes`; nullopt when it is cut off or damaged.
[[nodiscard]] std::optional<std::string_view> read_frame(std::string_view bytes) noexcept;

} // namespace durable::fs
