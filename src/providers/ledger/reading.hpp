// Reading: the questions that change nothing.

#pragma once

#include "providers/ledger/history_log.hpp"
#include "providers/ledger/ledger.hpp"

#include <durable/provider.hpp>
#include <durable/provider_admin.hpp>
#include <durable/result.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace durable::ledger {

// Raw events, to be decoded without holding a lock; nullopt asks for the latest execution.
[[nodiscard]] EventTexts events_of(const Ledger& ledger,
                                   const std::string& instance,
                                   std::optional<std::uint64_t> execution_id);
// corrupt: an event does not decode.
[[nodiscard]] Result<std::vector<HistoryEvent>> decode(const EventTexts& texts,
                                                       std::string_view operation);

[[nodiscard]] std::optional<CustomStatus> custom_status_after(const Ledger& ledger,
                                                              const std::string& instance,
                                                              std::uint64_t last_seen_version);
[[nodiscard]] std::optional<std::string>
kv_value(const Ledger& ledger, const std::string& instance, const std::string& key);
[[nodiscard]] std::map<std::string, std::string> kv_values(const Ledger& ledger,
                                                           const std::string& instance);
[[nodiscard]] Result<std::optional<InstanceStats>> stats_of(const Ledger& ledger,
                                                            const std::string& instance);
[[nodiscard]] InstanceState state_of(const Ledger& ledger, const std::string& instance);
// Completed, failed, or not there.
[[nodiscard]] bool has_ended(const Ledger& ledger, const std::string& instance);

[[nodiscard]] std::vector<std::string> list_instances(const Ledger& ledger);
[[nodiscard]] std::vector<std::string> list_by_status(const Ledger& ledger,
                                                      const std::string& status);
[[nodiscard]] std::vector<std::uint64_t> list_executions(const Ledger& ledger,
                                                         const std::string& instance);
[[nodiscard]] std::uint64_t latest_execution(const Ledger& ledger, const std::string& instance);
[[nodiscard]] Result<InstanceInfo> instance_info(const Ledger& ledger, const std::string& instance);
[[nodiscard]] Result<ExecutionInfo>
execution_info(const Ledger& ledger, const std::string& instance, std::uint64_t execution_id);
[[nodiscard]] SystemMetrics system_metrics(const Ledger& ledger);
[[nodiscard]] QueueDepths queue_depths(Ledger& ledger, Moment now);
// What does not decode, then the newest of what expired.
[[nodiscard]] std::vector<QuarantinedItem> list_quarantined(const Ledger& ledger);
// See ProviderAdmin.
[[nodiscard]] std::vector<ParkedWork>
list_parked(Ledger& ledger, Duration waited, std::uint32_t limit, Moment now);
[[nodiscard]] std::vector<std::string> list_children(const Ledger& ledger,
                                                     const std::string& instance);
[[nodiscard]] Result<std::optional<std::string>> parent_of(const Ledger& ledger,
                                                           const std::string& instance);
// The instance first, parents before children. Never fails: an unknown id is its own tree.
[[nodiscard]] InstanceTree tree_of(const Ledger& ledger, const std::string& root);

} // namespace durable::ledger
