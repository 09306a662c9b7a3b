// What one execution may store. Checked before anything is recorded: data over a limit is never
// stored, the orchestration fails with a sentence that names the limit, and its parent gets that
// failure. Its code cannot catch it: see docs/determinism.md.

#pragma once

#include <cstddef>

namespace durable {

struct Limits {
    std::size_t custom_status_bytes = 256UL * 1024;
    std::size_t tag_bytes = 256;
    std::size_t session_bytes = 256;
    std::size_t kv_keys = 150;
    std::size_t kv_key_bytes = 256;
    std::size_t kv_value_bytes = 64UL * 1024;
};

} // namespace durable
