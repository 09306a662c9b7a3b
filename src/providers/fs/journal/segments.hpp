// Segments: the files of the journal, allocated before they are needed.
//
// Their space is allocated and zero-filled beforehand, so that a write into one neither finds the
// disk full nor makes the file system write more than the data. One spare segment is kept ready.
// Not thread-safe except where noted: Journal calls it under its own locks.

#pragma once

#include "base/files.hpp"
#include "base/mutex.hpp"

#include <durable/result.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace durable::fs {

struct Segment {
    std::uint64_t number = 0;
    std::string path;
    std::uint64_t size = 0;
    std::unique_ptr<File> file;
};

// "0000000042": sorts like the number, up to ten digits.
[[nodiscard]] std::string padded_number(std::uint64_t number);
// The number in a file name with that suffix; 0: the name is another one.
[[nodiscard]] std::uint64_t file_number(std::string_view name, std::string_view suffix) noexcept;

// "journal/0000000042.log"
[[nodiscard]] std::string segment_path(const std::string& directory, std::uint64_t number);
// The number in a file name; 0: not a segment.
[[nodiscard]] std::uint64_t segment_number(std::string_view name) noexcept;

class Segments {
 public:
    struct Sizes {
        std::uint64_t first = 1ULL << 20U; // each one is twice its predecessor, up to the largest:
        std::uint64_t largest = 1ULL << 26U; // small stores stay small, busy ones switch rarely
    };

    Segments(Files& files, std::string directory, std::uint64_t next_number, Sizes sizes)
        : files_{files},
          directory_{std::move(directory)},
          sizes_{sizes},
          next_number_{next_number},
          next_size_{sizes.first} {}

    // The next segment, with a durable size of at least `least`: the spare if there is one,
    // extended if need be, filled or not. Any thread; does not wait until a spare is filled.
    [[nodiscard]] Result<std::shared_ptr<Segment>> next(std::uint64_t least)
        DURABLE_EXCLUDES(mutex_);

    // Makes the spare segment, or fills some more of it; false: there is nothing more to do, or
    // next() needs it now. Any thread; slow.
    [[nodiscard]] Result<bool> work_on_spare() DURABLE_EXCLUDES(mutex_);

    // Removes the files of segments below that number.
    [[nodiscard]] Result<> remove_below(std::uint64_t number);

 private:
    [[nodiscard]] Result<> make_spare(std::uint64_t least) DURABLE_REQUIRES(mutex_);
    [[nodiscard]] Result<> make_spare_of(std::uint64_t size) DURABLE_REQUIRES(mutex_);
    // Fills `most` more bytes of it. Removes one that cannot be filled.
    [[nodiscard]] Result<> fill_spare(std::uint64_t most) DURABLE_REQUIRES(mutex_);

    [[nodiscard]] Result<> extend_spare(std::uint64_t size) DURABLE_REQUIRES(mutex_);
    std::unexpected<Error> give_up_spare(const FileError& why) DURABLE_REQUIRES(mutex_);

    Files& files_;
    const std::string directory_;
    const Sizes sizes_;
    Mutex mutex_;
    std::uint64_t next_number_ DURABLE_GUARDED_BY(mutex_);
    std::uint64_t next_size_ DURABLE_GUARDED_BY(mutex_);
    std::shared_ptr<Segment> spare_ DURABLE_GUARDED_BY(mutex_);
    std::uint64_t filled_ DURABLE_GUARDED_BY(mutex_) = 0; // of the spare
    std::atomic<bool> wanted_{false}; // next() waits for the mutex to take the spare
};

} // namespace durable::fs
