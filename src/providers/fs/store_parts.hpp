// The parts of a store that must be there together: what is missing is not taken for what never
// was.

#pragma once

#include "base/files.hpp"
#include "providers/fs/journal_reader.hpp"

#include <durable/result.hpp>

#include <string>

namespace durable::fs {

// A directory of a store.
[[nodiscard]] bool is_part(const std::string& store, const DirectoryEntry& entry);
// A directory of a store with nothing in it, as an interrupted making of one leaves it.
[[nodiscard]] bool
is_empty_part(Files& files, const std::string& store, const DirectoryEntry& entry);

// Whether the path is the store, or lies in it or in one of its directories, which may be links to
// other disks. Whatever names lead there.
[[nodiscard]] Result<bool>
lies_in_store(Files& files, const std::string& path, const std::string& store);

// The directories of a store are made before its FORMAT. With FORMAT alone it was made by an
// earlier version, which died then.
//   corrupt  the store has no journal/
[[nodiscard]] Result<> require_journal(Files& files, const std::string& store);

// Packs come from records: where no checkpoint names any, the journal has all records from the
// first one on.
//   corrupt  there are packs, and neither a checkpoint nor records
[[nodiscard]] Result<>
require_source_of_packs(Files& files, const std::string& packs, Lsn checkpoint, Lsn last);

} // namespace durable::fs
