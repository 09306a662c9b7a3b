#include "e2e/e2e.hpp"

#include <durable/memory.hpp>
#if DURABLE_SQLITE
#include <durable/sqlite.hpp>
#endif

#include <cstdlib>
#include <string_view>
#include <utility>

namespace durable::e2e {

std::shared_ptr<Provider> make_store(std::shared_ptr<Clock> clock) {
    const char* named = std::getenv("DURABLE_E2E_STORE"); // NOLINT(concurrency-mt-unsafe)
    const std::string_view kind = named == nullptr ? "memory" : named;
#if DURABLE_SQLITE
    if (kind == "sqlite") {
        return sqlite::open(":memory:", {.clock = std::move(clock)}).value();
    }
#endif
    if (kind != "memory") {
        std::abort(); // a test that runs on another store than it says is worse than none
    }
    return memory::open({.clock = std::move(clock)});
}

} // namespace durable::e2e
