#include "providers/rules/stored.hpp"

#include "base/try.hpp"
#include "model/json_reader.hpp"
#include "model/json_text.hpp"

#include <durable/codec.hpp>

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

namespace durable::rules {

namespace {

constexpr std::string_view wrong_queue =
    "ActivityExecute belongs into the worker queue, not the orchestrator queue";

} // namespace

std::unexpected<Error> failed(Error error, std::string_view operation) {
    error.operation = operation;
    return std::unexpected{std::move(error)};
}

Result<NewMessage> to_message(const WorkItem& item) {
    if (std::holds_alternative<work::ActivityExecute>(item)) {
        return fail(ErrorCode::invalid_argument, std::string{wrong_queue});
    }
    DURABLE_TRY_ASSIGN(auto text, encode(item));
    NewMessage message{.instance = target_instance(item),
                       .text = std::move(text),
                       .kind = static_cast<std::uint8_t>(item.index())};
    if (const auto* timer = std::get_if<work::TimerFired>(&item)) {
        message.execution_id = timer->execution_id;
        message.timer_id = timer->id;
    }
    return message;
}

Result<NewWork> to_work(const WorkItem& item) {
    const auto* activity = std::get_if<work::ActivityExecute>(&item);
    if (activity == nullptr) {
        return fail(ErrorCode::invalid_argument,
                    std::string{type_name(item)} +
                        " does not belong into the worker queue: it takes ActivityExecute only");
    }
    DURABLE_TRY_ASSIGN(auto text, encode(item));
    return NewWork{.activity = {.instance = activity->instance,
                                .execution_id = activity->execution_id,
                                .activity_id = activity->id},
                   .session = activity->session_id,
                   .tag = activity->tag,
                   .name = activity->name,
                   .text = std::move(text)};
}

Result<std::vector<NewEvent>> to_events(const std::vector<HistoryEvent>& events) {
    std::vector<NewEvent> made;
    made.reserve(events.size());
    std::uint64_t highest = 0;
    std::set<std::uint64_t> out_of_order; // stays empty as long as ids ascend
    for (const auto& event : events) {
        if (event.event_id == 0) {
            return fail(ErrorCode::invalid_argument, "event id 0 means unset and is not stored");
        }
        const auto ascending = event.event_id > highest;
        if (!ascending && out_of_order.empty()) {
            for (const auto& earlier : made) {
                out_of_order.insert(earlier.id);
            }
        }
        if (!ascending && out_of_order.contains(event.event_id)) {
            return taken_event(event.event_id);
        }
        if (!out_of_order.empty()) {
            out_of_order.insert(event.event_id);
        }
        highest = std::max(highest, event.event_id);
        DURABLE_TRY_ASSIGN(auto text, encode(event));
        made.push_back({.id = event.event_id, .text = std::move(text)});
    }
    return made;
}

std::unexpected<Error> taken_event(std::uint64_t id) {
    return fail(ErrorCode::invalid_argument,
                "event id " + std::to_string(id) + " is already taken");
}

Result<> check_text(std::string_view text, std::string_view what) {
    const auto* const end = text.data() + text.size();
    for (const auto* at = text.data(); at != end;) {
        const auto length = wire::byte_of(*at) < 0x80 ? 1 : wire::utf8_length(at, end);
        if (length == 0) {
            return fail(ErrorCode::invalid_argument, std::string{what} + " is not UTF-8");
        }
        at += length;
    }
    return {};
}

Instant visible_at(const WorkItem& item, Instant now, Duration delay) {
    const auto from = add_saturating(now, std::max(delay, Duration::zero()));
    const auto* timer = std::get_if<work::TimerFired>(&item);
    return timer == nullptr ? from : std::max(from, from_epoch_ms(timer->fire_at_ms));
}

std::string damage_of(const Result<WorkItem>& item, std::string_view instance) {
    if (!item) {
        return item.error().message;
    }
    if (std::holds_alternative<work::ActivityExecute>(*item)) {
        return std::string{wrong_queue};
    }
    const auto target = target_instance(*item);
    return target == instance ? ""
                              : "a message for \"" + target + "\" in the queue of \"" +
                                    std::string{instance} + "\"";
}

std::string activity_name(std::string_view text) {
    // Not decode_work_item: replaying a journal asks for each activity, and inputs may be large.
    wire::JsonReader in{text};
    std::string found;
    in.object([&](const wire::JsonName&) {
        in.object([&](const wire::JsonName& member) {
            if (member.text == "name") {
                in.string(found);
            } else {
                (void)in.skip();
            }
        });
    });
    in.finish();
    return in.failed() ? std::string{} : found;
}

std::optional<std::string> calling_parent(std::uint8_t kind, std::string_view text) {
    // How the text of a client's start ends. No other start ends like this: these members come
    // last.
    constexpr std::string_view no_parent =
        R"(,"parent_instance":null,"parent_id":null,"execution_id":1}})";
    if (kind != item_kind<work::StartOrchestration> || text.ends_with(no_parent)) {
        return std::nullopt;
    }
    auto item = decode_work_item(text);
    auto* const start = item ? std::get_if<work::StartOrchestration>(&*item) : nullptr;
    return start != nullptr ? std::move(start->parent_instance) : std::nullopt;
}

} // namespace durable::rules
