// The state of a queued message; the numbers are stored.

#pragma once

#include <cstdint>

namespace durable::sqlite {

// The last two are visible messages of an instance that waits for a start. Those of a pending
// instance do not expire (P15), the others do.
enum class MessageState : std::uint8_t { delayed = 0, visible = 1, aside = 2, pending = 3 };

} // namespace durable::sqlite
