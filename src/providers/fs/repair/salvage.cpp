#include "providers/fs/repair/salvage.hpp"

#include "base/try.hpp"
#include "providers/fs/files/fs_error.hpp"
#include "providers/fs/files/store_directory.hpp"
#include "providers/fs/format/close_codec.hpp"
#include "providers/fs/format/frame.hpp"
#include "providers/fs/format/frame_scan.hpp"
#include "providers/fs/format/image_codec.hpp"
#include "providers/fs/format/record_codec.hpp"
#include "providers/fs/journal/segments.hpp"
#include "providers/fs/repair/applicable.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <variant>

namespace durable::fs {

namespace {

// Raises counters above all that the instance uses: the line that has them may be damaged.
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

// A line of a pack that is whole.
struct WholeLine {
    PackLine said;
    std::uint64_t offset = 0;
    std::optional<std::uint64_t> number; // in the pack; nullopt: damage hides it
};

class Salvor {
 public:
    Salvor(Files& files, const std::string& directory, Instant now)
        : files_{files},
          layout_{directory},
          now_{now},
          found_{.store = {files, directory}, .lost = {}} {}

    Salvaged run() {
        const bool whole = take_checkpoint();
        take_journal();
        if (!whole) {
            take_unnamed_packs();
        }
        return std::move(found_);
    }

 private:
    void lose(std::string text) { found_.lost.push_back(std::move(text)); }

    static std::string place(const std::string& path, const Scanned& frame, std::string_view what) {
        return path + ", byte " + std::to_string(frame.offset) + ": " + std::to_string(frame.size) +
               " bytes: " + std::string{what};
    }

    std::string read(const std::string& path) {
        auto content = read_file(files_, path);
        if (!content) {
            lose("a file that cannot be read: " + content.error().text);
        }
        return std::move(content).value_or("");
    }

    std::vector<DirectoryEntry> entries_in(const std::string& directory) {
        auto entries = files_.list(directory);
        if (!entries) {
            lose("a directory that cannot be read: " + entries.error().text);
        }
        return std::move(entries).value_or(std::vector<DirectoryEntry>{});
    }

    [[nodiscard]] bool named(std::uint64_t pack) const {
        return std::ranges::find(store_.packs, pack, &PackRecord::number) != store_.packs.end();
    }
    [[nodiscard]] bool known(const std::string& id) const {
        return store_.archive->holds(id) || store_.ledger->instances.find_here(id) != nullptr;
    }

    // ---- The checkpoint

    // Whether the checkpoint is whole.
    bool take_checkpoint() {
        const auto listed = list_checkpoints(files_, layout_.checkpoint());
        if (!listed) {
            lose(listed.error().message);
        }
        const auto files = listed.value_or(std::vector<CheckpointFile>{});
        // A name alone says little: an empty file would hide the whole journal.
        const auto newest = std::ranges::max_element(files, {}, [](const CheckpointFile& file) {
            return std::pair{file.said.has_value(), file.lsn()};
        });
        if (newest == files.end()) {
            return false;
        }
        const CheckpointContent unused{.rest = [](const auto&) { return Result<>{}; },
                                       .pack = {},
                                       .instance = [](const auto&) { return Result<>{}; }};
        const auto whole = read_checkpoint_file(files_, newest->path, newest->lsn(), unused);
        if (!whole) {
            lose(whole.error().message);
        }
        const auto content = read(newest->path);
        for (const auto& frame : scan_frames(content)) {
            if (!frame.json || !take_line(*frame.json)) {
                lose(place(newest->path, frame, "no whole line of a checkpoint, or nothing new"));
            }
            store_.checkpoint.lsn = frame.json ? newest->lsn() : store_.checkpoint.lsn;
        }
        store_.ledger->restore(rest_);
        return whole.has_value();
    }

    bool take_line(std::string_view json) {
        if (is_pack_record(json)) {
            const auto record = decode_pack_record(json);
            if (!record || named(record->number)) {
                return false;
            }
            take_named_pack(*record);
            store_.packs.push_back(*record);
            return true;
        }
        if (auto image = decode_image(json)) {
            if (known(image->id)) {
                return false;
            }
            cover(rest_, *image);
            store_.ledger->restore(*std::move(image), now_);
            return true;
        }
        if (auto rest = decode_rest(json); rest && rest_ == ledger::RestImage{}) {
            rest_ = *std::move(rest); // the second line, before all that is to be covered
            return true;
        }
        return json.starts_with("{\"checkpoint\":") || json.starts_with("{\"end\":");
    }

    // ---- Packs

    // The whole lines of a pack.
    Result<std::vector<WholeLine>> read_pack(std::uint64_t number) {
        const auto path = pack_path(layout_.packs(), number);
        DURABLE_TRY_ASSIGN(const auto content, to_result(read_file(files_, path)));
        if (const auto said = number_said_by_pack(content); said != 0 && said != number) {
            return fail(ErrorCode::corrupt, path + " says that it is pack " + std::to_string(said));
        }
        std::vector<WholeLine> lines;
        for (const auto& frame : scan_frames(content)) {
            if (frame.json && (is_pack_record(*frame.json) || decode_pack_line(*frame.json))) {
                continue; // the first line, or one of the index
            }
            const auto image = decode_image(frame.json.value_or(""));
            if (image) {
                cover(rest_, *image);
                lines.push_back({line_of(*image, frame.size), frame.offset, std::nullopt});
            } else {
                lose(place(path, frame, "no whole line of a pack"));
            }
        }
        return lines;
    }

    // The ids of the lines that `wanted` takes, which are in the archive then.
    std::set<std::string> archive_lines(const PackRecord& record,
                                        const std::vector<WholeLine>& lines,
                                        const std::function<bool(const WholeLine&)>& wanted) {
        std::set<std::string> ids;
        std::vector<PackLine> stretches; // without gaps: what lies between lines has no id
        std::vector<bool> live;
        auto at = first_frame_at(record.number);
        for (const auto& line : lines) {
            if (line.offset < at) { // its first line is gone, so this is not where it should be
                lose(pack_path(layout_.packs(), record.number) + ": instance \"" + line.said.id +
                     "\": not in its place");
                continue;
            }
            if (at < line.offset) {
                stretches.push_back({.size = line.offset - at});
                live.push_back(false);
            }
            stretches.push_back(line.said);
            live.push_back(wanted(line) && ids.insert(line.said.id).second);
            at = line.offset + line.said.size;
        }
        (void)store_.archive->add(record, stretches, live); // no id is there twice
        return ids;
    }

    // The checkpoint says by number which lines are dead, so the number of a line has to be known:
    // from the index, or counted from the first line up to the first damage.
    static void number_lines(std::vector<WholeLine>& lines,
                             const PackRecord& record,
                             const Result<std::vector<PackLine>>& index) {
        auto at = first_frame_at(record.number);
        auto line = lines.begin();
        for (std::uint64_t number = 0; number < record.instances; ++number) {
            line = std::find_if(
                line, lines.end(), [&](const WholeLine& next) { return next.offset >= at; });
            const bool here = line != lines.end() && line->offset == at;
            if (here && (!index || (*index)[number].id == line->said.id)) {
                line->number = number;
            }
            if (!here && !index) {
                return;
            }
            at += index ? (*index)[number].size : line->said.size;
        }
    }

    void take_named_pack(const PackRecord& record) {
        const auto path = pack_path(layout_.packs(), record.number);
        const auto had = record.instances - record.dead.size();
        auto lines = read_pack(record.number);
        if (!lines) {
            lose(path + ": all of its " + std::to_string(had) +
                 " instances: " + lines.error().message);
            return;
        }
        const auto dead = [&](std::uint64_t number) {
            return std::ranges::binary_search(record.dead, number);
        };
        const auto index = read_pack_index(files_, layout_.packs(), record);
        number_lines(*lines, record, index);
        if (!index) {
            lose(index.error().message);
        }
        const auto taken = archive_lines(record, *lines, [&](const WholeLine& line) {
            if (!line.number && !record.dead.empty()) {
                lose(path + ": instance \"" + line.said.id +
                     "\": damage around it hides whether this is its last state");
                return false;
            }
            return !(line.number && dead(*line.number)) && !known(line.said.id);
        });
        for (std::uint64_t number = 0; index && number < record.instances; ++number) {
            if (const auto& id = (*index)[number].id; !dead(number) && !taken.contains(id)) {
                lose(path + ": instance \"" + id + "\"");
            }
        }
        if (!index && taken.size() < had) {
            lose(path + ": " + std::to_string(had - taken.size()) + " of its " +
                 std::to_string(had) + " instances");
        }
    }

    // Whether the state has nothing of the instance. Messages alone are dropped: what is in a pack
    // has ended, and needs none; unless one starts it, which then runs again.
    bool absent(const std::string& id) {
        if (store_.archive->holds(id) || deleted_.contains(id)) {
            return false;
        }
        const auto* here = store_.ledger->instances.find_here(id);
        if (here == nullptr) {
            return true;
        }
        bool starts = here->exists() || !here->executions.empty();
        for (const auto* message = here->messages; message != nullptr; message = message->next) {
            starts = starts || ledger::starts_instance(message->kind);
        }
        if (!starts) {
            store_.ledger->apply({.at = now_, .operation = ledger::op::Delete{.instances = {id}}});
        }
        return !starts;
    }

    // The newest first: an instance that is in several was copied from older to newer ones.
    void take_unnamed_packs() {
        rest_ = store_.ledger->rest();
        const auto entries = entries_in(layout_.packs()); // by name: by number
        for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
            const auto number = pack_number(entry->name);
            if (number == 0 || number > UINT32_MAX || named(number)) {
                continue;
            }
            const auto lines = read_pack(number);
            if (!lines) {
                lose(lines.error().message);
                continue;
            }
            const auto taken =
                archive_lines({.number = number}, *lines, [&](const WholeLine& line) {
                    return absent(line.said.id);
                });
            if (!taken.empty()) {
                lose(pack_path(layout_.packs(), number) + ": what the checkpoint said of it; " +
                     std::to_string(taken.size()) +
                     " instances that are nowhere else are taken; some may have been deleted");
            }
        }
        store_.ledger->restore(rest_);
    }

    // ---- The journal

    void take_journal() {
        std::vector<std::string> held; // damage before the next whole record
        const auto settle = [&](Lsn next) {
            // Before a record that the checkpoint has, or its first successor, nothing is needed.
            for (auto& text : std::exchange(held, {})) {
                if (next > store_.checkpoint.lsn + 1) {
                    lose(std::move(text));
                }
            }
        };
        store_.end.last = store_.checkpoint.lsn;
        for (const auto& entry : entries_in(layout_.journal())) { // by name: by number
            const auto path = layout_.journal() + "/" + entry.name;
            const auto content = segment_number(entry.name) != 0 ? read(path) : "";
            for (const auto& frame : scan_frames(content)) {
                if (!frame.json) {
                    held.push_back(place(path, frame, "no whole record"));
                    continue;
                }
                const auto lsn = lsn_of(*frame.json).value_or(0);
                settle(lsn);
                if (lsn == 0 || lsn > store_.checkpoint.lsn) {
                    const auto name = "record " + std::to_string(lsn);
                    take_record(place(path, frame, name), lsn, *frame.json);
                }
            }
        }
        settle(UINT64_MAX);
    }

    void take_record(const std::string& text, Lsn lsn, std::string_view json) {
        auto& last = store_.end.last;
        if (lsn <= last) {
            lose(text + ": there twice, or too late");
            return;
        }
        if (lsn > last + 1) {
            lose("records " + std::to_string(last + 1) + " to " + std::to_string(lsn - 1) +
                 " are nowhere in the journal");
        }
        last = lsn;
        if (is_close(json)) {
            return; // leases are for processes that have gone
        }
        auto record = decode_record(json);
        if (!record) {
            lose(text + ": " + record.error().message);
            return;
        }
        auto why = found_.lost.empty() ? std::nullopt : why_not_applicable(*store_.ledger, *record);
        std::string who;
        for (const auto& id : ledger::touched(*store_.ledger, *record)) {
            who += (who.empty() ? "" : ", ") + id;
        }
        if (const auto* operation = std::get_if<ledger::op::Delete>(&record->operation)) {
            deleted_.insert(operation->instances.begin(), operation->instances.end());
        }
        if (!why) {
            if (const auto done = apply_record(*store_.ledger, *store_.archive, *record); !done) {
                why = done.error().message;
            }
        }
        why ? lose(text + " of " + who + ": " + *why) : void(++store_.records);
    }

    Files& files_;
    const StoreLayout layout_;
    const Instant now_;
    Salvaged found_;
    LoadedStore& store_ = found_.store;
    ledger::RestImage rest_;        // of the checkpoint, its counters above all that is taken
    std::set<std::string> deleted_; // by records
};

} // namespace

Salvaged salvage(Files& files, const std::string& directory, Instant now) {
    return Salvor{files, directory, now}.run();
}

} // namespace durable::fs
