// Finding whole frames (frame.hpp) in partly damaged bytes.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace durable::fs {

// A whole frame, or consecutive bytes that belong to no whole frame.
struct Scanned {
    std::optional<std::string_view> json; // nullopt: no frame
    std::uint64_t offset = 0;
    std::uint64_t size = 0; // of all of it
};

// All bytes in order, without unused zeros at the end. A damaged length does not hide the frames
// behind it: every place where a frame may begin is tried.
[[nodiscard]] std::vector<Scanned> scan_frames(std::string_view bytes);

} // namespace durable::fs
