// The back door of the ledger, for tests: damages stored state and reads it.

#pragma once

#include "providers/ledger/ledger.hpp"

#include <durable/result.hpp>

#include <cstdint>
#include <string>

namespace durable::ledger {

// Makes every stored event of the instance undecodable, or one. not_found: there is none.
[[nodiscard]] Result<> damage_history(Ledger& ledger, const std::string& instance);
[[nodiscard]] Result<> damage_event(Ledger& ledger,
                                    const std::string& instance,
                                    std::uint64_t execution_id,
                                    std::uint64_t event_id);

// The largest among the instance's orchestrator messages; 0 when it has none.
[[nodiscard]] std::uint32_t max_attempts(const Ledger& ledger, const std::string& instance);

} // namespace durable::ledger
