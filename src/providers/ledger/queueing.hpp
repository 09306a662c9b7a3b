// Queueing: the decisions that put messages, activities and events where they belong.

#pragma once

#include "providers/ledger/ledger.hpp"

#include <durable/result.hpp>
#include <durable/work_item.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace durable::ledger {

// P8: invalid_argument when the execution has an event with one of these ids.
[[nodiscard]] Result<> check_new(const std::vector<NewEvent>& events, const Execution* stored);

// `message`, `added` and `events` are what rules/stored.hpp made of the call.
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
