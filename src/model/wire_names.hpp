// The names of events, messages and errors on the wire, in the order of their variants.

#pragma once

#include <durable/error_details.hpp>
#include <durable/history_event.hpp>
#include <durable/work_item.hpp>

#include <array>
#include <string_view>
#include <variant>

namespace durable::wire {

inline constexpr std::array event_names = {
    std::string_view{"OrchestrationStarted"},
    std::string_view{"OrchestrationCompleted"},
    std::string_view{"OrchestrationFailed"},
    std::string_view{"OrchestrationContinuedAsNew"},
    std::string_view{"OrchestrationCancelRequested"},
    std::string_view{"ActivityScheduled"},
    std::string_view{"ActivityCompleted"},
    std::string_view{"ActivityFailed"},
    std::string_view{"ActivityCancelRequested"},
    std::string_view{"TimerCreated"},
    std::string_view{"TimerFired"},
    std::string_view{"TimerCancelRequested"},
    std::string_view{"ExternalSubscribed"},
    std::string_view{"ExternalEvent"},
    std::string_view{"ExternalSubscribedCancelled"},
    std::string_view{"ExternalSubscribedPersistent"},
    std::string_view{"ExternalEventPersistent"},
    std::string_view{"ExternalSubscribedPersistentCancelled"},
    std::string_view{"OrchestrationChained"},
    std::string_view{"SubOrchestrationScheduled"},
    std::string_view{"SubOrchestrationCompleted"},
    std::string_view{"SubOrchestrationFailed"},
    std::string_view{"SubOrchestrationCancelRequested"},
    std::string_view{"CustomStatusUpdated"},
    std::string_view{"KeyValueSet"},
    std::string_view{"KeyValueCleared"},
    std::string_view{"KeyValuesCleared"},
    std::string_view{"PatchMarked"},
};
static_assert(event_names.size() == std::variant_size_v<history::Kind>);

inline constexpr std::array item_names = {
    std::string_view{"StartOrchestration"},
    std::string_view{"ContinueAsNew"},
    std::string_view{"ActivityExecute"},
    std::string_view{"ActivityCompleted"},
    std::string_view{"ActivityFailed"},
    std::string_view{"TimerFired"},
    std::string_view{"ExternalRaised"},
    std::string_view{"QueueMessage"},
    std::string_view{"SubOrchCompleted"},
    std::string_view{"SubOrchFailed"},
    std::string_view{"CancelInstance"},
};
static_assert(item_names.size() == std::variant_size_v<WorkItem>);

inline constexpr std::array details_names = {
    std::string_view{"Infrastructure"},
    std::string_view{"Configuration"},
    std::string_view{"Application"},
    std::string_view{"Poison"},
};
static_assert(details_names.size() == std::variant_size_v<ErrorDetails>);

} // namespace durable::wire
