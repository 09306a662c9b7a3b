#include "cli/bench/stall_probe.hpp"

#include "base/stopwatch.hpp"

#include <system_error>

#include <pthread.h>
#include <sched.h>

namespace durable::cli {

StallProbe::StallProbe() {
    const std::size_t cores = std::thread::hardware_concurrency();
    try {
        while (threads_.size() < cores) {
            threads_.emplace_back(
                [this, core = threads_.size()](const std::stop_token& stop) { watch(stop, core); });
        }
    } catch (const std::system_error&) {
        // Fewer see less; whoever runs out of threads will hear of it elsewhere.
    }
}

void StallProbe::watch(const std::stop_token& stop, std::size_t core) {
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(core, &own);
    // Where the process may not use that core, it watches another one.
    (void)::pthread_setaffinity_np(::pthread_self(), sizeof own, &own);
    constexpr Duration nap{1};
    while (!stop.stop_requested()) {
        const Stopwatch watch;
        sleep_while(never_, 0, nap);
        const auto late = (watch.elapsed() - nap).count();
        auto longest = longest_.load();
        while (late > longest && !longest_.compare_exchange_weak(longest, late)) {
        }
    }
}

} // namespace durable::cli
