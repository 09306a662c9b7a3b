// What a salvage begins with: whole lines of the newest checkpoint, and of packs.

#pragma once

#include "base/files.hpp"
#include "providers/fs/salvage.hpp"
#include "providers/fs/store_directory.hpp"

#include <durable/time.hpp>

namespace durable::fs {

struct SalvageBegun {
    Lsn after = 0; // the journal is needed from the next record on
    // Packs were taken without knowing when they were made: they may be ahead of the journal.
    bool dateless = false;
    // The journal had the record that the checkpoint ends with, or the next one.
    bool in_journal = false;
};

// Puts what it finds into the ledger and its archive, and tells what it does not.
[[nodiscard]] SalvageBegun
salvage_checkpoint(Files& files, const StoreLayout& layout, Instant now, Salvaged& found);

} // namespace durable::fs
