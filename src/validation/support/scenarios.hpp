// Scenarios that several categories of checks share: executions that follow each other, values in
// the key-value store, all stored state at once.

#pragma once

#include "validation/support/support.hpp"

#include <durable/provider.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace durable::validation {

// ---- Events --------------------------------------------------------------------------------

[[nodiscard]] HistoryEvent
kv_set(std::uint64_t id, const std::string& key, const std::string& value);
[[nodiscard]] HistoryEvent kv_cleared(std::uint64_t id, const std::string& key);
[[nodiscard]] HistoryEvent kv_all_cleared(std::uint64_t id);
[[nodiscard]] HistoryEvent status_set(std::uint64_t id, std::optional<std::string> status);

// ---- Turns of an instance that exists; nothing else may be deliverable -------------------------

// A turn that only appends these events.
void append_turn(const Store& store,
                 const std::string& instance,
                 std::uint64_t execution_id,
                 std::vector<HistoryEvent> events,
                 Where where = Where::current());

// A running instance whose second turn appended these events.
void make_running_with(const Store& store,
                       const std::string& instance,
                       std::vector<HistoryEvent> events,
                       Where where = Where::current());

// Ends execution `next - 1` and runs the first turn of execution `next`.
void continue_as_new(const Store& store,
                     const std::string& instance,
                     std::uint64_t next,
                     Where where = Where::current());

// Ends the execution as completed.
void complete(const Store& store,
              const std::string& instance,
              std::uint64_t execution_id = 1,
              Where where = Where::current());

// `executions` of them; the last one runs, the others continued as new.
void make_executions(const Store& store,
                     const std::string& instance,
                     std::uint64_t executions,
                     Where where = Where::current());

// ---- Key-value store ---------------------------------------------------------------------------

using Values = std::map<std::string, std::string>;

// What a reader sees, and what the next turn gets.
[[nodiscard]] std::optional<std::string> kv(const Store& store,
                                            const std::string& instance,
                                            const std::string& key,
                                            Where where = Where::current());
[[nodiscard]] Values
kv_snapshot(const Store& store, const std::string& instance, Where where = Where::current());

} // namespace durable::validation
