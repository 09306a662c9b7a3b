// The orchestrator queue: messages, and instances filed by what they could do next (Place).
//
// Places follow from what is stored and from the time of the last transaction: the Writer calls
// advance_turns() first in each. Every step costs an index lookup, however much is queued. A
// function that changes an instance calls leave() before and file() after, and saves the row.

#pragma once

#include "providers/sqlite/store/turn_needs.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace durable::sqlite {

// Queues a message, visible from message.visible_at on and not before now; its seq is assigned
// here. The second form changes a row that the caller has and will save. `own_start`: the message
// is the start that made the instance, and the only visible one.
void add_message(Transaction& tx, const rules::NewMessage& message);
void add_message(Transaction& tx,
                 const rules::NewMessage& message,
                 InstanceRow& held,
                 bool own_start = false);

// P15: makes the instance, with the start as its first message.
//   already_exists
[[nodiscard]] Result<> start_instance(Transaction& tx,
                                      const work::StartOrchestration& start,
                                      const rules::NewMessage& message);

// Takes the instance out of the indexes; files it by what it can do now. `hidden`: until
// row.hidden_until.
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

// P10: removes messages that have waited too long for a start, and counts them.
void expire_messages(Transaction& tx);
// P10: moves one message to quarantine.
void quarantine_message(Transaction& tx,
                        InstanceRow& row,
                        std::uint64_t seq,
                        std::string_view text,
                        std::string_view reason);

// P5: of the instances that the request may take the one with the oldest visible message.
[[nodiscard]] std::optional<InstanceRow> first_ready(Transaction& tx,
                                                     const FetchOrchestration& request);

} // namespace durable::sqlite
