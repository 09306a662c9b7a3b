// What the library is compared with: SQLite as everyone uses it, one transaction per call.

#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace durable::bare {

// Queues messages in a store that has the schema and is not open, one BEGIN IMMEDIATE ... COMMIT
// each, with `PRAGMA synchronous = FULL` and SQLite's own write-ahead log, from so many threads
// with a connection each, for so long. The statements are those that queueing a message needs,
// prepared once. Who finds the file locked waits as SQLite does (sqlite3_busy_timeout).
[[nodiscard]] double
messages_per_second(const std::string& file, std::size_t callers, std::chrono::seconds time);

// The middle of many: a page is written over and synced, in a file that is made and removed.
[[nodiscard]] double fdatasync_us(const std::string& file);

} // namespace durable::bare
