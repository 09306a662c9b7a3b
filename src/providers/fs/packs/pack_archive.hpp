// PackArchive: the packs of a store as the archive of its ledger. It brings a packed instance back
// into memory when a call looks it up. The instance is a *copy* of its line until a record changes
// it.
//
// Not thread-safe: the mutex of the ledger guards it. Reads take long and can be deferred: a lookup
// then only notes what is missing; FsProvider reads it without the mutex and installs it with it.

#pragma once

#include "base/files.hpp"
#include "providers/fs/packs/pack_index.hpp"
#include "providers/ledger/archive.hpp"
#include "providers/ledger/image.hpp"
#include "providers/ledger/ledger.hpp"

#include <durable/result.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace durable::fs {

class PackArchive final : public ledger::Archive {
 public:
    // `directory`: of the packs. The caller also calls InstanceTable::keep_in() with this archive.
    PackArchive(Files& files, std::string directory, ledger::Ledger& ledger)
        : files_{files}, directory_{std::move(directory)}, ledger_{ledger} {}

    PackIndex packs;

    // A pack that a checkpoint names: reads its index, and counts what is live in the ledger.
    //   corrupt  it is missing or not what the checkpoint says, or has an instance that another one
    //            has; the message names it
    [[nodiscard]] Result<> load(const PackRecord& record);
    // The same with an index that is known.
    [[nodiscard]] Result<> add(const PackRecord& record,
                               const std::vector<PackLine>& lines,
                               const std::vector<bool>& live);
    // Whether a live line of a pack is this instance.
    [[nodiscard]] bool holds(std::string_view id) const;

    // ---- Bringing back

    void bring(std::string_view id) override;
    void bring_children(std::string_view parent) override;
    // Whether every lookup since the last call could be answered.
    [[nodiscard]] Result<> looked();

    // The instances that the record changes, brought into the ledger.
    [[nodiscard]] Result<std::vector<std::string>> bring_touched(const ledger::Record& record);
    // These instances are about to change: their lines in packs are dead. Answers how many lines.
    std::uint64_t forget_copies(const std::vector<std::string>& ids);

    // ---- Reading later

    struct Wanted {
        PackPlace place;
        std::shared_ptr<const Pack> pack; // keeps its file
    };
    // From now on lookups only note what is missing, and looked() fails if there is any.
    void defer_reads() noexcept { deferring_ = true; }
    // Answers what was noted; from now on lookups read at once.
    [[nodiscard]] std::vector<Wanted> take_wanted();
    [[nodiscard]] static Result<ledger::InstanceImage>
    read(Files& files, const std::string& directory, const Wanted& wanted);
    // Does nothing when the instance has changed or moved meanwhile, or is in memory.
    void install(PackPlace place, ledger::InstanceImage image);

    // ---- Copies

    [[nodiscard]] std::size_t copies() const noexcept { return copies_.size(); }
    // The line of the copy, if there is one, has moved to `place`.
    void move_copy(const std::string& id, PackPlace place);
    // Takes the oldest ones out of the ledger, some at a time, until there are `most`.
    void drop_copies(std::size_t most);

 private:
    struct Copy {
        PackPlace place;
        std::uint64_t arrival = 0;
    };

    void bring_line(PackPlace place);
    void forget(std::unordered_map<std::string, Copy>::iterator copy);

    Files& files_;
    const std::string directory_;
    ledger::Ledger& ledger_;
    std::unordered_map<std::string, Copy> copies_;
    std::unordered_set<std::uint64_t> lines_here_;               // of copies_
    std::deque<std::pair<std::uint64_t, std::string>> arrivals_; // oldest first
    std::uint64_t next_arrival_ = 0;
    std::optional<Error> unreadable_;
    bool deferring_ = false;
    std::vector<Wanted> wanted_;
};

} // namespace durable::fs
