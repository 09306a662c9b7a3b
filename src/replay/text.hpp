// Text that goes into history must be UTF-8: JSON cannot carry anything else.

#pragma once

#include "base/utf8.hpp"

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

namespace durable::replay {

using utf8::is_utf8;
using utf8::printable;

// "order.cpp:42"; empty when nothing is known.
[[nodiscard]] std::string location_text(const std::source_location& where);

// "continue_as_new, called at order.cpp:42, "
[[nodiscard]] std::string continue_at(const std::source_location& where);

// A UUID (version 8) that is the same on every replay and differs between instances, executions,
// calls, and instances that were deleted and started again under the same id.
struct UuidSeed {
    std::string_view instance;
    std::uint64_t execution_id = 0;
    std::uint64_t started_at_ms = 0;
    std::uint64_t counter = 0;
};
[[nodiscard]] std::string derived_uuid(const UuidSeed& seed);

// In quotes, escaped. The caller has checked that the text is UTF-8.
[[nodiscard]] std::string json_string(std::string_view text);

// {"instance_id":"...","key":"..."}
[[nodiscard]] std::string kv_read_input(std::string_view instance, std::string_view key);

} // namespace durable::replay
