// Whether a record fits a ledger from which records before it are missing.

#pragma once

#include "providers/ledger/ledger.hpp"
#include "providers/ledger/record.hpp"

#include <optional>
#include <string>

namespace durable::fs {

// Why applying the record would make something that never was; nullopt: what it builds upon is
// there.
[[nodiscard]] std::optional<std::string> why_not_applicable(ledger::Ledger& ledger,
                                                            const ledger::Record& record);

} // namespace durable::fs
