#include "providers/fs/verify.hpp"

#include "base/try.hpp"
#include "providers/fs/checkpoint.hpp"
#include "providers/fs/close_codec.hpp"
#include "providers/fs/record_codec.hpp"
#include "providers/fs/salvage.hpp"
#include "providers/fs/segments.hpp"
#include "providers/fs/store_directory.hpp"
#include "providers/fs/store_parts.hpp"

#include <algorithm>
#include <utility>

namespace durable::fs {

namespace {

Result<> load_checkpoint(Files& files,
                         const StoreLayout& layout,
                         Instant now,
                         const std::optional<CheckpointFile>& from,
                         LoadedStore& store) {
    auto& ledger = *store.ledger;
    store.archive = std::make_unique<PackArchive>(files, layout.packs(), ledger);
    ledger.instances.keep_in(store.archive.get());
    if (!from) {
        return {};
    }
    const CheckpointContent content{
        .rest = [&](ledger::RestImage rest) -> Result<> {
            ledger.restore(std::move(rest));
            return {};
        },
        .pack = [&](PackRecord record) -> Result<> {
            DURABLE_TRY(store.archive->load(record));
            store.checkpoint_instances += record.instances - record.dead.size();
            store.packs.push_back(std::move(record));
            return {};
        },
        .instance = [&](ledger::InstanceImage image) -> Result<> {
            if (ledger.instances.find(image.id) != nullptr) {
                return fail(ErrorCode::corrupt,
                            layout.checkpoint() + ": two instances are \"" + image.id + "\"");
            }
            DURABLE_TRY(store.archive->looked());
            ledger.restore(std::move(image), now);
            ++store.checkpoint_instances;
            return {};
        }};
    DURABLE_TRY_ASSIGN(const auto found,
                       read_checkpoint_file(files, from->path, from->lsn(), content));
    store.checkpoint = found.lsn;
    store.checkpoint_bytes = found.bytes;
    store.in_journal = found.in_journal;
    return {};
}

Result<> apply(LoadedStore& store, const JournalRecord& stored) {
    constexpr std::size_t most_copies = 256;
    const auto damaged = [&](const Error& error) {
        return fail(ErrorCode::corrupt,
                    stored.path + ", byte " + std::to_string(stored.offset) + ": record " +
                        std::to_string(stored.lsn) + ": " + error.message);
    };
    if (is_close(stored.json)) {
        const auto close = decode_close(stored.json);
        return close ? Result<>{} : damaged(close.error());
    }
    auto record = decode_record(stored.json);
    if (!record) {
        return damaged(record.error());
    }
    const auto changing = store.archive->bring_touched(*record);
    if (!changing) {
        return damaged(changing.error());
    }
    (void)store.archive->forget_copies(*changing);
    store.ledger->apply(*std::move(record));
    store.archive->drop_copies(most_copies);
    return {};
}

void count(const ledger::Ledger& ledger, const PackArchive& archive, Verification& result) {
    result.finished = archive.packs.size();
    ledger.instances.for_each([&](const ledger::Instance& instance) {
        if (instance.copy == ledger::Instance::Copy::made) {
            return; // counted
        }
        ++(ledger::settled(instance) ? result.finished : result.live);
        for (const auto* message = instance.messages; message != nullptr; message = message->next) {
            ++result.messages;
        }
        for (const auto* work = instance.inbox().work; work != nullptr; work = work->next) {
            ++result.activities;
        }
    });
    result.quarantined = ledger.totals().quarantined;
}

void list_damage(const Salvaged& salvaged, std::vector<std::string>& damage) {
    for (const auto& unread : salvaged.unread) {
        damage.push_back("cannot be read: " + unread);
    }
    for (const auto& remains : salvaged.remains) {
        damage.push_back(remains.text());
    }
    damage.insert(damage.end(), salvaged.lost.begin(), salvaged.lost.end());
    damage.insert(damage.end(), salvaged.mended.begin(), salvaged.mended.end());
    for (const auto& range : salvaged.missing) {
        damage.push_back("records " + std::to_string(range.first) + " to " +
                         std::to_string(range.last) + " are nowhere in the journal");
    }
    for (const auto& record : salvaged.unapplied) {
        damage.push_back("record " + std::to_string(record.lsn) +
                         " is whole, but does not fit what is left: " + record.why);
    }
}

// What cannot be read is told by whoever needs the content.
void count_segments(Files& files, const std::string& directory, Verification& result) {
    const StoreLayout layout{directory};
    const auto entries = files.list(layout.journal());
    if (!entries) {
        return;
    }
    for (const auto& entry : *entries) {
        if (segment_number(entry.name) == 0) {
            continue;
        }
        ++result.segments;
        const auto file = files.open(layout.journal() + "/" + entry.name, OpenMode::read);
        result.segment_bytes += file ? (*file)->size().value_or(0) : 0;
    }
}

void list_packs(Files& files,
                const std::string& directory,
                const std::vector<PackRecord>& packs,
                Verification& result) {
    const StoreLayout layout{directory};
    result.packs = packs.size();
    for (const auto& pack : packs) {
        result.pack_bytes += pack.bytes;
    }
    const auto entries = files.list(layout.packs()).value_or(std::vector<DirectoryEntry>{});
    for (const auto& entry : entries) {
        const auto number = pack_number(entry.name);
        if (number != 0 && std::ranges::find(packs, number, &PackRecord::number) == packs.end()) {
            result.unnamed_packs.push_back(layout.packs() + "/" + entry.name);
        }
    }
}

// What this user may not read says nothing about the store.
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

Result<>
check_packs(Files& files, const std::string& directory, const std::vector<PackRecord>& packs) {
    for (const auto& pack : packs) {
        DURABLE_TRY(check_pack(files, StoreLayout{directory}.packs(), pack));
    }
    return {};
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
    DURABLE_TRY(require_journal(files, directory));
    DURABLE_TRY_ASSIGN(auto found, list_checkpoints(files, StoreLayout{directory}.checkpoint()));
    if (found.empty()) {
        return load_store_from(files, directory, now, std::nullopt);
    }
    found.front().said = found.front().named; // opening goes by the name, and checks it
    return load_store_from(files, directory, now, std::move(found.front()));
}

Result<LoadedStore> load_store_from(Files& files,
                                    const std::string& directory,
                                    Instant now,
                                    const std::optional<CheckpointFile>& checkpoint) {
    const StoreLayout layout{directory};
    LoadedStore store;
    DURABLE_TRY(require_journal(files, directory));
    DURABLE_TRY(load_checkpoint(files, layout, now, checkpoint, store));
    if (!files.list(layout.journal()) && !files.list(layout.checkpoint())) {
        return store; // it died when it was made
    }
    const auto format = check_format(files, directory);
    DURABLE_TRY_ASSIGN(
        store.end,
        read_journal(files,
                     layout.journal(),
                     store.checkpoint,
                     [&](const JournalRecord& record) {
                         ++store.records;
                         return apply(store, record);
                     },
                     {.gapless = format && format->gapless, .records = store.in_journal}));
    DURABLE_TRY(require_source_of_packs(files, layout.packs(), store.checkpoint, store.end.last));
    return store;
}

Result<Verification> verify(Files& files, const std::string& directory, Instant now) {
    DURABLE_TRY(require_store(files, directory));
    DURABLE_TRY_ASSIGN(const auto lock, lock_for_reading(files, directory));
    Verification result;
    if (auto known = check_format(files, directory); !known) {
        if (known.error().code == ErrorCode::unsupported) {
            return std::unexpected{std::move(known).error()};
        }
        result.damage.push_back(known.error().message +
                                (known.error().code == ErrorCode::not_found
                                     ? ": it was lost, or a repair into it did not come to its end"
                                     : ""));
    }
    count_segments(files, directory, result);
    auto loaded = load_store(files, directory, now);
    const auto whole = loaded ? check_packs(files, directory, loaded->packs) : Result<>{};
    if (loaded) {
        list_packs(files, directory, loaded->packs, result);
        result.checkpoint = loaded->checkpoint;
        result.checkpoint_bytes = loaded->checkpoint_bytes;
        result.checkpoint_instances = loaded->checkpoint_instances;
        result.records = loaded->records;
        result.last = loaded->end.last;
        result.torn = loaded->end.torn;
        count(*loaded->ledger, *loaded->archive, result);
        if (whole) {
            return result;
        }
        result.damage.push_back("can be opened, but not read in full: " + whole.error().message);
    } else if (loaded.error().code == ErrorCode::unsupported) {
        return std::unexpected{std::move(loaded).error()};
    } else {
        result.damage.push_back("cannot be opened: " + loaded.error().message);
    }
    const auto salvaged = salvage(files, directory, now);
    list_damage(salvaged, result.damage);
    if (!loaded) {
        result.checkpoint = salvaged.checkpoint;
        result.records = salvaged.applied;
        result.last = salvaged.last;
        count(*salvaged.ledger, *salvaged.archive, result);
    }
    return result;
}

} // namespace durable::fs
