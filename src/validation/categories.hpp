// The list of each category. A new category is declared here and named once in checks.cpp.

#pragma once

#include <durable/validation.hpp>

#include <span>

namespace durable::validation {

using CheckList = std::span<const Check>;

[[nodiscard]] CheckList atomicity_checks();

} // namespace durable::validation
