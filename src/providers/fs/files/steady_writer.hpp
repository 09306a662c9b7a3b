// SteadyWriter: writes a large file from front to back, while callers wait for syncs of the
// journal.
//
// It syncs a little at a time: one sync of megabytes at the end would delay those of the journal.

#pragma once

#include "base/files.hpp"
#include "base/try.hpp"
#include "providers/fs/files/fs_error.hpp"

#include <durable/result.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace durable::fs {

class SteadyWriter {
 public:
    // A file that exists is emptied.
    [[nodiscard]] static Result<SteadyWriter> open(Files& files, const std::string& path) {
        DURABLE_TRY_ASSIGN(auto file, to_result(files.open(path, OpenMode::write_or_create)));
        DURABLE_TRY(to_result(file->truncate(0)));
        return SteadyWriter{std::move(file)};
    }

    [[nodiscard]] std::uint64_t bytes() const noexcept { return offset_; }

    [[nodiscard]] Result<> write(std::string_view bytes) {
        DURABLE_TRY(to_result(write_at(*file_, bytes, offset_)));
        offset_ += bytes.size();
        return offset_ - synced_ >= synced_at_a_time ? sync() : Result<>{};
    }

    // Everything written is durable on return.
    [[nodiscard]] Result<> sync() {
        DURABLE_TRY(to_result(file_->sync()));
        synced_ = offset_;
        return {};
    }

 private:
    static constexpr std::uint64_t synced_at_a_time = 1U << 19U;

    explicit SteadyWriter(std::unique_ptr<File> file) : file_{std::move(file)} {}

    std::unique_ptr<File> file_;
    std::uint64_t offset_ = 0;
    std::uint64_t synced_ = 0;
};

} // namespace durable::fs
