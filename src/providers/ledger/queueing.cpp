#include "providers/ledger/queueing.hpp"

#include "base/try.hpp"

#include <durable/codec.hpp>

#include <algorithm>
#include <utility>

namespace durable::ledger {

namespace {

constexpr std::size_t most_expired_at_once = 1000;

std::string cited(std::string_view text) {
    return '"' + std::string{text} + '"';
}

} // namespace

Result<> check_new(const std::vector<NewEvent>& events, const Execution* stored) {
    if (stored != nullptr) {
        for (const auto& event : events) {
            if (stored->history.contains(event.id)) {
                return taken_event(event.id);
            }
        }
    }
    return {};
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
    if (auto damage = damage_of(item, instance); !damage.empty()) {
        return quarantine(std::move(damage));
    }
    auto message = to_message(*item);
    if (!message) {
        return quarantine(message.error().message);
    }
    message->seq = seq;
    message->visible_at = visible_at(*item, now.wall, Duration::zero());
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
