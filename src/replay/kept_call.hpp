// KeptCall: a call that the engine owns, so that it outlives the operation that the code has of it:
// because a cancellation waits for its end, or because it must be undone after its end.

#pragma once

#include "replay/engine.hpp"
#include "replay/slots.hpp"

#include <durable/operation.hpp>
#include <durable/result.hpp>
#include <durable/step.hpp>
#include <durable/task.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace durable::replay {

struct KeptCall : detail::Waiter {
    KeptCall() : Waiter{&inner_ended} {}
    KeptCall(const KeptCall&) = delete;
    KeptCall& operator=(const KeptCall&) = delete;
    ~KeptCall();

    // The code has its result.
    [[nodiscard]] bool observed() const noexcept {
        return taken || (slot != nullptr && slot->taken);
    }
    // Asks it to stop, if it is under way: what becomes of it is not known.
    void give_up();

    std::uint64_t id = 0; // the step of its first attempt
    std::string input;    // as recorded
    bool waits = false;   // a cancellation waits for its end
    // Of the activity that undoes it.
    std::optional<Compensation> undo;

    std::optional<Operation<std::string>> inner;
    KeptSlot* slot = nullptr; // nullptr: the operation is gone
    bool taken = false;       // before it went
    bool dropped = false;     // the code gave it up
    bool ended = false;
    bool* unanswered = nullptr; // an attempt was given up before it had answered; the engine's
    Outcome<std::string> outcome;

    bool undo_begun = false;
    std::optional<Task<void>> undo_task; // beside the code, of a call that was dropped

 private:
    static void inner_ended(Waiter& self, detail::Source& source) noexcept;
};

} // namespace durable::replay
