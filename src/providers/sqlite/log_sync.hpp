// LogSync: whether what was committed is on the disk.
//
// Commits reach the write-ahead log in their order and are seen at once; a crash of the machine
// loses some of the last ones, never one in the middle. So a commit may be built upon before it is
// on the disk, as long as nothing that depends on it leaves the process. Whoever is about to tell
// the world something asks here first. One sync serves all who asked before it began.

#pragma once

#include "providers/sqlite/connection.hpp"

#include <durable/result.hpp>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace durable::sqlite {

class LogSync {
 public:
    // A connection that only looks.
    explicit LogSync(std::unique_ptr<Connection> observer);

    // Who knows the version of the last commit of this process; before anything else.
    void learn_versions_from(std::function<std::uint64_t()> committed) {
        committed_ = std::move(committed);
    }

    // Returns when the store of this version (Counters::version) is on the disk, whichever process
    // made it; nullopt: everything that was committed so far. After a sync has failed nobody knows
    // what the disk holds: from then on it only fails.
    [[nodiscard]] Result<> ensure(std::optional<std::uint64_t> version);

 private:
    void lead(std::unique_lock<std::mutex>& lock);

    const std::unique_ptr<Connection> observer_; // used by whoever leads a round: one at most
    std::function<std::uint64_t()> committed_;

    std::mutex mutex_;                             // guards what follows
    std::array<std::condition_variable, 2> ended_; // of even rounds, of odd rounds
    std::uint64_t rounds_ = 0;                     // that have ended
    std::uint64_t synced_ = 0;                     // the highest version on the disk
    bool syncing_ = false;
    std::uint64_t round_covers_ = 0; // the version that the round under way will sync; 0: unknown
    std::optional<Error> broken_;
};

} // namespace durable::sqlite
