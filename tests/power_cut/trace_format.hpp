// The trace: what a process asked of the file system, in the order in which it happened.
//
// The recorder appends one record for each call that succeeded; a record is a TraceHead, then the
// paths, then the bytes. A sync is two records: what was written before `sync_begin` is durable
// from `sync_end` on, and other threads go on in between.

#pragma once

#include <cstdint>

namespace durable::power_cut {

enum class Call : std::uint16_t {
    open = 1,   // fd, path, flags: of open(2)
    close,      // fd
    duplicate,  // fd, offset: the new descriptor
    write,      // fd, offset, bytes
    zeros,      // the same, where all `size` bytes are zero and are not stored
    resize,     // fd, size
    allocate,   // fd, offset, size
    sync_begin, // fd
    sync_end,   // of the same thread
    rename,     // path, other
    link,       // path, other: the new name
    unlink,     // path
    make_directory,
    remove_directory,
    map,     // fd: writes through memory are seen by no recorder
    unknown, // path: a call that the recorder cannot describe
    note,    // bytes: what the process wrote into its diary, standard output
};

struct TraceHead {
    std::uint32_t path = 0;  // length
    std::uint32_t other = 0; // length
    std::uint64_t bytes = 0; // length
    Call call{};
    std::uint16_t reserved = 0;
    std::int32_t fd = -1;
    std::int32_t process = 0;
    std::int32_t thread = 0;
    std::int64_t offset = 0;
    std::int64_t size = 0;
    std::int64_t flags = 0;
};

// The environment of a recorded process, beside LD_PRELOAD.
inline constexpr char trace_variable[] = "POWER_CUT_TRACE"; // the file to append to
inline constexpr char root_variable[] = "POWER_CUT_ROOT";   // the directory that is recorded

} // namespace durable::power_cut
