// Parker: where one thread sleeps until it is woken.
//
// It belongs to that thread. Whoever wakes many shares the bells, not the parkers: the sleeper may
// be gone by then, and a parker must not end in a call of the clock, which it is registered with.

#pragma once

#include "base/bell.hpp"

#include <durable/time.hpp>

#include <memory>

namespace durable::sqlite {

class Parker {
 public:
    explicit Parker(Clock& clock)
        : clock_{clock}, on_jump_{clock.on_jump([bell = bell_] { bell->ring(); })} {}

    [[nodiscard]] const std::shared_ptr<Bell>& bell() const noexcept { return bell_; }
    void wake() { bell_->ring(); }
    // Returns when it was woken, also beforehand, or after `longest` of the clock's time; perhaps
    // earlier. Time that is moved by hand wakes.
    void park(Duration longest) {
        bell_->wait(clock_.real_time(longest));
        bell_->reset();
    }

 private:
    Clock& clock_;
    const std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
    std::shared_ptr<void> on_jump_;
};

} // namespace durable::sqlite
