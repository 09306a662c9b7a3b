// CRC-32C (Castagnoli): the checksum of every stored record. Uses the processor's instruction where
// there is one.

#pragma once

#include <cstdint>
#include <string_view>

namespace durable {

// crc32c(b, crc32c(a)) is the checksum of a followed by b.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes, std::uint32_t previous = 0) noexcept;

namespace detail {
// The fallback, for tests to compare with.
[[nodiscard]] std::uint32_t crc32c_portable(std::string_view bytes,
                                            std::uint32_t previous) noexcept;
} // namespace detail

} // namespace durable
