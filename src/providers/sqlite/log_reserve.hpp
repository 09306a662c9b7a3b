// LogReserve: the write-ahead log's file is longer than what was written to it.
//
// A commit that makes a file longer makes the file system commit changes of its own, which takes
// several times as long as the sync of the data alone. So the file is made longer beforehand, a
// piece at a time, by writing zeros: SQLite writes over them, and begins anew at the front after a
// checkpoint. Zeros are no frame, so whoever reads the log after a crash stops there.

#pragma once

#include "providers/sqlite/connection.hpp"

#include <cstdint>

namespace durable::sqlite {

class LogReserve {
 public:
    // Inside a transaction that writes: nobody else can make the log longer meanwhile. A full disk
    // is no error here: what does not fit will be told when it is needed.
    void keep(Connection& db);
    // Others may have changed its size.
    void forget_size() noexcept { size_ = 0; }

 private:
    std::int64_t size_ = 0; // as far as it is known
    std::int64_t frame_size_ = 0;
    std::int64_t refused_at_ = -1; // the size that could not be grown
};

} // namespace durable::sqlite
