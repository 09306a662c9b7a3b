#include "providers/fs/format/frame_scan.hpp"

#include "providers/fs/format/frame.hpp"

namespace durable::fs {

std::vector<Scanned> scan_frames(std::string_view bytes) {
    std::vector<Scanned> found;
    bytes = bytes.substr(0, bytes.find_last_not_of('\0') + 1);
    std::size_t damaged = 0; // where the damaged bytes before `at` begin
    const auto add_damaged = [&](std::size_t end) {
        if (damaged < end) {
            found.push_back({.json = std::nullopt, .offset = damaged, .size = end - damaged});
        }
    };
    std::size_t at = 0;
    while (at < bytes.size()) {
        const auto json = read_frame(bytes.substr(at));
        if (!json) {
            ++at;
            continue;
        }
        add_damaged(at);
        const auto size = json->size() + frame_overhead;
        found.push_back({.json = *json, .offset = at, .size = size});
        at += size;
        damaged = at;
    }
    add_damaged(bytes.size());
    return found;
}

} // namespace durable::fs
