#include "providers/sqlite/log_reserve.hpp"

#include <algorithm>

namespace durable::sqlite {

namespace {

constexpr std::int64_t log_header = 32;
constexpr std::int64_t frame_header = 24;
// What the next commits may need, in pages. A larger one makes the file longer by itself.
constexpr std::int64_t pages_ahead = 64;
constexpr std::int64_t smallest_piece = std::int64_t{1} << 18;
constexpr std::int64_t largest_piece = std::int64_t{1} << 22; // is synced with somebody's commit

} // namespace

void LogReserve::keep(Connection& db) {
    if (frame_size_ == 0) {
        frame_size_ = find_integer(db, "PRAGMA page_size").value_or(4096) + frame_header;
    }
    const auto size = db.log_size();
    const auto needed = log_header + (db.log_pages() + pages_ahead) * frame_size_;
    if (!size || *size >= needed || *size == refused_at_) {
        return;
    }
    const auto piece = std::clamp(*size, smallest_piece, largest_piece);
    refused_at_ = db.extend_log(*size, std::max(*size + piece, needed)) ? -1 : *size;
}

} // namespace durable::sqlite
