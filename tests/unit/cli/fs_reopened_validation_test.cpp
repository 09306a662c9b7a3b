// The filesystem provider keeps the contract when the store is closed and opened again before every
// single call. Takes minutes: before each of thousands of calls thousands of records are read.

#include "unit/cli/fs_stores.hpp"

#include <durable/validation_gtest.hpp>

#include <memory>

namespace durable::fs {
namespace {

// Volume would take hours and show nothing that the rest does not.
[[maybe_unused]] const bool reopened = validation::register_with_gtest(
    "FsReopened", [] { return std::make_unique<ReopenedStores>(); }, {}, "sizes");

} // namespace
} // namespace durable::fs
