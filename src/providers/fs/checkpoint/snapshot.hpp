// Snapshot: the state of a ledger at one moment, encoded piece by piece while calls change it.
//
// The housekeeper calls it under the mutex of the ledger, one piece at a time; FsProvider calls
// keep() before each change. It walks over the instances in memory. One that is about to change and
// was not visited yet is encoded first; one that came later counts as visited; an unchanged copy of
// a pack is left out. So the pieces together are the state of the first moment, and a call waits
// for at most one piece.

#pragma once

#include "providers/fs/packs/pack_file.hpp"
#include "providers/ledger/ledger.hpp"
#include "providers/ledger/record.hpp"

#include <durable/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace durable::fs {

class Snapshot {
 public:
    // Of the state now, with these packs. One at a time: it uses the ledger's only walk.
    explicit Snapshot(ledger::Ledger& ledger, const std::vector<PackRecord>& packs = {});

    // Called before a record is applied: encodes the instances that it changes.
    [[nodiscard]] Result<> keep(ledger::Ledger& ledger, const ledger::Record& record);

    // Appends whole frames (frame.hpp), some more than `bytes`: what belongs to no instance first,
    // then the packs, then the instances. False: that was the last.
    [[nodiscard]] Result<bool>
    encode_some(ledger::Ledger& ledger, std::string& out, std::size_t bytes);

    [[nodiscard]] std::uint64_t instances() const noexcept { return instances_; } // encoded so far
    [[nodiscard]] std::uint64_t packs() const noexcept { return pack_count_; }

 private:
    [[nodiscard]] Result<>
    encode_once(ledger::Ledger& ledger, ledger::Instance& instance, std::string& out);

    ledger::RestImage rest_;
    std::string packs_; // frames
    std::uint64_t pack_count_;
    bool rest_encoded_ = false;
    std::string kept_; // frames of those that were about to change
    std::uint64_t instances_ = 0;
};

} // namespace durable::fs
