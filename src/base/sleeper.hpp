// Sleeper: where one thread sleeps until a waker, a jump of its Clock or its stop_token wakes it.
//
// The sleeping thread owns it. Wakers share its signal, which outlives it. Make and destroy it
// without holding a mutex that wakers lock: the clock and the stop token call back into it.

#pragma once

#include "base/mutex.hpp"
#include "base/signal.hpp"

#include <durable/time.hpp>

#include <memory>
#include <optional>
#include <stop_token>

namespace durable {

class Sleeper {
 public:
    explicit Sleeper(Clock& clock, const std::stop_token& stop = {})
        : clock_{clock}, on_jump_{clock.on_jump([signal = signal_] { signal->set(); })} {
        if (stop.stop_possible()) {
            on_stop_.emplace(stop, SetSignal{signal_.get()});
        }
    }

    // Returns when it was woken, also beforehand, or after `longest` of the clock's time. May
    // return early.
    void sleep(Duration longest) {
        signal_->wait(clock_.real_time(longest));
        signal_->reset();
    }
    // The same for a thread that holds a mutex: unlocked while it sleeps.
    void sleep(const MutexLock& lock, Duration longest) {
        lock.sleep(*signal_, clock_.real_time(longest));
    }

    // For wakers.
    void wake() { signal_->set(); }
    void wake(const MutexLock& lock) { lock.set_later(signal_); } // once the mutex is unlocked
    [[nodiscard]] const std::shared_ptr<Signal>& signal() const noexcept { return signal_; }

 private:
    struct SetSignal {
        Signal* signal;
        void operator()() const { signal->set(); }
    };

    Clock& clock_;
    const std::shared_ptr<Signal> signal_ = std::make_shared<Signal>();
    std::shared_ptr<void> on_jump_;
    std::optional<std::stop_callback<SetSignal>> on_stop_; // last: destroyed before what it sets
};

} // namespace durable
