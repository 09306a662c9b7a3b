#include "providers/fs/journal/journal_reader.hpp"

#include "base/try.hpp"
#include "providers/fs/files/fs_error.hpp"
#include "providers/fs/format/frame.hpp"
#include "providers/fs/format/frame_file.hpp"
#include "providers/fs/journal/segments.hpp"

#include <algorithm>
#include <charconv>

namespace durable::fs {

namespace {

constexpr std::string_view record_begins_with = "{\"lsn\":";

struct Numbers {
    Lsn lsn = 0;
    Lsn synced = 0;
};

std::optional<std::uint64_t> take_number(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) {
        return std::nullopt;
    }
    std::uint64_t number = 0;
    const auto begin = text.data() + prefix.size();
    const auto parsed = std::from_chars(begin, text.data() + text.size(), number);
    if (parsed.ec != std::errc{}) {
        return std::nullopt;
    }
    text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
    return number;
}

// The journal's own members come first, so that scanning needs no JSON parser.
std::optional<Numbers> numbers_of(std::string_view json) {
    const auto lsn = take_number(json, record_begins_with);
    if (!lsn) {
        return std::nullopt;
    }
    return Numbers{*lsn, take_number(json, ",\"synced\":").value_or(0)};
}

struct Found {
    Numbers numbers;
    std::string_view json;
};

std::optional<Found> record_at(std::string_view bytes) {
    const auto json = read_frame(bytes);
    if (!json) {
        return std::nullopt;
    }
    const auto numbers = numbers_of(*json);
    return numbers ? std::optional{Found{*numbers, *json}} : std::nullopt;
}

bool all_zero(std::string_view bytes) {
    return std::ranges::all_of(bytes, [](char byte) { return byte == '\0'; });
}

// A record somewhere in `bytes` that proves `lsn` durable; 0 when there is none. Searches for the
// beginning of a record's JSON: lengths and line ends may be damaged. A record up to `lsn` is proof
// as well: the damage is then before `lsn`, in what a checkpoint holds.
Lsn find_proof(std::string_view bytes, Lsn lsn) {
    for (auto at = bytes.find(record_begins_with); at != std::string_view::npos;
         at = bytes.find(record_begins_with, at + 1)) {
        if (at < frame_header_size) {
            continue;
        }
        const auto found = record_at(bytes.substr(at - frame_header_size));
        if (found && (found->numbers.synced >= lsn || found->numbers.lsn <= lsn)) {
            return found->numbers.lsn;
        }
    }
    return 0;
}

class Reader {
 public:
    Reader(Files& files,
           const std::string& directory,
           Lsn after,
           const std::function<Result<>(const JournalRecord&)>& each,
           JournalExpected demands)
        : files_{files}, directory_{directory}, after_{after}, each_{each}, demands_{demands} {
        end_.proven = after;
    }

    Result<JournalEnd> read() {
        DURABLE_TRY(list_segments());
        DURABLE_TRY_ASSIGN(const auto start, find_start());
        DURABLE_TRY(check_numbers(start));
        for (index_ = start; index_ < numbers_.size(); ++index_) {
            path_ = segment_path(directory_, numbers_[index_]);
            DURABLE_TRY_ASSIGN(content_, take(index_));
            // A segment has its full size on the disk before the next one is made.
            if (content_.empty() && index_ + 1 < numbers_.size()) {
                return fail(ErrorCode::corrupt,
                            path_ + " is empty, but " + segment_path(directory_, numbers_.back()) +
                                " came after it");
            }
            DURABLE_TRY_ASSIGN(const bool whole, read_segment());
            if (!whole) {
                return end_of_torn();
            }
        }
        return end_of_whole();
    }

 private:
    // Reads a segment, or takes the one that was read ahead.
    Result<std::string> take(std::size_t index) {
        if (ahead_ && ahead_->first == index) {
            auto content = std::move(ahead_->second);
            ahead_.reset();
            return content;
        }
        return to_result(read_file(files_, segment_path(directory_, numbers_[index])));
    }

    Result<> list_segments() {
        DURABLE_TRY_ASSIGN(const auto entries, to_result(files_.list(directory_)));
        for (const auto& entry : entries) {
            if (const auto number = segment_number(entry.name); number != 0) {
                numbers_.push_back(number);
            }
        }
        std::ranges::sort(numbers_);
        return {};
    }

    [[nodiscard]] std::unexpected<Error> missing_segment(std::uint64_t number) const {
        return fail(ErrorCode::corrupt,
                    segment_path(directory_, number) + " is missing, but " +
                        segment_path(directory_, *std::ranges::upper_bound(numbers_, number)) +
                        " is there");
    }

    // A crash loses only the newest segments: a gap before others is a loss.
    [[nodiscard]] Result<> check_numbers(std::size_t start) const {
        for (auto index = start + 1; demands_.gapless && index < numbers_.size(); ++index) {
            if (numbers_[index] != numbers_[index - 1] + 1) {
                return missing_segment(numbers_[index - 1] + 1);
            }
        }
        return {};
    }

    // The journal has no record. That is no loss if it never had one.
    [[nodiscard]] Result<> check_empty() const {
        if (demands_.records) {
            return fail(ErrorCode::corrupt,
                        directory_ + " has no records, but the checkpoint says that record " +
                            std::to_string(after_) + " is there");
        }
        if (demands_.gapless && !numbers_.empty() && numbers_.front() != 1) {
            return missing_segment(1);
        }
        return {};
    }

    // Some segments that a checkpoint covers may still exist: a crash undoes removals in any
    // combination. Reading starts with the last segment that begins early enough.
    Result<std::size_t> find_start() {
        std::size_t start = 0;
        Lsn before = 0; // the first record of the latest segment that has one
        for (std::size_t index = 0; after_ > 0 && index < numbers_.size(); ++index) {
            DURABLE_TRY_ASSIGN(auto file,
                               FrameFile::open(files_, segment_path(directory_, numbers_[index])));
            const auto first = file.next();
            if (!first && first.error().code != ErrorCode::corrupt) {
                return std::unexpected{first.error()};
            }
            const auto numbers = first && *first ? numbers_of(**first) : std::nullopt;
            if (!numbers) {
                continue;
            }
            if (numbers->lsn <= before) { // segments must ascend: else one would hide others
                return fail(ErrorCode::corrupt,
                            segment_path(directory_, numbers_[index]) + " begins with record " +
                                std::to_string(numbers->lsn) + ", and one before it with record " +
                                std::to_string(before) + ": they were exchanged or renamed");
            }
            before = numbers->lsn;
            if (numbers->lsn <= after_ + 1) {
                start = index;
            }
        }
        return start;
    }

    // False: it ends with neither the next record nor unused space.
    Result<bool> read_segment() {
        const std::string_view content = content_;
        at_ = 0;
        while (at_ < content.size()) {
            const auto found = record_at(content.substr(at_));
            if (!found || (expected_ != 0 && found->numbers.lsn != expected_)) {
                break;
            }
            if (expected_ == 0) {
                DURABLE_TRY(begin_with(found->numbers.lsn));
            }
            end_.proven = std::max(end_.proven, found->numbers.synced);
            if (at_ == 0) {
                end_.segments.push_back({numbers_[index_], expected_});
            }
            if (expected_ > after_) {
                DURABLE_TRY(each_({expected_, found->json, path_, at_}));
            }
            ++expected_;
            at_ += found->json.size() + frame_overhead;
            end_.end_offset = at_;
        }
        if (all_zero(content.substr(at_))) {
            return next_segment_fits();
        }
        return false;
    }

    Result<> begin_with(Lsn first) {
        if (first > after_ + 1) {
            return fail(ErrorCode::corrupt,
                        path_ + ": records " + std::to_string(after_ + 1) + " to " +
                            std::to_string(first - 1) + " are missing before this file");
        }
        expected_ = first;
        return {};
    }

    // The rest of this segment is unused: the next one with records must continue the numbers.
    Result<bool> next_segment_fits() {
        for (auto next = index_ + 1; next < numbers_.size(); ++next) {
            DURABLE_TRY_ASSIGN(auto content, take(next));
            const auto found = record_at(content);
            const bool fits = found && (expected_ == 0 || found->numbers.lsn == expected_);
            const bool unused = !found && all_zero(content);
            if (!unused) {
                ahead_.emplace(next, std::move(content));
                return fits;
            }
        }
        return true;
    }

    [[nodiscard]] std::uint64_t next_segment() const {
        if (!end_.segments.empty()) {
            return end_.segments.back().number + 1;
        }
        return numbers_.empty() || demands_.gapless ? 1 : numbers_.back() + 1;
    }

    Result<JournalEnd> end_of_whole() {
        if (expected_ == 0) {
            DURABLE_TRY(check_empty());
        }
        end_.next_segment = next_segment();
        end_.last = expected_ == 0 ? after_ : expected_ - 1;
        if (end_.last < after_) {
            return fail(ErrorCode::corrupt,
                        path_ + ", byte " + std::to_string(end_.end_offset) +
                            ": the journal ends "
                            "with record " +
                            std::to_string(end_.last) + ", but the checkpoint has " +
                            std::to_string(after_));
        }
        return std::move(end_);
    }

    Result<JournalEnd> end_of_torn() {
        const Lsn missing = expected_ == 0 ? after_ + 1 : expected_;
        // Records that a checkpoint holds were synced in the journal before.
        Lsn proof = missing <= after_ ? after_ : find_proof(rest_of_segment(), missing);
        std::uint64_t lost = content_.size() - at_;
        auto ends = check_end(path_, content_);
        for (auto next = index_ + 1; next < numbers_.size(); ++next) {
            DURABLE_TRY_ASSIGN(const auto content, take(next));
            proof = proof != 0 ? proof : find_proof(content, missing);
            lost += all_zero(content) ? 0 : content.size();
            ends = ends ? check_end(segment_path(directory_, numbers_[next]), content) : ends;
        }
        if (proof != 0) {
            return fail(ErrorCode::corrupt,
                        path_ + ", byte " + std::to_string(at_) + ": record " +
                            std::to_string(missing) + " is damaged or missing, but record " +
                            std::to_string(proof) + " proves that it was stored");
        }
        DURABLE_TRY(ends);
        if (expected_ == 0) {
            DURABLE_TRY(check_empty());
        }
        end_.torn = {.segment = numbers_[index_], .offset = at_, .bytes = lost};
        end_.last = missing - 1;
        end_.next_segment = numbers_[index_] + (at_ == 0 ? 0 : 1);
        return std::move(end_);
    }

    // Refuses a record that extends past the end of its file. No crash causes that: the file keeps
    // its allocated size, which has room for all its records.
    static Result<> check_end(const std::string& path, std::string_view content) {
        std::size_t at = 0;
        for (auto found = record_at(content); found; found = record_at(content.substr(at))) {
            at += found->json.size() + frame_overhead;
        }
        const auto rest = content.substr(at);
        const auto length = rest.size() < frame_header_size ? std::nullopt : frame_length(rest);
        const bool cut_off = rest.size() < frame_header_size
                                 ? !all_zero(rest)
                                 : length && *length + frame_overhead > rest.size();
        if (cut_off) {
            return fail(ErrorCode::corrupt,
                        path + ", byte " + std::to_string(at) +
                            ": the record goes on behind the end of the file, which was cut off");
        }
        return {};
    }

    [[nodiscard]] std::string_view rest_of_segment() const {
        return std::string_view{content_}.substr(at_);
    }

    Files& files_;
    const std::string& directory_;
    const Lsn after_;
    const std::function<Result<>(const JournalRecord&)>& each_;
    const JournalExpected demands_;

    std::vector<std::uint64_t> numbers_;
    std::size_t index_ = 0; // of the segment being read
    std::string path_;
    std::string content_;
    std::optional<std::pair<std::size_t, std::string>> ahead_; // a later segment, already read
    std::size_t at_ = 0;
    Lsn expected_ = 0; // 0: any record may come first
    JournalEnd end_;
};

} // namespace

std::optional<Lsn> lsn_of(std::string_view json) noexcept {
    const auto numbers = numbers_of(json);
    return numbers ? std::optional{numbers->lsn} : std::nullopt;
}

Result<JournalEnd> read_journal(Files& files,
                                const std::string& directory,
                                Lsn after,
                                const std::function<Result<>(const JournalRecord&)>& each,
                                JournalExpected expected) {
    return Reader{files, directory, after, each, expected}.read();
}

namespace {

// The last record of a segment that has records.
Lsn last_in(const JournalEnd& end, std::uint64_t segment) {
    const auto next = std::ranges::find_if(
        end.segments, [&](const SegmentStart& start) { return start.number > segment; });
    return next == end.segments.end() ? end.last : next->first - 1;
}

// Writes the content of a segment again, from the first record after `proven` on.
Result<> write_again(Files& files, const std::string& path, File& file, Lsn proven) {
    DURABLE_TRY_ASSIGN(const auto bytes, to_result(read_file(files, path)));
    const std::string_view content = bytes;
    std::size_t begin = content.size();
    std::size_t at = 0;
    for (auto found = record_at(content); found; found = record_at(content.substr(at))) {
        if (found->numbers.lsn > proven) {
            begin = std::min(begin, at);
        }
        at += found->json.size() + frame_overhead;
    }
    return begin < at ? to_result(write_at(file, content.substr(begin, at - begin), begin))
                      : Result<>{};
}

// Truncates the file after the last record. A power loss may leave any size in between, and a torn
// record must not look like one that extends past the end: so its header is erased first.
Result<> cut_off(File& file, const JournalEnd& end) {
    DURABLE_TRY_ASSIGN(const auto size, to_result(file.size()));
    if (end.torn && size > end.end_offset) {
        const auto header = std::min<std::uint64_t>(frame_header_size, size - end.end_offset);
        DURABLE_TRY(to_result(write_at(file, std::string(header, '\0'), end.end_offset)));
        DURABLE_TRY(to_result(file.sync()));
    }
    return to_result(file.truncate(end.end_offset));
}

} // namespace

Result<> cut_journal(Files& files, const std::string& directory, const JournalEnd& end) {
    DURABLE_TRY_ASSIGN(const auto entries, to_result(files.list(directory)));
    // The newest first, each removal durable before the next: a crash leaves a prefix of the
    // journal.
    bool unsynced = false;
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
        const auto number = segment_number(entry->name);
        if (number == 0) {
            continue;
        }
        const auto path = directory + "/" + entry->name;
        const bool used = std::ranges::any_of(
            end.segments, [&](const SegmentStart& start) { return start.number == number; });
        if (!used) {
            if (unsynced) {
                DURABLE_TRY(to_result(files.sync_directory(directory)));
            }
            DURABLE_TRY(to_result(files.remove(path)));
            unsynced = end.segments.empty() || number > end.segments.back().number;
            continue;
        }
        DURABLE_TRY_ASSIGN(const auto file, to_result(files.open(path, OpenMode::write)));
        if (number == end.segments.back().number) {
            DURABLE_TRY(cut_off(*file, end));
        }
        if (last_in(end, number) > end.proven) {
            DURABLE_TRY(write_again(files, path, *file, end.proven));
        }
        DURABLE_TRY(to_result(file->sync()));
    }
    return to_result(files.sync_directory(directory));
}

} // namespace durable::fs
