#include "cli/interruption.hpp"

#include <atomic>
#include <cstddef>

namespace durable::cli {

namespace {

// Atomic, because any thread may get the signal.
std::atomic<int> came{0};
static_assert(std::atomic<int>::is_always_lock_free, "else no handler may touch it");

extern "C" void note_signal(int number) {
    came.store(number);
}

} // namespace

Interruption::Interruption() {
    came.store(0);
    for (std::size_t at = 0; at < signals.size(); ++at) {
        (void)::sigaction(signals[at], nullptr, &before_[at]);
        if (before_[at].sa_handler == SIG_IGN) {
            continue; // nohup: the program's parent chose to ignore this signal
        }
        struct sigaction action{};
        action.sa_handler = note_signal;
        action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
        (void)::sigaction(signals[at], &action, nullptr);
    }
}

Interruption::~Interruption() {
    for (std::size_t at = 0; at < signals.size(); ++at) {
        (void)::sigaction(signals[at], &before_[at], nullptr);
    }
}

int Interruption::signal() noexcept {
    return came.load();
}

} // namespace durable::cli
