// What the library is compared with: ordinary use of SQLite, one transaction per call.

#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace durable::bare {

// Queues messages in a store that has the schema and is not open, one BEGIN IMMEDIATE ... COMMIT
// each, with `PRAGMA synchronous = FULL` and SQLite's own write-ahead log. Each of the threads has
// its own connection and the statements that queueing a message needs, prepared once. A thread that
// finds the file locked waits as SQLite does (sqlite3_busy_timeout).
[[nodiscard]] double
messages_per_second(const std::string& file, std::size_t callers, std::chrono::seconds time);

// The median time to overwrite and sync a page of a temporary file.
[[nodiscard]] double fdatasync_us(const std::string& file);

} // namespace durable::bare
