#include "fuzz/wire_schema.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace durable::fuzz {

namespace {

using nlohmann::json;

// name:type, then how the member may be absent.
//   types   s string   n u64   c u32   b boolean   p array of [name,data]   e error
//           K application kind   M poison message type   N "Nondeterminism"
//   absent  (nothing) never   ? written as null   - left out   ~ left out when "" or false   = has
//   a default
struct Shape {
    std::string_view name;
    std::string_view members;
};

constexpr std::string_view common_members =
    "event_id:n source_event_id:n? instance_id:s execution_id:n timestamp_ms:n "
    "duroxide_version:s type:s location:s~ ";

constexpr std::array events = std::to_array<Shape>({
    {"OrchestrationStarted",
     "name:s version:s input:s parent_instance:s? parent_id:n? carry_forward_events:p- "
     "initial_custom_status:s- parent_execution_id:n- carry_forward_raised:p- "
     "carry_forward_order:s~ rules:n- parent_incarnation:n-"},
    {"OrchestrationCompleted", "output:s"},
    {"OrchestrationFailed", "details:e ended_by:s~"},
    {"ActivityScheduled", "name:s input:s session_id:s- tag:s- on_cancel:s- undo:s-"},
    {"ActivityCompleted", "result:s"},
    {"ActivityFailed", "details:e"},
    {"ActivityCancelRequested", "reason:s"},
    {"TimerCreated", "fire_at_ms:n"},
    {"TimerFired", "fire_at_ms:n"},
    {"TimerCancelRequested", "reason:s"},
    {"ExternalSubscribed", "name:s"},
    {"ExternalEvent", "name:s data:s"},
    {"OrchestrationChained", "name:s instance:s input:s"},
    {"SubOrchestrationScheduled", "name:s instance:s input:s when_dropped:s~"},
    {"SubOrchestrationCompleted", "result:s"},
    {"SubOrchestrationFailed", "details:e"},
    {"SubOrchestrationCancelRequested", "reason:s"},
    {"OrchestrationContinuedAsNew", "input:s"},
    {"OrchestrationCancelRequested", "reason:s"},
    {"ExternalSubscribedCancelled", "reason:s"},
    {"ExternalSubscribedPersistent", "name:s"},
    {"ExternalEventPersistent", "name:s data:s"},
    {"ExternalSubscribedPersistentCancelled", "reason:s"},
    {"CustomStatusUpdated", "status:s?"},
    {"KeyValueSet", "key:s value:s last_updated_at_ms:n="},
    {"KeyValueCleared", "key:s"},
    {"KeyValuesCleared", ""},
    {"PatchMarked", "id:s"},
});

constexpr std::array work_items = std::to_array<Shape>({
    {"StartOrchestration",
     "instance:s orchestration:s input:s version:s? parent_instance:s? parent_id:n? "
     "execution_id:n parent_execution_id:n- parent_incarnation:n-"},
    {"ActivityExecute",
     "instance:s execution_id:n id:n name:s input:s session_id:s- tag:s- orchestration:s~ "
     "orchestration_version:s~ call_id:n- call_attempt:c- incarnation:n-"},
    {"ActivityCompleted", "instance:s execution_id:n id:n result:s"},
    {"ActivityFailed", "instance:s execution_id:n id:n details:e"},
    {"TimerFired", "instance:s execution_id:n id:n fire_at_ms:n"},
    {"ExternalRaised", "instance:s name:s data:s"},
    {"SubOrchCompleted",
     "parent_instance:s parent_execution_id:n parent_id:n result:s parent_incarnation:n-"},
    {"SubOrchFailed",
     "parent_instance:s parent_execution_id:n parent_id:n details:e parent_incarnation:n-"},
    {"CancelInstance",
     "instance:s reason:s parent_instance:s- parent_execution_id:n- parent_id:n- "
     "parent_incarnation:n- incarnation:n-"},
    {"ContinueAsNew",
     "instance:s orchestration:s input:s version:s? carry_forward_events:p= "
     "initial_custom_status:s- parent_instance:s- parent_id:n- parent_execution_id:n- "
     "carry_forward_raised:p- carry_forward_order:s~ parent_incarnation:n-"},
    {"QueueMessage", "instance:s name:s data:s"},
});

constexpr std::array errors = std::to_array<Shape>({
    {"Infrastructure", "operation:s message:s retryable:b"},
    {"Configuration", "kind:N resource:s message:s?"},
    {"Application", "kind:K message:s retryable:b failure_kind:s~ activity:s~ permanent:b~"},
    {"Poison", "attempt_count:c max_attempts:c message_type:M message:s cause:s~ permanent:b~"},
});

constexpr std::array application_kinds = std::to_array<Shape>({{"Cancelled", "reason:s"}});

constexpr std::array poison_kinds = std::to_array<Shape>({
    {"Orchestration", "instance:s execution_id:n"},
    {"Activity", "instance:s execution_id:n activity_name:s activity_id:n"},
    {"FailedDeserialization", "instance:s execution_id:n error:s"},
});

std::optional<json> canonical_tagged(const json& value, std::span<const Shape> shapes);

bool is_pairs(const json& value) {
    return value.is_array() && std::ranges::all_of(value, [](const json& pair) {
               return pair.is_array() && pair.size() == 2 && pair[0].is_string() &&
                      pair[1].is_string();
           });
}

std::optional<json> accepted_if(bool fits, const json& value) {
    return fits ? std::optional{value} : std::nullopt;
}

std::optional<json> canonical_value(const json& value, char type) {
    switch (type) {
    case 's':
        return accepted_if(value.is_string(), value);
    case 'n':
        return accepted_if(value.is_number_unsigned(), value);
    case 'c':
        return accepted_if(value.is_number_unsigned() &&
                               value.get<std::uint64_t>() <=
                                   std::numeric_limits<std::uint32_t>::max(),
                           value);
    case 'b':
        return accepted_if(value.is_boolean(), value);
    case 'p':
        return accepted_if(is_pairs(value), value);
    case 'N':
        return accepted_if(value == "Nondeterminism", value);
    case 'e':
        return canonical_tagged(value, errors);
    case 'K':
        return value.is_object()
                   ? canonical_tagged(value, application_kinds)
                   : accepted_if(value == "ActivityFailed" || value == "OrchestrationFailed" ||
                                     value == "Panicked",
                                 value);
    default: // 'M'
        return canonical_tagged(value, poison_kinds);
    }
}

// Brings one member of `object` into its canonical form. False when it is not of the wire format.
bool settle(json& object, std::string_view member) {
    const std::size_t colon = member.find(':');
    const std::string name{member.substr(0, colon)};
    const char type = member[colon + 1];
    const char absence = member.size() > colon + 2 ? member[colon + 2] : '!';
    const auto found = object.find(name);
    const bool null_is_absent = absence == '?' || absence == '-' || absence == '~';
    if (found == object.end() || (found->is_null() && null_is_absent)) {
        if (absence == '?') {
            object[name] = nullptr;
        } else if (absence == '=') {
            object[name] = type == 'n' ? json(0U) : json::array();
        } else {
            object.erase(name);
        }
        return absence != '!';
    }
    auto canonical = canonical_value(*found, type);
    if (!canonical) {
        return false;
    }
    if (absence == '~' && (*canonical == "" || *canonical == false)) {
        object.erase(name);
    } else {
        object[name] = *std::move(canonical);
    }
    return true;
}

std::optional<json> canonical_object(json object, std::string_view members) {
    if (!object.is_object()) {
        return std::nullopt;
    }
    while (!members.empty()) {
        const std::size_t space = std::min(members.find(' '), members.size());
        if (space > 0 && !settle(object, members.substr(0, space))) {
            return std::nullopt;
        }
        members.remove_prefix(std::min(space + 1, members.size()));
    }
    return object;
}

std::optional<json> canonical_tagged(const json& value, std::span<const Shape> shapes) {
    if (!value.is_object() || value.size() != 1) {
        return std::nullopt;
    }
    const auto shape =
        std::ranges::find(shapes, std::string_view{value.begin().key()}, &Shape::name);
    if (shape == shapes.end()) {
        return std::nullopt;
    }
    auto inner = canonical_object(value.begin().value(), shape->members);
    return inner ? std::optional{json{{value.begin().key(), *std::move(inner)}}} : std::nullopt;
}

} // namespace

std::optional<json> canonical_event(const json& text) {
    if (!text.is_object() || !text.contains("type") || !text["type"].is_string()) {
        return std::nullopt;
    }
    const auto& type = text["type"].get_ref<const std::string&>();
    const auto shape = std::ranges::find(events, std::string_view{type}, &Shape::name);
    if (shape == events.end()) {
        return std::nullopt;
    }
    return canonical_object(text, std::string{common_members} + std::string{shape->members});
}

std::optional<json> canonical_work_item(const json& text) {
    return canonical_tagged(text, work_items);
}

std::optional<json> canonical_error(const json& text) {
    return canonical_tagged(text, errors);
}

} // namespace durable::fuzz
