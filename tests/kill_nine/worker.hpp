// One life of the worker process: recovers the store, writes into the diary what it finds there,
// then runs orders under load until it is killed.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace durable::kill_nine {

struct Life {
    std::string directory;    // the store is below it, beside the diaries
    std::uint64_t number = 0; // odd ones have small segments and checkpoints: see worker.cpp
    bool last = false;        // starts nothing new, waits for everything, and returns
    std::vector<std::string> send_again;

    [[nodiscard]] std::string store() const { return directory + "/store"; }
    [[nodiscard]] std::string diary() const {
        return directory + "/diary." + std::to_string(number);
    }
};

// Calls `ready` when the look into the store is written down. Throws std::runtime_error when the
// store refuses anything.
void live(const Life& life, void (*ready)());

} // namespace durable::kill_nine
