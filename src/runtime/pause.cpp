#include "runtime/pause.hpp"

#include "base/deadline.hpp"
#include "base/mutex.hpp"

namespace durable::runtime {

bool pause_on(Clock& clock, Duration duration, const std::stop_token& stop) {
    const auto until = deadline_after(clock, duration);
    Mutex mutex;
    WakeUp wake_up{mutex, clock};
    const std::stop_callback on_stop{stop, [&] { wake_up.wake_all(); }};

    const MutexLock lock{mutex};
    while (!stop.stop_requested()) {
        const auto now = clock.steady();
        if (now >= until) {
            return true;
        }
        wake_up.wait(lock, until - now);
    }
    return false;
}

} // namespace durable::runtime
