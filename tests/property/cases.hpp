// How many cases a property is tried with: what the test says, or the environment variable
// DURABLE_CASES.

#pragma once

#include <cstdint>
#include <cstdlib>

namespace durable::property {

[[nodiscard]] inline std::uint64_t cases(std::uint64_t usual) {
    const char* wanted = std::getenv("DURABLE_CASES"); // NOLINT(concurrency-mt-unsafe)
    return wanted == nullptr ? usual : std::strtoull(wanted, nullptr, 10);
}

} // namespace durable::property
