// Finding whole frames (frame.hpp) in bytes of which a part is damaged.

#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace durable::fs {

struct FrameVisitor {
    std::function<void(std::string_view json, std::uint64_t offset)> whole;
    // Bytes between whole frames that are none, as many as follow each other.
    std::function<void(std::string_view bytes, std::uint64_t offset)> damaged;
};

// Passes all bytes on in order; zeros at the end were never used and are left out. A length that
// is damaged does not hide the frames behind it: every place where one may begin is tried.
void scan_frames(std::string_view bytes, const FrameVisitor& visitor);

} // namespace durable::fs
