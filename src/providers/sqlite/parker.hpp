// Parker: where one thread sleeps until it is woken. Whoever wakes it shares it, because the
// sleeper may be gone by then; so nobody needs to hold a lock while waking many.

#pragma once

#include "base/bell.hpp"

#include <durable/time.hpp>

#include <memory>

namespace durable::sqlite {

class Parker {
 public:
    explicit Parker(Clock& clock)
        : clock_{clock}, on_jump_{clock.on_jump([this] { bell_.ring(); })} {}

    void wake() { bell_.ring(); }
    // Returns when it was woken, also beforehand, or after `longest` of the clock's time; perhaps
    // earlier. Time that is moved by hand wakes.
    void park(Duration longest) {
        bell_.wait(clock_.real_time(longest));
        bell_.reset();
    }

 private:
    Clock& clock_;
    Bell bell_;
    std::shared_ptr<void> on_jump_; // last: destroyed first
};

} // namespace durable::sqlite
