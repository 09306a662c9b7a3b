// Queueing: work items as they are stored, and the decisions that put them into a queue.

#pragma once

#include "providers/ledger/ledger.hpp"

#include <durable/result.hpp>
#include <durable/work_item.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace durable::ledger {

// `error` with the name of the call that failed.
[[nodiscard]] std::unexpected<Error> failed(Error error, std::string_view operation);

// How an item is stored. invalid_argument: the wrong kind for that queue, or text that is not
// UTF-8.
[[nodiscard]] Result<NewMessage> to_message(const WorkItem& item, Seq seq, Instant visible_at);
[[nodiscard]] Result<NewWork> to_work(const WorkItem& item, Seq seq, Instant visible_at);
[[nodiscard]] Result<std::vector<NewEvent>> to_events(const std::vector<HistoryEvent>& events,
                                                      const Execution* stored);

// invalid_argument, naming `what`, when the text is not UTF-8: no journal of JSON could carry it.
[[nodiscard]] Result<> check_text(std::string_view text, std::string_view what);

// When a message that is queued now may be delivered.
[[nodiscard]] Instant visible_at(const WorkItem& item, Instant now, Duration delay);

[[nodiscard]] Result<Record>
enqueue_message(Ledger& ledger, const WorkItem& item, std::optional<Duration> delay, Moment now);
[[nodiscard]] Result<Record> enqueue_work(Ledger& ledger, const WorkItem& item, Moment now);

// A row from outside, as damage or another version would leave it: queued when it can be decoded,
// else quarantined with its bytes intact.
[[nodiscard]] Record restore_message(const Ledger& ledger,
                                     const std::string& instance,
                                     const std::string& text,
                                     Moment now);
[[nodiscard]] Record restore_work(const Ledger& ledger, const std::string& text, Moment now);

// nullopt: nothing has waited too long for its instance to start.
[[nodiscard]] std::optional<Record> expire_messages(Ledger& ledger, Moment now);

[[nodiscard]] Result<Record> append_events(Ledger& ledger,
                                           const std::string& instance,
                                           std::uint64_t execution_id,
                                           const std::vector<HistoryEvent>& events,
                                           Moment now);

} // namespace durable::ledger
