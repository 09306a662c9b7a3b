// The list of each category. A new category is declared here and named once in checks.cpp.

#pragma once

#include <durable/validation.hpp>

#include <span>

namespace durable::validation {

using CheckList = std::span<const Check>;

[[nodiscard]] CheckList atomicity_checks();
[[nodiscard]] CheckList error_handling_checks();
[[nodiscard]] CheckList instance_creation_checks();
[[nodiscard]] CheckList instance_locking_checks();
[[nodiscard]] CheckList lock_expiration_checks();
[[nodiscard]] CheckList multi_execution_checks();
[[nodiscard]] CheckList queue_semantics_checks();
[[nodiscard]] CheckList management_checks();
[[nodiscard]] CheckList instance_stats_checks();
[[nodiscard]] CheckList long_polling_checks();
[[nodiscard]] CheckList wake_up_checks();
[[nodiscard]] CheckList poison_message_checks();
[[nodiscard]] CheckList cancellation_checks();
[[nodiscard]] CheckList deletion_checks();
[[nodiscard]] CheckList bulk_deletion_checks();
[[nodiscard]] CheckList prune_checks();
[[nodiscard]] CheckList capability_filtering_checks();
[[nodiscard]] CheckList corrupt_history_checks();
[[nodiscard]] CheckList session_checks();
[[nodiscard]] CheckList session_lease_checks();
[[nodiscard]] CheckList tag_filtering_checks();
[[nodiscard]] CheckList custom_status_checks();
[[nodiscard]] CheckList kv_store_checks();
[[nodiscard]] CheckList kv_layer_checks();
[[nodiscard]] CheckList orphan_checks();
[[nodiscard]] CheckList damage_checks();
[[nodiscard]] CheckList all_or_nothing_checks();
[[nodiscard]] CheckList error_class_checks();
[[nodiscard]] CheckList strange_id_checks();
[[nodiscard]] CheckList contract_hole_checks();
[[nodiscard]] CheckList round_trip_checks();
[[nodiscard]] CheckList race_checks();
[[nodiscard]] CheckList time_boundary_checks();
[[nodiscard]] CheckList clock_jump_checks();
[[nodiscard]] CheckList timer_checks();
[[nodiscard]] CheckList fairness_checks();
[[nodiscard]] CheckList cached_history_checks();
[[nodiscard]] CheckList watch_checks();
[[nodiscard]] CheckList sizes_checks();
[[nodiscard]] CheckList exactness_checks();
[[nodiscard]] CheckList abandon_checks();
[[nodiscard]] CheckList starting_checks();
[[nodiscard]] CheckList pending_checks();
[[nodiscard]] CheckList code_checks();
[[nodiscard]] CheckList code_wake_up_checks();
[[nodiscard]] CheckList suspect_checks();
[[nodiscard]] CheckList parked_checks();
[[nodiscard]] CheckList reopen_checks();

} // namespace durable::validation
