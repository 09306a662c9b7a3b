#include "providers/fs/salvage.hpp"

#include "providers/fs/applicable.hpp"
#include "providers/fs/checkpoint_salvage.hpp"
#include "providers/fs/close_codec.hpp"
#include "providers/fs/frame_scan.hpp"
#include "providers/fs/overtaken.hpp"
#include "providers/fs/record_codec.hpp"
#include "providers/fs/segments.hpp"
#include "providers/fs/store_directory.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace durable::fs {

namespace {

class Salvor {
 public:
    Salvor(Files& files, const std::string& directory, Instant now)
        : files_{files}, layout_{directory}, now_{now} {
        found_.archive = std::make_unique<PackArchive>(files, layout_.packs(), *found_.ledger);
        found_.ledger->instances.keep_in(found_.archive.get());
    }

    Salvaged run() {
        const auto begun = salvage_checkpoint(files_, layout_, now_, found_);
        found_.last = after_ = begun.after;
        in_journal_ = begun.in_journal;
        if (begun.dateless) {
            overtaken_.emplace(*found_.ledger, *found_.archive);
        }
        take_journal();
        return std::move(found_);
    }

 private:
    // ---- The journal

    struct SegmentFile {
        std::uint64_t number = 0;
        std::string path;
        Lsn first = 0; // record; 0: it has none that is whole
        Lsn place = 0; // the order in which they are read
    };

    void take_journal() {
        const auto entries = files_.list(layout_.journal());
        if (!entries) {
            found_.unread.push_back(entries.error().text);
            return;
        }
        std::vector<SegmentFile> segments;
        for (const auto& entry : *entries) { // sorted by name: by number
            if (const auto number = segment_number(entry.name); number != 0) {
                segments.push_back(
                    {.number = number, .path = layout_.journal() + "/" + entry.name});
            }
        }
        for (const auto& segment : in_order(segments)) {
            if (const auto content = found_.read(files_, segment.path)) {
                take_segment(segment.path, *content);
            }
        }
        settle_remains(UINT64_MAX);
        if (found_.complete()) {
            look_for_the_end(segments);
        }
    }

    // By their records: a name is easily changed. What has none stays behind the one before it.
    std::vector<SegmentFile> in_order(std::vector<SegmentFile>& segments) {
        Lsn place = 0;
        for (auto& segment : segments) {
            segment.first = records_in(read_file(files_, segment.path).value_or("")).first;
            place = segment.first != 0 ? segment.first : place;
            segment.place = place;
        }
        auto ordered = segments;
        std::ranges::sort(ordered, {}, [](const SegmentFile& segment) {
            return std::pair{segment.place, segment.number};
        });
        if (!std::ranges::equal(
                ordered, segments, {}, &SegmentFile::number, &SegmentFile::number)) {
            found_.mended.push_back(layout_.journal() +
                                    ": segments have each other's names, and are taken in the "
                                    "order of their records");
        }
        return ordered;
    }

    // Records that are gone from the end leave no gap between others.
    void look_for_the_end(const std::vector<SegmentFile>& segments) {
        if (highest_ < after_ && (in_journal_ || highest_ != 0)) {
            found_.lost.push_back(layout_.journal() + ": what came after record " +
                                  std::to_string(after_) + ", which the checkpoint says is there");
            return;
        }
        const auto format = check_format(files_, layout_.path);
        std::uint64_t before = 0; // the number of the last one with records, or behind it
        for (const auto& segment : segments) {
            before = segment.first != 0 ? segment.number : before;
        }
        for (const auto& segment : segments) {
            if (segment.number <= before || !format || !format->gapless) {
                continue;
            }
            if (segment.number != before + 1 && (before != 0 || after_ == 0)) {
                found_.lost.push_back(segment_path(layout_.journal(), before + 1) +
                                      ": all of its records; it is missing, and " + segment.path +
                                      " is there");
                return;
            }
            before = segment.number;
        }
    }

    void take_segment(const std::string& path, std::string_view content) {
        scan_frames(content,
                    {.whole = [&](std::string_view json,
                                  std::uint64_t offset) { take_record(path, offset, json); },
                     .damaged =
                         [&](std::string_view bytes, std::uint64_t offset) {
                             open_remains_.push_back({.path = path,
                                                      .offset = offset,
                                                      .bytes = std::string{bytes},
                                                      .what = "no whole record"});
                         }});
    }

    void take_record(const std::string& path, std::uint64_t offset, std::string_view json) {
        const auto lsn = lsn_of(json);
        if (!lsn) {
            found_.lose(path, offset, json, "a line without the number of a record");
            return;
        }
        settle_remains(*lsn);
        highest_ = std::max(highest_, *lsn);
        if (*lsn <= after_) {
            return; // the checkpoint has it
        }
        if (*lsn <= found_.last) {
            found_.lose(path, offset, json, "record " + std::to_string(*lsn) + " is there twice");
            return;
        }
        if (*lsn > found_.last + 1) {
            found_.missing.push_back({.first = found_.last + 1, .last = *lsn - 1});
        }
        found_.last = *lsn;
        if (is_close(json)) {
            return; // leases are for processes that have gone
        }
        auto record = decode_record(json);
        if (!record) {
            found_.lose(path, offset, json, record.error().message);
            return;
        }
        if (auto rest = overtaken_ ? overtaken_->rest_of(*record) : std::nullopt) {
            for (auto& message : *rest) {
                apply(*lsn, json, std::move(message));
            }
            return;
        }
        apply(*lsn, json, *std::move(record));
    }

    void apply(Lsn lsn, std::string_view json, ledger::Record record) {
        auto& ledger = *found_.ledger;
        const auto leave_out = [&](std::string why) {
            found_.unapplied.push_back({.lsn = lsn,
                                        .instances = ledger::touched(ledger, record),
                                        .why = std::move(why),
                                        .json = std::string{json}});
        };
        if (!found_.complete()) {
            if (auto why = why_not_applicable(ledger, record)) {
                leave_out(*std::move(why));
                return;
            }
        }
        const auto changing = found_.archive->bring_touched(record);
        if (!changing) {
            leave_out(changing.error().message);
            return;
        }
        (void)found_.archive->forget_copies(*changing);
        ledger.apply(std::move(record));
        found_.archive->drop_copies(most_copies);
        ++found_.applied;
    }

    // What lies before a record that the checkpoint has, or its first successor, is not needed.
    void settle_remains(Lsn next) {
        for (auto& remains : open_remains_) {
            if (next > after_ + 1) {
                found_.remains.push_back(std::move(remains));
            }
        }
        open_remains_.clear();
    }

    static constexpr std::size_t most_copies = 256;

    Files& files_;
    const StoreLayout layout_;
    const Instant now_;
    Lsn after_ = 0;
    bool in_journal_ = false;           // the checkpoint says that its record is
    Lsn highest_ = 0;                   // record in the journal
    std::vector<Remains> open_remains_; // of the journal, before the next whole record
    Salvaged found_;
    std::optional<Overtaken> overtaken_; // where packs may be ahead of the journal
};

} // namespace

std::string Remains::text() const {
    return path + ", byte " + std::to_string(offset) + ": " + std::to_string(bytes.size()) +
           " bytes: " + what;
}

std::optional<std::string> Salvaged::read(Files& files, const std::string& path) {
    auto content = read_file(files, path);
    if (!content) {
        unread.push_back(content.error().text);
        return std::nullopt;
    }
    return *std::move(content);
}

void Salvaged::lose(const std::string& path,
                    std::uint64_t offset,
                    std::string_view bytes,
                    std::string what) {
    remains.push_back(
        {.path = path, .offset = offset, .bytes = std::string{bytes}, .what = std::move(what)});
}

LsnRange records_in(std::string_view segment) {
    LsnRange found;
    scan_frames(segment,
                {.whole =
                     [&](std::string_view json, std::uint64_t) {
                         const auto lsn = lsn_of(json).value_or(0);
                         found.first = found.first == 0 ? lsn : std::min(found.first, lsn);
                         found.last = std::max(found.last, lsn);
                     },
                 .damaged = [](std::string_view, std::uint64_t) {}});
    return found;
}

Salvaged salvage(Files& files, const std::string& directory, Instant now) {
    return Salvor{files, directory, now}.run();
}

} // namespace durable::fs
