// KeptCall: a call that the engine owns, so that it outlives the code's operation: because a
// cancellation waits for its end, or because it must be undone after its end.

#pragma once

#include "replay/engine.hpp"
#include "replay/slots.hpp"

#include <durable/detail/step.hpp>
#include <durable/operation.hpp>
#include <durable/result.hpp>
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
    // Asks it to stop, if it is under way. Its outcome is unknown then.
    void give_up();

    std::uint64_t id = 0; // the step of its first attempt
    std::string input;    // as recorded
    bool waits = false;   // a cancellation waits for its end
    // Of the activity that undoes it.
    std::optional<Compensation> undo;

    std::optional<Operation<std::string>> inner;
    KeptSlot* slot = nullptr; // nullptr: the operation is gone
    bool taken = false;       // the code took the result before the operation was gone
    bool dropped = false;     // the code gave it up
    bool ended = false;
    bool* unanswered = nullptr; // an attempt was given up before its answer; owned by the engine
    Outcome<std::string> outcome;

    bool undo_begun = false;
    std::optional<Task<void>> undo_task; // undoes a dropped call while the code goes on

 private:
    static void inner_ended(Waiter& self, detail::Source& source) noexcept;
};

} // namespace durable::replay
