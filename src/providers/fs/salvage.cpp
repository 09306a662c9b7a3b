#include "providers/fs/salvage.hpp"

#include "providers/fs/applicable.hpp"
#include "providers/fs/checkpoint_salvage.hpp"
#include "providers/fs/close_codec.hpp"
#include "providers/fs/frame_scan.hpp"
#include "providers/fs/overtaken.hpp"
#include "providers/fs/record_codec.hpp"
#include "providers/fs/segments.hpp"
#include "providers/fs/store_directory.hpp"

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
        if (begun.dateless) {
            overtaken_.emplace(*found_.ledger, *found_.archive);
        }
        take_journal();
        return std::move(found_);
    }

 private:
    // nullopt: it could not be read, which is noted.
    std::optional<std::string> read(const std::string& path) {
        auto content = read_file(files_, path);
        if (!content) {
            found_.unread.push_back(content.error().text);
            return std::nullopt;
        }
        return *std::move(content);
    }

    void
    lose(const std::string& path, std::uint64_t offset, std::string_view bytes, std::string what) {
        found_.remains.push_back(
            {.path = path, .offset = offset, .bytes = std::string{bytes}, .what = std::move(what)});
    }

    // ---- The journal

    void take_journal() {
        const auto entries = files_.list(layout_.journal());
        if (!entries) {
            found_.unread.push_back(entries.error().text);
            return;
        }
        for (const auto& entry : *entries) { // sorted by name: by number
            if (segment_number(entry.name) == 0) {
                continue;
            }
            const auto path = layout_.journal() + "/" + entry.name;
            if (const auto content = read(path)) {
                take_segment(path, *content);
            }
        }
        settle_remains(UINT64_MAX);
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
            lose(path, offset, json, "a line without the number of a record");
            return;
        }
        settle_remains(*lsn);
        if (*lsn <= after_) {
            return; // the checkpoint has it
        }
        if (*lsn <= found_.last) {
            lose(path, offset, json, "record " + std::to_string(*lsn) + " is there twice");
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
            lose(path, offset, json, record.error().message);
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
    std::vector<Remains> open_remains_; // of the journal, before the next whole record
    Salvaged found_;
    std::optional<Overtaken> overtaken_; // where packs may be ahead of the journal
};

} // namespace

std::string Remains::text() const {
    return path + ", byte " + std::to_string(offset) + ": " + std::to_string(bytes.size()) +
           " bytes: " + what;
}

Salvaged salvage(Files& files, const std::string& directory, Instant now) {
    return Salvor{files, directory, now}.run();
}

} // namespace durable::fs
