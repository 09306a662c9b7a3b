// Slots that carry more than a result.

#pragma once

#include <durable/detail/step.hpp>
#include <durable/result.hpp>
#include <durable/task.hpp>

#include <cstdint>
#include <source_location>
#include <string>
#include <utility>

namespace durable::replay {

// A wait for a message from outside. Keeps the name and the sequence of its message, so that the
// message can go back to the mailbox.
struct WaitSlot : detail::Slot {
    WaitSlot(detail::Engine& owner,
             detail::StepKind step,
             std::string_view waits_for,
             std::source_location location)
        : Slot{owner, step, location}, name{waits_for} {}

    std::string name;
    std::uint64_t sequence = 0;
};

// A call with retries: several steps that look like one. The loop is a coroutine of our own.
struct RetrySlot : detail::Slot, detail::Waiter {
    RetrySlot(detail::Engine& owner,
              std::uint64_t first_step,
              Task<Outcome<std::string>> attempts,
              std::source_location location)
        : Slot{owner, detail::StepKind::retry, location},
          Waiter{&finished},
          loop{std::move(attempts)} {
        event_id = first_step;
        loop.start(); // may throw: this does not wait for it yet
        loop.source()->set_waiter(this);
    }
    RetrySlot(const RetrySlot&) = delete;
    RetrySlot& operator=(const RetrySlot&) = delete;
    ~RetrySlot() {
        if (Waiter::source != nullptr) {
            Waiter::source->set_waiter(nullptr); // waiter and loop are both destroyed
        }
    }

    Task<Outcome<std::string>> loop;

 private:
    static void finished(Waiter& self, detail::Source&) noexcept;
};

struct KeptCall;

// The operation of a KeptCall: of the code that made it, or of the compensation that waits for it.
struct KeptSlot : detail::Slot {
    KeptSlot(detail::Engine& owner,
             KeptCall& of,
             std::uint64_t step,
             std::source_location location);
    KeptSlot(const KeptSlot&) = delete;
    KeptSlot& operator=(const KeptSlot&) = delete;
    ~KeptSlot();

    KeptCall* call; // nullptr: gone
};

// Destroys a slot as the type that its kind says.
void destroy(detail::Slot* slot) noexcept;

} // namespace durable::replay
