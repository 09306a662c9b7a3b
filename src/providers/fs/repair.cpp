#include "providers/fs/repair.hpp"

#include "base/try.hpp"
#include "providers/fs/checkpoint.hpp"
#include "providers/fs/frame.hpp"
#include "providers/fs/fs_error.hpp"
#include "providers/fs/image_codec.hpp"
#include "providers/fs/pack_file.hpp"
#include "providers/fs/salvage.hpp"
#include "providers/fs/segments.hpp"
#include "providers/fs/snapshot.hpp"
#include "providers/fs/store_directory.hpp"
#include "providers/fs/store_parts.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

namespace durable::fs {

namespace {

Result<> require_room(Files& files, const std::string& damaged, const std::string& fresh) {
    DURABLE_TRY_ASSIGN(const bool inside, lies_in_store(files, fresh, damaged));
    if (inside) {
        return fail(ErrorCode::invalid_argument,
                    fresh + " is or lies inside " + damaged + ", which is never changed");
    }
    const auto entries = files.list(fresh);
    if (entries && !entries->empty()) {
        return fail(ErrorCode::already_exists, fresh + " is not empty");
    }
    if (!entries && entries.error().code != std::errc::no_such_file_or_directory) {
        return std::unexpected{to_error(entries.error())};
    }
    return {};
}

Result<> write_new_file(Files& files, const std::string& path, std::string_view content) {
    DURABLE_TRY_ASSIGN(const auto file, to_result(files.open(path, OpenMode::create)));
    DURABLE_TRY(to_result(write_at(*file, content, 0)));
    return to_result(file->sync());
}

Result<> copy_files(Files& files, const std::string& from, const std::string& to) {
    const auto entries = files.list(from);
    if (!entries) {
        return {}; // there is none
    }
    for (const auto& entry : *entries) {
        const auto source = from + "/" + entry.name;
        const auto target = to + "/" + entry.name;
        if (entry.is_directory) {
            DURABLE_TRY(to_result(files.make_directory(target)));
            DURABLE_TRY(copy_files(files, source, target));
            continue;
        }
        DURABLE_TRY_ASSIGN(const auto content, to_result(read_file(files, source)));
        DURABLE_TRY(write_new_file(files, target, content));
    }
    return to_result(files.sync_directory(to));
}

std::string_view name_in(std::string_view path) {
    return path.substr(path.find_last_of('/') + 1);
}

class Repairer {
 public:
    Repairer(Files& files, const std::string& damaged, const std::string& fresh, Instant now)
        : files_{files}, old_{damaged}, new_{fresh}, now_{now} {}

    Result<Repair> run() {
        DURABLE_TRY(read_old());
        DURABLE_TRY(to_result(make_directories(files_, new_.path)));
        for (const auto& part : {new_.journal(),
                                 new_.checkpoint(),
                                 new_.packs(),
                                 new_.instances(),
                                 new_.quarantine()}) {
            DURABLE_TRY(to_result(files_.make_directory(part)));
        }
        DURABLE_TRY(write_quarantine());
        DURABLE_TRY(write_state());
        DURABLE_TRY(to_result(files_.sync_directory(new_.path)));
        DURABLE_TRY(write_format(files_, new_.path));
        DURABLE_TRY_ASSIGN(result_.made, verify(files_, new_.path, now_));
        if (!result_.made.clean()) {
            return fail(ErrorCode::storage_failed,
                        new_.path + " does not verify: " + result_.made.damage.front());
        }
        return std::move(result_);
    }

 private:
    Result<> read_old() {
        if (auto known = check_format(files_, old_.path); !known) {
            if (known.error().code == ErrorCode::unsupported) {
                return std::unexpected{std::move(known).error()};
            }
            result_.mended.push_back(known.error().message); // a new one says the same
        }
        auto loaded = load_store(files_, old_.path, now_);
        if (loaded && check_packs(files_, old_.path, loaded->packs)) {
            return take(*std::move(loaded));
        }
        auto why = loaded ? std::optional<Error>{} : std::move(loaded).error();
        if (auto other = load_from_another(why)) {
            return take(*std::move(other));
        }
        state_ = salvage(files_, old_.path, now_);
        std::ranges::copy(state_.mended, std::back_inserter(result_.mended));
        for (const auto& unread : state_.unread) {
            result_.lost.push_back("a file that cannot be read: " + unread);
        }
        for (const auto& remains : state_.remains) {
            result_.lost.push_back(remains.text());
        }
        result_.lost.insert(result_.lost.end(), state_.lost.begin(), state_.lost.end());
        for (const auto& range : state_.missing) {
            result_.lost.push_back("records " + std::to_string(range.first) + " to " +
                                   std::to_string(range.last) + ": nowhere in the journal");
        }
        for (const auto& record : state_.unapplied) {
            std::string who;
            for (const auto& instance : record.instances) {
                who += (who.empty() ? "" : ", ") + instance;
            }
            result_.lost.push_back("record " + std::to_string(record.lsn) + " of " + who + ": " +
                                   record.why);
        }
        if (why && result_.lost.empty() && state_.mended.empty()) {
            // All that is there is whole, so what is missing can only be named by the gap.
            result_.lost.push_back("what belongs here, whatever it was: " + why->message);
        }
        return {};
    }

    Result<> take(LoadedStore loaded) {
        state_.ledger = std::move(loaded.ledger);
        state_.archive = std::move(loaded.archive);
        state_.last = loaded.end.last;
        return keep_torn_end(loaded.end);
    }

    // Where the newest checkpoint does not open, another one may, or the journal alone: everything
    // is there if the journal goes from it to behind all of them. `why` becomes what speaks against
    // the newest as far as its content tells, when its name is wrong.
    std::optional<LoadedStore> load_from_another(std::optional<Error>& why) {
        auto found = list_checkpoints(files_, old_.checkpoint());
        if (!found || found->empty()) {
            return std::nullopt;
        }
        const auto first = found->front().path;
        std::ranges::sort(*found, std::greater{}, &CheckpointFile::lsn);
        Lsn highest = 0; // that a whole first line tells of; a name alone is only mentioned
        for (const auto& file : *found) {
            highest = std::max(highest, file.said.value_or(0));
        }
        std::vector<std::optional<CheckpointFile>> others{found->begin(), found->end()};
        others.emplace_back(std::nullopt);
        for (const auto& other : others) {
            if (other && other->path == first && other->lsn() == other->named) {
                continue; // that one does not
            }
            auto loaded = load_store_from(files_, old_.path, now_, other);
            if (loaded && loaded->end.last >= highest &&
                check_packs(files_, old_.path, loaded->packs)) {
                result_.mended.push_back(
                    (why ? why->message : "a pack of the newest checkpoint is damaged") + "; " +
                    (other ? other->path + ", the checkpoint of record " +
                                 std::to_string(other->lsn()) + ", and the journal have"
                           : "the journal has") +
                    " everything");
                for (const auto& file : *found) {
                    if (!file.said && file.named > loaded->end.last) {
                        result_.lost.push_back(
                            file.path +
                            ": its first line is damaged; if its name is right, it had "
                            "what came after record " +
                            std::to_string(loaded->end.last) + ", where the journal ends");
                    }
                }
                return *std::move(loaded);
            }
            if (!loaded && other && other->path == first) {
                why = loaded.error();
            }
        }
        return std::nullopt;
    }

    // Nobody was told about it, so nothing is lost; but it is not thrown away either.
    Result<> keep_torn_end(const JournalEnd& end) {
        if (!end.torn) {
            return {};
        }
        const auto path = segment_path(old_.journal(), end.torn->segment);
        DURABLE_TRY_ASSIGN(const auto content, to_result(read_file(files_, path)));
        const auto used = content.find_last_not_of('\0');
        const auto length =
            used == std::string::npos || used < end.torn->offset ? 0 : used + 1 - end.torn->offset;
        state_.remains.push_back({.path = path,
                                  .offset = end.torn->offset,
                                  .bytes = content.substr(end.torn->offset, length),
                                  .what = "the torn end of the journal"});
        return {};
    }

    // What is there from earlier repairs stays, in a directory of its own.
    Result<> write_quarantine() {
        const auto before = files_.list(old_.quarantine());
        if (before && !before->empty()) {
            const auto earlier = new_.quarantine() + "/earlier";
            DURABLE_TRY(to_result(files_.make_directory(earlier)));
            DURABLE_TRY(copy_files(files_, old_.quarantine(), earlier));
            result_.kept.push_back(earlier);
        }
        for (const auto& remains : state_.remains) {
            if (!remains.bytes.empty()) {
                DURABLE_TRY(keep(std::string{name_in(remains.path)} + ".byte-" +
                                     std::to_string(remains.offset),
                                 remains.bytes));
            }
        }
        std::string unapplied;
        for (const auto& record : state_.unapplied) {
            unapplied += record.json + "\n";
        }
        if (!unapplied.empty()) {
            DURABLE_TRY(keep("unapplied.jsonl", unapplied));
        }
        if (!result_.lost.empty()) {
            std::string report;
            for (const auto& lost : result_.lost) {
                report += lost + "\n";
            }
            DURABLE_TRY(keep("lost.txt", report));
        }
        return to_result(files_.sync_directory(new_.quarantine()));
    }

    Result<> keep(const std::string& name, std::string_view content) {
        const auto path = new_.quarantine() + "/" + name;
        result_.kept.push_back(path);
        return write_new_file(files_, path, content);
    }

    Result<> write_state() {
        if (state_.last == 0 && state_.archive->packs.packs().empty()) {
            return {}; // there never was a record
        }
        state_.last = std::max<Lsn>(state_.last, 1);
        DURABLE_TRY_ASSIGN(const auto packs, write_packs());
        Snapshot snapshot{*state_.ledger, packs};
        DURABLE_TRY_ASSIGN(auto writer,
                           CheckpointWriter::begin(files_, new_.checkpoint(), state_.last, false));
        constexpr std::size_t piece = 1U << 20U;
        bool more = true;
        while (more) {
            std::string frames;
            DURABLE_TRY_ASSIGN(more, snapshot.encode_some(*state_.ledger, frames, piece));
            DURABLE_TRY(writer.write(frames));
        }
        return writer.finish(snapshot.instances(), snapshot.packs());
    }

    // What is live in the packs of the old store, as few packs as that needs.
    Result<std::vector<PackRecord>> write_packs() {
        constexpr std::uint64_t most_bytes = 1U << 22U;
        std::vector<PackRecord> made;
        std::optional<PackWriter> writer;
        const auto finish = [&]() -> Result<> {
            if (writer) {
                DURABLE_TRY_ASSIGN(auto record, writer->finish());
                made.push_back(std::move(record));
                writer.reset();
            }
            return {};
        };
        for (const auto& [number, pack] : state_.archive->packs.packs()) {
            for (std::uint32_t line = 0; line < pack->live.size(); ++line) {
                if (!pack->live[line]) {
                    continue;
                }
                if (!writer) {
                    DURABLE_TRY_ASSIGN(auto begun,
                                       PackWriter::begin(files_, new_.packs(), made.size() + 1));
                    writer.emplace(std::move(begun));
                }
                DURABLE_TRY(copy_line(*pack, line, *writer));
                if (writer->bytes() >= most_bytes) {
                    DURABLE_TRY(finish());
                }
            }
        }
        DURABLE_TRY(finish());
        return made;
    }

    Result<> copy_line(const Pack& pack, std::uint32_t line, PackWriter& writer) {
        const auto at = pack.begin_of(line);
        DURABLE_TRY_ASSIGN(
            const auto frame,
            read_pack_frame(files_, old_.packs(), pack.record.number, at, pack.ends[line] - at));
        DURABLE_TRY_ASSIGN(const auto image, decode_image(*read_frame(frame)));
        return writer.add(frame, {line_of(image, frame.size())});
    }

    Files& files_;
    const StoreLayout old_;
    const StoreLayout new_;
    const Instant now_;
    Salvaged state_;
    Repair result_;
};

} // namespace

Result<Repair>
repair(Files& files, const std::string& damaged, const std::string& fresh, Instant now) {
    DURABLE_TRY(require_store(files, damaged));
    DURABLE_TRY(require_room(files, damaged, fresh));
    DURABLE_TRY_ASSIGN(const auto lock, lock_for_reading(files, damaged));
    return Repairer{files, damaged, fresh, now}.run();
}

} // namespace durable::fs
