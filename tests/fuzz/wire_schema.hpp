// The wire format once more, as data over nlohmann-json and without a line of the codec's code:
// what the codec is compared with.

#pragma once

#include <optional>

#include <nlohmann/json.hpp>

namespace durable::fuzz {

// Each returns what a correct encoder writes after a correct decoder has read `text` (absent
// members as null, left out, or with their default), or nullopt when `text` is not of the wire
// format.
[[nodiscard]] std::optional<nlohmann::json> canonical_event(const nlohmann::json& text);
[[nodiscard]] std::optional<nlohmann::json> canonical_work_item(const nlohmann::json& text);
[[nodiscard]] std::optional<nlohmann::json> canonical_error(const nlohmann::json& text);

} // namespace durable::fuzz
