// Ticket: a caller who sleeps until others have done its part, or give it a part to do for all.
//
// Whoever calls it goes without a lock, and the caller may be gone a moment later: so the bell
// belongs to its thread, and all who may still ring it.

#pragma once

#include "base/bell.hpp"

#include <durable/time.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace durable::sqlite {

class Ticket {
 public:
    enum class Call : std::uint8_t {
        none,
        lead, // its owner's turn to do what waits, unless somebody else has begun
        done, // for good
    };

    // Sleeps until it is called. Of those who lead nobody is called twice for the same.
    [[nodiscard]] Call wait() {
        for (;;) {
            auto seen = Call::lead;
            if (call_.compare_exchange_strong(seen, Call::none, std::memory_order_acquire) ||
                seen == Call::done) {
                return seen;
            }
            bell_->wait(Duration::max());
            bell_->reset();
        }
    }
    [[nodiscard]] bool is_done() const {
        return call_.load(std::memory_order_acquire) == Call::done;
    }

    // For others. After `done` the ticket is its owner's alone.
    void call(Call what) {
        const auto bell = bell_;
        call_.store(what, std::memory_order_release);
        bell->ring();
    }

 private:
    // A ring that comes late wakes the thread once for nothing.
    static const std::shared_ptr<Bell>& bell_of_this_thread() {
        thread_local const auto bell = std::make_shared<Bell>();
        return bell;
    }

    const std::shared_ptr<Bell> bell_ = bell_of_this_thread();
    std::atomic<Call> call_ = Call::none;
};

} // namespace durable::sqlite
