#include "providers/fs/frame_scan.hpp"

#include "providers/fs/frame.hpp"

namespace durable::fs {

void scan_frames(std::string_view bytes, const FrameVisitor& visitor) {
    const auto used = bytes.find_last_not_of('\0');
    bytes = bytes.substr(0, used == std::string_view::npos ? 0 : used + 1);
    std::size_t damaged = 0; // where the damaged bytes before `at` begin
    std::size_t at = 0;
    while (at < bytes.size()) {
        const auto json = read_frame(bytes.substr(at));
        if (!json) {
            ++at;
            continue;
        }
        if (damaged < at) {
            visitor.damaged(bytes.substr(damaged, at - damaged), damaged);
        }
        visitor.whole(*json, at);
        at += json->size() + frame_overhead;
        damaged = at;
    }
    if (damaged < bytes.size()) {
        visitor.damaged(bytes.substr(damaged), damaged);
    }
}

} // namespace durable::fs
