#include "cli/interruption.hpp"

#include <cstddef>

namespace durable::cli {

namespace {

volatile std::sig_atomic_t came = 0;

extern "C" void note_signal(int number) {
    came = number;
}

} // namespace

Interruption::Interruption() {
    came = 0;
    for (std::size_t at = 0; at < signals.size(); ++at) {
        (void)::sigaction(signals[at], nullptr, &before_[at]);
        if (before_[at].sa_handler == SIG_IGN) {
            continue; // nohup: whoever began the program does not want it to end
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
    return came;
}

} // namespace durable::cli
