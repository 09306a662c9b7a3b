// Which instance a message is meant for. Its id is not enough: another parent may have started an
// instance of that id, or the id was used again after a deletion. The parent's call and the
// incarnation tell them apart.

#pragma once

#include <durable/history_event.hpp>
#include <durable/provider.hpp>
#include <durable/work_item.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace durable::replay {

// The parent's call that started an instance, and that the instance answers.
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

// In the form that messages carry: nullopt for unknown.
[[nodiscard]] constexpr std::optional<std::uint64_t>
known_life(std::uint64_t incarnation) noexcept {
    return incarnation == 0 ? std::nullopt : std::optional{incarnation};
}

[[nodiscard]] bool same_call(const ParentLink& a, const ParentLink& b) noexcept;

// Whether a cancellation concerns the instance with this link (nullptr: it has no parent) and
// incarnation: a client's does unless it names another incarnation, a parent's if its call is the
// one of the link.
[[nodiscard]] bool concerns(const work::CancelInstance& cancel,
                            const ParentLink* link,
                            std::uint64_t incarnation) noexcept;

// Writes the sender's incarnation into activities, children's starts and cancellations, so that
// only this incarnation gets their answers. No decision: replay does not compare it. 0: writes
// nothing.
void stamp(TurnCommit& commit, const std::string& instance, std::uint64_t incarnation);

} // namespace durable::replay
