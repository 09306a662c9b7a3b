// Salvage: the state of a store that is damaged, as far as it can be known.
//
// It begins with whole lines of the newest checkpoint and of the packs that they name; then come
// the whole records of the journal behind it. After the first loss a record is applied only if what
// it builds upon is there: the messages that a turn consumed, the event before its first one, the
// activity that ended. A turn that is not applied runs again from the messages that are still
// queued, as after a crash. Where the checkpoint is damaged or gone, packs that no line of it names
// have the last word: what is in them and nowhere else is taken.
//
// Files are taken for what their names say, apart from checkpoints, whose first line counts.

#pragma once

#include "base/files.hpp"
#include "providers/fs/checkpoint/load_store.hpp"

#include <durable/time.hpp>

#include <string>
#include <vector>

namespace durable::fs {

struct Salvaged {
    LoadedStore store;
    std::vector<std::string> lost; // one text each, with file and offset where there is one
};

// Changes nothing. There may be nothing to find.
[[nodiscard]] Salvaged salvage(Files& files, const std::string& directory, Instant now);

} // namespace durable::fs
