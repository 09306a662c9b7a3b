// How often this process asked a disk to make something durable, whoever asked: our journal or
// somebody else's library.

#pragma once

#include <cstdint>

namespace durable::cli {

// fsync and fdatasync calls so far.
[[nodiscard]] std::uint64_t sync_calls() noexcept;

} // namespace durable::cli
