#include "providers/fs/repair/verify.hpp"

#include "base/try.hpp"
#include "providers/fs/checkpoint/load_store.hpp"
#include "providers/fs/files/store_directory.hpp"
#include "providers/fs/journal/segments.hpp"
#include "providers/fs/packs/pack_file.hpp"
#include "providers/fs/repair/salvage.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace durable::fs {

namespace {

void count_state(const LoadedStore& store, Verification& result) {
    result.checkpoint = store.checkpoint.lsn;
    result.checkpoint_bytes = store.checkpoint.bytes;
    result.checkpoint_instances = store.checkpoint_instances;
    result.records = store.records;
    result.last = store.end.last;
    result.torn = store.end.torn;
    result.finished = store.archive->packs.size();
    store.ledger->instances.for_each([&](const ledger::Instance& instance) {
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
    result.quarantined = store.ledger->totals().quarantined;
}

// What cannot be read is told where its content is needed.
void count_segments(Files& files, const StoreLayout& layout, Verification& result) {
    const auto entries = files.list(layout.journal()).value_or(std::vector<DirectoryEntry>{});
    for (const auto& entry : entries) {
        if (segment_number(entry.name) != 0) {
            const auto file = files.open(layout.journal() + "/" + entry.name, OpenMode::read);
            result.segment_bytes += file ? (*file)->size().value_or(0) : 0;
            ++result.segments;
        }
    }
}

void count_packs(Files& files,
                 const StoreLayout& layout,
                 const std::vector<PackRecord>& packs,
                 Verification& result) {
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

} // namespace

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
    auto loaded = load_store(files, directory, now);
    if (!loaded && loaded.error().code == ErrorCode::unsupported) {
        return std::unexpected{std::move(loaded).error()};
    }
    const auto whole = loaded ? check_packs(files, directory, loaded->packs) : Result<>{};
    std::optional<Salvaged> salvaged;
    if (!loaded || !whole) {
        result.damage.push_back(loaded ? "can be opened, but not read in full: " +
                                             whole.error().message
                                       : "cannot be opened: " + loaded.error().message);
        salvaged = salvage(files, directory, now);
        std::ranges::copy(salvaged->lost, std::back_inserter(result.damage));
    }
    count_segments(files, StoreLayout{directory}, result);
    count_state(loaded ? *loaded : salvaged->store, result);
    if (loaded) {
        count_packs(files, StoreLayout{directory}, loaded->packs, result);
    }
    return result;
}

} // namespace durable::fs
