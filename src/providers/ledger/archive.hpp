// Archive: where a store keeps finished instances that are not in memory.
//
// An instance in the archive is known, only not here: the table asks for it when it is looked up,
// and the archive gives it to the ledger with Ledger::bring_back. What cannot be read is not known
// for this once; the archive remembers why, and its owner refuses the call.

#pragma once

#include <string_view>

namespace durable::ledger {

class Archive {
 public:
    Archive() = default;
    Archive(const Archive&) = delete;
    Archive& operator=(const Archive&) = delete;
    virtual ~Archive() = default;

    // Brings the instance back into the ledger, if it has it.
    virtual void bring(std::string_view id) = 0;
    virtual void bring_children(std::string_view parent) = 0;
};

} // namespace durable::ledger
