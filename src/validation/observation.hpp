// Everything a provider shows of its state, as values that can be compared: for checks that say
// "nothing else changed".

#pragma once

#include "validation/support.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace durable::validation {

// What was looked at, and what was seen: {"A: custom status", "\"half\" v3"}.
using Observation = std::map<std::string, std::string>;

// Looks at everything that can be read without changing it: the instances named, and the store as
// a whole. Needs the management half.
[[nodiscard]] Observation observe(const Store& store,
                                  const std::vector<std::string>& instances,
                                  Where where = Where::current());

// Fails naming what differs first.
void expect_same(const Observation& now,
                 const Observation& before,
                 std::string_view sentence,
                 Where where = Where::current());

// Lets leases of lock_timeout() run out, then takes everything out of both queues as it would be
// delivered: one line per turn with its messages, attempts and values, one per activity. For
// comparing two stores with the same past, so timers do not say when they were due. Nothing is left
// afterwards, but what belongs to sessions of other owners.
[[nodiscard]] std::vector<std::string>
drain(const Store& store, const std::string& session_owner, Where where = Where::current());

} // namespace durable::validation
