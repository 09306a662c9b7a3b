// Everything a provider shows of its state, as values that can be compared: for checks that say
// "nothing else changed".

#pragma once

#include "validation/support/support.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace durable::validation {

// The name of each thing that was read, and its value: {"A: custom status", "\"half\" v3"}.
using Observation = std::map<std::string, std::string>;

// Reads everything that can be read without a change: of these instances, and of the store as a
// whole. Needs the management half.
[[nodiscard]] Observation observe(const Store& store,
                                  const std::vector<std::string>& instances,
                                  Where where = Where::current());

// Fails naming what differs first.
void expect_same(const Observation& now,
                 const Observation& before,
                 std::string_view sentence,
                 Where where = Where::current());

// Lets leases of lock_timeout() expire, then fetches and finishes everything in both queues: one
// line per turn with its messages, attempts and values, one per activity. For comparing two stores
// with the same past, so the lines leave out when timers were due. Only items of other owners'
// sessions are left afterwards.
[[nodiscard]] std::vector<std::string>
drain(const Store& store, const std::string& session_owner, Where where = Where::current());

} // namespace durable::validation
