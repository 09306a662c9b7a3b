// Archive: where a store keeps finished instances that are not in memory.
//
// An archived instance exists, but not in memory. InstanceTable asks the archive for it when a call
// looks it up, and the archive gives it to the ledger with Ledger::bring_back. Where the archive
// cannot read it, the lookup finds nothing; the archive remembers why, and the provider that owns
// it fails the call.

#pragma once

#include <durable/result.hpp>

#include <string_view>

namespace durable::ledger {

class Archive {
 public:
    Archive() = default;
    Archive(const Archive&) = delete;
    Archive& operator=(const Archive&) = delete;
    virtual ~Archive() = default;

    // Brings the instance back into the ledger; nothing when it is not archived.
    virtual void bring(std::string_view id) = 0;
    virtual void bring_children(std::string_view parent) = 0;
};

// A read of the archive that a call postponed, to make it without the mutex of the ledger. What it
// brought back stays in memory as long as this object lives.
class DeferredRead {
 public:
    DeferredRead() = default;
    DeferredRead(const DeferredRead&) = delete;
    DeferredRead& operator=(const DeferredRead&) = delete;
    virtual ~DeferredRead() = default;

    // Called without the mutex of the ledger.
    [[nodiscard]] virtual Result<> run() = 0;
};

} // namespace durable::ledger
