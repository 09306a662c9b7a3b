// How often this process synced a file, from any of its code: the stores' or another library's.

#pragma once

#include <cstdint>

namespace durable::cli {

// fsync and fdatasync calls so far.
[[nodiscard]] std::uint64_t sync_calls() noexcept;

} // namespace durable::cli
