// Model checking: random operation sequences, run on a provider and on an oracle at once.
//
// Every answer and, after every operation, everything that can be read must be the same. A sequence
// comes from a seed, so a difference can be repeated; it is shrunk to a short script before it is
// reported. The usual oracle is the memory provider: it *is* the ledger.

#pragma once

#include <durable/provider.hpp>
#include <durable/result.hpp>
#include <durable/time.hpp>
#include <durable/validation.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace durable::validation {

struct ModelCheck {
    std::uint64_t seed = 1;
    std::size_t operations = 200;
    bool reopen = false; // let sequences close and reopen the subject; its factory must support it
};

struct Divergence {
    std::uint64_t seed = 0;
    std::vector<std::string>
        script;          // the shortest sequence found; the last line is where they differ
    std::string oracle;  // what was expected
    std::string subject; // what came

    // All of it, for a test's message.
    [[nodiscard]] std::string text() const;
};

// A fresh, empty store on this clock.
using Oracle = std::function<std::shared_ptr<Provider>(std::shared_ptr<Clock>)>;

[[nodiscard]] Oracle memory_oracle();

// Runs one sequence. nullopt: no difference. The factory must have a clock that moves by hand
// (`unsupported` otherwise).
[[nodiscard]] Result<std::optional<Divergence>>
model_check(Factory& subject, const Oracle& oracle, const ModelCheck& options);

} // namespace durable::validation
