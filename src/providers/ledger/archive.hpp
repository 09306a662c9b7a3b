// Archive: where a store keeps finished instances that are not in memory.
//
// An instance in the archive is known, only not here: the table asks for it when it is looked up,
// and the archive gives it to the ledger with Ledger::bring_back. What cannot be read is not known
// for this once; the archive remembers why, and its owner refuses the call.

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

    // Brings the instance back into the ledger, if it has it.
    virtual void bring(std::string_view id) = 0;
    virtual void bring_children(std::string_view parent) = 0;
};

// Instances to be brought back while nobody waits: what it brought stays here as long as it lives.
class Errand {
 public:
    Errand() = default;
    Errand(const Errand&) = delete;
    Errand& operator=(const Errand&) = delete;
    virtual ~Errand() = default;

    // Without the mutex of the ledger.
    [[nodiscard]] virtual Result<> run() = 0;
};

} // namespace durable::ledger
