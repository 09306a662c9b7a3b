// The filesystem provider keeps the whole contract, also when the store is closed and opened again
// before every single call. On a simulated disk: real ones take minutes for it, and `durable
// validate fs:DIR` does that in the slow suite.

#include "unit/cli/fs_stores.hpp"

#include <durable/validation.hpp>
#include <durable/validation_gtest.hpp>

#include <memory>

namespace durable::fs {
namespace {

[[maybe_unused]] const bool plain =
    validation::register_with_gtest("Fs", [] { return std::make_unique<ThreadedStores>(); });
// Thousands of calls, and before each of them thousands of records to read: nothing new in hours.
[[maybe_unused]] const bool reopened = validation::register_with_gtest(
    "FsReopened", [] { return std::make_unique<ReopenedStores>(); }, {}, "sizes");

} // namespace
} // namespace durable::fs
