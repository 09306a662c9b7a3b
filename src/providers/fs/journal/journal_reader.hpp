// Reading a journal, on the calling thread: FsProvider calls it when a store is opened, `durable
// verify` and `durable repair` to examine one. No writer may be active.
//
// Where a record is damaged, the question is whether it was ever durable. A record may carry
// "synced": everything up to that number was durable when the record was written. If a later record
// proves that the damaged one was durable, the journal is corrupt, and the reader refuses it.
// Without such proof the record is a torn write of a crash: the journal ends before it, and nothing
// that was acknowledged is lost (P12).

#pragma once

#include "base/files.hpp"

#include <durable/result.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace durable::fs {

using Lsn = std::uint64_t; // the number of a record: 1, 2, 3, … without gaps

struct JournalRecord {
    Lsn lsn = 0;
    std::string_view json;
    const std::string& path; // of its segment
    std::uint64_t offset = 0;
};

struct SegmentStart {
    std::uint64_t number = 0;
    Lsn first = 0; // its first record
};

// Where the readable part ends.
struct JournalEnd {
    struct Torn {
        std::uint64_t segment = 0;
        std::uint64_t offset = 0; // of the first byte that is not part of a whole record
        std::uint64_t bytes = 0;  // behind it, in all segments, that are not zero
    };

    Lsn last = 0;   // the last whole record, or what the reader was told to begin after
    Lsn proven = 0; // durable up to here, as a record or the caller says
    std::uint64_t next_segment = 1;
    std::uint64_t end_offset = 0;       // in the last segment with records
    std::vector<SegmentStart> segments; // with records, oldest first
    std::optional<Torn> torn;
};

// What the rest of the store says about the journal.
struct JournalExpected {
    bool gapless = false; // FORMAT: segments are numbered from 1 on, and no number is left out
    bool records = false; // the checkpoint: its record is in the journal, and stays there
};

// The number that a record begins with; nullopt: this is no record.
[[nodiscard]] std::optional<Lsn> lsn_of(std::string_view json) noexcept;

// Passes every record after `after` to `each`, in order. Changes nothing.
//   corrupt  a durable record is damaged or missing; the message names file and offset
[[nodiscard]] Result<JournalEnd>
read_journal(Files& files,
             const std::string& directory,
             Lsn after,
             const std::function<Result<>(const JournalRecord&)>& each,
             JournalExpected expected = {});

// Makes the journal end where reading it ended: removes torn and unused bytes and makes the rest
// durable. Records without proof are written again: after a failed sync the system has them in its
// cache, marked as clean, and another sync would do nothing.
[[nodiscard]] Result<>
cut_journal(Files& files, const std::string& directory, const JournalEnd& end);

} // namespace durable::fs
