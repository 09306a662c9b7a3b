// The schema and its versions. docs/storage/sqlite.md explains the tables.

#pragma once

#include "providers/sqlite/db/connection.hpp"

#include <durable/result.hpp>

#include <span>

namespace durable::sqlite {

// "durb" in the header of every store: databases of other programs are refused.
inline constexpr std::int64_t application_id = 0x64757262;

// What brings a file from version n to n + 1, in order; the last one makes the current version.
[[nodiscard]] std::span<const char* const> migrations();

// Makes the schema, or brings it up to date, in one transaction.
//   invalid_argument  the database belongs to something else, or its texts are not UTF-8
//   unsupported       a newer library wrote it
//   corrupt           its version never existed
[[nodiscard]] Result<> migrate(Connection& db);

// The same as far as `steps` go, for tests of upgrades.
[[nodiscard]] Result<> migrate(Connection& db, std::span<const char* const> steps);

// Whether the schema is still the current one: another process may have changed it while the file
// was open.
//   unsupported       it is another version
[[nodiscard]] Result<> check_version(Connection& db);

} // namespace durable::sqlite
