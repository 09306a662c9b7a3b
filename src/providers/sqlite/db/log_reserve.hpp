// LogReserve: extends the write-ahead log's file with zeros ahead of the commits. Writer calls it
// in every transaction.
//
// A commit that extends a file makes the file system commit metadata of its own, which takes
// several times as long as the sync of the data alone. So the file is extended beforehand, a piece
// at a time. SQLite overwrites the zeros, and starts at the front again after a checkpoint. Zeros
// are not a valid frame, so recovery after a crash stops there.

#pragma once

#include "providers/sqlite/db/connection.hpp"

#include <cstdint>

namespace durable::sqlite {

class LogReserve {
 public:
    // Inside a write transaction: no other process extends the log meanwhile. A full disk is no
    // error here: the commit that needs the space reports it.
    void keep(Connection& db);
    // Another process may have changed the size.
    void forget_size() noexcept { size_ = 0; }

 private:
    std::int64_t size_ = 0; // 0: unknown
    std::int64_t frame_size_ = 0;
    std::int64_t refused_at_ = -1; // the size that could not be grown
};

} // namespace durable::sqlite
