#include "providers/sqlite/db/log_reserve.hpp"

#include <algorithm>

namespace durable::sqlite {

namespace {

constexpr std::int64_t log_header = 32;
constexpr std::int64_t frame_header = 24;
// What the next commits may need, in pages. A larger commit extends the file itself.
constexpr std::int64_t pages_ahead = 64;
constexpr std::int64_t smallest_piece = std::int64_t{1} << 18;
constexpr std::int64_t largest_piece = std::int64_t{1} << 22; // the next sync writes it as well

} // namespace

void LogReserve::keep(Connection& db) {
    if (frame_size_ == 0) {
        frame_size_ = find_integer(db, "PRAGMA page_size").value_or(4096) + frame_header;
    }
    const auto needed = log_header + (db.log_pages() + pages_ahead) * frame_size_;
    // forget_size() follows every change by another process, so a transaction need not ask the
    // system for the size.
    if (size_ < needed) {
        size_ = db.log_size().value_or(needed);
    }
    // An empty log gets its header with the next commit. Zeros in place of the header would be an
    // invalid log after a power cut.
    if (size_ == 0 || size_ >= needed || size_ == refused_at_) {
        return;
    }
    const auto longer = std::max(size_ + std::clamp(size_, smallest_piece, largest_piece), needed);
    const auto done = db.extend_log(size_, longer);
    refused_at_ = done ? -1 : size_;
    size_ = done ? longer : size_;
}

} // namespace durable::sqlite
