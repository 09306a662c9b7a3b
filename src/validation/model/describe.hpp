// Answers and states as text, so that two providers can be compared and a difference can be read.
// What two correct providers may do differently (lock tokens, revisions, the order of unordered
// lists, the text of an error) is left out.

#pragma once

#include <durable/provider.hpp>
#include <durable/provider_admin.hpp>
#include <durable/result.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace durable::validation {

[[nodiscard]] std::string describe(const Error& error);
[[nodiscard]] std::string describe(const Result<>& answer);
[[nodiscard]] std::string describe(const Result<std::uint64_t>& answer);
// Events up to `known` are left out: a provider may or may not use the caller's cache.
[[nodiscard]] std::string describe(const Result<std::optional<OrchestrationItem>>& answer,
                                   const std::vector<CachedHistory>& known_by_instance,
                                   std::span<const std::string> instances);
[[nodiscard]] std::string describe(const Result<std::optional<WorkLease>>& answer);
[[nodiscard]] std::string describe(const Result<DeleteInstanceResult>& answer);
[[nodiscard]] std::string describe(const Result<PruneResult>& answer);

[[nodiscard]] std::string describe(const WorkItem& item);
[[nodiscard]] std::string describe(const HistoryEvent& event);

// Everything that can be read about these instances and about the store.
[[nodiscard]] std::string describe_state(Provider& provider,
                                         std::span<const std::string> instances);

} // namespace durable::validation
