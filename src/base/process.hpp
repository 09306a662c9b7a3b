// The identity of this process and of the running system.

#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace durable {

[[nodiscard]] std::uint64_t process_id() noexcept;

// Remembers the process that made this object. In a child made by fork, the copy's here() is false.
// Asking costs no system call.
class HomeProcess {
 public:
    HomeProcess();
    [[nodiscard]] bool here() const noexcept {
        return forks_ == forks_so_far.load(std::memory_order_relaxed);
    }

 private:
    static std::atomic<std::uint32_t> forks_so_far; // between the first ancestor and this process
    std::uint32_t forks_;
};

// Identifies this boot of the machine; empty when the system does not report it.
[[nodiscard]] std::string boot_id();

} // namespace durable
