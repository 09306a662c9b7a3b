// What the delivery of a turn means: name and version of the instance that a fetch is given, the
// part of its history that the caller holds already, the code that it needs.

#pragma once

#include "providers/rules/stored.hpp"

#include <durable/provider.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace durable::rules {

// ---- The instance

// Of an instance without a row and without a stored start: name and version come from the first of
// the messages that begins one.
void name_by_messages(OrchestrationItem& item);

// The last event of the item's execution that the caller says it holds; nullopt: it holds none, or
// events of another execution, or of another instance that had the id before.
[[nodiscard]] std::optional<std::uint64_t> held_event(const OrchestrationItem& item,
                                                      const CachedHistoryLookup& cached);

// Fills `item.history` with `size` stored events, `text(index)` each. Where one does not decode,
// history_error is set, and history and kv_snapshot are empty (P10).
template <class Text>
void decode_history(OrchestrationItem& item, std::size_t size, Text&& text);
// Adds one event; false: it does not decode, and history_error is set.
[[nodiscard]] bool decode_next(OrchestrationItem& item, std::string_view text);

// ---- How it ended

// Looks at stored events from the newest back, `text(index)` each, for the one that tells why the
// execution failed. nullopt: there is none that decodes.
template <class Text>
[[nodiscard]] std::optional<ErrorDetails> failure_in(std::size_t size, Text&& text);
// The same for one event. Events of other kinds are not decoded: they may be large.
[[nodiscard]] std::optional<ErrorDetails> failure_told_by(std::string_view text);

// ---- Code (P14)

struct CodeNeed {
    bool any = true; // every fetch has it
    std::string name;
    std::string version; // empty: any
    bool operator==(const CodeNeed&) const = default;
};

// "unknown" is what stores write where a start names no version.
inline constexpr std::string_view unknown_version = "unknown";
[[nodiscard]] CodeNeed code_need(std::string name, std::string version);
// The code that a message begins an execution with. `any`: it begins none, or does not decode and
// will be quarantined.
[[nodiscard]] CodeNeed code_begun_by(const Result<WorkItem>& message);

// Whether a fetch has the code, and can replay what the version `pinned` wrote.
[[nodiscard]] bool has_code(const FetchOrchestration& request, const CodeNeed& need);
[[nodiscard]] bool can_replay(const FetchOrchestration& request, const Version* pinned);

template <class Text>
std::optional<ErrorDetails> failure_in(std::size_t size, Text&& text) {
    std::optional<ErrorDetails> found;
    while (size > 0 && !found) {
        found = failure_told_by(text(--size));
    }
    return found;
}

template <class Text>
void decode_history(OrchestrationItem& item, std::size_t size, Text&& text) {
    item.history.reserve(size);
    for (std::size_t index = 0; index < size && decode_next(item, text(index)); ++index) {
    }
}

} // namespace durable::rules
