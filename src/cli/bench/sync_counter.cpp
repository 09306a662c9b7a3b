#include "cli/bench/sync_counter.hpp"

#include <atomic>

#include <sys/syscall.h>
#include <unistd.h>

namespace durable::cli {

namespace {

constinit std::atomic<std::uint64_t> calls{0};

} // namespace

std::uint64_t sync_calls() noexcept {
    return calls.load(std::memory_order_relaxed);
}

} // namespace durable::cli

// The program's own definitions replace the C library's, also for shared libraries: a store needs
// no counter of its own. The linker finds them by name, so they are not internal.
// NOLINTBEGIN(misc-use-internal-linkage)
extern "C" int fdatasync(int descriptor) {
    durable::cli::calls.fetch_add(1, std::memory_order_relaxed);
    return static_cast<int>(::syscall(SYS_fdatasync, descriptor));
}

extern "C" int fsync(int descriptor) {
    durable::cli::calls.fetch_add(1, std::memory_order_relaxed);
    return static_cast<int>(::syscall(SYS_fsync, descriptor));
}
// NOLINTEND(misc-use-internal-linkage)
