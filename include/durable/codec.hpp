// The wire format: history events and work items as compact JSON, byte-exact (docs/wire-format.md).
//
// Written by hand because every turn passes through it: nlohmann-json needs 2.3 us to write and 4
// us to read one event, this needs a tenth (benchmarks/README.md). Payloads (inputs, results, data)
// are opaque strings: they are copied, never parsed.

#pragma once

#include <durable/error_details.hpp>
#include <durable/history_event.hpp>
#include <durable/result.hpp>
#include <durable/work_item.hpp>

#include <string>
#include <string_view>

namespace durable {

// Appends the JSON text to `out`. Fails (invalid_argument, `out` unchanged) when a string is not
// UTF-8: JSON cannot carry it, and repairing it silently would change the user's data.
[[nodiscard]] Result<> encode_to(std::string& out, const HistoryEvent& event);
[[nodiscard]] Result<> encode_to(std::string& out, const WorkItem& item);
[[nodiscard]] Result<> encode_to(std::string& out, const ErrorDetails& details);

[[nodiscard]] Result<std::string> encode(const HistoryEvent& event);
[[nodiscard]] Result<std::string> encode(const WorkItem& item);
[[nodiscard]] Result<std::string> encode(const ErrorDetails& details);

// Reads one JSON text. Accepts any order of keys and any white space; keeps unknown members in
// `extra`. Everything else that is not the wire format is `corrupt`, with the byte offset in the
// message: unknown type, missing or repeated member, wrong JSON type, number out of range, bad
// UTF-8, nesting deeper than 64, text after the value.
[[nodiscard]] Result<HistoryEvent> decode_event(std::string_view text);
[[nodiscard]] Result<WorkItem> decode_work_item(std::string_view text);
[[nodiscard]] Result<ErrorDetails> decode_error_details(std::string_view text);

} // namespace durable
