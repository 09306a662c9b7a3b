// Verifying a store: reads all of it the way opening does, and writes nothing.

#pragma once

#include "base/files.hpp"
#include "providers/fs/checkpoint.hpp"
#include "providers/fs/journal_reader.hpp"
#include "providers/fs/pack_archive.hpp"
#include "providers/fs/pack_file.hpp"
#include "providers/ledger/ledger.hpp"

#include <durable/result.hpp>
#include <durable/time.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace durable::fs {

struct Verification {
    Lsn checkpoint = 0;                 // the record after which it is the state; 0: there is none
    std::uint64_t checkpoint_bytes = 0; // 0: it was not read to the end
    std::uint64_t checkpoint_instances = 0;

    std::uint64_t packs = 0; // that the checkpoint names
    std::uint64_t pack_bytes = 0;
    std::vector<std::string> unnamed_packs; // left by a crash, removed by the next opening

    std::uint64_t segments = 0;
    std::uint64_t segment_bytes = 0;
    std::uint64_t records = 0; // behind the checkpoint
    Lsn last = 0;
    std::optional<JournalEnd::Torn> torn; // what nobody was told about; no damage

    // What opening would get, as far as it reads.
    std::uint64_t live = 0;
    std::uint64_t finished = 0;
    std::uint64_t messages = 0;
    std::uint64_t activities = 0;
    std::uint64_t quarantined = 0;

    // One text each, with file and offset: first why the store cannot be opened, then every place.
    std::vector<std::string> damage;

    [[nodiscard]] bool clean() const noexcept { return damage.empty(); }
};

//   not_found    there is no such directory, or nothing of a store in it
//   unavailable  a process has it open: what it writes just now would look like damage
//   unsupported  a newer version wrote it
//   storage_failed  a file may not be read by this user: nothing is said about the store
[[nodiscard]] Result<Verification> verify(Files& files, const std::string& directory, Instant now);

// ---- For those who want the state, too

struct LoadedStore {
    std::unique_ptr<ledger::Ledger> ledger = std::make_unique<ledger::Ledger>();
    Lsn checkpoint = 0;
    std::uint64_t checkpoint_bytes = 0;
    std::uint64_t checkpoint_instances = 0;
    bool in_journal = false; // what the checkpoint says of its record
    std::vector<PackRecord> packs;
    // Of the ledger: finished instances are read when they are needed.
    std::unique_ptr<PackArchive> archive;
    std::uint64_t records = 0;
    JournalEnd end;
};

// As opening does it, without a change: of packs the index alone.
//   corrupt  it cannot be opened; the message names file and offset
[[nodiscard]] Result<LoadedStore>
load_store(Files& files, const std::string& directory, Instant now);
// The same from another checkpoint than the newest, as what it says it is; nullopt: from none, so
// that the journal has to have everything.
[[nodiscard]] Result<LoadedStore> load_store_from(Files& files,
                                                  const std::string& directory,
                                                  Instant now,
                                                  const std::optional<CheckpointFile>& checkpoint);

// What opening has not read: every line of every pack.
[[nodiscard]] Result<>
check_packs(Files& files, const std::string& directory, const std::vector<PackRecord>& packs);

// Refuses what is no store at all; see verify().
[[nodiscard]] Result<> require_store(Files& files, const std::string& directory);

} // namespace durable::fs
