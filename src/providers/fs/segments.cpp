#include "providers/fs/segments.hpp"

#include "base/try.hpp"
#include "providers/fs/fs_error.hpp"

#include <algorithm>
#include <charconv>

namespace durable::fs {

namespace {

constexpr std::size_t number_digits = 10;
constexpr std::string_view segment_suffix = ".log";
// A larger segment that was not made beforehand is used as it is: filling it takes longer than it
// saves those who wait.
constexpr std::uint64_t most_while_others_wait = 1U << 20U;

// Allocated blocks that were never written are marked so in the file system's own journal, and the
// first write into each makes it commit there too: measured, that doubles the time of a sync. So
// they are written once beforehand, a little at a time, because others sync in the meantime.
FileResult<> write_zeros(File& file, std::uint64_t size) {
    constexpr std::uint64_t at_a_time = 1U << 19U;
    const std::string zeros(std::min(at_a_time, size), '\0');
    FileResult<> done;
    for (std::uint64_t offset = 0; done && offset < size; offset += zeros.size()) {
        const auto left = std::min<std::uint64_t>(zeros.size(), size - offset);
        done = write_at(file, std::string_view{zeros}.substr(0, left), offset);
        if (done) {
            done = file.sync();
        }
    }
    return done;
}

} // namespace

std::string padded_number(std::uint64_t number) {
    auto digits = std::to_string(number);
    digits.insert(0, number_digits - std::min(number_digits, digits.size()), '0');
    return digits;
}

std::string segment_path(const std::string& directory, std::uint64_t number) {
    return directory + "/" + padded_number(number) + std::string{segment_suffix};
}

std::uint64_t segment_number(std::string_view name) noexcept {
    return file_number(name, segment_suffix);
}

std::uint64_t file_number(std::string_view name, std::string_view suffix) noexcept {
    if (!name.ends_with(suffix)) {
        return 0;
    }
    name.remove_suffix(suffix.size());
    std::uint64_t number = 0;
    const auto end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data(), end, number);
    return name.size() >= number_digits && parsed.ec == std::errc{} && parsed.ptr == end ? number
                                                                                         : 0;
}

Result<std::shared_ptr<Segment>> Segments::next(std::uint64_t least) {
    const MutexLock lock{mutex_};
    if (spare_ && spare_->size >= least) {
        return std::exchange(spare_, nullptr);
    }
    // A record larger than the spare: the spare keeps its lower number, so it must go first.
    if (spare_) {
        DURABLE_TRY(to_result(spare_->file->allocate(least)));
        spare_->size = least;
        return std::exchange(spare_, nullptr);
    }
    return make(least, most_while_others_wait);
}

Result<> Segments::prepare_spare() {
    const MutexLock lock{mutex_};
    if (!spare_) {
        DURABLE_TRY_ASSIGN(spare_, make(0, UINT64_MAX));
    }
    return {};
}

Result<std::shared_ptr<Segment>> Segments::make(std::uint64_t least, std::uint64_t most_filled) {
    auto segment = std::make_shared<Segment>();
    segment->number = next_number_;
    segment->path = segment_path(directory_, next_number_);
    segment->size = std::max(next_size_, least);
    // The name may be taken by an unused segment of an earlier process or of a try that failed.
    DURABLE_TRY_ASSIGN(segment->file,
                       to_result(files_.open(segment->path, OpenMode::write_or_create)));
    auto made = segment->file->truncate(0);
    if (made) {
        made = segment->file->allocate(segment->size);
    }
    if (made) {
        made = segment->size <= most_filled ? write_zeros(*segment->file, segment->size)
                                            : segment->file->sync();
    }
    if (made) {
        made = files_.sync_directory(directory_);
    }
    if (!made) {
        segment->file.reset();
        (void)files_.remove(segment->path); // gives its space back; the next try does not need it
        return std::unexpected{to_error(std::move(made).error())};
    }
    ++next_number_;
    next_size_ = std::min(next_size_ * 2, sizes_.largest);
    return segment;
}

Result<> Segments::remove_below(std::uint64_t number) {
    DURABLE_TRY_ASSIGN(const auto entries, to_result(files_.list(directory_)));
    for (const auto& entry : entries) {
        const auto found = segment_number(entry.name);
        if (found != 0 && found < number) {
            DURABLE_TRY(to_result(files_.remove(directory_ + "/" + entry.name)));
        }
    }
    return {};
}

} // namespace durable::fs
