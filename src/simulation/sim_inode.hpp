// One file of the simulated disk: its bytes as programs see them, as the disk has them, and the
// changes in between, of which a crash may drop or damage any.

#pragma once

#include "base/files.hpp"

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace durable::simulation {

struct SimInode {
    // One change that is not durable yet.
    struct Change {
        std::uint64_t offset = 0;
        std::string bytes;                     // a write
        std::optional<std::uint64_t> new_size; // truncate or allocate
    };

    bool directory = false;
    bool locked = false;
    std::string content;         // as programs see it
    std::string durable_content; // as the disk has it
    std::vector<Change> pending;

    void change(Change change);
    // All pending changes reach the disk.
    void make_durable();
    // Some sectors of the pending changes reach the disk, and one of the sizes between the durable
    // one and the current one. The rest is lost.
    void make_partly_durable(std::mt19937_64& random);
};

[[nodiscard]] std::unexpected<FileError>
simulated_error(std::errc code, std::string_view call, std::string_view path);
[[nodiscard]] std::unexpected<FileError> power_is_off(std::string_view call, std::string_view path);

} // namespace durable::simulation
