// Snapshot: the state of a ledger at one moment, encoded piece by piece while the ledger goes on.
//
// It walks over the instances in the order in which they were first mentioned. An instance that is
// about to change and was not met yet is encoded first, and waits until the walk comes by; one that
// came later is passed over. So the pieces together are the state of the first moment, and nobody
// waits longer than for one piece.

#pragma once

#include "providers/ledger/ledger.hpp"
#include "providers/ledger/record.hpp"

#include <durable/result.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace durable::fs {

class Snapshot {
 public:
    // Of now. One at a time: it uses the ledger's only walk.
    explicit Snapshot(ledger::Ledger& ledger);

    // To be called before a record is applied.
    [[nodiscard]] Result<> keep(ledger::Ledger& ledger, const ledger::Record& record);

    // Appends whole frames (frame.hpp), some more than `bytes`: what belongs to no instance first,
    // then the instances, oldest first. False: that was the last.
    [[nodiscard]] Result<bool>
    encode_some(ledger::Ledger& ledger, std::string& out, std::size_t bytes);

    [[nodiscard]] std::uint64_t instances() const noexcept { return instances_; } // encoded so far

 private:
    [[nodiscard]] Result<> encode_next(const ledger::Instance& instance, std::string& out);
    void put_kept_below(std::uint64_t incarnation, std::string& out);

    ledger::RestImage rest_;
    bool rest_encoded_ = false;
    const std::uint64_t end_;                   // instances from this incarnation on are younger
    std::uint64_t met_ = 0;                     // the walk is behind this incarnation
    std::map<std::uint64_t, std::string> kept_; // by incarnation: frames that wait for the walk
    std::uint64_t instances_ = 0;
};

} // namespace durable::fs
