// What a program knows about itself.

#pragma once

#include <cstdint>
#include <string>

namespace durable {

[[nodiscard]] std::uint64_t process_id() noexcept;

// Names the run of the machine, from one start to the next; empty when the system does not tell.
[[nodiscard]] std::string boot_id();

} // namespace durable
