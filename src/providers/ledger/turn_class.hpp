// TurnClass: what a fetch needs to be given an instance's turn (version, code). Ready instances
// stand in one heap per class: a fetch compares the heads of a few heaps, however many wait.

#pragma once

#include "base/check.hpp"
#include "providers/ledger/instance.hpp"
#include "providers/rules/delivery.hpp"

#include <durable/provider.hpp>
#include <durable/version.hpp>

#include <compare>
#include <string>
#include <string_view>
#include <tuple>

namespace durable::ledger {

// P16: how many suspects are under live leases of fetches that take one at a time. One for both
// queues.
struct SuspectHold {
    std::uint32_t held = 0;
    bool freed = false; // the last one has ended, and waiting fetches were not called yet

    void take() noexcept { ++held; }
    void give_back() noexcept {
        DURABLE_CHECK(held > 0, "only a suspect that is held can be given back");
        freed = --held == 0;
    }
};

// P14: which code the next turn of an instance needs.
[[nodiscard]] CodeNeed code_needed(const Instance& instance);

template <class Text>
struct BasicTurnClass {
    const Version* pinned = nullptr; // interned; nullptr: every filter accepts it
    bool any_code = true;
    Text name{};
    Text version{};
    bool suspect = false;
    bool cancelled = false; // a CancelInstance is among its visible messages

    [[nodiscard]] auto key() const noexcept {
        return std::tuple{pinned,
                          any_code,
                          std::string_view{name},
                          std::string_view{version},
                          suspect,
                          cancelled};
    }
};

using TurnClass = BasicTurnClass<std::string>;
using TurnClassView = BasicTurnClass<std::string_view>;

struct TurnClassLess {
    using is_transparent = void;

    template <class A, class B>
    bool operator()(const A& a, const B& b) const noexcept {
        return a.key() < b.key();
    }
};

// Whether a fetch may take instances of a class. `late`: it lacks the code, and may take one whose
// cancellation has waited for OrchestrationCode::cancelled_for.
enum class Suits : std::uint8_t { no, late, yes };

[[nodiscard]] Suits
suits(const FetchOrchestration& request, const TurnClass& turn, const SuspectHold& hold);

} // namespace durable::ledger
