// StoreAccess: which users of the machine may open the files that a store makes.

#pragma once

#include <cstdint>

namespace durable {

// Holds for files that the store makes, whatever the umask. Existing files keep their permissions;
// opening a store warns once when more users than these can read it.
enum class StoreAccess : std::uint8_t {
    owner, // the user of the process alone: directories 0700, files 0600
    group, // and the group of the new files: directories 0770, files 0660
};

} // namespace durable
