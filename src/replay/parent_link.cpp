#include "replay/parent_link.hpp"

#include <variant>

namespace durable::replay {

std::optional<ParentLink> parent_link(const history::OrchestrationStarted& started) {
    if (!started.parent_instance || !started.parent_id) {
        return std::nullopt;
    }
    return ParentLink{.instance = *started.parent_instance,
                      .id = *started.parent_id,
                      .execution_id = started.parent_execution_id.value_or(1),
                      .incarnation = started.parent_incarnation.value_or(0)};
}

bool same_call(const ParentLink& a, const ParentLink& b) noexcept {
    return a.instance == b.instance && a.id == b.id && a.execution_id == b.execution_id &&
           same_life(a.incarnation, b.incarnation);
}

bool concerns(const work::CancelInstance& cancel,
              const ParentLink* link,
              std::uint64_t incarnation) noexcept {
    if (!same_life(cancel.incarnation.value_or(0), incarnation)) {
        return false;
    }
    if (!cancel.parent_instance || !cancel.parent_id) {
        return true; // a client's
    }
    return link != nullptr && link->instance == *cancel.parent_instance &&
           link->id == *cancel.parent_id &&
           link->execution_id == cancel.parent_execution_id.value_or(1) &&
           same_life(link->incarnation, cancel.parent_incarnation.value_or(0));
}

void stamp(TurnCommit& commit, const std::string& instance, std::uint64_t incarnation) {
    if (incarnation == 0) {
        return;
    }
    for (auto& item : commit.worker_items) {
        if (auto* const activity = std::get_if<work::ActivityExecute>(&item)) {
            activity->incarnation = incarnation;
        }
    }
    for (auto& item : commit.orchestrator_items) {
        if (auto* const start = std::get_if<work::StartOrchestration>(&item);
            start != nullptr && start->parent_instance == instance) {
            start->parent_incarnation = incarnation;
        } else if (auto* const cancel = std::get_if<work::CancelInstance>(&item);
                   cancel != nullptr && cancel->parent_instance == instance) {
            cancel->parent_incarnation = incarnation;
        }
    }
}

} // namespace durable::replay
