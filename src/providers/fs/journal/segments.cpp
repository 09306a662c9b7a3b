#include "providers/fs/journal/segments.hpp"

#include "base/try.hpp"
#include "providers/fs/files/fs_error.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

namespace durable::fs {

namespace {

constexpr std::size_t number_digits = 10;
constexpr std::string_view segment_suffix = ".log";
// The first write into an allocated block makes the file system commit its own journal as well:
// measured, that doubles the time of a sync. So blocks are written with zeros beforehand, a little
// at a time, because callers sync in the meantime.
constexpr std::uint64_t filled_at_a_time = 1U << 19U;
// A segment that was not made beforehand is filled up to here only: a caller waits for it.
constexpr std::uint64_t filled_while_others_wait = 1U << 20U;

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
    wanted_.store(true);
    const MutexLock lock{mutex_};
    wanted_.store(false);
    if (!spare_) {
        DURABLE_TRY(make_spare(least));
        DURABLE_TRY(fill_spare(filled_while_others_wait));
    } else if (spare_->size < least) {
        // The spare has the lower number, so it must be used first.
        DURABLE_TRY(extend_spare(least));
    }
    return std::exchange(spare_, nullptr);
}

Result<bool> Segments::work_on_spare() {
    const MutexLock lock{mutex_};
    if (!spare_) {
        DURABLE_TRY(make_spare(0));
    } else if (!wanted_.load()) {
        DURABLE_TRY(fill_spare(filled_at_a_time));
    }
    return filled_ < spare_->size && !wanted_.load();
}

Result<> Segments::fill_spare(std::uint64_t most) {
    const auto end = std::min(spare_->size, filled_ + most);
    while (filled_ < end) {
        const auto size = std::min(filled_at_a_time, end - filled_);
        auto done = write_at(*spare_->file, std::string(size, '\0'), filled_);
        if (done) {
            done = spare_->file->sync();
        }
        if (!done) {
            return give_up_spare(done.error());
        }
        filled_ += size;
    }
    return {};
}

// The new size is durable before a record depends on it: for recovery a record that extends past
// the end of its file is damage.
Result<> Segments::extend_spare(std::uint64_t size) {
    DURABLE_TRY(to_result(spare_->file->allocate(size)));
    if (const auto done = spare_->file->sync(); !done) {
        return give_up_spare(done.error());
    }
    spare_->size = size;
    return {};
}

// Frees its space and its number.
std::unexpected<Error> Segments::give_up_spare(const FileError& why) {
    (void)files_.remove(spare_->path);
    next_number_ = spare_->number;
    spare_.reset();
    return std::unexpected{to_error(why)};
}

Result<> Segments::make_spare(std::uint64_t least) {
    auto made = make_spare_of(std::max(next_size_, least));
    // Where there is no room for a large segment, tries a small one.
    if (!made && made.error().code == ErrorCode::unavailable && next_size_ > sizes_.first &&
        next_size_ > least) {
        next_size_ = sizes_.first;
        made = make_spare_of(std::max(next_size_, least));
    }
    return made;
}

Result<> Segments::make_spare_of(std::uint64_t size) {
    auto segment = std::make_shared<Segment>();
    segment->number = next_number_;
    segment->path = segment_path(directory_, next_number_);
    segment->size = size;
    // The name may belong to an unused segment of an earlier process or of a failed try.
    DURABLE_TRY_ASSIGN(segment->file,
                       to_result(files_.open(segment->path, OpenMode::write_or_create)));
    auto made = segment->file->truncate(0);
    if (made) {
        made = segment->file->allocate(segment->size);
    }
    if (made) {
        made = segment->file->sync();
    }
    if (made) {
        made = files_.sync_directory(directory_);
    }
    if (!made) {
        segment->file.reset();
        (void)files_.remove(segment->path); // frees its space; the next try makes it again
        return std::unexpected{to_error(std::move(made).error())};
    }
    ++next_number_;
    next_size_ = std::min(next_size_ * 2, sizes_.largest);
    filled_ = 0;
    spare_ = std::move(segment);
    return {};
}

// A power loss may undo removals, in any combination. The newest file is removed after the removal
// of the others is durable: so files that come back reach up to where the journal begins, and are
// not mistaken for a journal that has lost its end.
Result<> Segments::remove_below(std::uint64_t number) {
    DURABLE_TRY_ASSIGN(const auto entries, to_result(files_.list(directory_)));
    std::vector<std::uint64_t> needless;
    for (const auto& entry : entries) {
        const auto found = segment_number(entry.name);
        if (found != 0 && found < number) {
            needless.push_back(found);
        }
    }
    std::ranges::sort(needless);
    for (const auto found : needless) {
        if (found == needless.back() && needless.size() > 1) {
            DURABLE_TRY(to_result(files_.sync_directory(directory_)));
        }
        // A crash may leave a shortened file: it begins as before, and is skipped as a whole.
        DURABLE_TRY(to_result(remove_gradually(files_, segment_path(directory_, found))));
    }
    return {};
}

} // namespace durable::fs
