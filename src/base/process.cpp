#include "base/process.hpp"

#include <cstdlib>
#include <fstream>

#include <pthread.h>
#include <unistd.h>

namespace durable {

std::uint64_t process_id() noexcept {
    return static_cast<std::uint64_t>(::getpid());
}

std::atomic<std::uint32_t> HomeProcess::forks_so_far{0};

HomeProcess::HomeProcess() {
    static const bool counting =
        ::pthread_atfork(nullptr, nullptr, [] { forks_so_far.fetch_add(1); }) == 0;
    if (!counting) {
        std::abort(); // out of memory: a child could not notice that it was forked
    }
    forks_ = forks_so_far.load();
}

std::string boot_id() {
    std::ifstream file{"/proc/sys/kernel/random/boot_id"};
    std::string id;
    std::getline(file, id);
    return id;
}

} // namespace durable
