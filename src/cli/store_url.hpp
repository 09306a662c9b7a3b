// Store URLs: which provider, and where its data is. `memory:`, `fs:DIR`, `sqlite:FILE`

#pragma once

#include "cli/scratch_store.hpp"

#include <durable/result.hpp>
#include <durable/validation.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace durable::cli {

// "memory:, fs:DIR, sqlite:FILE", for help and for error messages.
[[nodiscard]] std::string known_stores();

// Fresh stores of the provider that the URL names.
//   invalid_argument  no such kind of store, or a place where none belongs
[[nodiscard]] Result<std::unique_ptr<validation::Factory>> validation_factory(std::string_view url);

// A fresh store to measure. Opens nothing yet. Errors as above.
[[nodiscard]] Result<ScratchStore> scratch_store(std::string_view url);

} // namespace durable::cli
