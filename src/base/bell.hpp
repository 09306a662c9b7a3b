// Bell: wakes one thread, also one that is only about to sleep.
//
// Rung without the mutex that the sleeper needs next. Shared by whoever may still ring it: the
// sleeper may be gone by then.

#pragma once

#include "base/futex.hpp"

#include <algorithm>

namespace durable {

class Bell {
 public:
    void ring() {
        if (rung_.exchange(1, std::memory_order_acq_rel) == 0) {
            wake_one(rung_);
        }
    }
    [[nodiscard]] bool has_rung() const { return rung_.load(std::memory_order_acquire) != 0; }
    // Until it has rung since the last reset, or the time is up. May return early.
    void wait(Duration longest) {
        if (!has_rung()) {
            sleep_while(rung_, 0, std::max(longest, Duration::zero()));
        }
    }
    // What was done before it rang is seen by whoever looks after this.
    void reset() { rung_.exchange(0, std::memory_order_acq_rel); }

 private:
    FutexWord rung_{0};
};

} // namespace durable
