// What must hold for any bytes whatsoever that are given to the codec.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace durable::fuzz {

// Decodes `text` as an event, as a work item and as an error, and compares each with what
// nlohmann-json and the schema say:
//
//   - what is no JSON is refused; what is JSON and fits the schema is accepted, and nothing else
//   is;
//   - a refusal is `corrupt` and names a byte of the text;
//   - an accepted value encodes to one line that means the same, decodes to an equal value, and
//     encodes to the same bytes again.
//
// Returns what is wrong, or nullopt.
[[nodiscard]] std::optional<std::string> codec_complaint(std::string_view text);

} // namespace durable::fuzz
