// The memory provider, with a back door for tests that damages, adds and reads stored rows.

#pragma once

#include "providers/ledger_store/ledger_provider.hpp"

#include <durable/memory.hpp>
#include <durable/provider.hpp>

#include <memory>
#include <string>

namespace durable::memory {

class MemoryProvider final : public ledger::LedgerProvider {
 public:
    // random: nullptr takes the machine's.
    explicit MemoryProvider(const Options& options, std::shared_ptr<Random> random = nullptr);

    std::string name() const override { return "memory"; }
    std::string version() const override;
    Durability durability() const noexcept override { return Durability::none; }

    // ---- The back door

    // Makes every stored event of the instance undecodable, or one. not_found: there is none.
    [[nodiscard]] Result<> corrupt_history(const std::string& instance);
    [[nodiscard]] Result<>
    corrupt_event(const std::string& instance, std::uint64_t execution_id, std::uint64_t event_id);

    // Puts a visible row with this text into a queue, as damage or another version would.
    [[nodiscard]] Result<> inject_orchestrator_row(const std::string& instance,
                                                   const std::string& text);
    [[nodiscard]] Result<> inject_worker_row(const std::string& text);

    // The largest among the instance's orchestrator messages; 0 when it has none.
    std::uint32_t max_attempt_count(const std::string& instance);
};

} // namespace durable::memory
