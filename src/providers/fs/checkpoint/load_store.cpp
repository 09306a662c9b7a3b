#include "providers/fs/checkpoint/load_store.hpp"

#include "base/try.hpp"
#include "providers/fs/files/store_parts.hpp"
#include "providers/fs/format/frame.hpp"
#include "providers/fs/format/record_codec.hpp"

#include <algorithm>
#include <utility>

namespace durable::fs {

namespace {

Result<> load_checkpoint(ledger::Ledger& ledger,
                         PackArchive& archive,
                         Files& files,
                         const CheckpointFile& from,
                         Instant now,
                         Loaded& loaded) {
    const CheckpointContent content{
        .rest = [&](ledger::RestImage rest) -> Result<> {
            ledger.restore(std::move(rest));
            return {};
        },
        .pack = [&](PackRecord record) -> Result<> {
            DURABLE_TRY(archive.load(record));
            loaded.checkpoint_instances += record.instances - record.dead.size();
            loaded.packs.push_back(std::move(record));
            return {};
        },
        .instance = [&](ledger::InstanceImage image) -> Result<> {
            if (ledger.instances.find(image.id) != nullptr) {
                return fail(ErrorCode::corrupt,
                            from.path + ": two instances are \"" + image.id + "\"");
            }
            DURABLE_TRY(archive.looked());
            ledger.restore(std::move(image), now);
            ++loaded.checkpoint_instances;
            return {};
        }};
    DURABLE_TRY_ASSIGN(loaded.checkpoint,
                       read_checkpoint_file(files, from.path, from.named, content));
    return {};
}

// A file that this user may not read proves no damage: storage_failed. Other errors pass.
Result<> unless_forbidden(const FileError& error) {
    const bool forbidden = error.code == std::errc::permission_denied ||
                           error.code == std::errc::operation_not_permitted;
    return forbidden ? fail(ErrorCode::storage_failed, error.text) : Result<>{};
}

Result<> require_readable(Files& files, const std::string& path) {
    const auto file = files.open(path, OpenMode::read);
    return file ? Result<>{} : unless_forbidden(file.error());
}

} // namespace

Result<> apply_record(ledger::Ledger& ledger,
                      PackArchive& archive,
                      ledger::Record record,
                      std::size_t most_copies) {
    if (!archive.packs.empty()) {
        DURABLE_TRY_ASSIGN(const auto changing, archive.bring_touched(record));
        (void)archive.forget_copies(changing);
        archive.drop_copies(most_copies);
    }
    ledger.apply(std::move(record));
    return {};
}

Result<std::optional<CheckpointFile>> newest_checkpoint(Files& files, const StoreLayout& layout) {
    DURABLE_TRY_ASSIGN(auto found, list_checkpoints(files, layout.checkpoint()));
    return found.empty() ? std::nullopt : std::optional{std::move(found.front())};
}

Result<Loaded> load_into(ledger::Ledger& ledger,
                         PackArchive& archive,
                         Files& files,
                         const StoreLayout& layout,
                         const std::optional<CheckpointFile>& checkpoint,
                         Instant now,
                         LoadOptions options) {
    Loaded loaded;
    ledger.instances.keep_in(&archive);
    if (checkpoint) {
        DURABLE_TRY(load_checkpoint(ledger, archive, files, *checkpoint, now, loaded));
    }
    const auto take = [&](const JournalRecord& stored) -> Result<> {
        ++loaded.records;
        loaded.record_bytes += stored.json.size() + frame_overhead;
        loaded.close.reset();
        if (is_close(stored.json)) {
            DURABLE_TRY_ASSIGN(loaded.close, decode_close(stored.json));
            return {};
        }
        DURABLE_TRY_ASSIGN(auto record, decode_record(stored.json));
        return apply_record(ledger, archive, std::move(record), options.most_copies);
    };
    const auto take_or_tell = [&](const JournalRecord& stored) -> Result<> {
        const auto taken = take(stored);
        return taken ? taken
                     : fail(ErrorCode::corrupt,
                            stored.path + ", byte " + std::to_string(stored.offset) + ": record " +
                                std::to_string(stored.lsn) + ": " + taken.error().message);
    };
    DURABLE_TRY_ASSIGN(
        loaded.end,
        read_journal(files,
                     layout.journal(),
                     loaded.checkpoint.lsn,
                     take_or_tell,
                     {.gapless = options.gapless, .records = loaded.checkpoint.in_journal}));
    DURABLE_TRY(
        require_source_of_packs(files, layout.packs(), loaded.checkpoint.lsn, loaded.end.last));
    return loaded;
}

// ---- For programs that only read

LoadedStore::LoadedStore(Files& files, const std::string& directory)
    : archive{std::make_unique<PackArchive>(files, StoreLayout{directory}.packs(), *ledger)} {
    ledger->instances.keep_in(archive.get());
}

Result<> require_store(Files& files, const std::string& directory) {
    const StoreLayout layout{directory};
    const auto entries = files.list(directory);
    if (!entries) {
        return fail(ErrorCode::not_found, entries.error().text);
    }
    const bool any = std::ranges::any_of(*entries, [&](const DirectoryEntry& entry) {
        const auto path = directory + "/" + entry.name;
        return path == layout.format() || path == layout.journal() || path == layout.checkpoint();
    });
    if (!any) {
        return fail(ErrorCode::not_found, directory + " is no store: nothing of one is in it");
    }
    DURABLE_TRY(require_readable(files, layout.format()));
    for (const auto& part : {layout.journal(), layout.checkpoint(), layout.packs()}) {
        const auto content = files.list(part);
        if (!content) {
            DURABLE_TRY(unless_forbidden(content.error()));
            continue;
        }
        for (const auto& entry : *content) {
            DURABLE_TRY(require_readable(files, part + "/" + entry.name));
        }
    }
    return {};
}

Result<LoadedStore> load_store(Files& files, const std::string& directory, Instant now) {
    DURABLE_TRY_ASSIGN(const auto newest, newest_checkpoint(files, StoreLayout{directory}));
    return load_store_from(files, directory, now, newest);
}

Result<LoadedStore> load_store_from(Files& files,
                                    const std::string& directory,
                                    Instant now,
                                    const std::optional<CheckpointFile>& checkpoint) {
    const StoreLayout layout{directory};
    LoadedStore store{files, directory};
    DURABLE_TRY(require_journal(files, directory));
    if (!files.list(layout.journal()) && !files.list(layout.checkpoint())) {
        return store; // the process died while it made the store
    }
    const auto format = check_format(files, directory);
    DURABLE_TRY_ASSIGN(static_cast<Loaded&>(store),
                       load_into(*store.ledger,
                                 *store.archive,
                                 files,
                                 layout,
                                 checkpoint,
                                 now,
                                 {.gapless = format && format->gapless}));
    return store;
}

Result<>
check_packs(Files& files, const std::string& directory, const std::vector<PackRecord>& packs) {
    for (const auto& pack : packs) {
        DURABLE_TRY(check_pack(files, StoreLayout{directory}.packs(), pack));
    }
    return {};
}

} // namespace durable::fs
