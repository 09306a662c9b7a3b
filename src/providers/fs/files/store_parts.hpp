// The parts of a store that must exist together, so that a lost part is noticed.

#pragma once

#include "base/files.hpp"

#include <durable/result.hpp>

#include <string>

namespace durable::fs {

// A directory of a store.
[[nodiscard]] bool is_part(const std::string& store, const DirectoryEntry& entry);
// An empty directory of a store, as an interrupted first open leaves it.
[[nodiscard]] bool
is_empty_part(Files& files, const std::string& store, const DirectoryEntry& entry);

// Whether the path is the store, or lies in it or in one of its directories, which may be symbolic
// links to other disks. Compares files, not names.
[[nodiscard]] Result<bool>
lies_in_store(Files& files, const std::string& path, const std::string& store);

// The directories of a store are made before its FORMAT. Only an earlier version that died at that
// moment left a store with FORMAT alone.
//   corrupt  the store has no journal/
[[nodiscard]] Result<> require_journal(Files& files, const std::string& store);

} // namespace durable::fs
