// Decisions: the events that an orchestration's code makes, as opposed to the messages it reacts
// to. Says which fields every replay must repeat, and describes a difference in words.

#pragma once

#include <durable/detail/step.hpp>
#include <durable/error_details.hpp>
#include <durable/history_event.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace durable::replay {

// Made by the code, so replay expects it to be made again. The rest are messages.
[[nodiscard]] bool is_decision(const history::Kind& kind) noexcept;

struct Decision {
    history::Kind kind;
    std::optional<std::uint64_t> source{}; // the step that a cancellation closes
    detail::Recode recode = nullptr;       // of its payload; nullptr: it has no type
};

// The first field that differs, with both values ("name: \"A\" / \"B\""); empty when there is none.
//
// A payload whose text differs is read as today's type and written again: a field with a default
// that was added, or one that was removed, is no difference.
//
// What may change under a running instance without harm is not compared: the duration of a timer
// and the text of a custom status (the recorded ones count), the version of a child, the time stamp
// of a KV entry, and ids that the engine derives.
[[nodiscard]] std::string difference(const HistoryEvent& recorded, const Decision& made);

// `PaymentDeclined "card declined"`: kind and text of a failure.
[[nodiscard]] std::string describe(const ErrorDetails& details);

// `ActivityScheduled "ChargeCard"`, `TimerCancelRequested of step 4`
[[nodiscard]] std::string describe(const history::Kind& kind, std::optional<std::uint64_t> source);

} // namespace durable::replay
