#include "providers/ledger/queueing.hpp"

#include "base/try.hpp"
#include "model/json_reader.hpp"
#include "model/json_text.hpp"

#include <durable/codec.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace durable::ledger {

namespace {

constexpr std::size_t most_expired_at_once = 1000;

std::string cited(std::string_view text) {
    return '"' + std::string{text} + '"';
}

std::unexpected<Error> taken(std::uint64_t event) {
    return fail(ErrorCode::invalid_argument,
                "event id " + std::to_string(event) + " is already taken");
}

} // namespace

std::unexpected<Error> failed(Error error, std::string_view operation) {
    error.operation = operation;
    return std::unexpected{std::move(error)};
}

Result<NewMessage> to_message(const WorkItem& item) {
    if (std::holds_alternative<work::ActivityExecute>(item)) {
        return fail(ErrorCode::invalid_argument,
                    "ActivityExecute belongs into the worker queue, not the orchestrator queue");
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
            return taken(event.event_id);
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

Result<> check_new(const std::vector<NewEvent>& events, const Execution* stored) {
    if (stored != nullptr) {
        for (const auto& event : events) {
            if (stored->history.contains(event.id)) {
                return taken(event.id);
            }
        }
    }
    return {};
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

Result<Record> enqueue_message(Ledger& ledger,
                               const WorkItem& item,
                               Result<NewMessage> message,
                               std::optional<Duration> delay,
                               Moment now) {
    ledger.advance(now);
    if (!message) {
        return failed(std::move(message).error(), "enqueue_for_orchestrator");
    }
    message->seq = ledger.next_seq();
    const auto wait = std::max(delay.value_or(Duration::zero()), Duration::zero());
    message->visible_at = visible_at(item, now.wall_after(wait), Duration::zero());
    return Record{.at = now.wall, .operation = op::EnqueueMessage{*std::move(message)}};
}

Result<Record> start_instance(Ledger& ledger,
                              const work::StartOrchestration& start,
                              Result<NewMessage> message,
                              std::optional<Duration> delay,
                              Moment now) {
    constexpr std::string_view operation = "start_instance";
    ledger.advance(now);
    if (!message) {
        return failed(std::move(message).error(), operation);
    }
    if (const auto* known = ledger.instances.find(start.instance);
        known != nullptr && (known->exists() || has_queued_start(*known))) {
        return fail(ErrorCode::already_exists,
                    "instance " + cited(start.instance) + " exists",
                    std::string{operation});
    }
    message->seq = ledger.next_seq();
    message->visible_at =
        now.wall_after(std::max(delay.value_or(Duration::zero()), Duration::zero()));
    return Record{.at = now.wall,
                  .operation = op::StartInstance{.message = *std::move(message),
                                                 .name = start.orchestration,
                                                 .version = start.version.value_or("unknown"),
                                                 .parent = start.parent_instance}};
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

Result<Record> enqueue_work(Ledger& ledger, Result<NewWork> added, Moment now) {
    ledger.advance(now);
    if (!added) {
        return failed(std::move(added).error(), "enqueue_for_worker");
    }
    added->seq = ledger.next_seq();
    added->visible_at = now.wall;
    return Record{.at = now.wall, .operation = op::EnqueueWork{*std::move(added)}};
}

Record restore_message(const Ledger& ledger,
                       const std::string& instance,
                       const std::string& text,
                       Moment now) {
    const auto seq = ledger.next_seq();
    const auto quarantine = [&](std::string reason) {
        return Record{.at = now.wall,
                      .operation = op::QuarantineText{.queue = Queue::orchestrator,
                                                      .seq = seq,
                                                      .instance = instance,
                                                      .text = text,
                                                      .reason = std::move(reason)}};
    };
    const auto item = decode_work_item(text);
    if (!item) {
        return quarantine(item.error().message);
    }
    auto message = to_message(*item);
    if (!message) {
        return quarantine(message.error().message);
    }
    message->seq = seq;
    message->visible_at = visible_at(*item, now.wall, Duration::zero());
    if (message->instance != instance) {
        return quarantine("a message for " + cited(message->instance) + " in the queue of " +
                          cited(instance));
    }
    message->text = text;
    return {.at = now.wall, .operation = op::EnqueueMessage{*std::move(message)}};
}

Record restore_work(const Ledger& ledger, const std::string& text, Moment now) {
    const auto seq = ledger.next_seq();
    const auto quarantine = [&](std::string reason) {
        return Record{
            .at = now.wall,
            .operation = op::QuarantineText{
                .queue = Queue::worker, .seq = seq, .text = text, .reason = std::move(reason)}};
    };
    const auto item = decode_work_item(text);
    if (!item) {
        return quarantine(item.error().message);
    }
    auto added = to_work(*item);
    if (!added) {
        return quarantine(added.error().message);
    }
    added->seq = seq;
    added->visible_at = now.wall;
    added->text = text;
    return {.at = now.wall, .operation = op::EnqueueWork{*std::move(added)}};
}

std::optional<Record> expire_messages(Ledger& ledger, Moment now) {
    ledger.advance(now);
    auto expired = ledger.turns.expired(
        now.wall, ledger.options().unstarted_message_ttl, most_expired_at_once);
    if (expired.empty()) {
        return std::nullopt;
    }
    return Record{.at = now.wall, .operation = op::Expire{std::move(expired)}};
}

Result<Record> append_events(Ledger& ledger,
                             const std::string& instance,
                             std::uint64_t execution_id,
                             Result<std::vector<NewEvent>> events,
                             Moment now) {
    ledger.advance(now);
    if (auto good = check_text(instance, "the instance id"); !good) {
        return failed(std::move(good).error(), "append_with_execution");
    }
    if (!events) {
        return failed(std::move(events).error(), "append_with_execution");
    }
    const auto* known = ledger.instances.find(instance);
    const auto* stored = known == nullptr ? nullptr : known->find_execution(execution_id);
    if (auto fresh = check_new(*events, stored); !fresh) {
        return failed(std::move(fresh).error(), "append_with_execution");
    }
    return Record{.at = now.wall,
                  .operation = op::Append{.instance = instance,
                                          .execution_id = execution_id,
                                          .events = *std::move(events)}};
}

} // namespace durable::ledger
