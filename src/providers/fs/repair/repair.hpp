// Repairing a store: what can be known of a damaged one goes into a new directory. The old one is
// only read.

#pragma once

#include "base/files.hpp"
#include "providers/fs/repair/verify.hpp"

#include <durable/result.hpp>
#include <durable/time.hpp>

#include <string>
#include <vector>

namespace durable::fs {

struct Repair {
    Verification made; // of the new store
    // What was lost, one text each; empty: nothing.
    std::vector<std::string> lost;
    // What was damaged and could be made anew: no loss.
    std::vector<std::string> mended;
    // A file of the new store with the texts of `lost`; empty: there are none.
    std::string list;
};

// The new store opens and verifies when this succeeds; after a failure nothing takes the new
// directory for a store.
//   already_exists    the new directory is there and not empty
//   invalid_argument  it lies inside the old one
//   not_found, unavailable, unsupported   as verify()
[[nodiscard]] Result<Repair>
repair(Files& files, const std::string& damaged, const std::string& fresh, Instant now);

} // namespace durable::fs
