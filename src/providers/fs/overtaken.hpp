// Overtaken: records that the state already has. Packs that no checkpoint dates may be ahead of the
// journal, which then tells again what their instances did before they were packed.
//
// Told by what is in the pack: a turn whose events stand in the history is there with all that it
// did to its instance; what is queued for an instance that has ended, nobody needs.

#pragma once

#include "providers/fs/pack_archive.hpp"
#include "providers/ledger/ledger.hpp"
#include "providers/ledger/record.hpp"

#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

namespace durable::fs {

class Overtaken {
 public:
    Overtaken(ledger::Ledger& ledger, const PackArchive& archive)
        : ledger_{ledger}, archive_{archive} {}

    // nullopt: the record is news. Otherwise what it brought to others, who may not have it yet.
    [[nodiscard]] std::optional<std::vector<ledger::Record>> rest_of(const ledger::Record& record);

 private:
    [[nodiscard]] bool has_all(const std::string& instance,
                               std::uint64_t execution_id,
                               std::span<const ledger::NewEvent> events) const;

    ledger::Ledger& ledger_;
    const PackArchive& archive_;
    std::unordered_set<ledger::Seq> done_; // queue items of packed instances
};

} // namespace durable::fs
