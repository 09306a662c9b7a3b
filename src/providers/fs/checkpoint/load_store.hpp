// Loading a store: the newest checkpoint, the indexes of its packs, then every record behind it.
// Opening does it, and so do the programs that only read a store: what one takes, the others take.

#pragma once

#include "base/files.hpp"
#include "providers/fs/checkpoint/checkpoint.hpp"
#include "providers/fs/files/store_directory.hpp"
#include "providers/fs/format/close_codec.hpp"
#include "providers/fs/journal/journal_reader.hpp"
#include "providers/fs/packs/pack_archive.hpp"
#include "providers/fs/packs/pack_file.hpp"
#include "providers/ledger/ledger.hpp"

#include <durable/result.hpp>
#include <durable/time.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace durable::fs {

struct Loaded {
    CheckpointFound checkpoint;
    std::uint64_t checkpoint_instances = 0;
    std::vector<PackRecord> packs; // that the checkpoint names
    std::uint64_t records = 0;     // behind the checkpoint
    std::uint64_t record_bytes = 0;
    std::optional<Close> close; // set if it is the last record
    JournalEnd end;
};

struct LoadOptions {
    bool gapless = false; // what FORMAT says of the journal
    std::size_t most_copies = 256;
};

// Into an empty ledger with its archive. Changes nothing on the disk.
//   corrupt  it cannot be opened; the message names file and offset
[[nodiscard]] Result<Loaded> load_into(ledger::Ledger& ledger,
                                       PackArchive& archive,
                                       Files& files,
                                       const StoreLayout& layout,
                                       const std::optional<CheckpointFile>& checkpoint,
                                       Instant now,
                                       LoadOptions options);

// Applies a record, and brings the instances that it changes from their packs before.
[[nodiscard]] Result<> apply_record(ledger::Ledger& ledger,
                                    PackArchive& archive,
                                    ledger::Record record,
                                    std::size_t most_copies = LoadOptions{}.most_copies);

// The checkpoint that opening reads: the one with the highest name, which has to be right.
[[nodiscard]] Result<std::optional<CheckpointFile>> newest_checkpoint(Files& files,
                                                                      const StoreLayout& layout);

// ---- For programs that only read

struct LoadedStore : Loaded {
    LoadedStore(Files& files, const std::string& directory);

    std::unique_ptr<ledger::Ledger> ledger = std::make_unique<ledger::Ledger>();
    // Of the ledger: finished instances are read when they are needed.
    std::unique_ptr<PackArchive> archive;
};

// Refuses what is no store at all.
//   not_found       there is no such directory, or nothing of a store in it
//   storage_failed  a file may not be read by this user: nothing is said about the store
[[nodiscard]] Result<> require_store(Files& files, const std::string& directory);

[[nodiscard]] Result<LoadedStore>
load_store(Files& files, const std::string& directory, Instant now);
// The same from this checkpoint; nullopt: from none, so that the journal has to have everything.
[[nodiscard]] Result<LoadedStore> load_store_from(Files& files,
                                                  const std::string& directory,
                                                  Instant now,
                                                  const std::optional<CheckpointFile>& checkpoint);

// What opening does not read: every line of every pack.
[[nodiscard]] Result<>
check_packs(Files& files, const std::string& directory, const std::vector<PackRecord>& packs);

} // namespace durable::fs
