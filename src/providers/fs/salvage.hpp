// Salvage: the state of a store that is damaged, as far as it can be known.
//
// Whole frames of the newest checkpoint, of its packs and of the journal are taken, whatever is
// damaged between them. Behind the first loss a record is applied only if what it builds upon is
// there: the messages that a turn consumed, the event before its first one, the activity that
// ended. Packs that the checkpoint may have named where it is damaged are taken as well: what is in
// them and nowhere else. A turn that is not applied runs again from the messages that are still
// queued, as after a crash.

#pragma once

#include "base/files.hpp"
#include "providers/fs/journal_reader.hpp"
#include "providers/fs/pack_archive.hpp"
#include "providers/ledger/ledger.hpp"

#include <durable/time.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace durable::fs {

// Bytes that are no frame, or a frame that says nothing: kept as they are.
struct Remains {
    std::string path; // of the file, in the damaged store
    std::uint64_t offset = 0;
    std::string bytes;
    std::string what; // why they could not be used

    [[nodiscard]] std::string text() const; // "journal/….log, byte 12: 40 bytes …"
};

// A whole record that does not fit what is left.
struct Unapplied {
    Lsn lsn = 0;
    std::vector<std::string> instances; // that it would have changed
    std::string why;
    std::string json;
};

struct LsnRange {
    Lsn first = 0;
    Lsn last = 0;
};

struct Salvaged {
    std::unique_ptr<ledger::Ledger> ledger = std::make_unique<ledger::Ledger>();
    std::unique_ptr<PackArchive> archive; // of the ledger: what is whole in the packs
    Lsn checkpoint = 0;                   // that was used, damaged or not; 0: none
    Lsn last = 0;                         // the highest record that was seen
    std::uint64_t applied = 0;            // records
    std::vector<Remains> remains;
    std::vector<std::string> unread; // files that the system does not let us read, and why
    std::vector<std::string> lost;   // finished instances that were in damaged packs
    std::vector<LsnRange> missing;   // records that are nowhere
    std::vector<Unapplied> unapplied;
    std::vector<std::string> mended; // what was not as it should be, and cost nothing

    // nullopt: it could not be read, which is noted.
    [[nodiscard]] std::optional<std::string> read(Files& files, const std::string& path);
    void
    lose(const std::string& path, std::uint64_t offset, std::string_view bytes, std::string what);
    [[nodiscard]] bool complete() const noexcept {
        return remains.empty() && unread.empty() && lost.empty() && missing.empty() &&
               unapplied.empty();
    }
};

// The lowest and the highest whole record of a segment; 0: it has none.
[[nodiscard]] LsnRange records_in(std::string_view segment);

// Changes nothing. There may be nothing to find.
[[nodiscard]] Salvaged salvage(Files& files, const std::string& directory, Instant now);

} // namespace durable::fs
