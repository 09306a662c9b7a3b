// FrameFile: a file of frames (frame.hpp), read from the front without holding all of it.

#pragma once

#include "base/files.hpp"

#include <durable/result.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace durable::fs {

class FrameFile {
 public:
    [[nodiscard]] static Result<FrameFile> open(Files& files, std::string path);

    // The JSON of the next frame, valid until the next call; nullopt: the end of the file.
    //   corrupt  the next bytes are no frame
    [[nodiscard]] Result<std::optional<std::string_view>> next();

    // Goes on at this offset, where a frame begins.
    void seek(std::uint64_t offset) noexcept;

    [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; } // of the last frame
    [[nodiscard]] std::uint64_t end() const noexcept { return base_ + at_; }
    // An error that names the file and the place of the last frame.
    [[nodiscard]] std::unexpected<Error> damaged(std::string_view why) const;

 private:
    FrameFile(std::unique_ptr<File> file, std::string path)
        : file_{std::move(file)}, path_{std::move(path)} {}

    // Makes `bytes` available from at_, fewer at the end of the file.
    [[nodiscard]] Result<std::string_view> peek(std::size_t bytes);

    std::unique_ptr<File> file_;
    std::string path_;
    std::string buffer_;
    std::uint64_t base_ = 0; // of buffer_ in the file
    std::size_t at_ = 0;     // in buffer_
    std::uint64_t offset_ = 0;
};

} // namespace durable::fs
