// Management: deleting and pruning.

#pragma once

#include "providers/sqlite/store/transaction.hpp"

#include <durable/provider_admin.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace durable::sqlite {

inline constexpr std::uint32_t default_bulk_limit = 1000;

[[nodiscard]] Result<DeleteInstanceResult>
delete_instances(Transaction& tx, const std::vector<std::string>& instances, bool force);
[[nodiscard]] Result<DeleteInstanceResult>
delete_tree(Transaction& tx, const std::string& root, bool force);

// Ended roots, and instances of any kind, that the filter accepts.
[[nodiscard]] std::vector<std::string> deletable_roots(Connection& db,
                                                       const InstanceFilter& filter);
[[nodiscard]] std::vector<std::string> prunable(Connection& db, const InstanceFilter& filter);

[[nodiscard]] Result<PruneResult>
prune(Transaction& tx, const std::string& instance, const PruneOptions& options);

} // namespace durable::sqlite
