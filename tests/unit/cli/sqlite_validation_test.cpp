// The SQLite provider keeps the whole contract, with a file and without.

#include "unit/cli/sqlite_stores.hpp"

#include <durable/validation_gtest.hpp>

#include <memory>

namespace durable::sqlite {
namespace {

[[maybe_unused]] const bool in_file = validation::register_with_gtest(
    "Sqlite", [] { return std::make_unique<FileStores>(); }, {}, "reopen");
[[maybe_unused]] const bool in_memory = validation::register_with_gtest(
    "SqliteMemory", [] { return std::make_unique<MemoryStores>(); });

} // namespace
} // namespace durable::sqlite
