// The golden files: one per kind of event, work item and error, one value per line.

#pragma once

#include <durable/codec.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace durable::golden {

enum class Shape { event, work_item, error };

struct Line {
    Shape shape{};
    std::string file; // "events/TimerFired.jsonl"
    std::string text;
};

// Every line of every file, in a fixed order.
[[nodiscard]] std::vector<Line> lines();

// Reads `text` as a value of `shape` and writes it again.
[[nodiscard]] Result<std::string> through_codec(Shape shape, std::string_view text);

} // namespace durable::golden
