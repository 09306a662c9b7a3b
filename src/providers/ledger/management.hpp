// Management: the decisions that delete and prune.

#pragma once

#include "providers/ledger/ledger.hpp"

#include <durable/provider_admin.hpp>
#include <durable/result.hpp>

#include <string>
#include <vector>

namespace durable::ledger {

// How many instances a bulk call acts on when its filter does not say.
inline constexpr std::uint32_t default_bulk_limit = 1000;

struct Deletion {
    Record record;
    DeleteInstanceResult result;
};

struct Pruning {
    Record record; // may prune nothing
    PruneResult result;
};

// Exactly these, all or none.
[[nodiscard]] Result<Deletion>
delete_instances(Ledger& ledger, const std::vector<std::string>& instances, bool force, Moment now);
// A root with its tree.
[[nodiscard]] Result<Deletion>
delete_tree(Ledger& ledger, const std::string& root, bool force, Moment now);

// Ended roots that match, to be deleted with their trees, forcibly, one by one.
[[nodiscard]] std::vector<std::string> deletable_roots(const Ledger& ledger,
                                                       const InstanceFilter& filter);

[[nodiscard]] Result<Pruning>
prune(Ledger& ledger, const std::string& instance, const PruneOptions& options, Moment now);
// Instances that match, running ones and children included.
[[nodiscard]] std::vector<std::string> prunable(const Ledger& ledger, const InstanceFilter& filter);

} // namespace durable::ledger
