// Who a message is meant for. An id does not say it: it may be taken by a stranger, and it may be
// used again after a deletion. The call that a child answers, and incarnations, do.

#pragma once

#include <durable/history_event.hpp>
#include <durable/provider.hpp>
#include <durable/work_item.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace durable::replay {

// The call that an instance was started by and answers to.
struct ParentLink {
    std::string instance;
    std::uint64_t id = 0; // of the step
    std::uint64_t execution_id = 1;
    std::uint64_t incarnation = 0; // 0: unknown, then the id alone counts
    bool operator==(const ParentLink&) const = default;
};

// nullopt: started by a client, or detached.
[[nodiscard]] std::optional<ParentLink> parent_link(const history::OrchestrationStarted& started);

// Whether two incarnations can be the same; 0 is not compared.
[[nodiscard]] constexpr bool same_life(std::uint64_t a, std::uint64_t b) noexcept {
    return a == 0 || b == 0 || a == b;
}

// As messages carry it.
[[nodiscard]] constexpr std::optional<std::uint64_t>
known_life(std::uint64_t incarnation) noexcept {
    return incarnation == 0 ? std::nullopt : std::optional{incarnation};
}

[[nodiscard]] bool same_call(const ParentLink& a, const ParentLink& b) noexcept;

// Whether a cancellation concerns the instance with this link (nullptr: nobody's child) and
// incarnation: a client's unless it names another incarnation, a parent's if it is the own one.
[[nodiscard]] bool concerns(const work::CancelInstance& cancel,
                            const ParentLink* link,
                            std::uint64_t incarnation) noexcept;

// Writes the sender's incarnation to what only its own life may be answered for: activities,
// children's starts and cancellations. No decision: replay does not compare it. 0: leaves them.
void stamp(TurnCommit& commit, const std::string& instance, std::uint64_t incarnation);

} // namespace durable::replay
