#include "providers/fs/format/frame_file.hpp"

#include "base/try.hpp"
#include "providers/fs/files/fs_error.hpp"
#include "providers/fs/format/frame.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace durable::fs {

namespace {

constexpr std::size_t chunk = 1U << 18U;

} // namespace

Result<FrameFile> FrameFile::open(Files& files, std::string path) {
    DURABLE_TRY_ASSIGN(auto file, to_result(files.open(path, OpenMode::read)));
    return FrameFile{std::move(file), std::move(path)};
}

Result<std::string_view> FrameFile::peek(std::size_t bytes) {
    if (buffer_.size() - at_ < bytes) {
        buffer_.erase(0, at_);
        base_ += std::exchange(at_, 0);
        const auto have = buffer_.size();
        // A damaged length must not ask for more memory than the file has bytes.
        DURABLE_TRY_ASSIGN(const auto size, to_result(file_->size()));
        const auto left = size > base_ + have ? size - base_ - have : 0;
        buffer_.resize(have + std::min<std::uint64_t>(std::max(bytes, chunk), left));
        DURABLE_TRY_ASSIGN(
            const auto got,
            to_result(read_at(*file_, std::span{buffer_}.subspan(have), base_ + have)));
        buffer_.resize(have + got);
    }
    return std::string_view{buffer_}.substr(at_, bytes);
}

Result<std::optional<std::string_view>> FrameFile::next() {
    offset_ = end();
    DURABLE_TRY_ASSIGN(const auto header, peek(frame_header_size));
    if (header.empty()) {
        return std::nullopt;
    }
    const auto length = frame_length(header);
    if (!length) {
        return damaged("here begins no frame");
    }
    DURABLE_TRY_ASSIGN(const auto frame, peek(*length + frame_overhead));
    const auto json = read_frame(frame);
    if (!json) {
        return damaged("the frame is damaged or cut off");
    }
    at_ += frame.size();
    return json;
}

void FrameFile::seek(std::uint64_t offset) noexcept {
    buffer_.clear();
    at_ = 0;
    base_ = offset;
}

std::unexpected<Error> FrameFile::damaged(std::string_view why) const {
    return fail(ErrorCode::corrupt,
                path_ + ", byte " + std::to_string(offset_) + ": " + std::string{why});
}

} // namespace durable::fs
