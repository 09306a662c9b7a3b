// The store in examples/providers/files keeps the whole contract.

#include "files_store/files_stores.hpp"

#include <durable/validation.hpp>
#include <durable/validation_gtest.hpp>

#include <memory>

namespace files_store {
namespace {

[[maybe_unused]] const bool plain = durable::validation::register_with_gtest(
    "Files", [] { return std::make_unique<FilesStores>(); });

} // namespace
} // namespace files_store
