#include "providers/fs/salvage.hpp"

#include "providers/fs/applicable.hpp"
#include "providers/fs/checkpoint.hpp"
#include "providers/fs/close_codec.hpp"
#include "providers/fs/frame_scan.hpp"
#include "providers/fs/image_codec.hpp"
#include "providers/fs/pack_file.hpp"
#include "providers/fs/pack_salvage.hpp"
#include "providers/fs/record_codec.hpp"
#include "providers/fs/segments.hpp"
#include "providers/fs/store_directory.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace durable::fs {

namespace {

// Counters that fit all instances, when the line that has them is damaged.
void cover(ledger::RestImage& rest, const ledger::InstanceImage& image) {
    const auto raise = [](std::uint64_t& next, std::uint64_t used) {
        next = std::max(next, used + 1);
    };
    raise(rest.next_incarnation, image.incarnation);
    rest.revision = std::max(rest.revision, image.revision);
    if (image.row) {
        raise(rest.next_number, image.row->number);
    }
    for (const auto& waiting : image.messages) {
        raise(rest.next_seq, waiting.message.seq);
    }
    for (const auto& waiting : image.work) {
        raise(rest.next_seq, waiting.work.seq);
    }
}

class Salvor {
 public:
    Salvor(Files& files, const std::string& directory, Instant now)
        : files_{files}, layout_{directory}, now_{now} {
        found_.archive = std::make_unique<PackArchive>(files, layout_.packs(), *found_.ledger);
        found_.ledger->instances.keep_in(found_.archive.get());
    }

    Salvaged run() {
        take_checkpoint();
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

    // ---- The checkpoint

    void take_checkpoint() {
        const auto newest = newest_checkpoint(files_, layout_.checkpoint());
        if (!newest) {
            found_.unread.push_back(newest.error().message);
            return;
        }
        found_.last = after_ = *newest;
        if (after_ != 0) {
            read_checkpoint_lines();
        }
        // What an undamaged checkpoint does not name is left over from a crash. So is what was
        // packed before the first one, as long as the journal has all that it came from.
        if (after_ != 0 ? !found_.complete() : first_record() != 1) {
            take_unnamed_packs();
        }
        found_.ledger->restore(rest_ ? *std::move(rest_) : std::move(covering_));
        for (auto& image : images_) {
            found_.ledger->restore(std::move(image), now_);
        }
        images_.clear();
    }

    void read_checkpoint_lines() {
        const auto path = checkpoint_path(layout_.checkpoint(), after_);
        const auto content = read(path);
        if (!content) {
            return;
        }
        std::size_t line = 0;
        bool ended = false;
        scan_frames(*content,
                    {.whole =
                         [&](std::string_view json, std::uint64_t offset) {
                             ended = json.starts_with("{\"end\":");
                             const bool header = json.starts_with("{\"checkpoint\":");
                             if (!header && !ended) {
                                 take_line(path, offset, json, line);
                             }
                             ++line;
                         },
                     .damaged =
                         [&](std::string_view bytes, std::uint64_t offset) {
                             lose(path, offset, bytes, "no whole line of a checkpoint");
                         }});
        if (!ended) {
            lose(path, content->size(), {}, "the end of the checkpoint is missing");
        }
    }

    // The number of the first record that can be read; 0: there is none.
    Lsn first_record() {
        Lsn first = 0;
        const auto entries = files_.list(layout_.journal()).value_or(std::vector<DirectoryEntry>{});
        for (const auto& entry : entries) { // sorted by name: by number
            if (first != 0 || segment_number(entry.name) == 0) {
                continue;
            }
            const auto content = read_file(files_, layout_.journal() + "/" + entry.name);
            scan_frames(content.value_or(""),
                        {.whole =
                             [&](std::string_view json, std::uint64_t) {
                                 first = first != 0 ? first : lsn_of(json).value_or(0);
                             },
                         .damaged = [](std::string_view, std::uint64_t) {}});
        }
        return first;
    }

    void take_line(const std::string& path,
                   std::uint64_t offset,
                   std::string_view json,
                   std::size_t line) {
        if (is_pack_record(json)) {
            const auto record = decode_pack_record(json);
            record ? take_pack(*record) : lose(path, offset, json, record.error().message);
            return;
        }
        if (auto image = decode_image(json)) {
            take_image(path, offset, json, *std::move(image));
            return;
        }
        auto rest = decode_rest(json);
        if (rest && line <= 1 && !rest_) {
            rest_ = *std::move(rest);
            return;
        }
        lose(path, offset, json, decode_image(json).error().message);
    }

    void take_image(const std::string& path,
                    std::uint64_t offset,
                    std::string_view json,
                    ledger::InstanceImage image) {
        if (found_.archive->holds(image.id) || !ids_.insert(image.id).second) {
            lose(path, offset, json, "a second instance \"" + image.id + "\"");
        } else {
            cover(covering_, image);
            images_.push_back(std::move(image));
        }
    }

    // The newest first: an instance that is in several was copied from older to newer ones.
    void take_unnamed_packs() {
        const auto entries = files_.list(layout_.packs()).value_or(std::vector<DirectoryEntry>{});
        for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
            const auto number = pack_number(entry->name);
            if (number != 0 && !named_.contains(number)) {
                take_unnamed_pack(number);
            }
        }
    }

    // What a checkpoint would have said, but for the dead lines.
    static PackRecord record_of(std::uint64_t number, std::string_view content) {
        PackRecord record{.number = number, .bytes = content.size()};
        std::uint64_t images = 0;
        std::uint64_t lines = 0;
        scan_frames(content,
                    {.whole =
                         [&](std::string_view json, std::uint64_t offset) {
                             if (offset < first_frame_at(number)) {
                                 return;
                             }
                             if (!decode_pack_line(json)) {
                                 ++images;
                             } else if (++lines == 1) {
                                 record.index_at = offset;
                             }
                         },
                     .damaged = [](std::string_view, std::uint64_t) {}});
        record.index_at = lines == 0 ? content.size() : record.index_at;
        record.instances = std::max(images, lines);
        return record;
    }

    // Only what is nowhere else. What has changed since the checkpoint is in the journal.
    void take_unnamed_pack(std::uint64_t number) {
        const auto path = pack_path(layout_.packs(), number);
        const auto content = read(path);
        if (!content) {
            return;
        }
        const auto record = record_of(number, *content);
        std::set<std::string, std::less<>> later;
        auto pack = salvage_pack(path, *content, record, [&](const ledger::InstanceImage& image) {
            if (rest_ && (image.revision > rest_->revision ||
                          image.incarnation >= rest_->next_incarnation)) {
                later.insert(image.id);
            } else {
                cover(covering_, image);
            }
        });
        std::uint64_t taken = 0;
        for (std::size_t line = 0; line < pack.stretches.size(); ++line) {
            const auto& id = pack.stretches[line].id;
            pack.live[line] = pack.live[line] && !later.contains(id) && !ids_.contains(id) &&
                              !found_.archive->holds(id);
            taken += pack.live[line] ? 1U : 0U;
        }
        if (taken == 0) {
            return;
        }
        std::ranges::move(pack.remains, std::back_inserter(found_.remains));
        std::ranges::move(pack.lost, std::back_inserter(found_.lost));
        (void)found_.archive->add(record, pack.stretches, pack.live); // no id is there twice
        found_.lost.push_back(path + ": what the checkpoint said of it; " + std::to_string(taken) +
                              " instances in it that are nowhere else are taken, as they were "
                              "then: some may have been deleted");
    }

    // One at a time: its instances stay on the disk.
    void take_pack(const PackRecord& record) {
        named_.insert(record.number);
        const auto path = pack_path(layout_.packs(), record.number);
        const auto content = read(path);
        if (!content) {
            found_.lost.push_back(path + ": all of its " +
                                  std::to_string(record.instances - record.dead.size()) +
                                  " instances");
            return;
        }
        auto pack = salvage_pack(path, *content, record, [&](const ledger::InstanceImage& image) {
            cover(covering_, image);
        });
        std::ranges::move(pack.remains, std::back_inserter(found_.remains));
        std::ranges::move(pack.lost, std::back_inserter(found_.lost));
        for (std::size_t line = 0; line < pack.stretches.size(); ++line) {
            if (pack.live[line] && found_.archive->holds(pack.stretches[line].id)) {
                pack.live[line] = false;
                found_.lost.push_back(path + ": a second instance \"" + pack.stretches[line].id +
                                      "\"");
            }
        }
        (void)found_.archive->add(record, pack.stretches, pack.live); // no id is there twice
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
        auto& ledger = *found_.ledger;
        if (!found_.complete()) {
            if (auto why = why_not_applicable(ledger, *record)) {
                found_.unapplied.push_back({.lsn = *lsn,
                                            .instances = ledger::touched(ledger, *record),
                                            .why = *std::move(why),
                                            .json = std::string{json}});
                return;
            }
        }
        const auto changing = found_.archive->bring_touched(*record);
        if (!changing) {
            found_.unapplied.push_back({.lsn = *lsn,
                                        .instances = ledger::touched(ledger, *record),
                                        .why = changing.error().message,
                                        .json = std::string{json}});
            return;
        }
        (void)found_.archive->forget_copies(*changing);
        ledger.apply(*std::move(record));
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
    std::optional<ledger::RestImage> rest_;
    ledger::RestImage covering_;
    std::vector<ledger::InstanceImage> images_;
    std::set<std::string, std::less<>> ids_; // of images_
    std::set<std::uint64_t> named_;          // packs, by the checkpoint
    std::vector<Remains> open_remains_;      // of the journal, before the next whole record
    Salvaged found_;
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
