// Stored form of work items and events, the same in every store: checked, encoded as JSON text,
// with the few values that stores index.
//
// Encoding takes longer than deciding and needs no stored state. A caller does it before it takes
// the store's lock.

#pragma once

#include <durable/provider.hpp>
#include <durable/result.hpp>
#include <durable/time.hpp>
#include <durable/work_item.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace durable::rules {

// Position in a queue: ascending, never used twice, shared by both queues (P5).
using Seq = std::uint64_t;

enum class Queue : std::uint8_t { orchestrator, worker };

// The index of a kind of work item in WorkItem; stores keep it beside the text.
template <class Item>
inline constexpr auto item_kind =
    static_cast<std::uint8_t>(WorkItem{std::in_place_type<Item>}.index());

// Whether a message of this kind begins an instance that does not exist.
[[nodiscard]] constexpr bool starts_instance(std::int64_t kind) noexcept {
    return kind == item_kind<work::StartOrchestration> || kind == item_kind<work::ContinueAsNew>;
}
[[nodiscard]] constexpr bool cancels_instance(std::int64_t kind) noexcept {
    return kind == item_kind<work::CancelInstance>;
}

// P16: whether an item that was fetched so often before may have killed its process.
[[nodiscard]] constexpr bool is_suspect(std::int64_t earlier_attempts) noexcept {
    return earlier_attempts >= static_cast<std::int64_t>(suspect_after);
}

struct NewMessage {
    Seq seq = 0;
    std::string instance;
    Instant visible_at;
    std::string text;
    std::uint8_t kind = 0;          // index in WorkItem
    std::uint64_t execution_id = 0; // of a TimerFired, else 0
    std::uint64_t timer_id = 0;     // likewise
    bool operator==(const NewMessage&) const = default;
};

struct NewWork {
    Seq seq = 0;
    ActivityId activity;
    std::optional<std::string> session;
    std::optional<std::string> tag;
    std::string name; // of the activity, as in the text; not stored beside it
    Instant visible_at;
    std::string text;
    bool operator==(const NewWork&) const = default;
};

struct NewEvent {
    std::uint64_t id = 0;
    std::string text;
    bool operator==(const NewEvent&) const = default;
};

// `error`, with the name of the provider call that failed.
[[nodiscard]] std::unexpected<Error> failed(Error error, std::string_view operation);

// The stored form of an item, without its place in the queue and its time.
//   invalid_argument  the wrong kind of item for that queue, or text that is not UTF-8
[[nodiscard]] Result<NewMessage> to_message(const WorkItem& item);
[[nodiscard]] Result<NewWork> to_work(const WorkItem& item);
// Events likewise.
//   invalid_argument  also an id that comes twice, or is 0
[[nodiscard]] Result<std::vector<NewEvent>> to_events(const std::vector<HistoryEvent>& events);
// The error of an event whose id is stored already (P8).
[[nodiscard]] std::unexpected<Error> taken_event(std::uint64_t id);

//   invalid_argument  the text is not UTF-8, which JSON cannot carry; the message names `what`
[[nodiscard]] Result<> check_text(std::string_view text, std::string_view what);

// When a message that is queued now becomes deliverable: a timer not before it is due.
[[nodiscard]] Instant visible_at(const WorkItem& item, Instant now, Duration delay);

// P10: why a queued message of `instance` has to be quarantined; empty: it need not.
[[nodiscard]] std::string damage_of(const Result<WorkItem>& item, std::string_view instance);

// The name of the activity in a stored item; empty: the text has none.
[[nodiscard]] std::string activity_name(std::string_view text);

// The parent in a queued message that starts a child; nullopt: it starts none, or does not decode.
[[nodiscard]] std::optional<std::string> calling_parent(std::uint8_t kind, std::string_view text);

} // namespace durable::rules
