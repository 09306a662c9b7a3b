// Signal: wakes one thread, also one that is only about to sleep.
//
// A waker sets it without holding the mutex that the sleeper locks next. Wakers share it with the
// sleeper: it outlives a sleeper that is gone before a waker sets it.

#pragma once

#include "base/futex.hpp"

#include <algorithm>

namespace durable {

class Signal {
 public:
    void set() {
        if (word_.exchange(1, std::memory_order_acq_rel) == 0) {
            wake_one(word_);
        }
    }
    [[nodiscard]] bool is_set() const { return word_.load(std::memory_order_acquire) != 0; }
    // For the sleeper: until the signal is set or the time is up. May return early.
    void wait(Duration longest) {
        if (!is_set()) {
            sleep_while(word_, 0, std::max(longest, Duration::zero()));
        }
    }
    // For the sleeper: it sees afterwards whatever a waker wrote before set().
    void reset() { word_.exchange(0, std::memory_order_acq_rel); }

 private:
    FutexWord word_{0};
};

} // namespace durable
