#include "providers/fs/checkpoint_salvage.hpp"

#include "providers/fs/checkpoint.hpp"
#include "providers/fs/frame_scan.hpp"
#include "providers/fs/image_codec.hpp"
#include "providers/fs/pack_file.hpp"
#include "providers/fs/pack_salvage.hpp"
#include "providers/fs/segments.hpp"

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

// No counter below that of the other.
ledger::RestImage raised(ledger::RestImage rest, const ledger::RestImage& other) {
    rest.next_seq = std::max(rest.next_seq, other.next_seq);
    rest.next_number = std::max(rest.next_number, other.next_number);
    rest.next_incarnation = std::max(rest.next_incarnation, other.next_incarnation);
    rest.revision = std::max(rest.revision, other.revision);
    return rest;
}

class CheckpointSalvor {
 public:
    CheckpointSalvor(Files& files, const StoreLayout& layout, Instant now, Salvaged& found)
        : files_{files}, layout_{layout}, now_{now}, found_{found} {}

    SalvageBegun run() {
        const auto files = list_checkpoints(files_, layout_.checkpoint());
        if (!files) {
            found_.unread.push_back(files.error().message);
            return {};
        }
        const auto journal = records();
        const auto newest = std::ranges::max_element(
            *files, {}, [&](const CheckpointFile& file) { return rank_of(file, journal); });
        if (newest != files->end()) {
            begun_.after = found_.checkpoint = newest->lsn();
            read_checkpoint_lines(newest->path);
            find_gone_packs();
        }
        // What an undamaged checkpoint does not name is left over from a crash. So is what was
        // packed before the first one, as long as the journal has all that it came from.
        const bool whole = found_.complete() && lost_of_packs_.empty();
        if (begun_.after != 0 ? !whole : journal.first != 1) {
            begun_.dateless = !rest_;
            for_each_unnamed_pack([&](std::uint64_t number, const std::string& path) {
                take_unnamed_pack(number, path);
            });
        }
        drop_found_again();
        // What was taken may be from after the checkpoint, whose counters are older then.
        found_.ledger->restore(rest_ ? raised(*std::move(rest_), covering_) : std::move(covering_));
        for (auto& image : images_) {
            found_.ledger->restore(std::move(image), now_);
        }
        return begun_;
    }

 private:
    void read_checkpoint_lines(const std::string& path) {
        const auto content = found_.read(files_, path);
        if (!content) {
            return;
        }
        std::size_t line = 0;
        CheckpointFrame frame;
        scan_frames(*content,
                    {.whole =
                         [&](std::string_view json, std::uint64_t offset) {
                             note_frame(frame, json);
                             const bool header = json.starts_with("{\"checkpoint\":");
                             if (!header && !frame.ended) {
                                 take_line(path, offset, json, line);
                             }
                             ++line;
                         },
                     .damaged =
                         [&](std::string_view bytes, std::uint64_t offset) {
                             found_.lose(path, offset, bytes, "no whole line of a checkpoint");
                         }});
        begun_.in_journal = frame.in_journal;
        if (!frame.ended) {
            found_.lose(path, content->size(), {}, "the end of the checkpoint is missing");
            return;
        }
        const auto miss = [&](std::uint64_t had, std::uint64_t seen, std::string_view of_what) {
            if (seen < had) {
                found_.lost.push_back(path + ": what it said of " + std::to_string(had - seen) +
                                      " of its " + std::string{of_what});
            }
        };
        miss(frame.instances.value_or(0), seen_, "instances");
        miss(frame.packs.value_or(0), named_.size() + gone_.size(), "packs");
    }

    // Of the whole journal; 0: it has none that can be read.
    LsnRange records() {
        LsnRange all;
        const auto entries = files_.list(layout_.journal()).value_or(std::vector<DirectoryEntry>{});
        for (const auto& entry : entries) {
            if (segment_number(entry.name) == 0) {
                continue;
            }
            const auto here =
                records_in(read_file(files_, layout_.journal() + "/" + entry.name).value_or(""));
            if (here.first != 0) {
                all.first = all.first == 0 ? here.first : std::min(all.first, here.first);
                all.last = std::max(all.last, here.last);
            }
        }
        return all;
    }

    // A name alone does not make one the newest: an empty file would hide the whole journal.
    static Lsn rank_of(const CheckpointFile& file, const LsnRange& records) {
        return file.said || file.named <= records.last ? file.lsn() : 0;
    }

    void take_line(const std::string& path,
                   std::uint64_t offset,
                   std::string_view json,
                   std::size_t line) {
        if (is_pack_record(json)) {
            const auto record = decode_pack_record(json);
            record ? take_pack(*record) : found_.lose(path, offset, json, record.error().message);
            return;
        }
        if (auto image = decode_image(json)) {
            ++seen_;
            take_image(path, offset, json, *std::move(image));
            return;
        }
        auto rest = decode_rest(json);
        if (rest && line <= 1 && !rest_) {
            rest_ = *std::move(rest);
            return;
        }
        found_.lose(path, offset, json, decode_image(json).error().message);
    }

    void take_image(const std::string& path,
                    std::uint64_t offset,
                    std::string_view json,
                    ledger::InstanceImage image) {
        if (found_.archive->holds(image.id) || !ids_.insert(image.id).second) {
            found_.lose(path, offset, json, "a second instance \"" + image.id + "\"");
        } else {
            cover(covering_, image);
            images_.push_back(std::move(image));
        }
    }

    // The newest first: an instance that is in several was copied from older to newer ones.
    template <class Each>
    void for_each_unnamed_pack(const Each& each) {
        const auto entries = files_.list(layout_.packs()).value_or(std::vector<DirectoryEntry>{});
        for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
            const auto number = pack_number(entry->name);
            if (number != 0 && !named_.contains(number)) {
                each(number, layout_.packs() + "/" + entry->name);
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
                             if (is_pack_record(json)) {
                                 return; // the first line
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
    void take_unnamed_pack(std::uint64_t number, const std::string& path) {
        const auto content = found_.read(files_, path);
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
        const auto wanted = [&](const std::string& id) {
            return !later.contains(id) && !ids_.contains(id) && !found_.archive->holds(id);
        };
        std::uint64_t taken = 0;
        for (std::size_t line = 0; line < pack.stretches.size(); ++line) {
            pack.live[line] = pack.live[line] && wanted(pack.stretches[line].id);
            taken += pack.live[line] ? 1U : 0U;
        }
        std::erase_if(pack.outside, [&](const auto& image) { return !wanted(image.id); });
        taken += pack.outside.size();
        if (taken == 0) {
            return;
        }
        tell(pack);
        (void)found_.archive->add(record, pack.stretches, pack.live); // no id is there twice
        for (auto& image : pack.outside) {
            take_image(path, 0, {}, std::move(image));
        }
        found_.lost.push_back(path + ": what the checkpoint said of it; " + std::to_string(taken) +
                              " instances in it that are nowhere else are taken, as they were "
                              "then: some may have been deleted");
    }

    // One at a time: its instances stay on the disk.
    void take_pack(const PackRecord& record) {
        const auto path = pack_path(layout_.packs(), record.number);
        const auto content = read_file(files_, path);
        const auto said = content ? number_said_by_pack(*content) : 0;
        if (content ? said != 0 && said != record.number
                    : content.error().code == std::errc::no_such_file_or_directory) {
            gone_.push_back(record); // what is under its name may be another one
            return;
        }
        named_.insert(record.number);
        if (!content) {
            found_.unread.push_back(content.error().text);
            tell_gone(record);
        } else {
            take_lines(path, *content, record);
        }
    }

    void tell_gone(const PackRecord& record) {
        found_.lost.push_back(pack_path(layout_.packs(), record.number) + ": all of its " +
                              std::to_string(record.instances - record.dead.size()) + " instances");
    }

    // A pack that is not there may be under another name.
    void find_gone_packs() {
        if (gone_.empty()) {
            return;
        }
        for_each_unnamed_pack([&](std::uint64_t number, const std::string& path) {
            const auto content = read_file(files_, path);
            const auto said = content ? number_said_by_pack(*content) : 0;
            const auto record = std::ranges::find(gone_, said, &PackRecord::number);
            if (record == gone_.end() || record->bytes != content->size()) {
                return;
            }
            found_.mended.push_back(path + " is the pack " + std::to_string(said) +
                                    " that the checkpoint names");
            record->number = number; // where it is read
            named_.insert(number);
            take_lines(path, *content, *record);
            gone_.erase(record);
        });
        std::ranges::for_each(gone_, [&](const auto& record) { tell_gone(record); });
    }

    void take_lines(const std::string& path, std::string_view content, const PackRecord& record) {
        auto pack = salvage_pack(path, content, record, [&](const ledger::InstanceImage& image) {
            cover(covering_, image);
        });
        if (content.size() != record.bytes && pack.remains.empty() && pack.lost.empty()) {
            found_.mended.push_back(path + ": has lines twice, which are taken once");
        }
        tell(pack);
        for (std::size_t line = 0; line < pack.stretches.size(); ++line) {
            if (pack.live[line] && found_.archive->holds(pack.stretches[line].id)) {
                pack.live[line] = false;
                found_.lost.push_back(path + ": a second instance \"" + pack.stretches[line].id +
                                      "\"");
            }
        }
        (void)found_.archive->add(record, pack.stretches, pack.live); // no id is there twice
        for (auto& image : pack.outside) {
            take_image(path, 0, {}, std::move(image));
        }
    }

    void tell(SalvagedPack& pack) {
        std::ranges::move(pack.remains, std::back_inserter(found_.remains));
        std::ranges::move(pack.lost, std::back_inserter(lost_of_packs_));
    }

    // What is damaged in one pack may be whole in another one.
    void drop_found_again() {
        for (auto& lost : lost_of_packs_) {
            if (!lost.id || !(found_.archive->holds(*lost.id) || ids_.contains(*lost.id))) {
                found_.lost.push_back(std::move(lost.text));
            }
        }
    }

    Files& files_;
    const StoreLayout& layout_;
    const Instant now_;
    Salvaged& found_;
    SalvageBegun begun_;
    std::optional<ledger::RestImage> rest_;
    ledger::RestImage covering_;
    std::vector<ledger::InstanceImage> images_;
    std::uint64_t seen_ = 0;                 // instances in the checkpoint
    std::set<std::string, std::less<>> ids_; // of images_
    std::set<std::uint64_t> named_;          // packs, by the checkpoint
    std::vector<PackRecord> gone_;           // of named packs that are not there
    std::vector<LostInPack> lost_of_packs_;
};

} // namespace

SalvageBegun
salvage_checkpoint(Files& files, const StoreLayout& layout, Instant now, Salvaged& found) {
    return CheckpointSalvor{files, layout, now, found}.run();
}

} // namespace durable::fs
