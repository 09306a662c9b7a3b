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

// How an item is stored, but for its place in the queue and its time: encoding takes longer than
// deciding and needs no ledger, so it is done before the mutex is taken. invalid_argument: the
// wrong kind for that queue, or text that is not UTF-8.
[[nodiscard]] Result<NewMessage> to_message(const WorkItem& item);
[[nodiscard]] Result<NewWork> to_work(const WorkItem& item);
// The name of the activity that a stored item asks for; empty: the text does not tell.
[[nodiscard]] std::string activity_name(std::string_view text);
// Events likewise. invalid_argument: also an id twice.
[[nodiscard]] Result<std::vector<NewEvent>> to_events(const std::vector<HistoryEvent>& events);

// invalid_argument, where the execution has an event of such an id.
[[nodiscard]] Result<> check_new(const std::vector<NewEvent>& events, const Execution* stored);

// invalid_argument, naming `what`, when the text is not UTF-8: no journal of JSON could carry it.
[[nodiscard]] Result<> check_text(std::string_view text, std::string_view what);

// When a message that is queued now may be delivered.
[[nodiscard]] Instant visible_at(const WorkItem& item, Instant now, Duration delay);

// `message`, `added` and `events` are what the functions above made of the call.
[[nodiscard]] Result<Record> enqueue_message(Ledger& ledger,
                                             const WorkItem& item,
                                             Result<NewMessage> message,
                                             std::optional<Duration> delay,
                                             Moment now);
// P15. already_exists: the instance exists, or a start of it is queued.
[[nodiscard]] Result<Record> start_instance(Ledger& ledger,
                                            const work::StartOrchestration& start,
                                            Result<NewMessage> message,
                                            std::optional<Duration> delay,
                                            Moment now);
[[nodiscard]] Result<Record> enqueue_work(Ledger& ledger, Result<NewWork> added, Moment now);

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
                                           Result<std::vector<NewEvent>> events,
                                           Moment now);

} // namespace durable::ledger
