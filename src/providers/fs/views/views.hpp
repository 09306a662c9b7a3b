// Views: instances as directories of readable files, for people with less, grep and jq.
//
//   <encoded id>/meta.json              what it is and how far it has come
//   <encoded id>/exec_1/status.json     one directory per execution
//   <encoded id>/exec_1/history.jsonl   one event per line
//
// The store never reads them, so they are not synced and may be deleted at any time. Each file is
// replaced as a whole: a reader sees one state or another, never half of one.

#pragma once

#include "base/files.hpp"
#include "providers/fs/journal/journal_reader.hpp"
#include "providers/ledger/image.hpp"

#include <durable/result.hpp>
#include <durable/time.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace durable::fs {

// Writes or replaces the view of one instance, without pruned executions. `as_of`: the record after
// which the instance has this state.
[[nodiscard]] Result<> write_view(Files& files,
                                  const std::string& directory,
                                  const ledger::InstanceImage& image,
                                  Lsn as_of);

// No error when there is none.
[[nodiscard]] Result<> remove_view(Files& files, const std::string& directory, std::string_view id);

struct Export {
    std::uint64_t written = 0; // instances
    std::uint64_t removed = 0; // views of deleted instances
};

// Views of all instances of a store that no process has open, or of some. The target may be new,
// empty, or hold views of this store already (view_place.hpp); a full export replaces those.
//   not_found         no store, or it has no such instance
//   invalid_argument  the target holds something else, or lies inside the store, but is not its
//                     place for views; nothing was changed
//   unavailable, unsupported, corrupt   as opening
[[nodiscard]] Result<Export> export_views(Files& files,
                                          const std::string& store,
                                          const std::string& target,
                                          const std::vector<std::string>& instances, // none: all
                                          Instant now);

} // namespace durable::fs
