// Where a message stands; the numbers are stored.

#pragma once

#include <cstdint>

namespace durable::sqlite {

// The last two are the visible messages of an instance that stands aside. Those of a pending
// instance wait for its start as long as that takes (P15), the others expire.
enum class MessageState : std::uint8_t { delayed = 0, visible = 1, aside = 2, pending = 3 };

} // namespace durable::sqlite
