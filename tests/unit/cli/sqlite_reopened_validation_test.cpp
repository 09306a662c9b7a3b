// The SQLite provider keeps the contract when its file is closed and opened again: once, and before
// every single call.

#include "unit/cli/sqlite_stores.hpp"

#include <durable/validation_gtest.hpp>

#include <memory>

namespace durable::sqlite {
namespace {

struct ReopenedFiles {
    FileStores files;
    std::unique_ptr<validation::Factory> reopening = validation::reopening_factory(files);
};

class ReopenedStores final : private ReopenedFiles, public validation::ForwardingFactory {
 public:
    ReopenedStores() : ForwardingFactory{*reopening} {}
};

[[maybe_unused]] const bool once = validation::register_with_gtest(
    "Sqlite", [] { return std::make_unique<FileStores>(); }, "reopen");
// Volume would take long and show nothing that the rest does not.
[[maybe_unused]] const bool always = validation::register_with_gtest(
    "SqliteReopened", [] { return std::make_unique<ReopenedStores>(); }, {}, "sizes");

} // namespace
} // namespace durable::sqlite
