#include "providers/fs/repair/repair.hpp"

#include "base/try.hpp"
#include "providers/fs/checkpoint/checkpoint.hpp"
#include "providers/fs/checkpoint/load_store.hpp"
#include "providers/fs/checkpoint/snapshot.hpp"
#include "providers/fs/files/fs_error.hpp"
#include "providers/fs/files/store_directory.hpp"
#include "providers/fs/files/store_parts.hpp"
#include "providers/fs/format/frame.hpp"
#include "providers/fs/format/image_codec.hpp"
#include "providers/fs/packs/pack_file.hpp"
#include "providers/fs/repair/salvage.hpp"

#include <algorithm>
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

class Repairer {
 public:
    Repairer(Files& files, const std::string& damaged, const std::string& fresh, Instant now)
        : files_{files}, old_{damaged}, new_{fresh}, now_{now}, store_{files, damaged} {}

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
        DURABLE_TRY(write_list());
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
        auto loaded = load_whole();
        if (loaded) {
            store_ = *std::move(loaded);
            return {};
        }
        if (loaded.error().code == ErrorCode::unsupported) {
            return std::unexpected{std::move(loaded).error()};
        }
        auto salvaged = salvage(files_, old_.path, now_);
        store_ = std::move(salvaged.store);
        result_.lost = std::move(salvaged.lost);
        if (result_.lost.empty()) {
            // All that is there is whole, so what is missing can only be named by the gap.
            result_.lost.push_back("what belongs here, whatever it was: " + loaded.error().message);
        }
        return {};
    }

    // As opening does it; or, where the newest checkpoint does not open, from an older one or from
    // the journal alone: everything is there if the journal goes from it to behind all of them.
    Result<LoadedStore> load_whole() {
        DURABLE_TRY_ASSIGN(const auto found, list_checkpoints(files_, old_.checkpoint()));
        std::vector<std::optional<CheckpointFile>> candidates{found.begin(), found.end()};
        candidates.emplace_back(std::nullopt);
        Lsn highest = 0;
        for (const auto& file : found) {
            highest = std::max({highest, file.named, file.said.value_or(0)});
        }
        std::optional<Error> why; // the newest one does not open
        for (const auto& candidate : candidates) {
            auto loaded = load_from(candidate);
            if (loaded && !why) {
                return loaded;
            }
            if (loaded && loaded->end.last >= highest) {
                result_.mended.push_back(
                    why->message + "; " +
                    (candidate ? candidate->path + " and the journal have" : "the journal has") +
                    " everything");
                return loaded;
            }
            why = why ? why : std::move(loaded).error();
        }
        return std::unexpected{*std::move(why)};
    }

    Result<LoadedStore> load_from(const std::optional<CheckpointFile>& checkpoint) {
        DURABLE_TRY_ASSIGN(auto store, load_store_from(files_, old_.path, now_, checkpoint));
        DURABLE_TRY(check_packs(files_, old_.path, store.packs));
        return store;
    }

    // The old store keeps its bytes: the list says where.
    Result<> write_list() {
        if (result_.lost.empty()) {
            return {};
        }
        std::string list;
        for (const auto& lost : result_.lost) {
            list += lost + "\n";
        }
        result_.list = new_.quarantine() + "/lost.txt";
        return to_result(replace_file(files_, result_.list, list));
    }

    Result<> write_state() {
        if (store_.end.last == 0 && store_.archive->packs.size() == 0) {
            return {}; // there never was a record
        }
        DURABLE_TRY_ASSIGN(const auto packs, write_packs());
        Snapshot snapshot{*store_.ledger, packs};
        const auto lsn = std::max<Lsn>(store_.end.last, 1);
        DURABLE_TRY_ASSIGN(auto writer,
                           CheckpointWriter::begin(files_, new_.checkpoint(), lsn, false));
        constexpr std::size_t piece = 1U << 20U;
        bool more = true;
        while (more) {
            std::string frames;
            DURABLE_TRY_ASSIGN(more, snapshot.encode_some(*store_.ledger, frames, piece));
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
        for (const auto& [number, pack] : store_.archive->packs.packs()) {
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
    LoadedStore store_;
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
