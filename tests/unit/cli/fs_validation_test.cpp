// The filesystem provider keeps the whole contract. On a simulated disk: real ones take minutes for
// it, and `durable validate fs:DIR` does that in the slow suite.

#include "unit/cli/fs_stores.hpp"

#include <durable/validation.hpp>
#include <durable/validation_gtest.hpp>

#include <memory>

namespace durable::fs {
namespace {

[[maybe_unused]] const bool plain =
    validation::register_with_gtest("Fs", [] { return std::make_unique<ThreadedStores>(); });

} // namespace
} // namespace durable::fs
