// Verifying a store: reads all of it the way opening does, and writes nothing.

#pragma once

#include "base/files.hpp"
#include "providers/fs/journal/journal_reader.hpp"

#include <durable/result.hpp>
#include <durable/time.hpp>

#include <cstdint>
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
    std::optional<JournalEnd::Torn> torn; // what no caller was told about; no damage

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

} // namespace durable::fs
