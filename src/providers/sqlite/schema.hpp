// The schema and its versions. docs/storage/sqlite.md explains the tables.

#pragma once

#include "providers/sqlite/connection.hpp"

#include <durable/result.hpp>

#include <span>

namespace durable::sqlite {

// "durb" in the header of every file of ours: other programs' databases are left alone.
inline constexpr std::int64_t application_id = 0x64757262;

// What brings a file from version n to n + 1, in order; the last one makes the current version.
[[nodiscard]] std::span<const char* const> migrations();

// Makes the schema, or brings it up to date, in one transaction.
//   invalid_argument  the database belongs to something else, or its texts are not UTF-8
//   unsupported       a newer library wrote it
//   corrupt           its version is one that never was
[[nodiscard]] Result<> migrate(Connection& db);

// The same as far as `steps` go, for tests of upgrades.
[[nodiscard]] Result<> migrate(Connection& db, std::span<const char* const> steps);

// Whether the schema is the one that is known here: another process may have changed it while the
// file was open.
//   unsupported       it is another one
[[nodiscard]] Result<> check_version(Connection& db);

} // namespace durable::sqlite
