// Reading: queries for any connection. Functions of several statements run inside a transaction of
// their caller, so that they see one state.

#pragma once

#include "providers/sqlite/db/connection.hpp"
#include "providers/sqlite/store/rows.hpp"

#include <durable/provider.hpp>
#include <durable/provider_admin.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace durable::sqlite {

// Of the latest execution when none is named.
[[nodiscard]] std::vector<std::string>
events_of(Connection& db, const std::string& instance, std::optional<std::uint64_t> execution_id);
// corrupt: one does not decode.
[[nodiscard]] Result<std::vector<HistoryEvent>> decode(const std::vector<std::string>& texts);

[[nodiscard]] std::optional<CustomStatus>
custom_status_after(Connection& db, const std::string& instance, std::uint64_t last_seen_version);
[[nodiscard]] std::optional<std::string>
kv_value(Connection& db, const std::string& instance, const std::string& key);
[[nodiscard]] std::map<std::string, std::string> kv_values(Connection& db,
                                                           const std::string& instance);
[[nodiscard]] Result<std::optional<InstanceStats>> stats_of(Connection& db,
                                                            const std::string& instance);
[[nodiscard]] std::uint64_t revision_of(Connection& db, const std::string& instance);
[[nodiscard]] InstanceState state_of(Connection& db, const std::string& instance);

[[nodiscard]] std::vector<std::string> list_instances(Connection& db); // newest first
[[nodiscard]] std::vector<std::string> list_by_status(Connection& db, const std::string& status);
[[nodiscard]] std::vector<std::uint64_t> list_executions(Connection& db,
                                                         const std::string& instance);
[[nodiscard]] std::uint64_t latest_execution(Connection& db, const std::string& instance);
[[nodiscard]] Result<InstanceInfo> instance_info(Connection& db, const std::string& instance);
[[nodiscard]] Result<ExecutionInfo>
execution_info(Connection& db, const std::string& instance, std::uint64_t execution_id);
[[nodiscard]] SystemMetrics system_metrics(Connection& db);
[[nodiscard]] QueueDepths queue_depths(Connection& db, rules::Moment now);
[[nodiscard]] std::vector<QuarantinedItem> list_quarantined(Connection& db);
// Work that does not go on: see ProviderAdmin::list_parked.
[[nodiscard]] std::vector<ParkedWork>
list_parked(Connection& db, Instant now, Duration waited, std::uint32_t limit);
[[nodiscard]] std::vector<std::string> list_children(Connection& db, const std::string& instance);
[[nodiscard]] Result<std::optional<std::string>> parent_of(Connection& db,
                                                           const std::string& instance);
[[nodiscard]] InstanceTree tree_of(Connection& db, const std::string& root);

} // namespace durable::sqlite
