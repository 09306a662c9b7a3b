// The list of each category. A new category is declared here and named once in checks.cpp.

#pragma once

#include <durable/validation.hpp>

#include <span>

namespace durable::validation {

using CheckList = std::span<const Check>;

[[nodiscard]] CheckList atomicity_checks();
[[nodiscard]] CheckList capability_filtering_checks();
[[nodiscard]] CheckList corrupt_history_checks();
[[nodiscard]] CheckList session_checks();
[[nodiscard]] CheckList session_lease_checks();
[[nodiscard]] CheckList tag_filtering_checks();
[[nodiscard]] CheckList custom_status_checks();
[[nodiscard]] CheckList kv_store_checks();
[[nodiscard]] CheckList kv_layer_checks();

} // namespace durable::validation
