// The orchestrator queue: messages, and instances filed by what they could do next.
//
// Where things stand follows from what is stored and from the time of the last transaction:
// advance() first, once per transaction. Every step costs an index lookup, however much waits.
// Whoever changes an instance says leave() before, file() after, and saves the row.

#pragma once

#include "providers/sqlite/turn_needs.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace durable::sqlite {

// Queues a message, visible from message.visible_at on and not before now; its seq is assigned
// here. The second form changes a row that the caller has and will save. `own_start`: the message
// is what the instance was started with, the only one that is visible.
void add_message(Transaction& tx, const ledger::NewMessage& message);
void add_message(Transaction& tx,
                 const ledger::NewMessage& message,
                 InstanceRow& held,
                 bool own_start = false);

// P15: makes the instance, with the start as its first message.
//   already_exists
[[nodiscard]] Result<> start_instance(Transaction& tx,
                                      const work::StartOrchestration& start,
                                      const ledger::NewMessage& message);

// Off the indexes, and back by what the instance can do now. `hidden`: until row.hidden_until.
void leave(Transaction& tx, InstanceRow& row);
void file(Transaction& tx,
          InstanceRow& row,
          bool live_lease,
          bool hidden,
          const SoleMessage* sole = nullptr);

// Finds the oldest visible message anew.
void refresh_head(Transaction& tx, InstanceRow& row);

// Files everything that became due or expired.
void advance_turns(Transaction& tx);

// Takes out messages aside that have waited too long, and counts them.
void expire_messages(Transaction& tx);
// Takes one message out of the way (P10).
void quarantine_message(Transaction& tx,
                        InstanceRow& row,
                        std::uint64_t seq,
                        std::string_view text,
                        std::string_view reason);

// The instance with the oldest visible message that the request may take.
[[nodiscard]] std::optional<InstanceRow> first_ready(Transaction& tx,
                                                     const FetchOrchestration& request);

} // namespace durable::sqlite
