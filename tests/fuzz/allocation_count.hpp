// Linking allocation_count.cpp replaces operator new of the program by one that counts.

#pragma once

#include <cstddef>

namespace durable::fuzz {

// What this thread has asked for since it began.
[[nodiscard]] std::size_t allocated_bytes() noexcept;

} // namespace durable::fuzz
