// What a program knows about itself.

#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace durable {

[[nodiscard]] std::uint64_t process_id() noexcept;

// The process that made this object. A child made by fork has a copy of it, and is another one.
// Asking costs no system call.
class HomeProcess {
 public:
    HomeProcess();
    [[nodiscard]] bool here() const noexcept {
        return forks_ == forks_so_far.load(std::memory_order_relaxed);
    }

 private:
    static std::atomic<std::uint32_t> forks_so_far; // on the way from the first process to this one
    std::uint32_t forks_;
};

// Names the run of the machine, from one start to the next; empty when the system does not tell.
[[nodiscard]] std::string boot_id();

} // namespace durable
