#include "base/process.hpp"

#include <fstream>

#include <unistd.h>

namespace durable {

std::uint64_t process_id() noexcept {
    return static_cast<std::uint64_t>(::getpid());
}

std::string boot_id() {
    std::ifstream file{"/proc/sys/kernel/random/boot_id"};
    std::string id;
    std::getline(file, id);
    return id;
}

} // namespace durable
