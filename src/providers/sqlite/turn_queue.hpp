// The orchestrator queue: messages, and instances filed by what they could do next.
//
// Where things stand follows from what is stored and from the time of the last transaction:
// advance() first, once per transaction. Every step costs an index lookup, however much waits.
// Whoever changes an instance says leave() before, file() after, and saves the row.

#pragma once

#include "providers/sqlite/rows.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace durable::sqlite {

// Stored; `parked` belongs to the visible messages of a parked instance.
enum class MessageState : std::uint8_t { delayed = 0, visible = 1, parked = 2 };

// Queues a message, visible from message.visible_at on and not before now; its seq is assigned
// here. The second form changes a row that the caller has and will save.
void add_message(Transaction& tx, const ledger::NewMessage& message);
void add_message(Transaction& tx, const ledger::NewMessage& message, InstanceRow& held);

// Off the indexes, and back by what the instance can do now. `hidden`: until row.hidden_until.
void leave(Transaction& tx, InstanceRow& row);
void file(Transaction& tx, InstanceRow& row, bool live_lease, bool hidden);

// Finds the oldest visible message anew.
void refresh_head(Transaction& tx, InstanceRow& row);

// Files everything that became due or expired.
void advance_turns(Transaction& tx);

// Takes out parked messages that have waited too long, and counts them.
void expire_messages(Transaction& tx);
// Takes one message out of the way (P10).
void quarantine_message(Transaction& tx,
                        InstanceRow& row,
                        std::uint64_t seq,
                        std::string_view text,
                        std::string_view reason);

// The instance with the oldest visible message that the filter accepts.
[[nodiscard]] std::optional<InstanceRow> first_ready(Transaction& tx,
                                                     const std::optional<CapabilityFilter>& filter);

} // namespace durable::sqlite
