// NondeterminismReport: why today's code cannot continue a recorded history, for a person to read.
//
//     error E2001 in Checkout 1.0.0, instance order-7, execution 1, event 4
//       history   ActivityScheduled "ChargeCard", made at checkout.cpp:41
//       code      ActivityScheduled "ChargeCustomer", at checkout.cpp:44
//       differs   name: "ChargeCard" / "ChargeCustomer"
//       to do     ...
//
// User code never sees it: the turn is dropped, and the runtime parks the instance (default) or
// fails it.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace durable::replay {

enum class NondeterminismKind : std::uint8_t {
    different, // history and code both made a step here, but not the same one
    missing,   // history has a step that the code no longer makes
    extra,     // the code made a step that history does not have
    corrupt,   // the history itself is impossible: no code could have written it
    unmatched, // a message answers a step that does not exist, or one of another kind
    stuck,     // the coroutine is unfinished but waits for no step
    order,     // the compiler evaluated the operands of a combinator in another order than written
};

// "E2001": names the kind of difference in logs and in docs/determinism.md.
[[nodiscard]] std::string_view code_of(NondeterminismKind kind) noexcept;
[[nodiscard]] std::string_view advice_for(NondeterminismKind kind) noexcept;

struct NondeterminismReport {
    NondeterminismKind kind = NondeterminismKind::different;
    std::string orchestration; // "Checkout 1.0.0"
    std::string instance;
    std::uint64_t execution_id = 0;
    std::uint64_t event_id = 0; // where in the history; 0: after its end

    std::string expected;          // what history says; empty: nothing
    std::string expected_location; // where that step was made, when the event remembers
    std::string actual;            // what the code did; empty: nothing
    std::string actual_location;   // "checkout.cpp:44"; empty: unknown
    std::string failed_before;     // how the code failed, when that is why it did this
    std::string difference;        // the first field that differs, both values
    std::string advice;            // what to do about it

    // One line, for the failure details and for logs.
    [[nodiscard]] std::string summary() const;
    // The whole page above.
    [[nodiscard]] std::string text() const;
};

} // namespace durable::replay
