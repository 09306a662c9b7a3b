// The worker queue, the leases on its items, and sessions.
//
// Items of one session with the same needs form a group: a fetch looks at the heads of groups, a
// claim updates groups, not items. Items without a session are in no group.

#pragma once

#include "providers/sqlite/store/rows.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace durable::sqlite {

enum class WorkState : std::uint8_t { delayed = 0, ready = 1, leased = 2 }; // stored

struct WorkRow {
    std::int64_t seq = 0;
    std::int64_t instance = 0;
    std::optional<std::string> session;
    std::string needs; // WorkNeeds
    WorkState state = WorkState::ready;
    std::optional<std::string> token; // of a lease, live while the state is `leased`
    std::int64_t attempts = 0;
    std::string item;
};

void add_work(Transaction& tx, const rules::NewWork& work, std::int64_t instance);
void remove_work(Transaction& tx, const WorkRow& row);
// Removes the items of a cancelled activity; `held` is the row that the caller has in memory.
void cancel_work(Transaction& tx, const ActivityId& activity, const InstanceRow& held);
void remove_all_work(Transaction& tx, std::int64_t instance);

[[nodiscard]] std::optional<WorkRow> find_work(Connection& db, std::int64_t seq);
// Back into the queue, without a lease.
void put_back(Transaction& tx, const WorkRow& row, Instant visible_at, std::int64_t attempts);

void advance_work(Transaction& tx);

// P5: the oldest item that the request may take.
[[nodiscard]] std::optional<WorkRow> first_ready(Transaction& tx, const FetchWork& request);

void lease_work(Transaction& tx, const WorkRow& row, const std::string& token, SteadyInstant until);
void extend_work(Transaction& tx, const WorkRow& row, SteadyInstant until);

void claim_session(Transaction& tx, const std::string& session, const SessionClaim& claim);
void touch_session(Transaction& tx, const WorkRow& row); // it is in use

} // namespace durable::sqlite
