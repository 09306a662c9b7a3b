// The lightest store: a directory of small files, and no index of them. See README.md.

#pragma once

#include <durable/provider.hpp>
#include <durable/result.hpp>
#include <durable/time.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace files_store {

// Called before every call that changes the disk, with its name and file: tests stop a store there.
using Observer = std::function<void(std::string_view call, const std::string& file)>;

struct Options {
    std::shared_ptr<durable::Clock> clock{}; // nullptr: the machine's
    // power_loss: changes are synced. process_crash: they are left to the system.
    durable::Durability durability = durable::Durability::power_loss;
    // How long a message waits for an instance that has not started (P6).
    durable::Timespan unstarted_message_ttl = std::chrono::hours{1};
    Observer observer{};
};

// Opens the store in this directory, which is made if it does not exist.
//   unavailable  another process has it open, or the disk refused
//   corrupt      commit.json cannot be read
[[nodiscard]] durable::Result<std::shared_ptr<durable::Provider>> open(const std::string& directory,
                                                                       Options options = {});

} // namespace files_store
