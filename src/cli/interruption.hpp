// Interruption: notes a signal that asks the program to end (Ctrl-C, a closed terminal, a
// shutdown), so that it can clean up first.

#pragma once

#include <array>
#include <csignal>

namespace durable::cli {

// While the object lives, the first such signal is only noted; the next one ends the program at
// once. At most one object exists at a time.
class Interruption {
 public:
    Interruption();
    ~Interruption();
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;

    [[nodiscard]] static int signal() noexcept; // 0: none came

 private:
    static constexpr std::array signals{SIGINT, SIGTERM, SIGHUP};
    std::array<struct sigaction, signals.size()> before_{};
};

} // namespace durable::cli
