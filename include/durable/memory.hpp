// The in-memory provider: for tests and for trying things out. Nothing survives the process.

#pragma once

#include <durable/provider.hpp>
#include <durable/time.hpp>

#include <memory>

namespace durable::memory {

struct Options {
    std::shared_ptr<Clock> clock{}; // nullptr: the machine's
    // How long a message waits for an instance that has not started (P6).
    Timespan unstarted_message_ttl = std::chrono::hours{1};
};

// Throws std::invalid_argument when an option makes no sense: a mistake in the program.
[[nodiscard]] std::shared_ptr<Provider> open(Options options = {});

} // namespace durable::memory
