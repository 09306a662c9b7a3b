// What a program knows about itself.

#pragma once

#include <cstdint>

namespace durable {

[[nodiscard]] std::uint64_t process_id() noexcept;

} // namespace durable
