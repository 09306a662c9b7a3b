#include "base/process.hpp"

#include <unistd.h>

namespace durable {

std::uint64_t process_id() noexcept {
    return static_cast<std::uint64_t>(::getpid());
}

} // namespace durable
